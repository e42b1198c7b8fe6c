//! The version of QEMU.

use std::fmt;
use std::process::Command;

use crate::error::Error;

/// The oldest QEMU that Bulkhead runs on.
pub const LEAST_VERSION: Version = Version { major: 10, minor: 0 };

/// A version of QEMU.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// Asks `program` for its version.
    pub fn of(program: &str) -> Result<Self, Error> {
        let output = Command::new(program)
            .arg("--version")
            .output()
            .map_err(|source| Error::NoQemu { program: program.into(), source })?;
        let text = String::from_utf8_lossy(&output.stdout);
        Self::parse(&text).ok_or_else(|| Error::UnknownVersion {
            program: program.into(),
            answer: text.lines().next().unwrap_or_default().into(),
        })
    }

    /// Reads `QEMU emulator version 10.0.2 (Debian ...)`.
    fn parse(text: &str) -> Option<Self> {
        let (_, version) = text.lines().next()?.split_once("version ")?;
        let mut numbers = version.split(|c: char| !c.is_ascii_digit());
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        Some(Self { major, minor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        let debian = "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\nCopyright (c)\n";
        assert_eq!(Version::parse(debian), Some(Version { major: 10, minor: 0 }));
        let old = Version::parse("QEMU emulator version 7.2.17").expect("a version");
        assert!(old < LEAST_VERSION);
        assert!(
            Version::parse("QEMU emulator version 11.1.50").expect("a version") > LEAST_VERSION
        );
        assert_eq!(Version::parse("qemu: not found"), None);
    }
}
