//! The address bits that are the colour of a page.

use core::{error, fmt};

use super::cache::{Bytes, Cache};
use super::set::{COLORS_MAX, Color, ColorSet};

/// The bits of the set index that make colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IndexBits {
    /// All above the page offset (vCache section 2.3).
    AbovePage,
    /// Those above the page offset that are not also in the set index of this first-level cache:
    /// every VM keeps all sets of the first level (XvIso section III-B).
    AboveL1(Cache),
}

/// The colours of a cache: contiguous address bits, from a first one up to the
/// highest bit of the set index.
///
/// All methods take constant time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Geometry {
    // Private: page_shift <= color_shift, and there are at most COLORS_MAX colours.
    cache: Cache,
    page_shift: u8,
    color_shift: u8,
    color_bits: u8,
}

impl Geometry {
    /// Returns the colours of `cache` for memory that is given out in pages of `page_bytes`.
    ///
    /// With [`IndexBits::AbovePage`] there are `n = S / (W * P * N_p)` colours (vCache section
    /// 2.3).
    pub const fn new(
        cache: Cache,
        page_bytes: u64,
        bits: IndexBits,
    ) -> Result<Self, GeometryError> {
        if !page_bytes.is_power_of_two() || page_bytes < cache.line_bytes() as u64 {
            return Err(GeometryError::Page(page_bytes));
        }
        let color_bytes = match bits {
            IndexBits::AboveL1(l1) if l1.way_bytes() > page_bytes => l1.way_bytes(),
            _ => page_bytes,
        };
        let way_bytes = cache.way_bytes();
        if way_bytes < color_bytes {
            return Err(GeometryError::NoColors { way_bytes, color_bytes });
        }
        let colors = way_bytes / color_bytes;
        if colors > COLORS_MAX as u64 {
            return Err(GeometryError::TooManyColors(colors));
        }
        Ok(Self {
            cache,
            page_shift: page_bytes.trailing_zeros() as u8,
            color_shift: color_bytes.trailing_zeros() as u8,
            color_bits: colors.trailing_zeros() as u8,
        })
    }

    /// Returns the cache.
    pub const fn cache(self) -> Cache {
        self.cache
    }

    /// Returns the bytes of a page.
    pub const fn page_bytes(self) -> u64 {
        1 << self.page_shift
    }

    /// Returns the number of colours, a power of two from 1 to [`COLORS_MAX`].
    pub const fn colors(self) -> u32 {
        1 << self.color_bits
    }

    /// Returns all colours.
    pub const fn all(self) -> ColorSet {
        ColorSet::first(self.colors())
    }

    /// Refuses colours that the cache does not have.
    pub fn check(self, colors: ColorSet) -> Result<(), UnknownColors> {
        let unknown = colors - self.all();
        if unknown.is_empty() {
            return Ok(());
        }
        Err(UnknownColors { unknown, colors: self.colors() })
    }

    /// Contiguous bytes of one colour, "colour size" in XvIso section III: one
    /// page, or more with [`IndexBits::AboveL1`].
    pub const fn color_bytes(self) -> u64 {
        1 << self.color_shift
    }

    /// Returns the address bits that are the colour.
    pub const fn mask(self) -> u64 {
        (self.colors() as u64 - 1) << self.color_shift
    }

    /// Returns the colour of the byte at physical address `address`.
    pub const fn color_of(self, address: u64) -> Color {
        Color((address >> self.color_shift) as u8 & (self.colors() as u8 - 1))
    }

    /// Pages in [`Geometry::color_bytes`].
    pub(super) const fn unit_pages(self) -> u64 {
        1 << (self.color_shift - self.page_shift)
    }

    /// Returns how many pages of `color` lie below `address`, a page boundary. For a page of this
    /// colour it is the page's row: its number with the colour bits taken out.
    pub(super) const fn row(self, color: Color, address: u64) -> u64 {
        let period_shift = self.color_shift + self.color_bits;
        let whole = (address >> period_shift) << (self.color_shift - self.page_shift);
        let within = address & ((1 << period_shift) - 1);
        let above = within.saturating_sub((color.0 as u64) << self.color_shift);
        let part = if above > self.color_bytes() { self.color_bytes() } else { above };
        whole + (part >> self.page_shift)
    }

    /// Returns the rows of the pages in `start..end`, rounded outwards to where every colour has as
    /// many.
    pub(super) const fn rows(self, start: u64, end: u64) -> (u64, u64) {
        let period_shift = self.color_shift + self.color_bits;
        let unit_shift = self.color_shift - self.page_shift;
        ((start >> period_shift) << unit_shift, (((end - 1) >> period_shift) + 1) << unit_shift)
    }

    /// Returns the page of `color` in `row`: the inverse of [`Geometry::row`].
    pub(super) const fn page_at(self, color: Color, row: u64) -> u64 {
        let unit_shift = self.color_shift - self.page_shift;
        let period = row >> unit_shift << (self.color_shift + self.color_bits);
        let page = (row & (self.unit_pages() - 1)) << self.page_shift;
        period | (color.0 as u64) << self.color_shift | page
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.color_bits {
            0 => f.write_str("1 colour"),
            bits => write!(
                f,
                "{} colours, address bits [{}:{}]",
                self.colors(),
                self.color_shift + bits - 1,
                self.color_shift
            ),
        }
    }
}

/// The reason why a cache has no colours that can be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GeometryError {
    /// This page size is not a power of two, or smaller than a line.
    Page(u64),
    /// One way is smaller than a page or than one way of the first-level cache,
    /// so that not one colour is left.
    NoColors {
        /// Bytes of one way of the cache.
        way_bytes: u64,
        /// Bytes of a page or of one way of the first-level cache, the larger.
        color_bytes: u64,
    },
    /// There is this number of colours, more than [`COLORS_MAX`].
    TooManyColors(u64),
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Page(bytes) => write!(
                f,
                "pages of {}: expected a power of two that is not smaller than a cache line",
                Bytes(bytes)
            ),
            Self::NoColors { way_bytes, color_bytes } => write!(
                f,
                "no colours: one way of the cache has {}, less than one page or one way of the \
                 first-level cache, {}",
                Bytes(way_bytes),
                Bytes(color_bytes)
            ),
            Self::TooManyColors(colors) => write!(
                f,
                "{colors} colours, but at most {COLORS_MAX} are supported: a larger page gives \
                 fewer"
            ),
        }
    }
}

impl error::Error for GeometryError {}

/// The cache does not have these colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UnknownColors {
    /// The colours that do not exist.
    pub unknown: ColorSet,
    /// Number of colours, from 0 on.
    pub colors: u32,
}

impl fmt::Display for UnknownColors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unknown, colors } = *self;
        write!(f, "no such colours: {unknown}; the cache has {}", ColorSet::first(colors))
    }
}

impl error::Error for UnknownColors {}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;

    fn above_page(cache: Result<Cache, super::super::CacheError>) -> Geometry {
        Geometry::new(cache.unwrap(), 4 * KIB, IndexBits::AbovePage).unwrap()
    }

    fn raspberry_pi_2(bits: IndexBits) -> Geometry {
        Geometry::new(Cache::new(512 * KIB, 8, 64).unwrap(), 4 * KIB, bits).unwrap()
    }

    #[test]
    fn vcache_section_2_3_example() {
        assert_eq!(above_page(Cache::new(256 * KIB, 16, 64)).colors(), 4);
    }

    #[test]
    fn vcache_section_6_i7_2600() {
        assert_eq!(above_page(Cache::sliced(8 * MIB, 16, 64, 4)).colors(), 32);
    }

    #[test]
    fn vcache_section_6_exynos_5422() {
        assert_eq!(above_page(Cache::new(2 * MIB, 16, 64)).colors(), 32);
    }

    #[test]
    fn qemu_cortex_a53() {
        let geometry = above_page(Cache::new(MIB, 16, 64));
        assert_eq!((geometry.colors(), geometry.mask()), (16, 0xf000));
    }

    #[test]
    fn xviso_section_3b_raspberry_pi_2() {
        let l1 = Cache::new(32 * KIB, 4, 64).unwrap();
        let geometry = raspberry_pi_2(IndexBits::AboveL1(l1));
        assert_eq!((geometry.colors(), geometry.color_bytes()), (8, 1 << 13));
        assert_eq!(geometry.to_string(), "8 colours, address bits [15:13]");
        // "The overlap with the L2 set index consists into 4 bits."
        assert_eq!(raspberry_pi_2(IndexBits::AbovePage).mask(), 0xf000);
    }

    #[test]
    fn a_small_first_level_cache_takes_no_bits() {
        let l1 = Cache::new(16 * KIB, 8, 64).unwrap();
        assert_eq!(
            raspberry_pi_2(IndexBits::AboveL1(l1)),
            raspberry_pi_2(IndexBits::AbovePage),
            "its set index lies in the page offset"
        );
    }

    #[test]
    fn colors_follow_the_address_bits() {
        let geometry = above_page(Cache::new(256 * KIB, 16, 64));
        let colors = [0x0, 0xfff, 0x1000, 0x3fff, 0x4000, 0xffff_ffff_ffff_f000]
            .map(|address| geometry.color_of(address).index());
        assert_eq!(colors, [0, 0, 1, 3, 0, 3]);
    }

    #[test]
    fn one_color_and_sixty_four_are_colors() {
        let one = above_page(Cache::new(64 * KIB, 16, 64));
        assert_eq!((one.colors(), one.mask(), one.all().len()), (1, 0, 1));
        assert_eq!(one.color_of(u64::MAX).index(), 0);
        let most = above_page(Cache::new(4 * MIB, 16, 64));
        assert_eq!((most.colors(), most.all().len()), (64, 64));
        assert_eq!(most.color_of(u64::MAX).index(), 63);
    }

    #[test]
    fn colors_that_do_not_exist_are_refused() {
        let geometry = above_page(Cache::new(MIB, 16, 64));
        assert_eq!(geometry.check(geometry.all()), Ok(()));
        let error = geometry.check("14-17,63".parse().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "no such colours: 16-17,63; the cache has 0-15");
    }

    #[test]
    fn what_cannot_be_colored_is_refused_with_the_reason() {
        let refused = |bytes, page| {
            Geometry::new(Cache::new(bytes, 16, 64).unwrap(), page, IndexBits::AbovePage)
                .unwrap_err()
        };
        assert_eq!(refused(MIB, 3000), GeometryError::Page(3000));
        assert_eq!(refused(MIB, 32), GeometryError::Page(32));
        assert_eq!(
            refused(32 * KIB, 4 * KIB).to_string(),
            "no colours: one way of the cache has 2 KiB, less than one page or one way of the \
             first-level cache, 4 KiB"
        );
        assert_eq!(
            refused(8 * MIB, 4 * KIB).to_string(),
            "128 colours, but at most 64 are supported: a larger page gives fewer"
        );
    }
}
