//! Interrupts and their handlers.

pub use abi::guest::UART_INTERRUPT as UART;

use crate::arch::lock::InterruptLock;
use crate::arch::{CPUS_MAX, Frame, cpu, gic_cpu};
use crate::gic;

/// INTID of the virtual timer.
pub const VIRTUAL_TIMER: u32 = 27;

/// Handles an interrupt: gets its INTID and the interrupted thread. Runs with interrupts masked.
pub type Handler = fn(u32, &mut Frame);

const INTIDS: usize = 96;

/// The handlers of each processor: none waits for another one, which may not run.
static HANDLERS: [InterruptLock<[Option<Handler>; INTIDS]>; CPUS_MAX] =
    [const { InterruptLock::new([None; INTIDS]) }; CPUS_MAX];

/// Turns on the interrupt controller and this processor's part of it.
pub fn enable() {
    gic::enable_distributor();
    gic::enable_cpu();
}

/// Turns on this processor's part of the interrupt controller.
pub fn enable_on_this_cpu() {
    gic::enable_cpu();
}

/// Calls `handler` for `intid` from now on, on all processors.
///
/// # Panics
///
/// If `intid` is 96 or more.
pub fn set_handler(intid: u32, handler: Handler) {
    for handlers in &HANDLERS {
        handlers.with(|handlers| handlers[intid as usize] = Some(handler));
    }
}

/// Takes one interrupt and calls its handler. An interrupt without handler is ended and disabled.
pub fn dispatch(frame: &mut Frame) {
    let intid = gic_cpu::acknowledge();
    if intid >= 1020 {
        return;
    }
    let own = &HANDLERS[cpu::index()];
    match own.with(|handlers| handlers.get(intid as usize).copied().flatten()) {
        Some(handler) => handler(intid, frame),
        None => gic::disable(intid),
    }
    gic_cpu::end(intid);
}
