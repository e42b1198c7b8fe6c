//! What the interrupt controller of a VM looks like.

use core::fmt;

use super::VCPUS_MAX;

/// Shape of the virtual interrupt controller of one VM.
#[derive(Clone, Copy, Debug)]
pub struct GicConfig<'a> {
    /// Number of VCPUs, 1 to [`VCPUS_MAX`].
    pub vcpus: usize,
    /// Number of shared interrupts, up to 988; rounded up to a multiple of 32.
    pub spis: u32,
    /// Private interrupts (16 to 31) that are those of the PCPU, with the same
    /// INTID: 27 for the virtual timer.
    pub private: &'a [u32],
    /// Shared interrupts of assigned devices: INTID in the guest, INTID of the machine.
    pub shared: &'a [(u32, u32)],
}

/// Why a [`GicConfig`] cannot be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConfigError {
    /// The number of VCPUs is not in 1 to [`VCPUS_MAX`].
    Vcpus(usize),
    /// There are more than 988 shared interrupts.
    Spis(u32),
    /// This INTID of the guest or of the machine is out of its range.
    Intid(u32),
    /// This INTID of the guest or of the machine is given twice.
    Twice(u32),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vcpus(n) => write!(f, "{n} VCPUs: a virtual GIC has 1 to {VCPUS_MAX}"),
            Self::Spis(n) => write!(f, "{n} shared interrupts: a GIC has at most 988"),
            Self::Intid(intid) => write!(f, "interrupt {intid} is not in the range of its kind"),
            Self::Twice(intid) => write!(f, "interrupt {intid} is assigned twice"),
        }
    }
}

impl GicConfig<'_> {
    /// Finds the first thing that cannot be.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if !(1..=VCPUS_MAX).contains(&self.vcpus) {
            return Err(ConfigError::Vcpus(self.vcpus));
        }
        if self.spis > 988 {
            return Err(ConfigError::Spis(self.spis));
        }
        for (i, &intid) in self.private.iter().enumerate() {
            if !(16..32).contains(&intid) {
                return Err(ConfigError::Intid(intid));
            }
            if self.private[..i].contains(&intid) {
                return Err(ConfigError::Twice(intid));
            }
        }
        for (i, &(guest, physical)) in self.shared.iter().enumerate() {
            if !(32..32 + self.spis).contains(&guest) {
                return Err(ConfigError::Intid(guest));
            }
            if !(32..1020).contains(&physical) {
                return Err(ConfigError::Intid(physical));
            }
            for &(other_guest, other_physical) in &self.shared[..i] {
                if other_guest == guest {
                    return Err(ConfigError::Twice(guest));
                }
                if other_physical == physical {
                    return Err(ConfigError::Twice(physical));
                }
            }
        }
        Ok(())
    }
}
