//! The machines that QEMU emulates and the plugin knows.

/// The architecture of the CPUs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Target {
    Aarch64,
    X86,
}

impl Target {
    /// The target that QEMU calls so.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "aarch64" => Some(Self::Aarch64),
            "x86_64" => Some(Self::X86),
            _ => None,
        }
    }

    /// QEMU's program for it.
    pub fn program(self) -> &'static str {
        match self {
            Self::Aarch64 => "qemu-system-aarch64",
            Self::X86 => "qemu-system-x86_64",
        }
    }
}
