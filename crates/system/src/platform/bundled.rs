//! Boards that the tools know by name.

use super::Platform;
use crate::diagnostic::{Diagnostic, Errors};
use crate::suggest;

macro_rules! boards {
    ($($name:literal),* $(,)?) => {
        /// Names of the boards that the tools know.
        pub const NAMES: &[&str] = &[$($name),*];

        fn text(name: &str) -> Option<&'static str> {
            Some(match name {
                $($name => include_str!(concat!("../../platforms/", $name, ".toml")),)*
                _ => return None,
            })
        }
    };
}

boards![
    "qemu-virt",
    "qemu-virt-gicv2",
    "qemu-exynos-5422",
    "qemu-raspberry-pi-2",
    "zcu102",
    "raspberry-pi-4",
    "raspberry-pi-2",
    "exynos-5422",
    "linux-kvm",
    "i7-2600",
    "athlon-64-x2",
];

pub(super) fn named(name: &str) -> Result<Platform, Errors> {
    match text(name) {
        Some(text) => Platform::from_toml(&format!("systems/platforms/{name}.toml"), text),
        None => Err(Diagnostic::new(
            "unknown-name",
            format!("there is no board `{}`", name.escape_debug()),
        )
        .help(help(name))
        .into()),
    }
}

/// Returns the help for a name that is not a board.
pub(super) fn help(name: &str) -> String {
    format!("{}; a path that ends in `.toml` names a file of your own", suggest::help(name, NAMES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_file_is_valid_and_called_like_its_board() {
        for name in NAMES {
            let platform = named(name).unwrap_or_else(|errors| panic!("{errors}"));
            assert_eq!(platform.name, *name);
        }
    }

    #[test]
    fn an_unknown_board_gets_a_suggestion() {
        let text = named("qemu-vrit").unwrap_err().to_string();
        assert!(text.contains("did you mean `qemu-virt`?"), "{text}");
    }
}
