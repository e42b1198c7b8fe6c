//! Jobs of tasks, from the marks that guests set.

use std::collections::HashMap;

use crate::spaces::Spaces;
use crate::{Counters, Owner};

/// A mark of a guest, as the guests of Bulkhead encode it: event in
/// bits 40..48, task in bits 32..40, job in bits 0..32.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mark {
    /// The event of the job.
    pub event: Event,
    /// Number of the task.
    pub task: u8,
    /// Number of the job of that task.
    pub job: u32,
}

/// An event in the life of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// 1: it could run from now on.
    Release,
    /// 2: it starts to run.
    Start,
    /// 3: it is complete.
    Finish,
}

impl Mark {
    /// The mark with this value, or `None` if it means something else.
    pub const fn from_value(value: u64) -> Option<Self> {
        let event = match value >> 40 {
            1 => Event::Release,
            2 => Event::Start,
            3 => Event::Finish,
            _ => return None,
        };
        Some(Self { event, task: (value >> 32) as u8, job: value as u32 })
    }
}

/// A job that is complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Job {
    /// VM of the CPU.
    pub vm: Owner,
    /// CPU that ran it.
    pub cpu: usize,
    /// Number of the task.
    pub task: u8,
    /// Number of the job.
    pub job: u32,
    /// Time of its release in cycles, if that was marked.
    pub released: Option<u64>,
    /// The counts of the CPU when it started.
    pub start: Counters,
    /// The counts of the CPU when it was complete.
    pub finish: Counters,
    /// Cycles between the two in the address spaces of other tasks.
    pub others: u64,
}

/// All jobs of a run.
#[derive(Clone, Debug)]
pub struct Jobs {
    spaces: Spaces,
    released: HashMap<Key, u64>,
    started: HashMap<Key, Started>,
    complete: Vec<Job>,
    unmatched: u64,
}

/// A job that is not complete.
#[derive(Clone, Copy, Debug)]
struct Started {
    released: Option<u64>,
    counters: Counters,
    others: u64,
}

/// Clocks of different CPUs are not compared: a job has to end where it began.
type Key = (usize, Owner, u8, u32);

impl Jobs {
    /// No job yet, on `cpus` CPUs.
    pub fn new(cpus: usize) -> Self {
        Self {
            spaces: Spaces::new(cpus),
            released: HashMap::new(),
            started: HashMap::new(),
            complete: Vec::new(),
            unmatched: 0,
        }
    }

    /// A CPU writes a value to TTBR0_EL1.
    pub fn switch_space(&mut self, cpu: usize, value: u64, cycles: u64) {
        self.spaces.switch(cpu, value, cycles);
    }

    /// A CPU on account of a VM sets a mark.
    pub fn mark(&mut self, cpu: usize, vm: Owner, mark: Mark, counters: Counters) {
        let Mark { event, task, job } = mark;
        let key = (cpu, vm, task, job);
        self.spaces.mark(cpu, (vm, task), counters.cycles);
        let others = self.spaces.of_others(cpu, (vm, task));
        let again = match event {
            Event::Release => self.released.insert(key, counters.cycles).is_some(),
            Event::Start => {
                let released = self.released.remove(&key);
                self.started.insert(key, Started { released, counters, others }).is_some()
            }
            Event::Finish => match self.started.remove(&key) {
                Some(Started { released, counters: start, others: before }) => {
                    let (finish, others) = (counters, others - before);
                    self.complete.push(Job { vm, cpu, task, job, released, start, finish, others });
                    false
                }
                None => true,
            },
        };
        self.unmatched += u64::from(again);
    }

    /// Jobs that are complete, in the order of their ends on each CPU.
    pub fn complete(&self) -> &[Job] {
        &self.complete
    }

    /// Marks without their counterpart: ends without start, starts or releases
    /// that come again, and starts that have no end yet.
    pub fn unmatched(&self) -> u64 {
        self.unmatched + self.started.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(cycles: u64) -> Counters {
        Counters { cycles, ..Counters::default() }
    }

    #[test]
    fn values_are_decoded() {
        let mark = Mark::from_value(2 << 40 | 7 << 32 | 0x1234_5678).unwrap();
        assert_eq!(mark, Mark { event: Event::Start, task: 7, job: 0x1234_5678 });
        for other in [0, 0xffff_ffff, 4 << 40, 1 << 48 | 1 << 40] {
            assert_eq!(Mark::from_value(other), None, "{other:#x}");
        }
    }

    #[test]
    fn nested_jobs_are_kept_apart() {
        let (mut jobs, vm) = (Jobs::new(2), Owner::UNOWNED);
        let mark = |event, task| Mark { event, task, job: 9 };
        jobs.mark(0, vm, mark(Event::Release, 1), at(10));
        jobs.mark(0, vm, mark(Event::Start, 1), at(20));
        jobs.mark(0, vm, mark(Event::Start, 0), at(30));
        jobs.mark(0, vm, mark(Event::Finish, 0), at(40));
        jobs.mark(0, vm, mark(Event::Finish, 1), at(70));
        let found: Vec<_> = jobs
            .complete()
            .iter()
            .map(|job| (job.task, job.released, job.finish.cycles - job.start.cycles))
            .collect();
        assert_eq!(found, [(0, None, 10), (1, Some(10), 50)]);
        assert_eq!(jobs.unmatched(), 0);
    }

    #[test]
    fn the_time_of_others_is_told_from_a_jobs_own() {
        let (mut jobs, vm) = (Jobs::new(1), Owner::UNOWNED);
        let mark = |event, task| Mark { event, task, job: 0 };
        jobs.switch_space(0, 0x2000, 0);
        jobs.mark(0, vm, mark(Event::Start, 2), at(0));
        jobs.switch_space(0, 0x1000, 10);
        jobs.mark(0, vm, mark(Event::Start, 1), at(20));
        jobs.switch_space(0, 0x2000, 50);
        jobs.switch_space(0, 0x1000, 90);
        jobs.mark(0, vm, mark(Event::Finish, 1), at(100));
        assert_eq!(jobs.complete()[0].others, 40);
    }

    #[test]
    fn what_does_not_match_is_counted() {
        let (mut jobs, vm) = (Jobs::new(2), Owner::UNOWNED);
        let mark = |event| Mark { event, task: 0, job: 0 };
        jobs.mark(0, vm, mark(Event::Finish), at(1));
        jobs.mark(0, vm, mark(Event::Start), at(2));
        jobs.mark(1, vm, mark(Event::Finish), at(3));
        assert_eq!((jobs.complete().len(), jobs.unmatched()), (0, 3));
    }
}
