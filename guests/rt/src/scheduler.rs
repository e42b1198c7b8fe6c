//! Runs a task set on the processor that calls [`run`]: a virtual timer without periodic tick, and
//! preemption by exchange of the whole integer state. Tasks with critical sections use
//! [`crate::sections`].

use core::time::Duration;

use policy::lock::RESOURCES_MAX;

use crate::arch::lock::InterruptLock;
use crate::arch::{CPUS_MAX, Frame, counter, cpu, stolen};
use crate::bell::{self, Bell};
use crate::gic::Trigger;
use crate::interrupts::{self, VIRTUAL_TIMER};
use crate::taskset::{BY_BELL, Parameters, TASKS_MAX, TaskError, TaskSet};
use crate::time::Clock;
use crate::{arguments, gic, hypercall};

/// A periodic task and what its jobs do.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The times and the priority of its jobs.
    pub parameters: Parameters,
    /// One job; gets the number of the job, from 0.
    pub body: fn(u64),
    /// The resources of this processor alone that its jobs use ([`crate::sections::Resource::Local`]), one
    /// bit each.
    pub local: u16,
}

/// The event of a job that a trace mark shows. A mark is `event << 40 | task << 32 | job`, where `job`
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

pub(crate) struct Scheduler {
    pub(crate) set: TaskSet,
    pub(crate) threads: [Frame; TASKS_MAX],
    idle: Frame,
    pub(crate) running: Option<usize>,
    /// Releases of each task: those that are dropped count too, because the time of a release follows from its number.
    released: [u32; TASKS_MAX],
    /// The number of the job that each task has now, or had last.
    job: [u32; TASKS_MAX],
    /// The bells that the current job of each task rings when it is complete.
    rings: [Option<Bell>; TASKS_MAX],
    /// Ticks for which each task executed until it lost the processor last.
    executed: [u64; TASKS_MAX],
    /// Time of this processor when the running task got it.
    since: u64,
    trace: bool,
}

/// Instructions between two looks at the time while a task executes.
const STRIDE: u64 = 32;

/// The scheduler of each processor.
static SCHEDULERS: [InterruptLock<Option<Scheduler>>; CPUS_MAX] =
    [const { InterruptLock::new(None) }; CPUS_MAX];

/// Calls `f` with the scheduler of this processor.
pub(crate) fn here<R>(f: impl FnOnce(&mut Option<Scheduler>) -> R) -> R {
    SCHEDULERS[cpu::index()].with(f)
}

impl Scheduler {
    fn mark(&self, mark: Mark, task: usize) {
        self.mark_job(mark, task, self.job[task]);
    }

    fn mark_job(&self, mark: Mark, task: usize, job: u32) {
        if self.trace {
            let job = u64::from(job);
            hypercall::trace_mark((mark as u64) << 40 | (task as u64) << 32 | job);
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
            let number = self.released[task];
            self.released[task] = number.wrapping_add(1);
            if runs {
                self.job[task] = number;
                self.mark(Mark::Release, task);
            }
        }
        match self.set.next_event(now) {
            Some(event) => counter::set_deadline(event),
            None => counter::stop(),
        }
    }

    /// The bell rang.
    fn ring(&mut self) {
        if let Some((task, runs)) = self.set.ring(counter::now()) {
            let number = self.released[task];
            self.released[task] = number.wrapping_add(1);
            if runs {
                self.job[task] = number;
            }
            self.mark_job(Mark::Release, task, number);
        }
    }

    /// Lets the most urgent job go on in place of the interrupted thread.
    pub(crate) fn dispatch(&mut self, frame: &mut Frame) {
        let next = self.set.ready();
        if next != self.running {
            let now = stolen::own_time();
            if let Some(executed) = self.running.and_then(|task| self.executed.get_mut(task)) {
                *executed += now - self.since;
            }
            self.since = now;
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

/// Index of the running task.
pub fn running() -> Option<usize> {
    here(|scheduler| scheduler.as_ref()?.running)
}

/// Executes for `ticks` ticks of the counter in which the task that calls has the processor: what other
/// tasks, other VCPUs and exhausted budgets take does not count.
pub fn execute(ticks: u64) {
    let end = executed() + ticks;
    while let left = end.saturating_sub(executed())
        && left > 0
    {
        // A tick takes longer than half an instruction, so that this ends before the time is over.
        cpu::burn((left / 2).max(STRIDE));
    }
}

/// Ticks for which the running task has executed in all of its jobs.
fn executed() -> u64 {
    here(|scheduler| match scheduler {
        Some(Scheduler { running: Some(task), executed, since, .. }) => {
            executed[*task] + stolen::own_time() - *since
        }
        _ => stolen::own_time(),
    })
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

fn rung(_intid: u32, frame: &mut Frame) {
    here(|scheduler| {
        if let Some(scheduler) = scheduler {
            scheduler.ring();
            scheduler.dispatch(frame);
        }
    });
}

/// Rings when the job that calls is complete: after its mark in the trace, before anything else of this
/// processor goes on.
pub fn ring_when_done(bell: Bell) {
    here(|scheduler| {
        if let Some(scheduler) = scheduler
            && let Some(place) = scheduler.running.and_then(|task| scheduler.rings.get_mut(task))
        {
            *place = Some(bell);
        }
    });
}

/// Completes the job of the running task.
pub fn job_done(frame: &mut Frame) {
    let now = counter::now();
    here(|scheduler| {
        if let Some(scheduler) = scheduler
            && let Some(task) = scheduler.running
        {
            let follows = scheduler.set.follows(task);
            scheduler.set.complete(task, now);
            scheduler.mark(Mark::Finish, task);
            if follows {
                scheduler.job[task] = scheduler.job[task].wrapping_add(1);
            }
            if let Some(bell) = scheduler.rings[task].take() {
                bell.ring();
            }
            scheduler.dispatch(frame);
        }
    });
}

/// Runs `tasks` on this processor; their first releases are at tick `start` plus their offsets, their
/// last before `start` plus `length`. Returns when all jobs are complete. `idle` is called with the time
/// since the start whenever there was an interrupt and no job is left to run; tasks preempt it.
///
/// Jobs leave marks in the trace where the hypervisor offers it, unless the boot arguments say
/// `rt.trace=0`.
pub fn run(
    tasks: &[Task],
    start: u64,
    length: Duration,
    mut idle: impl FnMut(Duration),
) -> Result<TaskSet, TaskError> {
    let clock = Clock::of_machine();
    let ticks = |duration: Duration| clock.ticks(duration.as_nanos() as u64);
    let trace = arguments::number("rt.trace", 1) != 0;

    let end = start + ticks(length);
    let mut set = TaskSet::new(tasks.iter().map(|task| task.parameters), clock, start, end)?;
    let mut threads = [Frame::EMPTY; TASKS_MAX];
    for (index, task) in tasks.iter().enumerate() {
        threads[index] = Frame::of_task(index, task.body);
        for resource in (0..RESOURCES_MAX).filter(|bit| task.local >> bit & 1 == 1) {
            set.use_local(index, resource);
        }
    }
    let first = set.next_event(counter::now());
    let by_bell = tasks.iter().any(|task| task.parameters.period == BY_BELL);
    here(|scheduler| {
        *scheduler = Some(Scheduler {
            set,
            threads,
            idle: Frame::EMPTY,
            running: None,
            released: [0; TASKS_MAX],
            job: [0; TASKS_MAX],
            rings: [None; TASKS_MAX],
            executed: [0; TASKS_MAX],
            since: 0,
            trace,
        });
    });
    interrupts::set_handler(VIRTUAL_TIMER, timer);
    gic::enable(VIRTUAL_TIMER);
    if let (true, Some(intid)) = (by_bell, bell::interrupt()) {
        interrupts::set_handler(intid, rung);
        gic::set_trigger(intid, Trigger::Edge);
        gic::enable(intid);
    }
    if let Some(first) = first {
        counter::set_deadline(first);
    }

    loop {
        // Looking and waiting with interrupts masked: else the last one could come in between.
        let finished = here(|slot| {
            let finished = slot.take_if(|scheduler| scheduler.set.is_finished(counter::now()));
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
