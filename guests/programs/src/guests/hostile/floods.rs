//! Floods of actions that are allowed.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use rt::arch::mmio::UART;
use rt::arch::{Frame, counter, cpu};
use rt::interrupts::{self, VIRTUAL_TIMER};
use rt::time::Clock;
use rt::{arguments, gic, println, wait};

static TAKEN: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);

fn end() -> u64 {
    let nanoseconds = arguments::number("ms", 100) * 1_000_000;
    counter::now() + Clock::of_machine().ticks(nanoseconds)
}

/// Interrupts to itself, one after the other.
pub fn sgi_flood(case: &str) {
    const SGI: u32 = 1;
    interrupts::set_handler(SGI, |_, _| {
        TAKEN.fetch_add(1, Relaxed);
    });
    gic::enable(SGI);
    let end = end();
    let mut sent = 0_u64;
    while counter::now() < end {
        gic::send_sgi(SGI, cpu::affinity());
        sent += 1;
    }
    wait::pause(Duration::from_millis(1));
    println!("hostile: {case} survived sent={sent} taken={}", TAKEN.load(Relaxed));
}

fn keep_firing(_intid: u32, _frame: &mut Frame) {
    TAKEN.fetch_add(1, Relaxed);
    if counter::now() >= END.load(Relaxed) {
        counter::stop();
    }
}

/// A timer that is always late, so that the guest does nothing but take its interrupt.
pub fn timer_flood(case: &str) {
    END.store(end(), Relaxed);
    interrupts::set_handler(VIRTUAL_TIMER, keep_firing);
    gic::enable(VIRTUAL_TIMER);
    counter::set_deadline(0);
    wait::until(Duration::from_secs(10), || counter::now() >= END.load(Relaxed));
    counter::stop();
    println!("hostile: {case} survived taken={}", TAKEN.load(Relaxed));
}

/// Output without a look at the flags.
pub fn uart_flood(case: &str) {
    let count = arguments::number("count", 10_000);
    for i in 0..count {
        UART.write32(0, if i % 64 == 63 { b'\n' } else { b'#' }.into());
    }
    UART.write32(0, b'\n'.into());
    println!("hostile: {case} survived bytes={count}");
}
