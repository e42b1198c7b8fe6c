//! Virtual CPU interface: ICH_* system registers of the executing CPU.

use core::sync::atomic::Ordering::Relaxed;

use super::cpu_interface::{read_register, write_register};
use crate::arch::gic::SavedLists;
use crate::vdev::gic::LISTS_MAX;

/// ICH_VMCR_EL2 after reset: groups disabled, all priorities masked, group 0 as FIQ.
pub const VMCR_RESET: u64 = 1 << 3;
/// Bit of [`SavedLists::all`]: there are more active priorities registers than one for each group.
pub const MANY_PRIORITIES: u64 = 1 << 32;

/// A copy between registers and memory.
#[derive(Clone, Copy)]
pub enum Copying {
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
                    Copying::Save => core::arch::asm!(
                        concat!("mrs {first}, ", $first), concat!("mrs {second}, ", $second),
                        "stp {first}, {second}, [{saved}, #{at}]",
                        saved = in(reg) $saved, at = const $at,
                        first = out(reg) _, second = out(reg) _, options(nostack, preserves_flags)
                    ),
                    Copying::Load => core::arch::asm!(
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
        /// Content of list register `n`.
        pub fn read_bits(n: usize) -> u64 {
            match n {
                $($number => read_register!($register),)*
                _ => 0,
            }
        }

        /// Changes list register `n`.
        pub fn write_bits(n: usize, bits: u64) {
            match n {
                $($number => write_register!($register, bits),)*
                _ => {}
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

/// Number of list registers.
#[inline(always)]
pub fn count() -> usize {
    (read_register!("ich_vtr_el2") & 0xf) as usize + 1
}

/// Number of preemption bits (ICH_VTR_EL2.PREbits): 5 to 7. There are 32 priorities in
/// each of 1, 2 or 4 registers per group.
fn preemption_bits() -> u64 {
    (read_register!("ich_vtr_el2") >> 26 & 7) + 1
}

/// [`MANY_PRIORITIES`] if that is so on this CPU.
pub fn many_priorities() -> u64 {
    if preemption_bits() > 5 { MANY_PRIORITIES } else { 0 }
}

/// Copies all registers from or to memory.
#[inline(always)]
pub fn copy(saved: &SavedLists, copying: Copying) {
    copy_two!(copying, saved, "ich_hcr_el2" "ich_vmcr_el2": CONTROL,
        "ich_ap0r0_el2" "ich_ap1r0_el2": ACTIVE,
        "ich_lr0_el2" "ich_lr1_el2": 0, "ich_lr2_el2" "ich_lr3_el2": 16);
    if saved.all.load(Relaxed) > 0xf {
        copy_rest(saved, copying);
    }
}

/// Copies the registers that few CPUs have.
#[inline(never)]
fn copy_rest(saved: &SavedLists, copying: Copying) {
    let bits = preemption_bits();
    if bits >= 6 {
        copy_two!(copying, saved, "ich_ap0r1_el2" "ich_ap1r1_el2": ACTIVE + 16);
    }
    if bits >= 7 {
        copy_two!(copying, saved, "ich_ap0r2_el2" "ich_ap1r2_el2": ACTIVE + 32,
            "ich_ap0r3_el2" "ich_ap1r3_el2": ACTIVE + 48);
    }
    for n in 4..count() {
        let list = &saved.lists[n % LISTS_MAX];
        match copying {
            Copying::Save => list.store(read_bits(n), Relaxed),
            Copying::Load => write_bits(n, list.load(Relaxed)),
        }
    }
}

/// Set of list registers that are empty (ICH_ELRSR_EL2).
#[inline(always)]
pub fn empty() -> u64 {
    read_register!("ich_elrsr_el2")
}

/// Reasons for a maintenance interrupt (ICH_MISR_EL2).
#[inline(always)]
pub fn misr() -> u64 {
    read_register!("ich_misr_el2")
}

/// Changes ICH_HCR_EL2.
#[inline(always)]
pub fn set_control(value: u64) {
    write_register!("ich_hcr_el2", value);
}
