//! The shape of one cache.

use core::{error, fmt};

/// A set-associative cache whose number of sets is a power of two, as page
/// colouring assumes (vCache section 2.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cache {
    // Private: `Cache::sliced` has checked the numbers against each other, so
    // that nothing below divides by zero or rounds.
    bytes: u64,
    ways: u32,
    line_bytes: u32,
    slices: u32,
}

impl Cache {
    /// A cache of `bytes` in all, with `ways` lines of `line_bytes` in each set.
    pub const fn new(bytes: u64, ways: u32, line_bytes: u32) -> Result<Self, CacheError> {
        Self::sliced(bytes, ways, line_bytes, 1)
    }

    /// A cache that consists of `slices` equal slices, between which the
    /// hardware chooses by an unknown function of the address (vCache section
    /// 2.3). `bytes` counts all slices together.
    pub const fn sliced(
        bytes: u64,
        ways: u32,
        line_bytes: u32,
        slices: u32,
    ) -> Result<Self, CacheError> {
        if bytes == 0 || ways == 0 || slices == 0 {
            return Err(CacheError::Zero);
        }
        if !line_bytes.is_power_of_two() || line_bytes < 16 {
            return Err(CacheError::Line(line_bytes));
        }
        let cache = Self { bytes, ways, line_bytes, slices };
        let Some(lines) = (ways as u64 * slices as u64).checked_mul(line_bytes as u64) else {
            return Err(CacheError::NotWhole(cache));
        };
        if !bytes.is_multiple_of(lines) {
            return Err(CacheError::NotWhole(cache));
        }
        if !(bytes / lines).is_power_of_two() {
            return Err(CacheError::Sets(bytes / lines));
        }
        Ok(cache)
    }

    /// Returns the bytes of the whole cache.
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// Lines in each set.
    pub const fn ways(self) -> u32 {
        self.ways
    }

    /// Returns the bytes of a line.
    pub const fn line_bytes(self) -> u32 {
        self.line_bytes
    }

    /// Returns the number of slices; 1 if the cache is not sliced.
    pub const fn slices(self) -> u32 {
        self.slices
    }

    /// Sets of all slices together.
    pub const fn sets(self) -> u64 {
        self.bytes / (self.ways as u64 * self.line_bytes as u64)
    }

    /// Returns the bytes of one way of one slice, a power of two: addresses that differ by a
    /// multiple of it compete for the same set.
    pub const fn way_bytes(self) -> u64 {
        self.bytes / (self.ways as u64 * self.slices as u64)
    }

    /// Returns the same cache with its sets divided by `2^shift`; the caller knows that one set per
    /// slice remains.
    pub(super) const fn with_fewer_sets(self, shift: u32) -> Self {
        Self { bytes: self.bytes >> shift, ..self }
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} ways, lines of {} bytes", Bytes(self.bytes), self.ways, self.line_bytes)?;
        if self.slices > 1 {
            write!(f, ", {} slices", self.slices)?;
        }
        Ok(())
    }
}

/// The reason why numbers do not describe a [`Cache`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CacheError {
    /// Size, number of ways or number of slices is zero.
    Zero,
    /// This line size is not a power of two of at least 16 bytes.
    Line(u32),
    /// The size is not a multiple of ways, slices and line size.
    NotWhole(Cache),
    /// A slice has this number of sets, which is not a power of two.
    Sets(u64),
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("a cache needs a size, ways and slices that are not zero"),
            Self::Line(bytes) => {
                write!(f, "lines of {bytes} bytes: expected a power of two of at least 16")
            }
            Self::NotWhole(cache) => {
                write!(f, "{cache}: the size is not a multiple of ways x slices x line size")
            }
            Self::Sets(sets) => write!(
                f,
                "the cache has {sets} sets, which is not a power of two: no address bits select \
                 a set, and it cannot be coloured (a sliced cache needs its number of slices)"
            ),
        }
    }
}

impl error::Error for CacheError {}

/// A number of bytes in the largest unit in which it is whole.
pub(super) struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.trailing_zeros() {
            20..64 => write!(f, "{} MiB", self.0 >> 20),
            10..20 => write!(f, "{} KiB", self.0 >> 10),
            _ => write!(f, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_are_no_cache_are_refused() {
        assert_eq!(Cache::new(0, 16, 64), Err(CacheError::Zero));
        assert_eq!(Cache::new(1 << 20, 0, 64), Err(CacheError::Zero));
        assert_eq!(Cache::sliced(1 << 20, 16, 64, 0), Err(CacheError::Zero));
        assert_eq!(Cache::new(1 << 20, 16, 48), Err(CacheError::Line(48)));
        assert_eq!(Cache::new(1 << 20, 16, 8), Err(CacheError::Line(8)));
        assert!(matches!(Cache::new(1 << 20, 12, 64), Err(CacheError::NotWhole(_))));
        let huge = Cache::sliced(1 << 20, u32::MAX, 1 << 31, u32::MAX);
        assert!(matches!(huge, Err(CacheError::NotWhole(_))));
    }

    #[test]
    fn sets_must_be_a_power_of_two_in_each_slice() {
        assert_eq!(Cache::new(3 << 20, 16, 64), Err(CacheError::Sets(3072)));
        // Six slices of 2 MiB are well, and so are 12 ways.
        assert_eq!(Cache::sliced(12 << 20, 16, 64, 6).map(Cache::way_bytes), Ok(128 << 10));
        assert_eq!(Cache::new(3 << 20, 12, 64).map(Cache::sets), Ok(4096));
    }

    #[test]
    fn errors_show_the_numbers() {
        let error = Cache::new(1 << 20, 12, 64).unwrap_err();
        assert_eq!(
            error.to_string(),
            "1 MiB, 12 ways, lines of 64 bytes: the size is not a multiple of ways x slices x \
             line size"
        );
    }
}
