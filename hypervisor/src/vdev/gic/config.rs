//! The configuration of the interrupt controller of a VM.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::VCPUS_MAX;

/// Shape of the virtual interrupt controller of one VM.
#[derive(Clone, Copy, Debug)]
pub struct GicConfig<'a> {
    /// True if it is a GICv2, otherwise a GICv3.
    pub v2: bool,
    /// Number of VCPUs, 1 to [`VCPUS_MAX`].
    pub vcpus: usize,
    /// Number of shared interrupts, up to 988; rounded up to a multiple of 32.
    pub spis: u32,
    /// Private interrupts (16 to 31) of the PCPU with the same INTID: 27 for the virtual timer.
    pub private: &'a [u32],
    /// Shared interrupts of assigned devices: INTID in the guest, INTID of the machine.
    pub shared: &'a [(u32, u32)],
}

/// The reason why a [`GicConfig`] is invalid.
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
            Self::Spis(n) => {
                write!(f, "{} shared interrupts: a GIC has at most 988", u64::from(*n))
            }
            Self::Intid(intid) => {
                write!(f, "interrupt {} is not in the range of its kind", u64::from(*intid))
            }
            Self::Twice(intid) => {
                write!(f, "interrupt {} is assigned twice", u64::from(*intid))
            }
        }
    }
}

impl GicConfig<'_> {
    /// Returns the private interrupts as a set.
    pub(super) fn private_set(&self) -> Result<u32, ConfigError> {
        let mut set = 0;
        for &intid in self.private {
            if !(16..32).contains(&intid) {
                return Err(ConfigError::Intid(intid));
            }
            if set & 1 << intid != 0 {
                return Err(ConfigError::Twice(intid));
            }
            set |= 1 << intid;
        }
        Ok(set)
    }

    /// For each physical INTID from 32 the guest's, 0 where not assigned.
    pub(super) fn guest_intids(&self) -> Result<Vec<u16>, ConfigError> {
        let last = self.shared.iter().map(|&(_, physical)| physical).max();
        let mut intids = vec![0; last.unwrap_or(0).clamp(31, 1019) as usize - 31];
        for &(guest, physical) in self.shared {
            if !(32..32 + self.spis).contains(&guest) {
                return Err(ConfigError::Intid(guest));
            }
            let slot = intids.get_mut((physical as usize).wrapping_sub(32));
            let slot = slot.ok_or(ConfigError::Intid(physical))?;
            if *slot != 0 {
                return Err(ConfigError::Twice(physical));
            }
            *slot = guest as u16;
        }
        Ok(intids)
    }
}
