//! The virtual counter and the virtual timer of this processor.

use super::cpu;
use super::sysreg::{read_sysreg, write_sysreg};

/// Ticks of the virtual counter in one second.
pub fn frequency() -> u64 {
    read_sysreg!("cntfrq_el0")
}

/// The virtual counter now, in ticks.
#[inline(always)]
pub fn now() -> u64 {
    // SAFETY: `isb` keeps the counter from being read early; it does not change memory.
    unsafe { core::arch::asm!("isb", options(nostack, preserves_flags)) }
    read_sysreg!("cntvct_el0")
}

/// Lets the virtual timer interrupt (PPI 27) when the counter reaches `deadline`.
pub fn set_deadline(deadline: u64) {
    write_sysreg!("cntv_cval_el0", deadline);
    write_sysreg!("cntv_ctl_el0", 1);
    cpu::synchronize();
}

/// Stops the virtual timer.
pub fn stop() {
    write_sysreg!("cntv_ctl_el0", 0);
    cpu::synchronize();
}

/// Readings of the virtual counter by instructions that follow each other.
#[inline(always)]
pub fn readings() -> [u64; 16] {
    let mut readings = [0; 16];
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = &mut readings;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!(
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            "mrs {}, cntvct_el0",
            out(reg) * a,
            out(reg) * b,
            out(reg) * c,
            out(reg) * d,
            out(reg) * e,
            out(reg) * f,
            out(reg) * g,
            out(reg) * h,
            out(reg) * i,
            out(reg) * j,
            out(reg) * k,
            out(reg) * l,
            out(reg) * m,
            out(reg) * n,
            out(reg) * o,
            out(reg) * p,
            options(nostack, preserves_flags)
        );
    }
    readings
}

/// Readings of the virtual counter before and behind an instruction that waits for an interrupt.
pub fn readings_around_wait() -> (u64, u64) {
    let (before, behind);
    // SAFETY: as in `cpu::wait_for_interrupt`.
    unsafe {
        core::arch::asm!(
            "dsb sy", "mrs {}, cntvct_el0", "wfi", "mrs {}, cntvct_el0",
            out(reg) before, out(reg) behind, options(nostack, preserves_flags)
        );
    }
    (before, behind)
}
