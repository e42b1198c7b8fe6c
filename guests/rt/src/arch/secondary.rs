//! Starting a function on another processor.

use super::{cpu, lock::InterruptLock, smccc, stacks};
use crate::{interrupts, psci};

unsafe extern "C" {
    fn secondary_entry();
}

#[derive(Clone, Copy)]
struct Work {
    function: fn(u64),
    context: u64,
}

/// The work of each processor when it comes up.
static WORK: InterruptLock<[Option<Work>; stacks::CPUS_MAX]> =
    InterruptLock::new([None; stacks::CPUS_MAX]);

/// Starts `function` on processor `number` (from 1) by PSCI `CPU_ON`, with interrupts enabled; when it
/// returns, the processor is turned off. Returns the result of the call.
///
/// # Panics
///
/// If `number` is 0 or there are no stacks for it.
pub fn start(number: usize, function: fn(u64), context: u64) -> i32 {
    assert!((1..stacks::CPUS_MAX).contains(&number), "no stacks for processor {number}");
    WORK.with(|work| work[number] = Some(Work { function, context }));
    cpu::synchronize(); // the other processor finds its work when it comes up
    let entry = secondary_entry as *const () as usize as u64;
    let stack = stacks::handler_end(number) as u64;
    // SAFETY: if the processor is off, nothing uses its stacks; if it is on, the call is refused.
    let results = unsafe {
        smccc::hvc_unchecked(psci::CPU_ON.into(), [number as u64, entry, stack, 0, 0, 0, 0])
    };
    results[0] as i32
}

pub(super) extern "C" fn enter() -> ! {
    let cpu = cpu::index();
    interrupts::enable_on_this_cpu();
    cpu::unmask_interrupts();
    if let Some(Work { function, context }) = WORK.with(|work| work[cpu].take()) {
        function(context);
    }
    cpu::mask_interrupts();
    psci::cpu_off()
}
