//! Virtual CPU interface of the executing CPU: ICH_* system registers.

use super::cpu_interface::{read_register, write_register};
use crate::vdev::gic::{ListRegister, ListRegisters};

/// ICH_HCR_EL2: the virtual CPU interface is on.
const ENABLE: u64 = 1 << 0;
/// ICH_HCR_EL2: maintenance interrupt while no list register is pending.
const NONE_PENDING: u64 = 1 << 3;
/// ICH_VMCR_EL2 after reset: groups disabled, all priorities masked, group 0 as FIQ.
const VMCR_RESET: u64 = 1 << 3;
/// ICC_SRE_EL1 for the guest: system registers, no bypass.
const SRE: u64 = 0b111;

/// The list registers of the executing CPU.
///
/// What is [`empty`](ListRegisters::empty) is known as of the last context
/// synchronisation: an exception, or [`super::end`] before an injection.
#[derive(Clone, Copy, Debug)]
pub struct Lists;

macro_rules! each_list_register {
    ($($number:literal $register:literal),*) => {
        impl Lists {
            #[inline(never)]
            fn read_bits(self, n: usize) -> u64 {
                match n {
                    $($number => read_register!($register),)*
                    _ => 0,
                }
            }

            #[inline(never)]
            fn write_bits(self, n: usize, bits: u64) {
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
    /// Number of preemption bits (ICH_VTR_EL2.PREbits): 5 to 7.
    fn preemption_bits(self) -> u64 {
        (read_register!("ich_vtr_el2") >> 26 & 7) + 1
    }

    /// No priority is active: 32 priorities in each of 1, 2 or 4 registers per group.
    fn clear_active_priorities(self) {
        let bits = self.preemption_bits();
        write_register!("ich_ap0r0_el2", 0);
        write_register!("ich_ap1r0_el2", 0);
        if bits >= 6 {
            write_register!("ich_ap0r1_el2", 0);
            write_register!("ich_ap1r1_el2", 0);
        }
        if bits >= 7 {
            write_register!("ich_ap0r2_el2", 0);
            write_register!("ich_ap0r3_el2", 0);
            write_register!("ich_ap1r2_el2", 0);
            write_register!("ich_ap1r3_el2", 0);
        }
    }
}

impl ListRegisters for Lists {
    #[inline]
    fn count(&self) -> usize {
        (read_register!("ich_vtr_el2") & 0xf) as usize + 1
    }

    #[inline]
    fn empty(&self) -> u32 {
        read_register!("ich_elrsr_el2") as u32
    }

    #[inline]
    fn read(&self, n: usize) -> ListRegister {
        ListRegister::from_bits(self.read_bits(n))
    }

    #[inline(always)]
    fn write(&self, n: usize, content: ListRegister) {
        if n == 0 {
            write_register!("ich_lr0_el2", content.bits());
        } else {
            self.write_bits(n, content.bits());
        }
    }

    #[inline]
    fn notify_when_none_pending(&self, on: bool) {
        write_register!("ich_hcr_el2", ENABLE | if on { NONE_PENDING } else { 0 });
    }

    fn start(&self) {
        self.stop();
        write_register!("icc_sre_el1", SRE);
        write_register!("ich_vmcr_el2", VMCR_RESET);
        write_register!("ich_hcr_el2", ENABLE);
    }

    fn stop(&self) {
        write_register!("ich_hcr_el2", 0);
        for n in 0..self.count() {
            self.write_bits(n, 0);
        }
        self.clear_active_priorities();
    }
}
