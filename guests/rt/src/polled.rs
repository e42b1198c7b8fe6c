//! Runs a task set on a processor without interrupts: tasks only pass time, and look at the clock meanwhile.
//!
//! A job whose time has come preempts another one at the next look, which is much shorter than anything that matters to a
//! task. So does a task that gets the resource for which it waited; there is no interrupt for that, either. So no stacks have to
//! be exchanged, and the whole is a loop.

use abi::hypercall::{MARK_FINISH, MARK_RELEASE, MARK_START, mark};

use crate::taskset::{TASKS_MAX, TaskSet};

/// A part of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Part {
    /// Execution time.
    pub ticks: u64,
    /// The resource that the task holds meanwhile.
    pub resource: Option<Resource>,
}

/// A resource that tasks use one at a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Resource {
    /// A resource of tasks of one processor: its number, below `policy::lock::RESOURCES_MAX`.
    Local(usize),
    /// A resource of tasks of several processors or VMs: its number, as it was opened.
    Shared(u64),
}

/// The answer to a task that asks for a resource that others share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked {
    /// The task holds it.
    Held,
    /// The task waits until [`Processor::granted`] names it.
    Waits,
    /// It is too early: the task asks again, and is in no section until then.
    TooEarly,
    /// The task does not get it.
    Refused,
}

/// A processor, as this module needs it. Times are in ticks of the clock of the task set, and tasks are ranks
/// in it, but for the one that executes, which is the index of it.
pub trait Processor {
    /// Returns the time.
    fn now(&mut self) -> u64;
    /// Waits until this time, or until there is something new to be [`Processor::granted`].
    fn wait(&mut self, until: u64);
    /// A task executes for this time of the processor, but not beyond the time `until`, and only until there is something new to be
    /// [`Processor::granted`]. Returns the time for which it has executed.
    fn execute(&mut self, task: usize, ticks: u64, until: u64) -> u64;
    /// Puts a mark into the trace.
    fn mark(&mut self, mark: u64);
    /// A task asks for a resource.
    fn lock(&mut self, resource: u64, task: usize) -> Asked;
    /// A task releases a resource.
    fn unlock(&mut self, resource: u64, task: usize);
    /// Returns a task that got the resource for which it waited, each once; false: the task has lost it again.
    fn granted(&mut self) -> Option<(usize, bool)>;
}

/// The state of a job.
#[derive(Clone, Copy, Debug, Default)]
struct Job {
    number: u32,
    /// The part that comes next or is executed.
    part: usize,
    /// Time that is left of it; `None`: it has not begun.
    left: Option<u64>,
}

/// Runs all jobs of the tasks of `set`, and returns when they are complete. `part` returns the parts of jobs of a task, one part
/// after the other; a part that a task cannot enter, because its resource is refused or lost, is left out.
pub fn run(
    set: &mut TaskSet,
    part: impl Fn(usize, usize) -> Option<Part>,
    processor: &mut impl Processor,
) {
    let mut released = [0u32; TASKS_MAX];
    let mut jobs = [Job::default(); TASKS_MAX];
    loop {
        while let Some((rank, holds)) = processor.granted() {
            let Some(task) = set.with_rank(rank) else { continue };
            if holds {
                set.raise(task);
                jobs[task].left = part(task, jobs[task].part).map(|part| part.ticks);
            } else {
                set.resume(task);
                jobs[task].part += 1;
            }
        }
        let now = processor.now();
        while let Some((task, runs)) = set.release(now) {
            let number = released[task];
            // Those that are dropped count: the time of a job's release follows from its number.
            released[task] = number.wrapping_add(1);
            if runs {
                jobs[task] = Job { number, ..Job::default() };
                processor.mark(mark(MARK_RELEASE, task as u8, number));
            }
        }
        let next = set.next_release();
        match set.ready() {
            Some(task) => {
                if set.start(task) {
                    processor.mark(mark(MARK_START, task as u8, jobs[task].number));
                }
                if let Some(part) = part(task, jobs[task].part) {
                    jobs[task] = go_on(set, task, jobs[task], part, next, processor);
                }
                if part(task, jobs[task].part).is_none() {
                    set.complete(task, processor.now());
                    processor.mark(mark(MARK_FINISH, task as u8, jobs[task].number));
                }
            }
            None if set.is_finished(processor.now()) => return,
            None => processor.wait(next.unwrap_or(u64::MAX)),
        }
    }
}

/// Lets a task enter a part, or execute it for a while.
fn go_on(
    set: &mut TaskSet,
    task: usize,
    job: Job,
    part: Part,
    next: Option<u64>,
    processor: &mut impl Processor,
) -> Job {
    let rank = set.rank(task).unwrap_or_default();
    let Some(left) = job.left else {
        let entered = match part.resource {
            None => Asked::Held,
            Some(Resource::Local(resource)) => match set.lock_local(task, resource) {
                Ok(true) => Asked::Held,
                // Others run in its place, and then it asks again.
                Ok(false) => Asked::TooEarly,
                Err(_) => Asked::Refused,
            },
            Some(Resource::Shared(resource)) => {
                let asked = processor.lock(resource, rank);
                match asked {
                    Asked::Held => set.raise(task),
                    Asked::Waits => set.suspend(task),
                    Asked::TooEarly | Asked::Refused => {}
                }
                asked
            }
        };
        return match entered {
            Asked::Held => Job { left: Some(part.ticks), ..job },
            Asked::Waits | Asked::TooEarly => job,
            Asked::Refused => Job { part: job.part + 1, ..job },
        };
    };
    let left = left.saturating_sub(processor.execute(task, left, next.unwrap_or(u64::MAX)));
    if left > 0 {
        return Job { left: Some(left), ..job };
    }
    match part.resource {
        None => {}
        // It has it.
        Some(Resource::Local(resource)) => _ = set.unlock_local(task, resource),
        Some(Resource::Shared(resource)) => {
            processor.unlock(resource, rank);
            set.lower(task);
        }
    }
    Job { part: job.part + 1, left: None, ..job }
}

/// Adds up the time that a processor has for itself while it looks at the clock again and again: a step that is longer than
/// a look can take is one in which other software had the processor.
#[derive(Clone, Copy, Debug)]
pub struct OwnTime {
    last: u64,
    own: u64,
    longest: u64,
}

impl OwnTime {
    /// Starts at this time; steps that are longer than `longest` do not count.
    pub fn new(now: u64, longest: u64) -> Self {
        Self { last: now, own: 0, longest }
    }

    /// Looks at the clock. Returns the time so far.
    #[inline]
    pub fn look(&mut self, now: u64) -> u64 {
        let step = now.saturating_sub(self.last);
        if step <= self.longest {
            self.own += step;
        }
        self.last = now;
        self.own
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::taskset::Parameters;
    use crate::time::Clock;

    /// A machine whose time passes only in its calls.
    #[derive(Default)]
    struct Machine {
        now: u64,
        marks: Vec<(u64, u64)>,
        /// Tasks that get resources for which they wait, when, and whether they have not lost them.
        grants: Vec<(u64, usize, bool)>,
        /// The calls that ask for resources and release them.
        calls: Vec<(u64, &'static str, usize)>,
        /// The next answers; those behind them are [`Asked::Held`].
        answers: Vec<Asked>,
    }

    impl Machine {
        fn next_grant(&self) -> u64 {
            self.grants.iter().map(|(time, ..)| *time).min().unwrap_or(u64::MAX)
        }
    }

    impl Processor for Machine {
        fn now(&mut self) -> u64 {
            self.now
        }

        fn wait(&mut self, until: u64) {
            assert!(until > self.now);
            self.now = until.min(self.next_grant().max(self.now));
        }

        fn execute(&mut self, _: usize, ticks: u64, until: u64) -> u64 {
            let executed = ticks.min(until.min(self.next_grant()) - self.now);
            self.now += executed;
            executed
        }

        fn mark(&mut self, mark: u64) {
            self.marks.push((self.now, mark));
        }

        fn lock(&mut self, resource: u64, task: usize) -> Asked {
            assert_eq!(resource, 7);
            self.calls.push((self.now, "lock", task));
            let answer = if self.answers.is_empty() { Asked::Held } else { self.answers.remove(0) };
            // It looks at the clock meanwhile.
            self.now += u64::from(answer == Asked::TooEarly);
            answer
        }

        fn unlock(&mut self, resource: u64, task: usize) {
            assert_eq!(resource, 7);
            self.calls.push((self.now, "unlock", task));
        }

        fn granted(&mut self) -> Option<(usize, bool)> {
            let place = self.grants.iter().position(|(time, ..)| *time <= self.now)?;
            let (_, task, holds) = self.grants.remove(place);
            Some((task, holds))
        }
    }

    /// Jobs that only execute.
    fn plain(lengths: &[u64]) -> impl Fn(usize, usize) -> Option<Part> {
        move |task, number| (number == 0).then_some(Part { ticks: lengths[task], resource: None })
    }

    /// Times at which jobs of a task come to an end.
    fn ends(machine: &Machine, task: u8) -> Vec<u64> {
        let is_end = |value: u64| value >> 32 == mark(MARK_FINISH, task, 0) >> 32;
        machine.marks.iter().filter(|it| is_end(it.1)).map(|it| it.0).collect()
    }

    fn set(periods: &[u64], end: u64) -> TaskSet {
        let task = |(number, period): (usize, &u64)| {
            let period = Duration::from_nanos(*period);
            let priority = 100 - number as u8;
            Parameters { name: "it", period, offset: Duration::ZERO, deadline: period, priority }
        };
        let tasks = periods.iter().enumerate().map(task);
        TaskSet::new(tasks, Clock::new(1_000_000_000), 0, end).expect("tasks")
    }

    #[test]
    fn jobs_preempt_others_and_leave_marks() {
        let mut machine = Machine::default();
        let mut set = set(&[8, 20], 20);
        run(&mut set, plain(&[3, 10]), &mut machine);
        let release = |time, task, job| (time, mark(MARK_RELEASE, task, job));
        let start = |time, task, job| (time, mark(MARK_START, task, job));
        let finish = |time, task, job| (time, mark(MARK_FINISH, task, job));
        let expected = [
            release(0, 0, 0),
            release(0, 1, 0),
            start(0, 0, 0),
            finish(3, 0, 0),
            start(3, 1, 0),
            release(8, 0, 1),
            start(8, 0, 1),
            finish(11, 0, 1),
            finish(16, 1, 0),
            release(16, 0, 2),
            start(16, 0, 2),
            finish(19, 0, 2),
        ];
        assert_eq!(machine.marks, expected);
    }

    #[test]
    fn dropped_releases_have_numbers_too() {
        let mut machine = Machine::default();
        run(&mut set(&[8], 20), plain(&[12]), &mut machine);
        let releases = [0, 16].map(|time| (time, mark(MARK_RELEASE, 0, time as u32 / 8)));
        let marked = |mark: &&(u64, u64)| mark.1 >> 40 == u64::from(MARK_RELEASE);
        assert!(machine.marks.iter().filter(marked).eq(&releases), "{:x?}", machine.marks);
    }

    /// A job of the second task has a section in the middle, and so has one of the first task.
    fn sections(resource: Resource) -> impl Fn(usize, usize) -> Option<Part> {
        move |_, number| {
            let ticks = [1, 4, 1].get(number).copied()?;
            Some(Part { ticks, resource: (number == 1).then_some(resource) })
        }
    }

    #[test]
    fn a_task_in_a_shared_section_comes_first_and_one_that_waits_lets_others_run() {
        let mut machine = Machine { grants: vec![(12, 0, true)], ..Machine::default() };
        machine.answers = vec![Asked::Waits, Asked::Held];
        let mut set = set(&[50, 50], 50);
        run(&mut set, sections(Resource::Shared(7)), &mut machine);
        // The first task waits from 1 on, the second one is in its section from 2 to 6.
        let calls = [(1, "lock", 0), (2, "lock", 1), (6, "unlock", 1), (16, "unlock", 0)];
        assert_eq!(machine.calls, calls);
        assert_eq!([ends(&machine, 0), ends(&machine, 1)], [[17], [7]]);
        // What the first task gets while the second one is in its section makes both raised: the first one leaves its own at 8.
        let mut machine = Machine { grants: vec![(4, 0, true)], ..Machine::default() };
        machine.answers = vec![Asked::Waits, Asked::Held];
        let mut set = self::set(&[50, 50], 50);
        run(&mut set, sections(Resource::Shared(7)), &mut machine);
        assert_eq!([ends(&machine, 0), ends(&machine, 1)], [[11], [12]]);
    }

    #[test]
    fn a_task_that_lost_its_resource_before_it_knew_leaves_the_section_out() {
        let mut machine = Machine { grants: vec![(12, 0, false)], ..Machine::default() };
        machine.answers = vec![Asked::Waits];
        run(&mut set(&[50], 50), sections(Resource::Shared(7)), &mut machine);
        assert_eq!(machine.calls, [(1, "lock", 0)]);
        assert_eq!(ends(&machine, 0), [13]);
    }

    #[test]
    fn who_is_too_early_asks_again_and_who_is_refused_leaves_the_section_out() {
        let answers = vec![Asked::TooEarly, Asked::TooEarly, Asked::Refused];
        let mut machine = Machine { answers, ..Machine::default() };
        run(&mut set(&[50], 50), sections(Resource::Shared(7)), &mut machine);
        assert_eq!(machine.calls, [(1, "lock", 0), (2, "lock", 0), (3, "lock", 0)]);
        assert_eq!(ends(&machine, 0), [4]);
    }

    #[test]
    fn resources_of_the_processor_have_ceilings() {
        let mut machine = Machine::default();
        let period = |nanos| Duration::from_nanos(nanos);
        let task = |offset, priority| Parameters {
            name: "it",
            period: period(50),
            offset: period(offset),
            deadline: period(50),
            priority,
        };
        let clock = Clock::new(1_000_000_000);
        // The second task is in its section when the first one comes.
        let mut set = TaskSet::new([task(2, 9), task(0, 8)], clock, 0, 50).expect("tasks");
        (0..2).for_each(|task| set.use_local(task, 0));
        run(&mut set, sections(Resource::Local(0)), &mut machine);
        // The first one executes from 2 to 3, asks, and gets it at 6.
        assert_eq!([ends(&machine, 0), ends(&machine, 1)], [[11], [12]]);
        assert_eq!(machine.calls, []);
    }

    #[test]
    fn time_of_others_does_not_count() {
        let mut time = OwnTime::new(100, 10);
        assert_eq!(time.look(105), 5);
        assert_eq!(time.look(115), 15);
        assert_eq!(time.look(2_000), 15);
        assert_eq!(time.look(2_001), 16);
        assert_eq!(time.look(1_990), 16, "a clock that goes back adds nothing");
    }
}
