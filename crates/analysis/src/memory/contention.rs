//! Contention: the time for which the tasks of a VCPU wait for memory.

use crate::memory::{Bus, Curve, Reservation};
use crate::response::Workload;
use crate::utilization::Share;
use crate::window::{Beside, Stream};
use crate::{Caches, Duration, Failure};

/// Other PCPUs, whose accesses delay those of the tasks.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Interferer {
    /// Number of PCPUs. Each access of the tasks waits for at most one access of each.
    pub pcpus: u64,
    /// Limits of the sources there, if all of them have budgets.
    pub limit: Option<Vec<Curve>>,
}

/// The budget of accesses of the VCPU itself.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Throttle {
    /// A budget of its own.
    Own(Reservation),
    /// A shared budget: others can leave nothing of it at any time.
    Shared,
}

/// Others that make accesses while the tasks of a VCPU execute.
///
/// A job that waits for memory counts as executing: its VCPU loses this time, and the server counts
/// it like any other. So in a window of length `w`, the end of a busy period or all of it, all jobs
/// of the task and of those above, which make `N(w)` accesses, wait for others for
///
/// ```text
/// sum over interferers of min(k N(w) L, sum of S(w))
/// ```
///
/// where the first part is the delay by the `k` PCPUs, and the second one the limit of the budgets.
/// This is added to the demand that the supply of the VCPU has to meet (XenThrottle, Algorithm 1,
/// line 4, which is for a processor of its own; in vCache, Eq. 2 it is added to the execution of
/// the jobs). Time in which the VCPU has no supply belongs to the window: accesses of others do not
/// stop then.
///
/// `N(w)` has the accesses of each job that Eq. 2 counts, those that load again what a preemption
/// evicted, those of one job of each task below if these can block, and those that are on their way
/// when the window begins and when a job of the task continues after it has suspended itself. Time
/// for which an access that is on its way holds off a VCPU belongs to `late` of
/// [`crate::vcpu::late_response_times`].
#[derive(Clone, Copy, Debug)]
pub struct Contention<'a> {
    /// The bus on which accesses delay each other.
    pub bus: Bus,
    /// Maximum number of accesses of a job of each task, in their order: `A`; `None`: unknown.
    pub accesses: &'a [Option<u64>],
    /// Maximum number of accesses that load one colour of the cache again, if [`crate::Caches`]
    /// count them.
    pub reload: u64,
    /// The other PCPUs.
    pub interferers: &'a [Interferer],
    /// The budget of the VCPU itself, if it has one.
    pub throttle: Option<Throttle>,
}

/// Parts of a window in which jobs wait for memory.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Waits {
    /// Waiting for accesses of others.
    pub others: u128,
    /// Waiting for the VCPU's own budget.
    pub budget: u128,
}

impl Contention<'_> {
    /// Returns the accesses of the jobs above task `index`, one of each, the nearest first.
    pub(crate) fn above(&self, workload: &Workload<'_>, index: usize) -> impl Iterator<Item = u64> {
        let caches = workload.caches.map(|caches| caches.with_reload(self.reload));
        let reloads = Caches::delays_from(caches.as_ref(), index).skip(1).take(index);
        let reloads: Vec<_> = reloads.collect();
        let jobs = (0..index).rev().map(|h| self.of(h).unwrap_or(0));
        jobs.zip(reloads).map(|(job, reload)| job.saturating_add(reload))
    }

    /// Returns the accesses of a window besides those of the jobs above: those of `jobs` jobs of
    /// the task, of tasks below that block it, and those on their way. `None` if some of them are
    /// not known.
    pub(crate) fn beside(&self, workload: &Workload<'_>, index: usize, jobs: u64) -> Option<u128> {
        let task = workload.tasks.get(index)?;
        let all = 0..workload.tasks.len();
        let below = match (task.blocking, task.suspension) {
            (0, _) => 0,
            // Each task below can be in one section when the window begins.
            (_, 0) => sum(all.skip(index + 1).map(|l| self.of(l)))?,
            // Any number of their jobs can begin a section while the task waits for something else.
            _ => return None,
        };
        sum((0..index).map(|h| self.of(h)))?;
        let own = u128::from(self.of(index)?) * u128::from(jobs);
        // A job that suspends itself is also held off when it continues.
        let times = if task.suspension > 0 { 1 + u128::from(jobs) } else { 1 };
        Some(own + below + times * u128::from(self.bus.in_flight))
    }

    /// Returns the reason why there is no bound for task `index`, if there is none.
    pub(crate) fn unbounded(&self, workload: &Workload<'_>, index: usize) -> Option<Failure> {
        let known = self.beside(workload, index, 1).is_some();
        let suspends = workload.tasks.get(index).is_some_and(|task| task.suspension > 0);
        match self.throttle {
            Some(Throttle::Own(own)) if known && !suspends && own.accesses() > 0 => None,
            // While it suspends itself, tasks below use up the budget.
            Some(_) => Some(Failure::Throttled { task: index }),
            None if known => None,
            None if self.interferers.iter().all(|it| it.limit.is_some()) => None,
            None => Some(Failure::Interference { task: index }),
        }
    }

    /// Returns how long jobs with this number of accesses wait in a window. Jobs without a bound
    /// wait for no time here: see [`Contention::unbounded`].
    pub(crate) fn waits(&self, accesses: Option<u128>, window: u64) -> Waits {
        let others = self.interferers.iter().map(|it| it.delay(accesses, window, &self.bus));
        let budget = match (self.throttle, accesses) {
            (Some(Throttle::Own(own)), Some(accesses)) => {
                let all = accesses + u128::from(self.bus.overshoot);
                let times = 1 + all / u128::from(own.accesses().max(1));
                times * (u128::from(own.period().0) + u128::from(self.bus.lateness.0))
            }
            _ => 0,
        };
        Waits { others: others.sum(), budget }
    }

    /// Returns the share of a processor that tasks down to `index` lose at least in the long run,
    /// if they and others make as many accesses as they may.
    pub(crate) fn rate(&self, workload: &Workload<'_>, index: usize) -> Share {
        let known = self.beside(workload, index, 1).is_some();
        // Each access, also those that load evicted lines again, takes this long.
        let accesses = |latency: Duration| -> Share {
            let jobs = [self.of(index).unwrap_or(0)].into_iter().chain(self.above(workload, index));
            let one = |(accesses, task): (u64, &crate::Task)| {
                Share::down(Duration(accesses.saturating_mul(latency.0)), task.period())
            };
            jobs.zip(workload.tasks[..=index].iter().rev()).map(one).sum()
        };
        let each = |it: &Interferer| {
            let own =
                known.then(|| accesses(Duration(self.bus.latency.0.saturating_mul(it.pcpus))));
            let steps = |curves: &Vec<Curve>| -> Share {
                let staircases = curves.iter().map(Curve::staircase);
                staircases.map(|curve| Share::down(curve.step(), curve.period())).sum()
            };
            let limit = it.limit.as_ref().map(steps);
            [own, limit].into_iter().flatten().min().unwrap_or_default()
        };
        let budget = match self.throttle {
            Some(Throttle::Own(own)) if known => {
                let period = own.period().0.saturating_add(self.bus.lateness.0);
                Share(accesses(Duration(period)).0 / u128::from(own.accesses().max(1)))
            }
            _ => Share::default(),
        };
        self.interferers.iter().map(each).chain([budget]).sum()
    }

    fn of(&self, task: usize) -> Option<u64> {
        self.accesses.get(task).copied().flatten()
    }
}

impl Interferer {
    /// Returns the time for which this number of accesses waits for the interferer in a window.
    fn delay(&self, accesses: Option<u128>, window: u64, bus: &Bus) -> u128 {
        let pcpus = u128::from(self.pcpus);
        let own = accesses.map(|it| it.saturating_mul(pcpus * u128::from(bus.latency.0)));
        let of_curves = |curves: &Vec<Curve>| {
            curves.iter().map(|curve| u128::from(curve.at(Duration(window)).0)).sum()
        };
        let limit = self.limit.as_ref().map(of_curves);
        [own, limit].into_iter().flatten().min().unwrap_or(0)
    }
}

/// Waiting for memory in the search for windows.
pub(crate) trait Memory: Copy {
    /// Additional demand of a window.
    type Waiting<'s>: Beside
    where
        Self: 's;

    /// Collects the accesses of jobs above task `index` in `above`, those of streams of servers
    /// first: these make no accesses that count.
    fn collect(&self, above: &mut Vec<u64>, servers: usize, workload: &Workload<'_>, index: usize);

    /// Returns the reason why there is no bound, if there is none.
    fn unbounded(&self, workload: &Workload<'_>, index: usize) -> Option<Failure>;

    /// Returns the waiting in a window with `jobs` jobs of the task.
    fn waiting<'s>(
        &'s self,
        above: &'s [u64],
        workload: &Workload<'_>,
        index: usize,
        jobs: u64,
    ) -> Self::Waiting<'s>;
}

/// No task waits for memory, beyond the waiting that execution times include.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoContention;

impl Memory for NoContention {
    type Waiting<'s> = ();

    #[inline]
    fn collect(&self, _: &mut Vec<u64>, _: usize, _: &Workload<'_>, _: usize) {}

    #[inline]
    fn unbounded(&self, _: &Workload<'_>, _: usize) -> Option<Failure> {
        None
    }

    #[inline]
    fn waiting<'s>(&'s self, _: &'s [u64], _: &Workload<'_>, _: usize, _: u64) {}
}

impl Memory for Contention<'_> {
    type Waiting<'s>
        = Waiting<'s>
    where
        Self: 's;

    fn collect(&self, above: &mut Vec<u64>, servers: usize, workload: &Workload<'_>, index: usize) {
        above.clear();
        above.resize(servers, 0);
        above.extend(self.above(workload, index));
        above[servers..].reverse();
    }

    fn unbounded(&self, workload: &Workload<'_>, index: usize) -> Option<Failure> {
        self.unbounded(workload, index)
    }

    fn waiting<'s>(
        &'s self,
        above: &'s [u64],
        workload: &Workload<'_>,
        index: usize,
        jobs: u64,
    ) -> Waiting<'s> {
        Waiting { contention: self, above, beside: self.beside(workload, index, jobs) }
    }
}

/// The waiting of jobs for memory in a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<'a> {
    contention: &'a Contention<'a>,
    /// Accesses of one job of each stream.
    above: &'a [u64],
    /// Other accesses.
    beside: Option<u128>,
}

impl Beside for Waiting<'_> {
    fn demand(&self, streams: &[Stream], window: u64) -> u128 {
        let each = |(stream, accesses): (&Stream, &u64)| {
            u128::from(stream.jobs(window)) * u128::from(*accesses)
        };
        let accesses = self.beside.map(|beside| {
            streams.iter().zip(self.above).map(each).fold(beside, u128::saturating_add)
        });
        let waits = self.contention.waits(accesses, window);
        waits.others.saturating_add(waits.budget)
    }
}

fn sum(accesses: impl Iterator<Item = Option<u64>>) -> Option<u128> {
    accesses.map(|it| it.map(u128::from)).sum()
}
