//! List registers and the virtual CPU interface of the CPU that runs the code.

use core::arch::asm;

use crate::vdev::gic::{LISTS_MAX, ListRegister, ListRegisters};

/// ICH_HCR_EL2: interface on.
const ENABLE: u64 = 1 << 0;
/// ICH_HCR_EL2: maintenance interrupt while no list register is pending.
const NONE_PENDING: u64 = 1 << 3;

macro_rules! read {
    ($register:literal) => {{
        let value: u64;
        // SAFETY: reading the virtual interrupt interface changes nothing.
        unsafe {
            asm!(concat!("mrs {}, ", $register), out(reg) value, options(nostack, preserves_flags));
        }
        value
    }};
}

macro_rules! write {
    ($register:literal, $value:expr) => {{
        let value: u64 = $value;
        // SAFETY: the virtual interrupt interface concerns the guest only.
        unsafe {
            asm!(concat!("msr ", $register, ", {}"), in(reg) value, options(nostack, preserves_flags));
        }
    }};
}

macro_rules! lists {
    ($($n:literal $register:literal;)*) => {
        #[inline(always)]
        fn read_list(n: usize) -> u64 {
            match n { $($n => read!($register),)* _ => 0 }
        }

        #[inline(always)]
        fn write_list(n: usize, content: u64) {
            match n { $($n => write!($register, content),)* _ => {} }
        }
    };
}

lists! {
    0 "s3_4_c12_c12_0"; 1 "s3_4_c12_c12_1"; 2 "s3_4_c12_c12_2"; 3 "s3_4_c12_c12_3";
    4 "s3_4_c12_c12_4"; 5 "s3_4_c12_c12_5"; 6 "s3_4_c12_c12_6"; 7 "s3_4_c12_c12_7";
    8 "s3_4_c12_c13_0"; 9 "s3_4_c12_c13_1"; 10 "s3_4_c12_c13_2"; 11 "s3_4_c12_c13_3";
    12 "s3_4_c12_c13_4"; 13 "s3_4_c12_c13_5"; 14 "s3_4_c12_c13_6"; 15 "s3_4_c12_c13_7";
}

/// The list registers of the calling CPU.
#[derive(Clone, Copy, Debug)]
pub struct Lists;

impl Lists {
    /// Bits of preemption that the virtual interface has; says how many active
    /// priority registers there are.
    fn active_priority_registers() -> u32 {
        let preemption_bits = (read!("s3_4_c12_c11_1") >> 26 & 7) as u32 + 1;
        1 << preemption_bits.saturating_sub(5)
    }

    fn clear(self) {
        for n in 0..self.count() {
            write_list(n, 0);
        }
        let registers = Self::active_priority_registers();
        write!("s3_4_c12_c8_0", 0);
        write!("s3_4_c12_c9_0", 0);
        if registers >= 2 {
            write!("s3_4_c12_c8_1", 0);
            write!("s3_4_c12_c9_1", 0);
        }
        if registers >= 4 {
            write!("s3_4_c12_c8_2", 0);
            write!("s3_4_c12_c8_3", 0);
            write!("s3_4_c12_c9_2", 0);
            write!("s3_4_c12_c9_3", 0);
        }
        write!("s3_4_c12_c11_7", 0); // ICH_VMCR_EL2
    }
}

impl ListRegisters for Lists {
    fn count(&self) -> usize {
        ((read!("s3_4_c12_c11_1") & 0x1f) as usize + 1).min(LISTS_MAX) // ICH_VTR_EL2
    }

    #[inline(always)]
    fn empty(&self) -> u32 {
        read!("s3_4_c12_c11_5") as u32 // ICH_ELRSR_EL2
    }

    #[inline(always)]
    fn read(&self, n: usize) -> ListRegister {
        ListRegister::from_bits(read_list(n))
    }

    #[inline(always)]
    fn write(&self, n: usize, content: ListRegister) {
        write_list(n, content.bits());
    }

    fn notify_when_none_pending(&self, on: bool) {
        write!("s3_4_c12_c11_0", if on { ENABLE | NONE_PENDING } else { ENABLE }); // ICH_HCR_EL2
    }

    fn start(&self) {
        self.clear();
        write!("s3_4_c12_c11_0", ENABLE);
    }

    fn stop(&self) {
        write!("s3_4_c12_c11_0", 0);
        self.clear();
    }
}
