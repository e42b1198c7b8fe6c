//! Threads that take turns on one processor, a quantum each.
//!
//! Complete turns leave trace marks: turn `n` of thread `i`, counted over all
//! threads from 0, is job `n` of task [`TURNS_TASK`] + `i`.

use core::time::Duration;

use abi::hypercall::{MARK_FINISH, MARK_START, mark};

use crate::arch::lock::InterruptLock;
use crate::arch::task::Thread;
use crate::arch::{Frame, counter, cpu};
use crate::gic;
use crate::hypercall::trace_mark;
use crate::interrupts::{self, VIRTUAL_TIMER};
use crate::time::Clock;

/// Most threads that take turns.
pub const THREADS_MAX: usize = 4;

/// In trace marks, the task that is the turns of the first thread; the others follow.
pub const TURNS_TASK: u8 = 16;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Idle,
    /// The next timer interrupt lets the first thread run.
    Starting,
    Running,
    Ended,
}

struct Turns {
    phase: Phase,
    threads: [Thread; THREADS_MAX],
    count: usize,
    running: usize,
    turn: u32,
    marks: bool,
    quantum: u64,
    caller: Thread,
}

impl Turns {
    fn mark(&self, event: u8) {
        if self.marks {
            trace_mark(mark(event, TURNS_TASK + self.running as u8, self.turn));
        }
    }
}

static TURNS: InterruptLock<Turns> = InterruptLock::new(Turns {
    phase: Phase::Idle,
    threads: [const { Thread::NONE }; THREADS_MAX],
    count: 0,
    running: 0,
    turn: 0,
    marks: false,
    quantum: 0,
    caller: Thread::NONE,
});

fn timer(_intid: u32, frame: &mut Frame) {
    TURNS.with(|turns| {
        match turns.phase {
            Phase::Starting => {
                turns.caller.keep(frame);
                turns.phase = Phase::Running;
            }
            Phase::Running => {
                turns.mark(MARK_FINISH);
                turns.threads[turns.running].keep(frame);
                turns.running = (turns.running + 1) % turns.count;
                turns.turn = turns.turn.wrapping_add(1);
            }
            Phase::Idle | Phase::Ended => return counter::stop(),
        }
        turns.mark(MARK_START);
        turns.threads[turns.running].resume(frame);
        counter::set_deadline(counter::now() + turns.quantum);
    });
}

/// The running thread has ended: the caller of [`run`] goes on.
pub fn end(frame: &mut Frame) {
    TURNS.with(|turns| {
        counter::stop();
        turns.caller.resume(frame);
        turns.phase = Phase::Ended;
    });
}

/// Lets the threads take turns on this processor, the first one first, until one of them ends;
/// `marks`: with trace marks.
///
/// # Panics
///
/// If there are none or more than [`THREADS_MAX`], or threads take turns already.
pub fn run(threads: impl IntoIterator<Item = Thread>, quantum: Duration, marks: bool) {
    TURNS.with(|turns| {
        assert_eq!(turns.phase, Phase::Idle, "threads take turns already");
        turns.count = 0;
        turns.running = 0;
        turns.turn = 0;
        turns.marks = marks;
        turns.quantum = Clock::of_machine().ticks(quantum.as_nanos() as u64).max(1);
        for thread in threads {
            turns.threads[turns.count] = thread;
            turns.count += 1;
        }
        assert!(turns.count > 0, "nobody takes turns");
        turns.phase = Phase::Starting;
    });
    interrupts::set_handler(VIRTUAL_TIMER, timer);
    gic::enable(VIRTUAL_TIMER);
    counter::set_deadline(counter::now());
    while TURNS.with(|turns| turns.phase) != Phase::Ended {
        cpu::relax();
    }
    gic::disable(VIRTUAL_TIMER);
    TURNS.with(|turns| turns.phase = Phase::Idle);
}
