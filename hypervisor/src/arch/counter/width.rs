//! Counters that start over after their largest value.

/// Width of a counter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Width {
    /// Its largest value.
    mask: u64,
}

impl Width {
    /// 32 bits.
    pub const BITS_32: Self = Self { mask: u32::MAX as u64 };
    /// 64 bits.
    pub const BITS_64: Self = Self { mask: u64::MAX };

    /// Most accesses for which it can wait: half of its range, so that accesses
    /// behind its overflow can be told.
    #[inline(always)]
    pub const fn most(self) -> u64 {
        self.mask / 2 + 1
    }

    /// The value from which on it overflows with the `limit`-th access; with the last one that
    /// it can wait for, if that is less.
    #[inline(always)]
    pub const fn preset(self, limit: u64) -> u64 {
        let most = self.most();
        0_u64.wrapping_sub(if limit < most { limit } else { most }) & self.mask
    }

    /// The value from which on it counts if it overflows with the `limit`-th access, and its value
    /// after `since` of them. If there have been too many already it overflows with the next one.
    #[inline(always)]
    pub const fn restart(self, limit: u64, since: u64) -> (u64, u64) {
        let start = self.preset(if limit > since { limit } else { since + 1 });
        (start, start.wrapping_add(since) & self.mask)
    }

    /// Returns the number of counts from `start` to `end`, if that is less than the range of the counter.
    #[inline(always)]
    pub const fn between(self, start: u64, end: u64) -> u64 {
        end.wrapping_sub(start) & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_access_of_a_limit_overflows() {
        for width in [Width::BITS_32, Width::BITS_64] {
            for limit in [1, 2, 1000, width.most() - 1, width.most()] {
                let start = width.preset(limit);
                assert_ne!(start.wrapping_add(limit - 1) & width.mask, 0, "{width:?} {limit}");
                assert_eq!(start.wrapping_add(limit) & width.mask, 0, "{width:?} {limit}");
                // And a little behind the overflow.
                let end = start.wrapping_add(limit + 7) & width.mask;
                assert_eq!(width.between(start, end), limit + 7);
            }
            assert_eq!(width.preset(u64::MAX), width.preset(width.most()));
        }
        for (limit, since, value) in
            [(10, 0, 0xffff_fff6), (10, 3, 0xffff_fff9), (10, 10, u32::MAX)]
        {
            let (start, found) = Width::BITS_32.restart(limit, since);
            assert_eq!(found, u64::from(value), "{limit} {since}");
            assert_eq!(Width::BITS_32.between(start, found), since);
        }
        assert_eq!(Width::BITS_32.preset(10), 0xffff_fff6);
        assert_eq!(Width::BITS_32.between(0xffff_fff6, 4), 14);
    }
}
