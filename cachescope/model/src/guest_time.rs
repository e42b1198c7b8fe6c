//! The time that guests see.

/// The time that guests and their hypervisor read from their counters, and by which their timers run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GuestTime {
    /// QEMU's: the instructions of all CPUs.
    Qemu,
    /// The model's, with all that CPUs wait for memory.
    Model,
}

impl GuestTime {
    /// The time with this name: `qemu` or `model`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "qemu" => Some(Self::Qemu),
            "model" => Some(Self::Model),
            _ => None,
        }
    }

    /// Its name, as [`GuestTime::from_name`] takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qemu => "qemu",
            Self::Model => "model",
        }
    }
}
