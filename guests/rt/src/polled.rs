//! Runs a task set on a processor without interrupts: tasks only pass time, and whoever passes it looks at the clock.
//!
//! A job whose time has come preempts another one at the next look, which is much shorter than anything that matters to a
//! task. So no stacks have to be exchanged, and the whole is a loop.

use abi::hypercall::{MARK_FINISH, MARK_RELEASE, MARK_START, mark};

use crate::taskset::{TASKS_MAX, TaskSet};

/// A processor, as this module needs it. Times are in ticks of the clock of the task set.
pub trait Processor {
    /// Returns the time.
    fn now(&mut self) -> u64;
    /// Waits until this time.
    fn wait(&mut self, until: u64);
    /// Executes for this time of its own, but not beyond the time `until`. Returns for how long it has executed.
    fn execute(&mut self, ticks: u64, until: u64) -> u64;
    /// Puts a mark into the trace.
    fn mark(&mut self, mark: u64);
}

/// Runs all jobs of the tasks of `set`, each of which executes for the time at its place in `lengths`, and returns when they
/// are complete.
pub fn run(set: &mut TaskSet, lengths: &[u64; TASKS_MAX], processor: &mut impl Processor) {
    let mut left = [0; TASKS_MAX];
    let mut released = [0u32; TASKS_MAX];
    // The number of the job that each task has now.
    let mut job = [0; TASKS_MAX];
    let say = |processor: &mut _, event, task: usize, job: &[u32; TASKS_MAX]| {
        Processor::mark(processor, mark(event, task as u8, job[task]));
    };
    loop {
        let now = processor.now();
        while let Some((task, runs)) = set.release(now) {
            // Those that are dropped count: the time of a job's release follows from its number.
            released[task] = released[task].wrapping_add(1);
            if runs {
                (left[task], job[task]) = (lengths[task], released[task].wrapping_sub(1));
                say(processor, MARK_RELEASE, task, &job);
            }
        }
        let next = set.next_release();
        match (set.ready(), next) {
            (Some(task), _) => {
                if set.start(task) {
                    say(processor, MARK_START, task, &job);
                }
                let executed = processor.execute(left[task], next.unwrap_or(u64::MAX));
                left[task] = left[task].saturating_sub(executed);
                if left[task] == 0 {
                    set.complete(task, processor.now());
                    say(processor, MARK_FINISH, task, &job);
                }
            }
            (None, Some(release)) => processor.wait(release),
            (None, None) => return,
        }
    }
}

/// Adds up the time that a processor has for itself while it looks at the clock again and again: a step that is longer than
/// a look can take is one in which somebody else had the processor.
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

    /// Time passes only by what is done.
    #[derive(Default)]
    struct Machine {
        now: u64,
        marks: Vec<(u64, u64)>,
    }

    impl Processor for Machine {
        fn now(&mut self) -> u64 {
            self.now
        }

        fn wait(&mut self, until: u64) {
            assert!(until > self.now);
            self.now = until;
        }

        fn execute(&mut self, ticks: u64, until: u64) -> u64 {
            let executed = ticks.min(until - self.now);
            self.now += executed;
            executed
        }

        fn mark(&mut self, mark: u64) {
            self.marks.push((self.now, mark));
        }
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
        let mut lengths = [0; TASKS_MAX];
        lengths[..2].copy_from_slice(&[3, 10]);
        let mut set = set(&[8, 20], 20);
        run(&mut set, &lengths, &mut machine);
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
        let mut lengths = [0; TASKS_MAX];
        lengths[0] = 12;
        run(&mut set(&[8], 20), &lengths, &mut machine);
        let releases = [0, 16].map(|time| (time, mark(MARK_RELEASE, 0, time as u32 / 8)));
        let marked = |mark: &&(u64, u64)| mark.1 >> 40 == u64::from(MARK_RELEASE);
        assert!(machine.marks.iter().filter(marked).eq(&releases), "{:x?}", machine.marks);
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
