//! The colours of the last-level cache that the registers of this processor show.

use core::fmt;

use abi::limits::PAGE_BYTES;
use policy::color::{CacheError, Ccsidr, ClidrError, Geometry, GeometryError, IndexBits};

/// Bytes of a page.
pub(super) const PAGE: u64 = PAGE_BYTES;

/// The reason why there are no colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoColors {
    /// There is no shared cache in the registers.
    Level(ClidrError),
    /// The cache cannot be coloured.
    Cache(CacheError),
    /// Its colours cannot be used.
    Geometry(GeometryError),
}

impl fmt::Display for NoColors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(error) => error.fmt(f),
            Self::Cache(error) => error.fmt(f),
            Self::Geometry(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NoColors {}

/// The colours of a cache for pages of 4 KiB: all bits of the set index above the page offset (vCache,
/// section 2.3).
pub fn geometry_of(ccsidr: Ccsidr) -> Result<Geometry, NoColors> {
    let cache = ccsidr.cache().map_err(NoColors::Cache)?;
    Geometry::new(cache, PAGE, IndexBits::AbovePage).map_err(NoColors::Geometry)
}

/// The colours of the last-level cache of this processor. Leaves it selected in CSSELR_EL1.
#[cfg(target_os = "none")]
pub fn geometry() -> Result<Geometry, NoColors> {
    use crate::arch::cache;
    use policy::color::{CcsidrFormat, Clidr};

    let level = Clidr(cache::clidr()).last_level().map_err(NoColors::Level)?;
    cache::select(u64::from(level - 1) << 1);
    let format = if cache::has_ccidx() { CcsidrFormat::Bits64 } else { CcsidrFormat::Bits32 };
    geometry_of(Ccsidr { value: cache::ccsidr(), format })
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::color::CcsidrFormat;

    #[test]
    fn a_virtual_cache_of_four_colours_has_four() {
        // The last-level cache of a VM with colours 4-7 of QEMU's Cortex-A53.
        let registers = Ccsidr { value: 0x701f_e07a, format: CcsidrFormat::Bits32 };
        assert_eq!(geometry_of(registers).unwrap().to_string(), "4 colours, address bits [13:12]");
    }

    #[test]
    fn a_cache_smaller_than_a_page_per_way_has_none() {
        let registers = Ccsidr { value: 0x0001_e07a, format: CcsidrFormat::Bits32 };
        let error = geometry_of(registers).unwrap_err();
        assert!(error.to_string().starts_with("no colours: one way"), "{error}");
    }
}
