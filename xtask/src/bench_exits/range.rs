//! A measurement.

use std::fmt;

/// Smallest and largest of several measurements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Range {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
}

impl Range {
    /// One measurement.
    pub fn exact(value: u64) -> Self {
        Self { min: value, max: value }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "min={} max={}", self.min, self.max)
    }
}
