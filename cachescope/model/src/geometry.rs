//! Size and shape of a cache.

use thiserror::Error;

/// Most ways that a cache may have.
pub const WAYS_MAX: u32 = 64;

/// Size, ways and line of a cache: checked, so that sets are a power of two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Geometry {
    size: u64,
    ways: u32,
    line: u32,
}

/// The reason why there is no such cache.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum GeometryError {
    /// The line is no power of two, or has no usual size.
    #[error("a line of {0} bytes: expected a power of two from 16 to 4096")]
    Line(u32),
    /// There are no ways, or too many.
    #[error("{0} ways: expected 1 to {WAYS_MAX}")]
    Ways(u32),
    /// The size is not ways x line x a power of two.
    #[error(
        "{size} bytes in {ways} ways of {line}-byte lines: \
         expected a power of two of sets, size / (ways x line)"
    )]
    Sets {
        /// Bytes of the cache.
        size: u64,
        /// Its ways.
        ways: u32,
        /// Bytes of a line.
        line: u32,
    },
}

impl Geometry {
    /// A cache of `size` bytes in `ways` ways with lines of `line` bytes.
    ///
    /// # Errors
    /// If the number of sets is not a power of two, or ways or line are out of range.
    pub fn new(size: u64, ways: u32, line: u32) -> Result<Self, GeometryError> {
        if !line.is_power_of_two() || !(16..=4096).contains(&line) {
            return Err(GeometryError::Line(line));
        }
        if !(1..=WAYS_MAX).contains(&ways) {
            return Err(GeometryError::Ways(ways));
        }
        let row = u64::from(ways) * u64::from(line);
        if !size.is_multiple_of(row) || !(size / row).is_power_of_two() {
            return Err(GeometryError::Sets { size, ways, line });
        }
        Ok(Self { size, ways, line })
    }

    /// Bytes of the cache.
    pub const fn size(self) -> u64 {
        self.size
    }

    /// Lines that one set holds.
    pub const fn ways(self) -> u32 {
        self.ways
    }

    /// Bytes of a line.
    pub const fn line(self) -> u32 {
        self.line
    }

    /// Number of sets, a power of two.
    pub const fn sets(self) -> u64 {
        self.size / (self.ways as u64 * self.line as u64)
    }

    /// Number of page colours: the values that set index bits above the page
    /// offset can take. At least 1. `page` is a power of two, in bytes.
    pub const fn colors(self, page: u64) -> u64 {
        let colors = self.size / self.ways as u64 / page;
        if colors == 0 { 1 } else { colors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_and_colors_of_known_chips() {
        let kib = 1024;
        // Size, ways, sets, colours of 4 KiB pages: Cortex-A53, Cortex-A57 and
        // a level-1 data cache.
        for (size, ways, sets, colors) in
            [(1024 * kib, 16, 1024, 16), (2048 * kib, 16, 2048, 32), (32 * kib, 4, 128, 2)]
        {
            let cache = Geometry::new(size, ways, 64).unwrap();
            assert_eq!((cache.sets(), cache.colors(4096)), (sets, colors));
        }
        assert_eq!(Geometry::new(4 * kib, 4, 64).unwrap().colors(4096), 1);
    }

    #[test]
    fn ways_need_not_be_a_power_of_two_but_sets_must() {
        assert_eq!(Geometry::new(20 * 64 * 1024, 20, 64).unwrap().sets(), 1024);
        assert!(matches!(Geometry::new(96 * 1024, 4, 64), Err(GeometryError::Sets { .. })));
        assert!(matches!(Geometry::new(0, 4, 64), Err(GeometryError::Sets { .. })));
        assert_eq!(Geometry::new(4096, 0, 64), Err(GeometryError::Ways(0)));
        assert_eq!(Geometry::new(4096, 65, 64), Err(GeometryError::Ways(65)));
        assert_eq!(Geometry::new(4096, 4, 48), Err(GeometryError::Line(48)));
    }
}
