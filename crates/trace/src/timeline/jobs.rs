//! The jobs of tasks, from their marks.

use std::collections::BTreeMap;
use std::io;

use super::store::{BLOCK, Block, Store};
use crate::{JobMark, Source, Step, VcpuId};

/// A job of a task: when it was released, first executed, and complete, as far as the trace says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Job {
    /// Number of the job.
    pub job: u32,
    /// Release in ticks.
    pub release: Option<u64>,
    /// Start in ticks.
    pub start: Option<u64>,
    /// Completion in ticks.
    pub finish: Option<u64>,
}

impl Job {
    /// Returns the time from release to completion in ticks.
    pub fn response(&self) -> Option<u64> {
        self.finish?.checked_sub(self.release?)
    }
}

/// Returns the jobs of all tasks, in the order in which they appear: by VCPU and number of the
/// task. [`Jobs`] does not keep them in memory.
pub fn jobs<S: Source>(trace: &S) -> BTreeMap<(VcpuId, u8), Vec<Job>> {
    let jobs = Jobs::with(trace, Store::in_memory()).unwrap_or_default();
    jobs.tasks().map(|(id, task)| (id, task.iter().map_while(Result::ok).collect())).collect()
}

/// The jobs of all tasks of a trace, in the order in which they appear. Those that are too many for
/// memory are in a file without a name.
///
/// A guest notes a release when it has the processor, but at the time of the release its VCPU may
/// not run. If the header has the period, releases are whole periods apart, as early as the
/// earliest of all notes shows.
#[derive(Debug, Default)]
pub struct Jobs {
    tasks: BTreeMap<(VcpuId, u8), List>,
    store: Store,
    frequency_hz: u64,
}

/// The jobs of a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskJobs<'a> {
    list: &'a List,
    store: &'a Store,
    frequency_hz: u64,
}

#[derive(Debug, Default)]
struct List {
    /// Time between two releases, if it is known.
    period_ns: Option<u64>,
    blocks: Vec<Block>,
    /// The last jobs of those that do not change any more.
    rest: Vec<Job>,
    /// Jobs that are not complete, of which none behind is.
    open: Vec<Job>,
    runs: Vec<Run>,
}

/// Jobs with ascending numbers: a guest that was started again counts from 0.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Place of its first job in the list.
    start: u64,
    /// Number of its last job so far.
    last: u32,
    /// Release of the job with the number 0, if releases are whole periods apart.
    zero: Option<u64>,
}

impl Jobs {
    /// Finds all jobs.
    ///
    /// # Errors
    ///
    /// The file for jobs cannot be written.
    pub fn new<S: Source>(trace: &S) -> io::Result<Self> {
        Self::with(trace, Store::default())
    }

    fn with<S: Source>(trace: &S, mut store: Store) -> io::Result<Self> {
        let frequency_hz = trace.header().frequency_hz;
        let mut tasks: BTreeMap<(VcpuId, u8), List> = BTreeMap::new();
        for (_, entry) in trace.merged() {
            let Some((vcpu, mark)) = entry.event.job() else { continue };
            let list = tasks.entry((vcpu, mark.task)).or_insert_with(|| {
                let task = trace.header().task(vcpu, mark.task);
                List { period_ns: task.and_then(|task| task.period_ns), ..List::default() }
            });
            list.mark(mark, entry.ticks, (&mut store, frequency_hz))?;
        }
        for list in tasks.values_mut() {
            let open = list.open.len();
            list.close(open, (&mut store, frequency_hz))?;
        }
        Ok(Self { tasks, store, frequency_hz })
    }

    /// Returns the tasks.
    pub fn tasks(&self) -> impl Iterator<Item = ((VcpuId, u8), TaskJobs<'_>)> {
        self.tasks.iter().map(|(&id, list)| (id, self.of(list)))
    }

    /// Returns the jobs of a task.
    pub fn task(&self, id: (VcpuId, u8)) -> Option<TaskJobs<'_>> {
        Some(self.of(self.tasks.get(&id)?))
    }

    fn of<'a>(&'a self, list: &'a List) -> TaskJobs<'a> {
        TaskJobs { list, store: &self.store, frequency_hz: self.frequency_hz }
    }
}

impl List {
    fn mark(&mut self, mark: JobMark, ticks: u64, store: (&mut Store, u64)) -> io::Result<()> {
        // Jobs complete in the order of their release: those that have not are the last.
        let known = self.open.iter().position(|job| job.job == mark.job);
        let index = known.unwrap_or_else(|| {
            self.open.push(Job { job: mark.job, ..Job::default() });
            self.open.len() - 1
        });
        let (job, time) = (&mut self.open[index], Some(ticks));
        match mark.step {
            Step::Release => job.release = time,
            Step::Start => job.start = time,
            Step::Finish => job.finish = time,
        }
        match mark.step {
            Step::Finish => self.close(index + 1, store),
            Step::Release | Step::Start => Ok(()),
        }
    }

    /// The first jobs of those that are open do not change any more.
    fn close(&mut self, count: usize, (store, frequency_hz): (&mut Store, u64)) -> io::Result<()> {
        for job in self.open.drain(..count) {
            let ascends = self.runs.last().is_some_and(|run| run.last < job.job);
            if !ascends {
                let start = (self.blocks.len() * BLOCK + self.rest.len()) as u64;
                self.runs.push(Run { start, last: job.job, zero: None });
            }
            if let Some(run) = self.runs.last_mut() {
                run.last = job.job;
                if let Some(period) = self.period_ns
                    && let Some(release) = job.release
                    && let Some(zero) =
                        release.checked_sub(since_first(job.job, period, frequency_hz))
                {
                    run.zero = Some(run.zero.map_or(zero, |known| known.min(zero)));
                }
            }
            self.rest.push(job);
            if self.rest.len() == BLOCK {
                let full = std::mem::replace(&mut self.rest, Vec::with_capacity(BLOCK));
                self.blocks.push(store.put(full)?);
            }
        }
        Ok(())
    }
}

impl<'a> TaskJobs<'a> {
    /// Returns the jobs in the order in which they appear.
    pub fn iter(self) -> impl Iterator<Item = io::Result<Job>> + 'a {
        let runs = 0..self.list.runs.len();
        runs.flat_map(move |run| self.run(run))
    }

    /// Returns the number of runs: of jobs with ascending numbers.
    pub fn runs(self) -> usize {
        self.list.runs.len()
    }

    /// Returns the jobs of a run.
    pub fn run(self, run: usize) -> impl Iterator<Item = io::Result<Job>> + 'a {
        let List { period_ns, blocks, rest, runs, .. } = self.list;
        let count = (blocks.len() * BLOCK + rest.len()) as u64;
        let start = runs.get(run).map_or(count, |run| run.start);
        let end = runs.get(run + 1).map_or(count, |next| next.start);
        let zero = runs.get(run).and_then(|run| run.zero);
        let (mut at, mut block) = (start, None);
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (number, place) = ((at / BLOCK as u64) as usize, (at % BLOCK as u64) as usize);
            at += 1;
            let job = match blocks.get(number) {
                None => rest[place],
                Some(stored) => {
                    if block.as_ref().is_none_or(|(known, _)| *known != number) {
                        match self.store.get(stored) {
                            Ok(jobs) => block = Some((number, jobs)),
                            Err(error) => {
                                at = end;
                                return Some(Err(error));
                            }
                        }
                    }
                    block.as_ref().map(|(_, jobs)| jobs[place]).unwrap_or_default()
                }
            };
            let release = match (period_ns, zero) {
                (Some(period), Some(zero)) => {
                    let since = since_first(job.job, *period, self.frequency_hz);
                    job.release.map(|_| zero.saturating_add(since))
                }
                _ => job.release,
            };
            Some(Ok(Job { release, ..job }))
        })
    }
}

/// Returns the time from the release of the job with the number 0 to that of this one, in ticks.
fn since_first(job: u32, period_ns: u64, frequency_hz: u64) -> u64 {
    let ns = u128::from(job) * u128::from(period_ns);
    u64::try_from(ns * u128::from(frequency_hz) / 1_000_000_000).unwrap_or(u64::MAX)
}
