//! Sizes of memory.

use std::fmt;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Returns `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// Returns `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// Returns `n` GiB.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns true if the size is a multiple of `unit`.
    pub const fn is_multiple_of(self, unit: Self) -> bool {
        self.0.is_multiple_of(unit.0)
    }
}

impl From<u64> for Bytes {
    fn from(bytes: u64) -> Self {
        Self(bytes)
    }
}

/// In the largest binary unit that shows the exact number: `512 MiB`, `4097 B`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 != 0 && self.0.trailing_zeros() >= shift {
                return f.pad(&format!("{} {unit}", self.0 >> shift));
            }
        }
        f.pad(&format!("{} B", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_exactly() {
        for (bytes, shown) in [
            (Bytes(0), "0 B"),
            (Bytes(4097), "4097 B"),
            (Bytes::kib(1536), "1536 KiB"),
            (Bytes::mib(512), "512 MiB"),
            (Bytes::mib(1024), "1 GiB"),
        ] {
            assert_eq!(bytes.to_string(), shown);
        }
    }
}
