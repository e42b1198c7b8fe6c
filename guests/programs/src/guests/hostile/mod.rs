//! `rt-hostile`: does its worst, one case at a time, to show that only it suffers.
//!
//! Boot arguments: `case=<name>`; some cases take `address`, `seed`, `count` or `ms`. Without a case the
//! guest lists them all. With `second=1` VCPU 1 runs for ever beside the case. Lines are
//!
//! ```text
//! hostile: start restarts=<n or unknown>
//! hostile: <case> begin
//! hostile: ... (details)
//! hostile: <case> survived <key>=<value> ...
//! ```
//!
//! after which it turns itself off. Cases that end the guest on purpose have no line `survived`.

mod calls;
mod devices;
mod endings;
mod floods;
mod instructions;
mod memory;
mod waits;

use core::fmt::{self, Display};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;

use abi::hypercall::VmInfo;

use rt::arch::{Fault, RAM_BASE, secondary};
use rt::{arguments, hypercall, print, println, wait};

/// A case: its name and what it does.
type Case = (&'static str, fn(&str));

const CASES: [Case; 31] = [
    ("foreign-read", memory::foreign_read),
    ("foreign-write", memory::foreign_write),
    ("foreign-fetch", memory::foreign_fetch),
    ("page-table-garbage", memory::page_table_garbage),
    ("dcache-setway", memory::dcache_setway),
    ("stolen-page", memory::stolen_page),
    ("undefined", instructions::undefined),
    ("trapped-sysreg", instructions::trapped_sysreg),
    ("streaming", instructions::streaming),
    ("identification", instructions::identification),
    ("standby", waits::standby),
    ("thumb", waits::thumb),
    ("smc", instructions::smc),
    ("hvc-nonsense", calls::hvc_nonsense),
    ("hvc-bad-address", calls::hvc_bad_address),
    ("cpu-on-nonsense", calls::cpu_on_nonsense),
    ("sgi-flood", floods::sgi_flood),
    ("timer-flood", floods::timer_flood),
    ("uart-flood", floods::uart_flood),
    ("mmio-unaligned", devices::mmio_unaligned),
    ("mmio-odd-size", devices::mmio_odd_size),
    ("mmio-no-syndrome", devices::mmio_no_syndrome),
    ("gic-nonsense", devices::gic_nonsense),
    ("reset", endings::reset),
    ("off", endings::off),
    ("cpu-off", endings::cpu_off),
    ("cpu-suspend", endings::cpu_suspend),
    ("crash", endings::crash),
    ("panic", endings::panic),
    ("stack-overflow", endings::stack_overflow),
    ("wfi-forever", endings::wfi_forever),
];

/// Prints what an access gave.
struct Outcome<T>(Result<T, Fault>);

impl<T: fmt::LowerHex> Display for Outcome<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(value) => write!(f, "value={value:#x}"),
            Err(fault) => fault.fmt(f),
        }
    }
}

/// First address behind the RAM of this machine, as far as the guest can know it.
fn end_of_ram() -> u64 {
    let told = hypercall::vm_info(VmInfo::MemoryBytes).or_else(arguments::ram_bytes_of_tree);
    RAM_BASE as u64 + told.unwrap_or(0x0800_0000)
}

/// Boot argument `address`, or the first address behind RAM.
fn address() -> u64 {
    arguments::number("address", end_of_ram())
}

/// Runs the case that the boot arguments name.
pub fn main() {
    match hypercall::vm_info(VmInfo::Restarts) {
        Some(restarts) => println!("hostile: start restarts={restarts}"),
        None => println!("hostile: start restarts=unknown"),
    }
    let Some(wanted) = arguments::text("case") else {
        print!("hostile: no boot argument case=<name>; cases:");
        CASES.iter().for_each(|(name, _)| print!(" {name}"));
        println!("");
        return;
    };
    let Some((name, case)) = CASES.iter().find(|(name, _)| *name == wanted) else {
        println!("hostile: no case {wanted}");
        return;
    };
    if arguments::number("second", 0) != 0 {
        start_second();
    }
    println!("hostile: {name} begin");
    case(name);
}

/// Lets VCPU 1 run for ever beside the case: what ends the VM must end it too.
fn start_second() {
    static RUNS: AtomicBool = AtomicBool::new(false);
    fn run_for_ever(_: u64) {
        RUNS.store(true, Ordering::Release);
        loop {
            core::hint::spin_loop();
        }
    }
    let result = secondary::start(1, run_for_ever, 0);
    let runs = wait::until(Duration::from_secs(1), || RUNS.load(Ordering::Acquire));
    println!("hostile: second result={result} runs={}", u8::from(runs));
}
