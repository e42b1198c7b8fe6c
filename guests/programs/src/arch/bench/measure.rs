//! One function for each figure; each returns ticks of the virtual counter, raw: from just before to
//! just after the one instruction that is measured.

use core::arch::asm;

use rt::{read_sysreg, write_sysreg};

use super::parameters;

/// `before`, instruction, `after`; the barriers keep a real processor from reading the counter early.
macro_rules! timed {
    ($instruction:literal, $($operands:tt)*) => {{
        let (before, after): (u64, u64);
        // SAFETY: see the function that uses the macro.
        unsafe {
            asm!(
                "isb", "mrs {before}, cntvct_el0",
                $instruction,
                "isb", "mrs {after}, cntvct_el0",
                before = out(reg) before, after = out(reg) after,
                $($operands)*
                options(nostack)
            );
        }
        after - before
    }};
}

/// A `NOP`: what the measurement itself takes.
#[inline(never)]
pub fn baseline() -> u64 {
    timed!("nop",)
}

/// HVC with this function and two arguments; returns the time and the result of the call.
#[inline(never)]
pub fn hvc_with(function: u32, [first, second]: [u64; 2]) -> (u64, u64) {
    let result;
    // As in `hvc`; what the functions move stays the same for this program.
    let ticks = timed!("hvc #0",
        inout("x0") u64::from(function) => result, inout("x1") first => _, inout("x2") second => _,
        inout("x3") 0_u64 => _, out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _,
        out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _,
        out("x15") _, out("x16") _, out("x17") _,);
    (ticks, result)
}

/// SMC with this function and no arguments; returns the time and the result of the call.
#[inline(never)]
pub fn smc(function: u32) -> (u64, u64) {
    let result;
    // As in `hvc`.
    let ticks = timed!("smc #0",
        inout("x0") u64::from(function) => result, inout("x1") 0_u64 => _, inout("x2") 0_u64 => _,
        inout("x3") 0_u64 => _, out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _,
        out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _,
        out("x15") _, out("x16") _, out("x17") _,);
    (ticks, result)
}

/// HVC with this function and no arguments.
#[inline(never)]
pub fn hvc(function: u32) -> u64 {
    // The functions measured write no memory; the registers are those that a call may change.
    timed!("hvc #0",
        inout("x0") u64::from(function) => _, inout("x1") 0_u64 => _, inout("x2") 0_u64 => _,
        inout("x3") 0_u64 => _, out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _,
        out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _,
        out("x15") _, out("x16") _, out("x17") _,)
}

/// Load from a 32-bit register of a device.
#[inline(never)]
pub fn load(address: u64) -> u64 {
    // The addresses are those of devices, which lie outside of this program.
    timed!("ldr {value:w}, [{address}]", value = out(reg) _, address = in(reg) address,)
}

/// Store to a 32-bit register of a device.
#[inline(never)]
pub fn store(address: u64, value: u32) -> u64 {
    // As in `load`.
    timed!("str {value:w}, [{address}]", value = in(reg) value, address = in(reg) address,)
}

/// `instructions` (an even number) instructions that use only the processor.
#[inline(never)]
pub fn full_speed(instructions: u64) -> u64 {
    // Counts in a register.
    timed!("2: subs {rounds}, {rounds}, #1\n b.ne 2b", rounds = inout(reg) instructions / 2 => _,)
}

fn write32(address: u64, value: u32) {
    // SAFETY: the addresses are those of devices, which lie outside of this program.
    unsafe { asm!("str {:w}, [{}]", in(reg) value, in(reg) address, options(nostack)) }
}

/// Enables the virtual timer's interrupt (PPI 27) in the interrupt controller.
pub fn enable_timer_interrupt() {
    const TIMER: u32 = 1 << 27;
    let parameters = parameters();
    let (gicd, gicr) = (parameters.gicd, parameters.gicr);
    if parameters.gic_version == 2 {
        write32(gicd + 0x100, TIMER); // GICD_ISENABLER0
        write32(gicd, 1); // GICD_CTLR
        write32(gicr + 0x4, 0xff); // GICC_PMR
        write32(gicr, 1); // GICC_CTLR
    } else {
        write32(gicd, 0x12); // GICD_CTLR: affinity routing, group 1
        write32(gicr + 0x14, 0); // GICR_WAKER
        write32(gicr + 0x1_0080, !0); // GICR_IGROUPR0
        write32(gicr + 0x1_0418, 0xa0a0_a0a0); // GICR_IPRIORITYR6: INTIDs 24 to 27
        write32(gicr + 0x1_0100, TIMER); // GICR_ISENABLER0
        write_sysreg!("S3_0_C12_C12_5", 7); // ICC_SRE_EL1
        // SAFETY: a barrier.
        unsafe { asm!("isb", options(nostack)) }
        write_sysreg!("S3_0_C4_C6_0", 0xff); // ICC_PMR_EL1
        write_sysreg!("S3_0_C12_C12_7", 1); // ICC_IGRPEN1_EL1
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb sy", "isb", options(nostack)) }
}

/// The time from the one that the virtual timer is set to until the first instruction of the handler; `None`
/// if there was no interrupt.
#[inline(never)]
pub fn timer() -> Option<u64> {
    let parameters = parameters();
    let gicc = if parameters.gic_version == 2 { parameters.gicr } else { 0 };
    let lead = read_sysreg!("cntfrq_el0") / 50_000;
    let target = read_sysreg!("cntvct_el0") + lead;
    write_sysreg!("cntv_cval_el0", target);
    write_sysreg!("cntv_ctl_el0", 1);
    let (time, left): (u64, u64);
    // SAFETY: spins until the handler in boot.s goes on at the label 3, or a count of instructions
    // has passed. The handler uses x16 and x17.
    unsafe {
        asm!(
            "adr x13, 3f",
            "isb",
            "msr daifclr, #2",
            "2: subs {left}, {left}, #1",
            "b.ne 2b",
            "3: msr daifset, #2",
            left = inout(reg) 50_000_000_u64 => left,
            in("x14") gicc,
            out("x13") _,
            out("x16") _,
            out("x17") time,
            options(nostack)
        );
    }
    write_sysreg!("cntv_ctl_el0", 0);
    if left == 0 { None } else { Some(time.saturating_sub(target)) }
}

/// Physical minus virtual counter, to tell physical times.
pub fn counter_offset() -> u64 {
    let before = read_sysreg!("cntvct_el0");
    let physical = read_sysreg!("cntpct_el0");
    let after = read_sysreg!("cntvct_el0");
    physical.saturating_sub(before + (after - before) / 2)
}

/// Number of instructions that faulted and were skipped.
pub fn faults() -> u64 {
    read_sysreg!("tpidrro_el0")
}
