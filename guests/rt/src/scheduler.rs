//! Runs a task set on the processor that calls [`run`]: a virtual timer without periodic tick, and
//! preemption by exchange of the whole integer state.

use core::time::Duration;

use crate::arch::lock::InterruptLock;
use crate::arch::{CPUS_MAX, Frame, counter, cpu};
use crate::interrupts::{self, VIRTUAL_TIMER};
use crate::taskset::{Parameters, TASKS_MAX, TaskError, TaskSet};
use crate::time::Clock;
use crate::{arguments, gic, hypercall};

/// A periodic task and what its jobs do.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// When its jobs are released and how urgent they are.
    pub parameters: Parameters,
    /// One job; gets the number of the job, from 0.
    pub body: fn(u64),
}

/// What a trace mark says about a job. A mark is `event << 40 | task << 32 | job`, where `job`
/// counts the releases of the task up to 2^32.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Mark {
    /// The job was released.
    Release = 1,
    /// The job runs for the first time.
    Start = 2,
    /// The job is complete.
    Finish = 3,
}

struct Scheduler {
    set: TaskSet,
    threads: [Frame; TASKS_MAX],
    idle: Frame,
    running: Option<usize>,
    released: [u32; TASKS_MAX],
    trace: bool,
}

/// That of each processor.
static SCHEDULERS: [InterruptLock<Option<Scheduler>>; CPUS_MAX] =
    [const { InterruptLock::new(None) }; CPUS_MAX];

/// Calls `f` with the scheduler of this processor.
fn here<R>(f: impl FnOnce(&mut Option<Scheduler>) -> R) -> R {
    SCHEDULERS[cpu::index()].with(f)
}

impl Scheduler {
    fn mark(&self, mark: Mark, task: usize) {
        if self.trace {
            let job = self.released[task].wrapping_sub(1);
            hypercall::trace_mark((mark as u64) << 40 | (task as u64) << 32 | u64::from(job));
        }
    }

    fn thread(&mut self, running: Option<usize>) -> &mut Frame {
        match running {
            Some(task) => &mut self.threads[task],
            None => &mut self.idle,
        }
    }

    /// Releases what is due, and sets the timer to what comes next.
    fn release(&mut self) {
        let now = counter::now();
        while let Some((task, runs)) = self.set.release(now) {
            if runs {
                self.released[task] = self.released[task].wrapping_add(1);
                self.mark(Mark::Release, task);
            }
        }
        match self.set.next_release() {
            Some(release) => counter::set_deadline(release),
            None => counter::stop(),
        }
    }

    /// Lets the most urgent job go on in place of the interrupted thread.
    fn dispatch(&mut self, frame: &mut Frame) {
        let next = self.set.ready();
        if next != self.running {
            *self.thread(self.running) = *frame;
            *frame = *self.thread(next);
            self.running = next;
        }
        if let Some(task) = next
            && self.set.start(task)
        {
            self.mark(Mark::Start, task);
        }
    }
}

fn timer(_intid: u32, frame: &mut Frame) {
    here(|scheduler| match scheduler {
        Some(scheduler) => {
            scheduler.release();
            scheduler.dispatch(frame);
        }
        None => counter::stop(),
    });
}

/// Completes the job of the running task.
pub fn job_done(frame: &mut Frame) {
    let now = counter::now();
    here(|scheduler| {
        if let Some(scheduler) = scheduler
            && let Some(task) = scheduler.running
        {
            scheduler.set.complete(task, now);
            scheduler.mark(Mark::Finish, task);
            scheduler.dispatch(frame);
        }
    });
}

/// Runs `tasks` on this processor; their first releases are `lead` from now plus their offsets, their
/// last before `lead + length`. Returns when all jobs are complete. `idle` is called with the time
/// since the start whenever there was an interrupt and no job is left to run; tasks preempt it.
///
/// Jobs leave marks in the trace where the hypervisor offers it, unless the boot arguments say
/// `rt.trace=0`.
pub fn run(
    tasks: &[Task],
    lead: Duration,
    length: Duration,
    mut idle: impl FnMut(Duration),
) -> Result<TaskSet, TaskError> {
    let clock = Clock::of_machine();
    let ticks = |duration: Duration| clock.ticks(duration.as_nanos() as u64);
    let trace = arguments::number("rt.trace", 1) != 0;

    let start = counter::now() + ticks(lead);
    let end = start + ticks(length);
    let set = TaskSet::new(tasks.iter().map(|task| task.parameters), clock, start, end)?;
    let mut threads = [Frame::EMPTY; TASKS_MAX];
    for (index, task) in tasks.iter().enumerate() {
        threads[index] = Frame::of_task(index, task.body);
    }
    let first = set.next_release();
    here(|scheduler| {
        *scheduler = Some(Scheduler {
            set,
            threads,
            idle: Frame::EMPTY,
            running: None,
            released: [0; TASKS_MAX],
            trace,
        });
    });
    interrupts::set_handler(VIRTUAL_TIMER, timer);
    gic::enable(VIRTUAL_TIMER);
    if let Some(first) = first {
        counter::set_deadline(first);
    }

    loop {
        // Looking and waiting with interrupts masked: else the last one could come in between.
        let finished = here(|slot| {
            let finished = slot.take_if(|scheduler| scheduler.set.is_finished());
            if finished.is_none() {
                cpu::wait_for_interrupt();
            }
            finished
        });
        if let Some(scheduler) = finished {
            counter::stop();
            return Ok(scheduler.set);
        }
        let elapsed = counter::now().saturating_sub(start);
        idle(Duration::from_nanos(clock.nanoseconds(elapsed)));
    }
}
