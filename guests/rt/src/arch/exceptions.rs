//! Exceptions: the saved state of a thread, fault reports, and faults that are expected.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::stacks::{self, CPUS_MAX};
use super::{cpu, sysreg::read_sysreg, user};
use crate::{interrupts, println, psci, round_robin, scheduler, sections};

global_asm!(
    include_str!("vectors.s"),
    stacks = sym stacks::STACKS,
    fault_end = const stacks::FAULT_END,
    thread_exception = sym thread_exception,
    interrupt = sym interrupt,
    unexpected_exception = sym unexpected_exception,
);

/// The integer state of an interrupted thread. A handler that exchanges it for another one switches
/// threads.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// `x0`..`x30`.
    pub(super) x: [u64; 31],
    /// Stack pointer.
    pub(super) sp: u64,
    /// Where the thread goes on.
    pub(super) pc: u64,
    /// Processor state (`SPSR_EL1`).
    pub(super) pstate: u64,
}

const _: () = assert!(size_of::<Frame>() == 272, "vectors.s saves 272 bytes");

/// What a thread asks for by `SVC`: its job is done.
const JOB_DONE: u64 = 0;
/// The thread has ended.
const END_THREAD: u64 = 1;
/// Code at EL0 has ended.
const LEAVE_USER: u64 = 2;
/// The thread wants to go on at EL0.
pub(super) const ENTER_USER: u64 = 3;
/// The running task asks for a resource.
pub(super) const LOCK: u64 = 4;
/// The running task releases a resource.
pub(super) const UNLOCK: u64 = 5;

/// EL1 with SP_EL0, debug exceptions and FIQ masked, interrupts and system errors not.
const PSTATE_THREAD: u64 = 0x4 | 1 << 9 | 1 << 6;

impl Frame {
    /// The state of no thread.
    pub const EMPTY: Self = Self { x: [0; 31], sp: 0, pc: 0, pstate: 0 };

    /// A thread of task `task` of this processor that will call `body` with 0, 1, 2, ..., once for each job.
    pub fn of_task(task: usize, body: fn(u64)) -> Self {
        let mut frame =
            Self::at_el1(run_jobs as *const () as u64, stacks::task_end(cpu::index(), task) as u64);
        frame.x[0] = body as *const () as u64;
        frame
    }

    /// A thread at EL1 that will start at `pc` with this stack, interrupts enabled.
    pub(super) const fn at_el1(pc: u64, sp: u64) -> Self {
        Self { sp, pc, pstate: PSTATE_THREAD, ..Self::EMPTY }
    }
}

extern "C" fn run_jobs(body: *const ()) -> ! {
    // SAFETY: `Frame::of_task` made the pointer out of such a function.
    let body = unsafe { core::mem::transmute::<*const (), fn(u64)>(body) };
    let mut job = 0;
    loop {
        body(job);
        // SAFETY: the handler keeps all registers and returns when the next job is due.
        unsafe { asm!("svc #{}", const JOB_DONE) }
        job += 1;
    }
}

/// Ends the running thread of [`round_robin`].
pub(super) fn end_thread() -> ! {
    // SAFETY: the handler lets another thread go on, and this one never again.
    unsafe { asm!("svc #{}", "b .", const END_THREAD, options(noreturn)) }
}

/// What the processor says about an exception.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fault {
    /// Syndrome (`ESR_EL1`).
    pub syndrome: u64,
    /// Address whose access failed (`FAR_EL1`); says nothing for other exceptions.
    pub address: u64,
    /// Address of the instruction.
    pub pc: u64,
}

impl Fault {
    fn read(pc: u64) -> Self {
        Self { syndrome: read_sysreg!("esr_el1"), address: read_sysreg!("far_el1"), pc }
    }

    fn class(self) -> u64 {
        self.syndrome >> 26 & 0x3f
    }

    /// The kind of exception, in words.
    pub fn kind(self) -> &'static str {
        match self.class() {
            0x00 => "undefined instruction",
            0x0e => "illegal execution state",
            0x11 | 0x15 => "SVC",
            0x16 => "HVC",
            0x17 => "SMC",
            0x18 => "trapped system register",
            0x20 => "instruction abort at EL0",
            0x21 => "instruction abort",
            0x22 => "misaligned PC",
            0x24 => "data abort at EL0",
            0x25 => "data abort",
            0x26 => "misaligned SP",
            0x2f => "SError",
            0x3c => "breakpoint",
            _ => "exception",
        }
    }
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "fault=\"{}\" esr={:#x} far={:#x} pc={:#x}",
            self.kind(),
            self.syndrome,
            self.address,
            self.pc
        )
    }
}

/// By processor: whether a fault is expected, and the last that was.
static EXPECTED: [AtomicBool; CPUS_MAX] = [const { AtomicBool::new(false) }; CPUS_MAX];
static CAUGHT: [[AtomicU64; 3]; CPUS_MAX] = [const { [const { AtomicU64::new(0) }; 3] }; CPUS_MAX];

/// Calls `f`; a synchronous exception in it is kept for the caller, and the instruction skipped (a
/// branch to a bad address returns to where it came from).
///
/// # Safety
///
/// `f` must be sound when an instruction of it that faults is skipped.
pub(super) unsafe fn catch(f: impl FnOnce()) -> Option<Fault> {
    let cpu = cpu::index();
    CAUGHT[cpu][0].store(0, Relaxed);
    EXPECTED[cpu].store(true, Relaxed);
    f();
    EXPECTED[cpu].store(false, Relaxed);
    let [syndrome, address, pc] = [0, 1, 2].map(|i: usize| CAUGHT[cpu][i].load(Relaxed));
    // A syndrome of an exception that was taken is never 0 except for undefined instructions with a
    // 16-bit length, which AArch64 does not have.
    (syndrome != 0).then_some(Fault { syndrome, address, pc })
}

fn caught(frame: &mut Frame, fault: Fault) {
    for (slot, value) in CAUGHT[cpu::index()].iter().zip([fault.syndrome, fault.address, fault.pc])
    {
        slot.store(value, Relaxed);
    }
    frame.pc = match fault.class() {
        0x21 | 0x22 => frame.x[30],
        _ => frame.pc + 4,
    };
}

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
    } else if EXPECTED[cpu::index()].load(Relaxed) {
        caught(frame, fault);
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
