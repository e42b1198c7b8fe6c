//! Exceptions: the handling of each, and reports of those that are not expected.

use core::arch::global_asm;

use super::fault::{self, Fault};
use super::frame::Frame;
use super::service::{END_THREAD, ENTER_USER, JOB_DONE, LEAVE_USER, LOCK, UNLOCK};
use super::{stacks, user};
use crate::{interrupts, println, psci, round_robin, scheduler, sections};

global_asm!(
    include_str!("vectors.s"),
    stacks = sym stacks::STACKS,
    fault_end = const stacks::FAULT_END,
    thread_exception = sym thread_exception,
    interrupt = sym interrupt,
    unexpected_exception = sym unexpected_exception,
);

extern "C" fn thread_exception(frame: &mut Frame) {
    let fault = Fault::read(frame.pc);
    if matches!(fault.class(), 0x11 | 0x15) {
        match fault.syndrome & 0xffff {
            JOB_DONE => scheduler::job_done(frame),
            END_THREAD => round_robin::end(frame),
            LEAVE_USER => user::leave(frame),
            ENTER_USER => user::enter(frame),
            LOCK => sections::asked(frame),
            UNLOCK => sections::released(frame),
            _ => report(frame, fault, ""),
        }
    } else if fault::is_expected() {
        fault::caught(frame, fault);
    } else {
        report(frame, fault, "");
    }
}

extern "C" fn interrupt(frame: &mut Frame) {
    interrupts::dispatch(frame);
}

extern "C" fn unexpected_exception(frame: &mut Frame, vector: u64, handler_sp: u64) -> ! {
    let place = match vector {
        2 | 6 => "FIQ",
        3 | 7 => "SError",
        4 => "in a handler",
        5 => "interrupt in a handler",
        _ => "from EL0",
    };
    println!("fault: handler stack at {handler_sp:#x}");
    report(frame, Fault::read(frame.pc), place)
}

fn report(frame: &Frame, fault: Fault, place: &str) -> ! {
    println!("fault: {fault} {place}");
    for (i, pair) in frame.x.chunks(2).enumerate() {
        match *pair {
            [even, odd] => {
                println!("fault: x{:<2} {even:#018x}  x{:<2} {odd:#018x}", 2 * i, 2 * i + 1)
            }
            [last] => println!("fault: x30 {last:#018x}  sp  {:#018x}", frame.sp),
            _ => {}
        }
    }
    psci::system_off()
}

#[panic_handler]
fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
    super::cpu::mask_interrupts();
    println!("{information}");
    psci::system_off()
}
