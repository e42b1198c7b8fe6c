//! Virtual CPU interface: ICH_* system registers of the executing CPU, and their contents
//! while another VCPU has the CPU.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::cpu_interface::{read_register, write_register};
use crate::vdev::gic::{LISTS_MAX, ListRegister, ListRegisters};

/// ICH_HCR_EL2: the virtual CPU interface is on.
const ENABLE: u64 = 1 << 0;
/// ICH_HCR_EL2: maintenance interrupt while no list register is pending.
const NONE_PENDING: u64 = 1 << 3;
/// ICH_VMCR_EL2 after reset: groups disabled, all priorities masked, group 0 as FIQ.
const VMCR_RESET: u64 = 1 << 3;
/// ICC_SRE_EL1 for the guest: system registers, no bypass.
const SRE: u64 = 0b111;

/// The list registers of a VCPU of the executing CPU.
///
/// What is [`empty`](ListRegisters::empty) is known as of the last context
/// synchronisation: an exception, or [`super::end`] before an injection.
#[derive(Clone, Copy, Debug)]
pub struct Lists(Option<&'static SavedLists>);

/// The virtual CPU interface of a VCPU that is not loaded. Only its own CPU uses it.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct SavedLists {
    lists: [AtomicU64; LISTS_MAX],
    /// ICH_HCR_EL2 and ICH_VMCR_EL2.
    control: AtomicU64,
    machine: AtomicU64,
    /// ICH_AP0R<n>_EL2 and ICH_AP1R<n>_EL2, for each n.
    active: [[AtomicU64; 2]; 4],
    /// ICH_ELRSR_EL2 of this CPU with all list registers empty, and [`MANY_PRIORITIES`] if it has.
    all: AtomicU64,
}

/// There are more active priorities registers than one for each group.
const MANY_PRIORITIES: u64 = 1 << 32;

impl SavedLists {
    /// A virtual CPU interface that is off.
    pub const fn new() -> Self {
        Self {
            lists: [const { AtomicU64::new(0) }; LISTS_MAX],
            control: AtomicU64::new(0),
            machine: AtomicU64::new(VMCR_RESET),
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

/// A copy between registers and memory.
enum Copy {
    Save,
    Load,
}

const CONTROL: usize = core::mem::offset_of!(SavedLists, control);
const ACTIVE: usize = core::mem::offset_of!(SavedLists, active);

/// Copies two registers from or to two words of a [`SavedLists`], at `$at` and behind it.
macro_rules! copy_two {
    ($copy:ident, $saved:ident, $($first:literal $second:literal: $at:expr),*) => {
        $(
            // SAFETY: the words are atomic ones of the `SavedLists`, which is `repr(C)`; only its
            // own CPU uses it. The registers are the guest's.
            unsafe {
                match $copy {
                    Copy::Save => core::arch::asm!(
                        concat!("mrs {first}, ", $first), concat!("mrs {second}, ", $second),
                        "stp {first}, {second}, [{saved}, #{at}]",
                        saved = in(reg) $saved, at = const $at,
                        first = out(reg) _, second = out(reg) _, options(nostack, preserves_flags)
                    ),
                    Copy::Load => core::arch::asm!(
                        "ldp {first}, {second}, [{saved}, #{at}]",
                        concat!("msr ", $first, ", {first}"), concat!("msr ", $second, ", {second}"),
                        saved = in(reg) $saved, at = const $at,
                        first = out(reg) _, second = out(reg) _, options(nostack, preserves_flags)
                    ),
                }
            }
        )*
    };
}

macro_rules! each_list_register {
    ($($number:literal $register:literal),*) => {
        impl Lists {
            #[inline(never)]
            fn read_bits(self, n: usize) -> u64 {
                if let Some(saved) = self.0 {
                    return saved.lists.get(n).map_or(0, |list| list.load(Relaxed));
                }
                match n {
                    $($number => read_register!($register),)*
                    _ => 0,
                }
            }

            #[inline(never)]
            fn write_bits(self, n: usize, bits: u64) {
                if let Some(list) = self.0.and_then(|saved| saved.lists.get(n)) {
                    return list.store(bits, Relaxed);
                }
                match n {
                    $($number => write_register!($register, bits),)*
                    _ => {}
                }
            }
        }
    };
}

each_list_register! {
    0 "ich_lr0_el2", 1 "ich_lr1_el2", 2 "ich_lr2_el2", 3 "ich_lr3_el2",
    4 "ich_lr4_el2", 5 "ich_lr5_el2", 6 "ich_lr6_el2", 7 "ich_lr7_el2",
    8 "ich_lr8_el2", 9 "ich_lr9_el2", 10 "ich_lr10_el2", 11 "ich_lr11_el2",
    12 "ich_lr12_el2", 13 "ich_lr13_el2", 14 "ich_lr14_el2", 15 "ich_lr15_el2"
}

impl Lists {
    /// Those of the VCPU that is loaded.
    pub const LOADED: Self = Self(None);

    /// Those of a VCPU of this CPU that is not loaded.
    #[inline(always)]
    pub const fn saved(lists: &'static SavedLists) -> Self {
        Self(Some(lists))
    }

    /// Number of preemption bits (ICH_VTR_EL2.PREbits): 5 to 7. There are 32 priorities in
    /// each of 1, 2 or 4 registers per group.
    fn preemption_bits() -> u64 {
        (read_register!("ich_vtr_el2") >> 26 & 7) + 1
    }

    #[inline(always)]
    fn copy(saved: &SavedLists, copy: Copy) {
        copy_two!(copy, saved, "ich_hcr_el2" "ich_vmcr_el2": CONTROL,
            "ich_ap0r0_el2" "ich_ap1r0_el2": ACTIVE,
            "ich_lr0_el2" "ich_lr1_el2": 0, "ich_lr2_el2" "ich_lr3_el2": 16);
        if saved.all.load(Relaxed) > 0xf {
            Self::copy_rest(saved, copy);
        }
    }

    /// What few CPUs have.
    #[inline(never)]
    fn copy_rest(saved: &SavedLists, copy: Copy) {
        let bits = Self::preemption_bits();
        if bits >= 6 {
            copy_two!(copy, saved, "ich_ap0r1_el2" "ich_ap1r1_el2": ACTIVE + 16);
        }
        if bits >= 7 {
            copy_two!(copy, saved, "ich_ap0r2_el2" "ich_ap1r2_el2": ACTIVE + 32,
                "ich_ap0r3_el2" "ich_ap1r3_el2": ACTIVE + 48);
        }
        for n in 4..Self::LOADED.count() {
            let list = &saved.lists[n % LISTS_MAX];
            match copy {
                Copy::Save => list.store(Self::LOADED.read_bits(n), Relaxed),
                Copy::Load => Self::LOADED.write_bits(n, list.load(Relaxed)),
            }
        }
    }

    /// Lets guests of this CPU use it.
    pub(super) fn init() {
        write_register!("icc_sre_el1", SRE);
    }

    /// Takes the virtual CPU interface of this CPU from its VCPU; whether a list register is
    /// in use, or may be.
    #[inline(always)]
    pub fn save(to: &SavedLists) -> bool {
        Self::copy(to, Copy::Save);
        read_register!("ich_elrsr_el2") != to.all.load(Relaxed)
    }

    /// Gives it to a VCPU.
    #[inline(always)]
    pub fn load(from: &SavedLists) {
        Self::copy(from, Copy::Load);
    }

    #[inline(always)]
    fn set_control(self, value: u64) {
        match self.0 {
            Some(saved) => saved.control.store(value, Relaxed),
            None => write_register!("ich_hcr_el2", value),
        }
    }
}

impl ListRegisters for Lists {
    #[inline]
    fn count(&self) -> usize {
        (read_register!("ich_vtr_el2") & 0xf) as usize + 1
    }

    #[inline(always)]
    fn empty(&self) -> u32 {
        match self.0 {
            None => read_register!("ich_elrsr_el2") as u32,
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
            write_register!("ich_lr0_el2", content.bits());
        } else {
            self.write_bits(n, content.bits());
        }
    }

    #[inline]
    fn want_maintenance(&self) -> bool {
        self.0.is_some() || read_register!("ich_misr_el2") != 0
    }

    #[inline]
    fn notify_when_none_pending(&self, on: bool) {
        self.set_control(ENABLE | if on { NONE_PENDING } else { 0 });
    }

    /// Of a VCPU that is not loaded, as all that start.
    fn start(&self) {
        if let Some(saved) = self.0 {
            for word in saved.lists.iter().chain(saved.active.as_flattened()) {
                word.store(0, Relaxed);
            }
            let many = if Self::preemption_bits() > 5 { MANY_PRIORITIES } else { 0 };
            saved.all.store(((1 << self.count()) - 1) | many, Relaxed);
            saved.machine.store(VMCR_RESET, Relaxed);
            saved.control.store(ENABLE, Relaxed);
        }
    }

    /// The registers are written when the next VCPU is loaded.
    fn stop(&self) {
        self.set_control(0);
    }
}

impl Lists {
    /// Which hold neither an interrupt nor the end of one that is yet to be noticed.
    #[inline(never)]
    fn empty_when_saved(self) -> u32 {
        (0..self.count()).fold(0, |set, n| {
            let entry = self.read(n);
            let used = entry.is_pending() || entry.is_active() || entry.is_watched();
            if used { set } else { set | 1 << n }
        })
    }
}
