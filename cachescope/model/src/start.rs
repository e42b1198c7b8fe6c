//! The start of counting.

/// The first instruction of a run that the model sees. The part of the run before it leaves
/// no trace: caches are empty then, all counts and clocks are zero.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Start {
    /// The first one below the hypervisor's exception level. What a hypervisor
    /// does before it starts a guest is not counted; without a hypervisor it is
    /// the first of all.
    Guest,
    /// The first of all.
    Boot,
}

impl Start {
    /// The start with this name: `guest` or `boot`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "guest" => Some(Self::Guest),
            "boot" => Some(Self::Boot),
            _ => None,
        }
    }

    /// Its name, as [`Start::from_name`] takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::Boot => "boot",
        }
    }
}
