//! The list registers of VCPUs: in the CPU, or kept while another VCPU has it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{is_v2, write_on_v3};
use crate::arch::gicv3::Copying;
use crate::arch::{cpu, gicv2, gicv3};
use crate::vdev::gic::{LISTS_MAX, ListRegister, ListRegisters};

/// Bit of the control register, the same in both versions: the virtual CPU interface is on.
const ENABLE: u64 = 1 << 0;
/// Maintenance interrupt while no list register is pending.
const NONE_PENDING: u64 = 1 << 3;

/// The list registers of a VCPU of the executing CPU.
///
/// Which of them are [`empty`](ListRegisters::empty) is known as of the last context
/// synchronisation: an exception, [`super::end`] before an injection, or
/// [`synchronise`](ListRegisters::synchronise). `cargo xtask size` looks at all ways through the code for that.
#[derive(Clone, Copy, Debug)]
pub struct Lists(Option<&'static SavedLists>);

/// The virtual CPU interface of a VCPU that is not loaded. Only its own CPU uses it. List registers
/// have the layout of a GICv3.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct SavedLists {
    pub(in crate::arch) lists: [AtomicU64; LISTS_MAX],
    /// ICH_HCR_EL2 and ICH_VMCR_EL2, or GICH_HCR and GICH_VMCR.
    pub(in crate::arch) control: AtomicU64,
    pub(in crate::arch) machine: AtomicU64,
    /// ICH_AP0R<n>_EL2 and ICH_AP1R<n>_EL2, for each n, or GICH_APR.
    pub(in crate::arch) active: [[AtomicU64; 2]; 4],
    /// The value of the register that says which list registers are empty, if all are, and whether a GICv3 has many
    /// active priorities registers.
    pub(in crate::arch) all: AtomicU64,
}

impl SavedLists {
    /// A virtual CPU interface that is off.
    pub const fn new() -> Self {
        Self {
            lists: [const { AtomicU64::new(0) }; LISTS_MAX],
            control: AtomicU64::new(0),
            machine: AtomicU64::new(0),
            active: [const { [const { AtomicU64::new(0) }; 2] }; 4],
            all: AtomicU64::new(0),
        }
    }
}

impl Default for SavedLists {
    fn default() -> Self {
        Self::new()
    }
}

impl Lists {
    /// The list registers of the VCPU that is loaded.
    pub const LOADED: Self = Self(None);

    /// Returns the saved list registers of a VCPU of this CPU that is not loaded.
    #[inline(always)]
    pub const fn saved(lists: &'static SavedLists) -> Self {
        Self(Some(lists))
    }

    #[inline(never)]
    fn read_bits(self, n: usize) -> u64 {
        match self.0 {
            Some(saved) => saved.lists.get(n).map_or(0, |list| list.load(Relaxed)),
            None if is_v2() => gicv2::read_list(n),
            None => gicv3::read_bits(n),
        }
    }

    #[inline(never)]
    fn write_bits(self, n: usize, bits: u64) {
        match self.0 {
            Some(saved) => {
                if let Some(list) = saved.lists.get(n) {
                    list.store(bits, Relaxed);
                }
            }
            None if is_v2() => gicv2::write_list(n, bits),
            None => gicv3::write_bits(n, bits),
        }
    }

    /// Takes the virtual CPU interface of this CPU from its VCPU. Returns true if a list register
    /// is in use, or may be. The context is synchronised.
    #[inline(always)]
    pub fn save(to: &SavedLists) -> bool {
        if is_v2() {
            return gicv2::save(to);
        }
        let used = gicv3::empty() != to.all.load(Relaxed);
        gicv3::copy(to, Copying::Save);
        used
    }

    /// Gives it to a VCPU.
    #[inline(always)]
    pub fn load(from: &SavedLists) {
        if is_v2() {
            return gicv2::load(from);
        }
        gicv3::copy(from, Copying::Load);
    }

    fn set_control(self, value: u64) {
        match self.0 {
            Some(saved) => saved.control.store(value, Relaxed),
            None if is_v2() => gicv2::set_control(value),
            None => gicv3::set_control(value),
        }
    }
}

impl ListRegisters for Lists {
    #[inline]
    fn count(&self) -> usize {
        if is_v2() { gicv2::count() } else { gicv3::count() }
    }

    #[inline(always)]
    fn synchronise(&self) {
        cpu::isb();
    }

    #[inline(always)]
    fn empty(&self) -> u32 {
        match self.0 {
            None if is_v2() => gicv2::empty(),
            None => gicv3::empty() as u32,
            Some(_) => self.empty_when_saved(),
        }
    }

    #[inline]
    fn read(&self, n: usize) -> ListRegister {
        ListRegister::from_bits(self.read_bits(n))
    }

    #[inline(always)]
    fn write(&self, n: usize, content: ListRegister) {
        if n == 0 && self.0.is_none() {
            write_first(content.bits());
        } else {
            self.write_bits(n, content.bits());
        }
    }

    #[inline]
    fn want_maintenance(&self) -> bool {
        match self.0 {
            Some(_) => true,
            None if is_v2() => gicv2::misr() != 0,
            None => gicv3::misr() != 0,
        }
    }

    #[inline]
    fn notify_when_none_pending(&self, on: bool) {
        self.set_control(ENABLE | if on { NONE_PENDING } else { 0 });
    }

    /// Resets the list registers of a VCPU that is not loaded, as all that start.
    fn start(&self) {
        if let Some(saved) = self.0 {
            for word in saved.lists.iter().chain(saved.active.as_flattened()) {
                word.store(0, Relaxed);
            }
            let (many, reset) = if is_v2() {
                (0, gicv2::VMCR_RESET)
            } else {
                (gicv3::many_priorities(), gicv3::VMCR_RESET)
            };
            saved.all.store(((1 << self.count()) - 1) | many, Relaxed);
            saved.machine.store(reset, Relaxed);
            saved.control.store(ENABLE, Relaxed);
        }
    }

    /// The registers are written when the next VCPU is loaded.
    fn stop(&self) {
        self.set_control(0);
    }
}

/// Changes list register 0 of the CPU.
#[inline(always)]
fn write_first(bits: u64) {
    write_on_v3!("ich_lr0_el2", bits, { return gicv2::write_list(0, bits) });
}

impl Lists {
    /// Returns the list registers that hold neither an interrupt nor the end of one that is yet to be noticed.
    #[inline(never)]
    fn empty_when_saved(self) -> u32 {
        (0..self.count()).fold(0, |set, n| {
            let entry = self.read(n);
            let used = entry.is_pending() || entry.is_active() || entry.is_watched();
            if used { set } else { set | 1 << n }
        })
    }
}
