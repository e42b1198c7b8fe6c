//! The frames of an area whose colour is in a set, by number.

use core::{error, fmt};

use super::set::{COLORS_MAX, Color, ColorSet};

/// The frames of an area whose colour is in a set, in ascending order.
///
/// Colours repeat after a *period* of the address; within each period the same
/// pages belong to the set. So the i-th frame is found by arithmetic, without a
/// table: the tools that plan memory and the hypervisor that maps it agree
/// because they ask the same function. Every call takes at most as many steps
/// as a period has pages ([`Stripe::PERIOD_PAGES_MAX`]).
///
/// If the colour bits are all bits above the page offset, k colours are a power
/// of two and the guest's memory starts at a multiple of k pages, then frame i has
/// the (i mod k)-th colour of the set: this is the mapping of a virtual LLC
/// (vCache, section 4.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stripe {
    start: u64,
    page_bytes: u64,
    period_pages: u64,
    /// Bit j: page j of each period belongs to the stripe. Never 0.
    pages: u64,
}

impl Stripe {
    /// Most pages of a period.
    pub const PERIOD_PAGES_MAX: u64 = 64;

    /// Returns the frames with these colours from `start` on, which must be a multiple of the
    /// period ([`Stripe::period_of`]). `color_mask` are the address bits that are the colour
    /// ([`Geometry::mask`](super::Geometry::mask)).
    pub fn new(
        page_bytes: u64,
        color_mask: u64,
        colors: ColorSet,
        start: u64,
    ) -> Result<Self, StripeError> {
        let shift = color_mask.trailing_zeros();
        let last = color_mask.checked_shr(shift).unwrap_or(0);
        let outside = color_mask & page_bytes.wrapping_sub(1) != 0 || color_mask >> 63 != 0;
        if !page_bytes.is_power_of_two() || outside || last & last.wrapping_add(1) != 0 {
            return Err(StripeError::Mask(color_mask));
        }
        if !colors.is_subset(ColorSet::first(last.min(COLORS_MAX as u64 - 1) as u32 + 1))
            || colors.is_empty()
        {
            return Err(StripeError::Colors(colors));
        }
        let period_bytes = Self::period_of(page_bytes, color_mask);
        let period_pages = period_bytes / page_bytes;
        if period_pages > Self::PERIOD_PAGES_MAX {
            return Err(StripeError::Period(period_pages));
        }
        if !start.is_multiple_of(period_bytes) {
            return Err(StripeError::Start { start, period_bytes });
        }
        let mut pages = 0;
        for page in 0..period_pages {
            let color = ((page * page_bytes) & color_mask).checked_shr(shift).unwrap_or(0);
            if Color::new(color as u8).is_some_and(|color| colors.contains(color)) {
                pages |= 1 << page;
            }
        }
        Ok(Self { start, page_bytes, period_pages, pages })
    }

    /// Returns all frames of this size from `start` on, whatever their colour.
    pub const fn contiguous(start: u64, page_bytes: u64) -> Self {
        Self { start, page_bytes, period_pages: 1, pages: 1 }
    }

    /// Bytes after which the colours of addresses repeat.
    pub const fn period_of(page_bytes: u64, color_mask: u64) -> u64 {
        match color_mask {
            0 => page_bytes,
            mask => 1 << (u64::BITS - mask.leading_zeros()),
        }
    }

    /// Bytes after which the frames of the stripe repeat.
    pub const fn period_bytes(&self) -> u64 {
        self.period_pages * self.page_bytes
    }

    /// Frames of the stripe in one period.
    pub(super) const fn frames_per_period(&self) -> u64 {
        self.pages.count_ones() as u64
    }

    /// Frames of the stripe in the first `bytes` bytes, whole periods only.
    pub const fn count(&self, bytes: u64) -> u64 {
        bytes / self.period_bytes() * self.frames_per_period()
    }

    /// Returns the address of the i-th frame. Wraps around if the area has no such frame.
    #[inline]
    pub const fn frame(&self, index: u64) -> u64 {
        let frames = self.frames_per_period();
        let mut pages = self.pages;
        let mut before = index % frames;
        while before > 0 {
            pages &= pages - 1;
            before -= 1;
        }
        let page = pages.trailing_zeros() as u64;
        let offset = (index / frames).wrapping_mul(self.period_bytes());
        self.start.wrapping_add(offset).wrapping_add(page * self.page_bytes)
    }

    /// Returns the number of the frame that contains an address, if the stripe has it.
    pub const fn index_of(&self, address: u64) -> Option<u64> {
        let Some(offset) = address.checked_sub(self.start) else { return None };
        let page = offset % self.period_bytes() / self.page_bytes;
        if self.pages >> page & 1 == 0 {
            return None;
        }
        let before = (self.pages & ((1 << page) - 1)).count_ones() as u64;
        Some(offset / self.period_bytes() * self.frames_per_period() + before)
    }
}

/// The reason why there is no such [`Stripe`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StripeError {
    /// The colour bits are not contiguous bits above the page offset.
    Mask(u64),
    /// Colours repeat after more pages than [`Stripe::PERIOD_PAGES_MAX`].
    Period(u64),
    /// The start is not a multiple of the period.
    Start {
        /// The start.
        start: u64,
        /// The period.
        period_bytes: u64,
    },
    /// The set is empty or has colours that do not exist.
    Colors(ColorSet),
}

impl fmt::Display for StripeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mask(mask) => {
                write!(f, "{mask:#x} is not a contiguous mask above the page offset")
            }
            Self::Period(pages) => {
                write!(f, "colours repeat after {pages} pages, at most 64 are possible")
            }
            Self::Start { start, period_bytes } => {
                write!(
                    f,
                    "{start:#x} is not a multiple of {period_bytes:#x}, after which colours repeat"
                )
            }
            Self::Colors(colors) => write!(f, "\"{colors}\" is not a set of colours of this cache"),
        }
    }
}

impl error::Error for StripeError {}

#[cfg(test)]
mod tests {
    use super::super::{Cache, Geometry, IndexBits, VirtualLlc};
    use super::*;

    fn geometry(bits: IndexBits) -> Geometry {
        let llc = Cache::new(1 << 20, 16, 64).expect("a cache");
        Geometry::new(llc, 4096, bits).expect("a geometry")
    }

    /// By looking at every page.
    fn reference(geometry: Geometry, colors: ColorSet, start: u64, bytes: u64) -> Vec<u64> {
        (start..start + bytes)
            .step_by(4096)
            .filter(|&page| colors.contains(geometry.color_of(page)))
            .collect()
    }

    #[test]
    fn frames_are_those_found_by_looking() {
        let geometry = geometry(IndexBits::AbovePage);
        for text in ["0", "15", "0-3,8", "0-15", "1,3,5,7,9,11,13,15"] {
            let colors: ColorSet = text.parse().expect("a set");
            let stripe = Stripe::new(4096, geometry.mask(), colors, 0x4400_0000).expect("a stripe");
            let bytes = 5 * stripe.period_bytes();
            let frames = reference(geometry, colors, 0x4400_0000, bytes);
            assert_eq!(stripe.count(bytes), frames.len() as u64);
            for (index, &frame) in frames.iter().enumerate() {
                assert_eq!(stripe.frame(index as u64), frame, "{text}");
                assert_eq!(stripe.index_of(frame + 7), Some(index as u64), "{text}");
            }
            for page in (0x4400_0000..0x4400_0000 + bytes).step_by(4096) {
                assert_eq!(stripe.index_of(page).is_some(), frames.contains(&page), "{text}");
            }
        }
    }

    #[test]
    fn pages_have_the_colors_that_a_virtual_cache_shows() {
        let geometry = geometry(IndexBits::AbovePage);
        for colors in ["5", "3,9", "0-3", "1,2,7,8,10-13", "0-15"] {
            let colors: ColorSet = colors.parse().unwrap();
            let stripe = Stripe::new(4096, geometry.mask(), colors, 0x4600_0000).unwrap();
            let vllc = VirtualLlc::new(geometry, colors).unwrap();
            for page in 0..200 {
                let (ipa, frame) = (0x4000_0000 + page * 4096, stripe.frame(page));
                assert_eq!(geometry.color_of(frame), vllc.host_color_at(ipa), "{colors}: {page}");
            }
        }
    }

    #[test]
    fn a_contiguous_stripe_has_every_frame() {
        let stripe = Stripe::contiguous(0x4000_1000, 4096);
        assert_eq!((stripe.frame(0), stripe.frame(9)), (0x4000_1000, 0x4000_a000));
        assert_eq!(stripe.index_of(0x4000_a123), Some(9));
        assert_eq!(stripe.index_of(0x4000_0fff), None);
        assert_eq!(stripe.count(1 << 20), 256);
    }

    #[test]
    fn colours_of_several_pages_are_found_too() {
        let l1 = Cache::new(32 << 10, 4, 64).expect("a cache");
        let geometry = geometry(IndexBits::AboveL1(l1));
        assert_eq!((geometry.mask(), geometry.colors()), (0xe000, 8));
        let colors: ColorSet = "1-2,7".parse().expect("a set");
        let stripe = Stripe::new(4096, geometry.mask(), colors, 0x10_0000).expect("a stripe");
        let bytes = 3 * stripe.period_bytes();
        let frames = reference(geometry, colors, 0x10_0000, bytes);
        assert_eq!(stripe.count(bytes), frames.len() as u64);
        for (index, &frame) in frames.iter().enumerate() {
            assert_eq!(stripe.frame(index as u64), frame);
        }
    }

    #[test]
    fn impossible_stripes_are_refused() {
        let set = |text: &str| text.parse::<ColorSet>().expect("a set");
        let new = |mask, colors, start| Stripe::new(4096, mask, colors, start);
        assert_eq!(
            new(0xf000, set("1"), 0x4000_1000),
            Err(StripeError::Start { start: 0x4000_1000, period_bytes: 0x1_0000 })
        );
        let none = ColorSet::from_bits(0);
        assert_eq!(new(0xf000, none, 0), Err(StripeError::Colors(none)));
        assert_eq!(new(0xf000, set("3,16"), 0), Err(StripeError::Colors(set("3,16"))));
        for mask in [0x5000, 0x1800, u64::MAX, 1 << 63] {
            assert_eq!(new(mask, set("0"), 0), Err(StripeError::Mask(mask)));
        }
        assert_eq!(new(0x7f000, set("0"), 0), Err(StripeError::Period(128)));
    }
}
