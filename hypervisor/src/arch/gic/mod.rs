//! The machine's interrupt controller, a GICv2 or a GICv3: the functions that the rest of the hypervisor uses.
//!
//! Priority drop and deactivation are separate (EOImode 1): an interrupt for the hypervisor is
//! acknowledged, ended and deactivated here; one for a guest is acknowledged and ended here and
//! deactivated by the guest through its list register.
//!
//! The version is determined once, before the first line of Rust runs (`is_v2`): code for a GICv3
//! has at most one idle instruction for that.
//!
//! A guest has the version of its machine. With a GICv2, the guest's CPU interface is the virtual
//! one of the hardware, mapped at stage 2, and each CPU reaches only its own private interrupts: a
//! change for a VCPU of another CPU is noted for that CPU.

mod distributor;
#[cfg(target_os = "none")]
mod lists;
#[cfg(target_os = "none")]
mod machine;
mod private;
#[cfg(target_os = "none")]
mod version;

#[cfg(target_os = "none")]
pub use lists::{Lists, SavedLists};
#[cfg(target_os = "none")]
pub use machine::{Frames, init, init_cpu, prefer_private, private, shared};
#[cfg(target_os = "none")]
pub use version::is_v2;
#[cfg(target_os = "none")]
pub(super) use version::{site, write_on_v3};

#[cfg(target_os = "none")]
pub(super) use distributor::interface;
pub use distributor::{Distributor, Version};
pub use private::Private;

use core::fmt;

/// Maintenance interrupt of the virtual CPU interface.
pub const MAINTENANCE: u32 = 25;
/// Interrupt of the hypervisor's physical timer.
pub const HYPERVISOR_TIMER: u32 = 26;

/// Affinity fields of an MPIDR value, which are also those of GICD_IROUTER.
pub(super) const AFFINITY: u64 = 0xff_00ff_ffff;

/// Priority of physical interrupts. Guests' priorities act in list registers. Some go before all
/// others ([`Private::prefer`]).
const PRIORITY: u32 = 0xa0a0_a0a0;
/// Priority of software-generated interrupts, the last: other CPUs cause them.
const PRIORITY_OF_SGIS: u32 = 0xc0c0_c0c0;

/// Number of reads of a register at boot until hardware counts as stuck.
pub(super) const BOOT_READS: u32 = 1_000_000;
/// The same while guests run: a few microseconds, because a read of a device takes a CPU tens of nanoseconds.
/// A controller needs less time than that for all that EL2 waits for.
const SETTLE_READS: u32 = 64;

/// Returns true if this INTID of an acknowledgement says that there is no interrupt to end (IHI 0069, 2.2.1). All
/// others are ended, also those from 1056 on, or the CPU would never get one of that priority again.
pub const fn is_special(intid: u32) -> bool {
    matches!(intid, 1020..=1023)
}

/// First INTID of LPIs: they are never active.
pub const LPIS: u32 = 8192;

/// Acknowledges the most urgent interrupt; returns its INTID, from 1020 if there is none.
#[cfg(target_os = "none")]
#[inline(always)]
pub fn acknowledge() -> u32 {
    if is_v2() { super::gicv2::acknowledge() } else { super::gicv3::acknowledge() }
}

/// Drops the priority of an acknowledged interrupt: others can fire again.
#[cfg(target_os = "none")]
#[inline(always)]
pub fn end(intid: u32) {
    write_on_v3!("icc_eoir1_el1", u64::from(intid), { return super::gicv2::end(intid) });
    super::cpu::isb();
}

/// Deactivates an ended interrupt: it can fire again.
#[cfg(target_os = "none")]
#[inline(always)]
pub fn deactivate(intid: u32) {
    write_on_v3!("icc_dir_el1", u64::from(intid), { return super::gicv2::deactivate(intid) });
    super::cpu::isb();
}

/// Sends software-generated interrupt `id` (0 to 15) to the CPU with this affinity.
///
/// Earlier writes to memory are visible to the CPU that takes the interrupt.
#[cfg(target_os = "none")]
#[inline]
pub fn send_sgi(affinity: u64, id: u32) {
    if is_v2() {
        super::gicv2::send_sgi(affinity, id);
    } else {
        super::gicv3::send_sgi(affinity, id);
    }
}

/// The reason why the interrupt controller cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GicError {
    /// The registers at the distributor's address are too few, or not those of the planned
    /// version: that, and the architecture revision in GICD_PIDR2.
    Version(Version, u64),
    /// No redistributor in the planned range serves the CPU with this affinity.
    NoRedistributor(u64),
    /// The CPU with this affinity has these interfaces of a GICv2, one bit each, and not the
    /// one with the number in its affinity.
    Interface(u64, u64),
    /// The planned frames of a GICv2 are too small.
    Frames,
    /// This register never showed that a change is complete.
    Stuck(&'static str),
    /// Firmware left message-based interrupts of the CPU with this affinity enabled, which cannot be
    /// disabled any more.
    Lpis(u64),
    /// The CPU does not let EL2 use system registers: ICC_SRE_EL2.
    NoSystemRegisters,
    /// The controller was not set up before the first CPU.
    NotInitialised,
}

impl fmt::Display for GicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHECK: &str = "check reg of /platform/interrupt-controller";
        f.write_str("interrupt controller: ")?;
        match self {
            Self::Version(version, revision) => write!(
                f,
                "no GICv{} at the planned address (architecture revision {revision}): {CHECK}",
                u64::from(version.number())
            ),
            Self::NoRedistributor(affinity) => write!(
                f,
                "no redistributor for the CPU with affinity {affinity:#x} in the planned range: \
                 {CHECK}"
            ),
            Self::Interface(affinity, mask) => write!(
                f,
                "the CPU with affinity {affinity:#x} has the interfaces {mask:#x}: only GICv2 \
                 machines whose interfaces are numbered as their CPUs can be driven"
            ),
            Self::Frames => write!(f, "the planned frames are too small: {CHECK}"),
            Self::Stuck(register) => write!(f, "{register} does not settle: hardware fault"),
            Self::Lpis(affinity) => write!(
                f,
                "the firmware left LPIs of the CPU with affinity {affinity:#x} enabled for good \
                 (GICR_CTLR.EnableLPIs): turn its use of PCIe or of the ITS off"
            ),
            Self::NoSystemRegisters => f.write_str("firmware keeps EL2 from ICC_SRE_EL2"),
            Self::NotInitialised => f.write_str("not initialised"),
        }
    }
}

/// Reads until `done`. Returns false if that does not happen within the limit of reads.
pub(super) fn poll(reads: u32, mut done: impl FnMut() -> bool) -> bool {
    (0..reads).any(|_| {
        let done = done();
        if !done {
            core::hint::spin_loop();
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls hardware that settles after `settles_after` reads; returns the number of reads, and whether it has settled.
    fn reads_of(settles_after: u32) -> (u32, bool) {
        let mut reads = 0;
        let settled = poll(SETTLE_READS, || {
            reads += 1;
            reads >= settles_after
        });
        (reads, settled)
    }

    #[test]
    fn only_four_numbers_are_no_interrupts() {
        let special: Vec<_> =
            (0..=u32::from(u16::MAX)).filter(|&intid| is_special(intid)).collect();
        assert_eq!(special, [1020, 1021, 1022, 1023]);
    }

    #[test]
    fn guests_wait_for_few_reads_of_the_controller() {
        assert_eq!(reads_of(1), (1, true));
        assert_eq!(reads_of(64), (64, true));
        assert_eq!(reads_of(65), (64, false));
        assert_eq!(reads_of(u32::MAX), (64, false));
    }
}
