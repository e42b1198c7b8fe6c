//! Sleeping: the processor waits for an interrupt instead of looking at the clock.

use crate::arch::{Frame, counter, cpu};
use crate::gic;
use crate::interrupts::{self, VIRTUAL_TIMER};

/// The interrupt is still pending when the sleep is over.
fn over(_intid: u32, _frame: &mut Frame) {
    counter::stop();
}

/// Lets time pass until this tick of the counter. Takes the virtual timer of this processor.
pub fn sleep_until(end: u64) {
    interrupts::set_handler(VIRTUAL_TIMER, over);
    gic::enable(VIRTUAL_TIMER);
    // Masked, it cannot come between the look at the clock and the wait, which it ends all the same.
    cpu::without_interrupts(|| {
        counter::set_deadline(end);
        while counter::now() < end {
            cpu::wait_for_interrupt();
        }
        counter::stop();
    });
}
