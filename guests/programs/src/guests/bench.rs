//! `rt-bench`: what exits to a hypervisor cost, counted in ticks of the virtual counter.
//!
//! On QEMU with `-icount shift=0` and `-cpu cortex-a53,cntfrq=1000000000` a tick is one instruction,
//! and all figures are exact and repeatable: min = max. The flat file is below 4 KiB, runs at any
//! address that is a multiple of 4 KiB, starts with an arm64 `Image` header, uses neither MMU nor
//! device tree, and so runs on any hypervisor that starts it at EL1 with a PL011 and a GIC:
//!
//! 1. make the flat file out of the ELF file (the bytes of its loadable segments);
//! 2. patch the parameters, little endian: UART address (8 bytes at offset 0x48), GICD (8 at 0x50), this
//!    processor's GICR or, for GICv2, GICC (8 at 0x58), GIC version (4 at 0x60), HVC function that the
//!    hypervisor rejects (4 at 0x64), value for `GICD_ISENABLER1` (4 at 0x68), runs (4 at 0x6c); or
//!    build with `BENCH_UART`, `BENCH_GICD`, `BENCH_GICR`, `BENCH_GIC_VERSION`, `BENCH_HVC_FUNCTION`,
//!    `BENCH_ISENABLER_VALUE`, `BENCH_RUNS` set, hexadecimal without 0x;
//! 3. let the hypervisor load it at the start of a page of the guest's RAM, with one page of RAM
//!    behind it, and enter it at its first byte. One VCPU, no other guest.
//!
//! ```text
//! bench: cntfrq_hz 1000000000
//! bench: entry_virtual 12 entry_physical 400148
//! bench: baseline min=3 max=3 runs=16
//! bench: hvc_rejected min=126 max=126 runs=16
//! bench: done faults=0
//! ```
//!
//! `entry_*` are the two counters at the first instruction. Rows from `hvc_rejected` are without the
//! baseline, which has a `NOP` in place of the instruction: what is left is the work of the
//! hypervisor. `timer_to_handler` is raw: from the time programmed to the handler's first instruction;
//! the same row on QEMU without a hypervisor is what the machine itself takes.
//! `full_speed_10m` is what 10 million instructions took: 10000000 without exits. `faults` counts
//! instructions that faulted and were skipped: their rows say nothing.
//!
//! `full_speed_10m` is measured before the first output: the work that a hypervisor does for a guest's
//! console may go on for a while after the guest has written.

use programs::arch::bench::{
    Uart, baseline, counter_offset, enable_timer_interrupt, faults, full_speed, hvc, load,
    parameters, print_hex, print_number, print_text, store, timer,
};
use rt::psci;

/// Instructions of the loop that must not exit.
const LOOP: u64 = 10_000_000;

#[inline(never)]
fn print_row(name: &str, min: u64, max: u64) {
    print_text("bench: ");
    print_text(name);
    print_text(" min=");
    print_number(min);
    print_text(" max=");
    print_number(max);
    print_text(" runs=");
    print_number(parameters().runs.into());
    print_text("\n");
}

/// Smallest and largest of the runs of `measure`, each less `subtract`.
fn extremes(subtract: u64, measure: impl Fn() -> u64) -> (u64, u64) {
    let (mut min, mut max) = (u64::MAX, 0);
    for _ in 0..parameters().runs {
        let ticks = measure().saturating_sub(subtract);
        min = min.min(ticks);
        max = max.max(ticks);
    }
    (min, max)
}

fn row(name: &str, subtract: u64, measure: impl Fn() -> u64) {
    let (min, max) = extremes(subtract, measure);
    print_row(name, min, max);
}

/// Measures everything and turns the machine off; `entry` is the virtual counter at the first
/// instruction.
pub fn main(entry: u64) {
    let (nop, largest_nop) = extremes(0, baseline);
    // The loop stands in place of the `NOP`, which is part of the baseline.
    let full_speed = extremes(nop.saturating_sub(1), || full_speed(LOOP));

    print_text("bench: cntfrq_hz ");
    print_number(rt::arch::counter::frequency());
    print_text("\nbench: entry_virtual ");
    print_number(entry);
    print_text(" entry_physical ");
    print_number(entry + counter_offset());
    print_text("\nbench: hvc_function ");
    print_hex(parameters().hvc_function.into());
    print_text("\n");

    let parameters = parameters();
    print_row("baseline", nop, largest_nop);
    print_row("full_speed_10m", full_speed.0, full_speed.1);
    row("hvc_rejected", nop, || hvc(parameters.hvc_function));
    row("psci_version", nop, || hvc(psci::VERSION));
    row("gicd_typer_read", nop, || load(parameters.gicd + 0x4));
    row("gicd_isenabler1_write", nop, || {
        store(parameters.gicd + 0x104, parameters.isenabler_value)
    });
    if parameters.gic_version == 2 {
        row("gicc_pmr_read", nop, || load(parameters.gicr + 0x4));
    } else {
        row("gicr_typer_read", nop, || load(parameters.gicr + 0x8));
        row("gicr_isenabler0_write", nop, || store(parameters.gicr + 0x1_0100, 1 << 27));
    }
    row("uart_flags_read", nop, || load(Uart::Flags.address()));
    let (min, max) = extremes(nop, || store(Uart::Data.address(), b'.'.into()));
    print_text("\n");
    print_row("uart_data_write", min, max);

    enable_timer_interrupt();
    if timer().is_some() {
        row("timer_to_handler", 0, || timer().unwrap_or(u64::MAX));
    } else {
        print_text("bench: timer_to_handler FAILED no interrupt\n");
    }

    print_text("bench: done faults=");
    print_number(faults());
    print_text("\n");
    hvc(psci::SYSTEM_OFF);
}
