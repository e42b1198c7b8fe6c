//! The page colours of a machine.

use std::{error, fmt};

use policy::color::{Geometry, GeometryError, Stripe, StripeError};
use units::Bytes;

use super::Platform;
use crate::plan::PAGE;

impl Platform {
    /// Returns the colours of the last-level cache: at least two.
    ///
    /// # Errors
    ///
    /// The machine has no cache that colours can divide.
    pub fn colors(&self) -> Result<Geometry, NoColors> {
        let cache = self.last_level_cache().ok_or(NoColors::NotShared)?;
        let geometry = Geometry::new(cache.shape, PAGE.0, cache.color_bits);
        let geometry = geometry.map_err(NoColors::Geometry)?;
        if geometry.colors() == 1 {
            return Err(NoColors::One(geometry));
        }
        Stripe::new(PAGE.0, geometry.mask(), geometry.all(), 0).map_err(NoColors::Stripe)?;
        Ok(geometry)
    }
}

/// Shows how the number of colours is computed: `1 MiB / (16 ways x 4 KiB)`.
pub(crate) fn division(geometry: Geometry) -> String {
    let cache = geometry.cache();
    let slices = match cache.slices() {
        1 => String::new(),
        slices => format!("{slices} slices x "),
    };
    let (size, unit) = (Bytes(cache.bytes()), Bytes(geometry.color_bytes()));
    format!("{size} / ({} ways x {slices}{unit})", cache.ways())
}

/// The reason why a machine has no page colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoColors {
    /// No CPUs share a cache, so that there is none to divide.
    NotShared,
    /// There is one colour, which is the whole cache.
    One(Geometry),
    /// The cache cannot be coloured.
    Geometry(GeometryError),
    /// Memory of these colours cannot be given out.
    Stripe(StripeError),
}

impl fmt::Display for NoColors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotShared => f.write_str("its CPUs share no cache"),
            Self::One(geometry) => {
                write!(f, "its last-level cache is one colour: {}", division(*geometry))
            }
            Self::Geometry(error) => write!(f, "its last-level cache: {error}"),
            Self::Stripe(error) => write!(f, "its last-level cache: {error}"),
        }
    }
}

impl error::Error for NoColors {}

#[cfg(test)]
mod tests {
    use super::*;

    fn colors(board: &str) -> Result<Geometry, NoColors> {
        Platform::named(board).unwrap().colors()
    }

    /// vCache, section 6; XvIso, section III-B; what QEMU's Cortex-A53 shows.
    #[test]
    fn boards_have_the_published_colors() {
        for (board, count, mask, shown) in [
            ("raspberry-pi-2", 8, 0xe000, "512 KiB / (8 ways x 8 KiB)"),
            ("exynos-5422", 32, 0x1_f000, "2 MiB / (16 ways x 4 KiB)"),
            ("i7-2600", 32, 0x1_f000, "8 MiB / (16 ways x 4 slices x 4 KiB)"),
            ("qemu-raspberry-pi-2", 8, 0xe000, "512 KiB / (8 ways x 8 KiB)"),
            ("qemu-exynos-5422", 32, 0x1_f000, "2 MiB / (16 ways x 4 KiB)"),
            ("qemu-virt", 16, 0xf000, "1 MiB / (16 ways x 4 KiB)"),
            ("zcu102", 16, 0xf000, "1 MiB / (16 ways x 4 KiB)"),
        ] {
            let geometry = colors(board).unwrap();
            assert_eq!((geometry.colors(), geometry.mask()), (count, mask), "{board}");
            assert_eq!(division(geometry), shown);
        }
    }

    #[test]
    fn machines_without_colors_say_why() {
        assert_eq!(colors("athlon-64-x2"), Err(NoColors::NotShared));
        let changed = |from: &str, to: &str| {
            let board = include_str!("../../../../systems/platforms/qemu-virt.toml");
            let text = board.replace(from, to);
            Platform::from_toml("changed.toml", &text).unwrap().colors().unwrap_err().to_string()
        };
        assert_eq!(
            changed("\"1MiB\"", "\"64KiB\""),
            "its last-level cache is one colour: 64 KiB / (16 ways x 4 KiB)"
        );
        assert_eq!(
            changed("\"1MiB\"", "\"32KiB\""),
            "its last-level cache: no colours: one way of the cache has 2 KiB, less than one \
             page or one way of the first-level cache, 4 KiB"
        );
        assert_eq!(
            changed("\"1MiB\"", "\"8MiB\""),
            "its last-level cache: 128 colours, but at most 64 are supported: a larger page \
             gives fewer"
        );
        assert_eq!(
            changed("\"1MiB\"", "\"8MiB\"\ncolor_bits = \"above-l1\""),
            "its last-level cache: colours repeat after 128 pages, at most 64 are possible"
        );
    }

    #[test]
    fn the_first_level_must_be_known_to_lie_above_it() {
        let board = include_str!("../../../../systems/platforms/raspberry-pi-2.toml");
        let text = board.replace("kind = \"data\"", "kind = \"instruction\"");
        let errors = Platform::from_toml("x.toml", &text).unwrap_err().to_string();
        assert!(errors.contains("the platform has no first-level data cache"), "{errors}");
        assert!(errors.contains("color_bits = \"above-l1\""), "{errors}");
        let text = board.replace("above-l1", "above-l2");
        let errors = Platform::from_toml("x.toml", &text).unwrap_err().to_string();
        assert!(errors.contains("expected `above-page` or `above-l1`"), "{errors}");
    }
}
