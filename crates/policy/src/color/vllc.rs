//! The virtual last-level cache of a VM that colours its memory itself.

use core::{error, fmt};

use super::cache::Cache;
use super::geometry::{Geometry, UnknownColors};
use super::registers::{Ccsidr, TooManySets};
use super::set::{COLORS_MAX, Color, ColorSet};

/// The colours of a VM, shown to it as a cache of its own (vLLC, vCache section
/// 4.1).
///
/// Colour `i` of the guest is the `i`-th colour of the VM on the host. A guest
/// that finds its colours in the virtual cache by the same rule as the host (the
/// same [`IndexBits`](super::IndexBits), page size and number of slices) colours
/// the host's cache, if each of its pages is mapped to a frame of colour
/// [`VirtualLlc::host_color_at`]. CLIDR_EL1, CTR_EL0 and the caches of the other
/// levels are those of the host. All methods take constant time.
#[derive(Clone, Debug)]
pub struct VirtualLlc {
    // Private: the first `colors.len()` entries of `host` are the colours, in
    // their order; their number is a power of two, at most that of the host.
    geometry: Geometry,
    colors: ColorSet,
    host: [Color; COLORS_MAX],
}

impl VirtualLlc {
    /// Returns the part of the host's cache that `colors` are.
    pub fn new(geometry: Geometry, colors: ColorSet) -> Result<Self, VllcError> {
        geometry.check(colors).map_err(VllcError::UnknownColors)?;
        if !colors.len().is_power_of_two() {
            return Err(VllcError::NotPowerOfTwo(colors));
        }
        let mut host = [Color(0); COLORS_MAX];
        for (entry, color) in host.iter_mut().zip(colors.iter()) {
            *entry = color;
        }
        Ok(Self { geometry, colors, host })
    }

    /// Returns its colours in the guest: as many, from 0 on.
    pub fn guest_colors(&self) -> ColorSet {
        ColorSet::first(self.colors.len())
    }

    /// Returns the cache that the guest sees: size and sets are scaled by the share of colours,
    /// ways and lines are those of the host.
    pub fn cache(&self) -> Cache {
        let share = self.geometry.colors() / self.colors.len();
        self.geometry.cache().with_fewer_sets(share.trailing_zeros())
    }

    /// Returns the value of CCSIDR_EL1 for the guest where the host reads `host`: the same, with
    /// the sets of the virtual cache.
    pub fn ccsidr(&self, host: Ccsidr) -> Result<Ccsidr, TooManySets> {
        host.with_sets(self.cache().sets())
    }

    /// Returns the colour in the guest of the page in which `ipa` lies.
    pub fn guest_color_at(&self, ipa: u64) -> Color {
        let color = self.geometry.color_of(ipa);
        Color(color.0 & (self.colors.len() as u8 - 1))
    }

    /// Returns the colour that the frame for the page in which `ipa` lies must have on the host.
    pub fn host_color_at(&self, ipa: u64) -> Color {
        self.host[self.guest_color_at(ipa).index()]
    }

    /// Returns the host's colour for a colour of the guest, if the guest has it.
    pub fn to_host(&self, guest: Color) -> Option<Color> {
        self.guest_colors().contains(guest).then_some(self.host[guest.index()])
    }

    /// Returns the guest's colour for a colour of the host, if the VM has it.
    pub fn to_guest(&self, host: Color) -> Option<Color> {
        self.colors.contains(host).then_some(Color(self.colors.rank(host) as u8))
    }
}

/// The reason why colours cannot be shown as a cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VllcError {
    /// The number of these colours is not a power of two, as that of the sets of
    /// a cache is (vCache section 4.1).
    NotPowerOfTwo(ColorSet),
    /// The host's cache does not have these colours.
    UnknownColors(UnknownColors),
}

impl fmt::Display for VllcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPowerOfTwo(colors) => write!(
                f,
                "a virtual cache needs 1, 2, 4, ... colours, a power of two, because its number \
                 of sets is one; {colors} are {}",
                colors.len()
            ),
            Self::UnknownColors(error) => error.fmt(f),
        }
    }
}

impl error::Error for VllcError {}

#[cfg(test)]
mod tests {
    use super::super::{CcsidrFormat, IndexBits};
    use super::*;

    /// QEMU's Cortex-A53: 1 MiB, 16 colours.
    fn host() -> Geometry {
        Geometry::new(Cache::new(1 << 20, 16, 64).unwrap(), 4096, IndexBits::AbovePage).unwrap()
    }

    fn colors(text: &str) -> ColorSet {
        text.parse().unwrap()
    }

    #[test]
    fn vcache_figure_4() {
        // Host colours 2 and 4 of 1..4 are colours 1 and 2 of the guest; counted
        // from 0 here.
        let llc = Cache::new(256 << 10, 16, 64).unwrap();
        let host = Geometry::new(llc, 4096, IndexBits::AbovePage).unwrap();
        let vllc = VirtualLlc::new(host, colors("1,3")).unwrap();
        assert_eq!(vllc.cache(), Cache::new(128 << 10, 16, 64).unwrap());
        let pages = [0x0000, 0x1000, 0x2000, 0x3fff].map(|ipa| vllc.host_color_at(ipa).index());
        assert_eq!(pages, [1, 3, 1, 3]);
        assert_eq!(vllc.to_guest(Color(3)), Some(Color(1)));
        assert_eq!(vllc.to_guest(Color(2)), None);
        assert_eq!(vllc.to_host(Color(0)), Some(Color(1)));
        assert_eq!(vllc.to_host(Color(2)), None);
    }

    #[test]
    fn the_guest_reads_a_smaller_cache() {
        let vllc = VirtualLlc::new(host(), colors("4-7")).unwrap();
        let host = Ccsidr { value: 0x707f_e07a, format: CcsidrFormat::Bits32 };
        let guest = vllc.ccsidr(host).unwrap();
        assert_eq!(guest.value, 0x701f_e07a);
        assert_eq!(guest.cache(), Cache::new(256 << 10, 16, 64));
        let host = Ccsidr { value: 0x0000_03ff_0000_007a, format: CcsidrFormat::Bits64 };
        assert_eq!(vllc.ccsidr(host).unwrap().value, 0x0000_00ff_0000_007a);
    }

    #[test]
    fn all_colors_are_the_cache_of_the_host() {
        let vllc = VirtualLlc::new(host(), host().all()).unwrap();
        assert_eq!(vllc.cache(), host().cache());
    }

    #[test]
    fn numbers_that_are_no_power_of_two_are_refused() {
        let refused = |set| VirtualLlc::new(host(), set).unwrap_err();
        assert_eq!(
            refused(colors("0-2")).to_string(),
            "a virtual cache needs 1, 2, 4, ... colours, a power of two, because its number of \
             sets is one; 0-2 are 3"
        );
        assert_eq!(refused(ColorSet::EMPTY), VllcError::NotPowerOfTwo(ColorSet::EMPTY));
        assert_eq!(refused(colors("15-16")).to_string(), "no such colours: 16; the cache has 0-15");
    }
}
