//! The same with `crates/sim`, for systems that are plain enough.

use std::collections::VecDeque;

use sim::{Event, Execution, Limits, Pcpu, Release, Simulation, Task, Vcpu};

use crate::system::{self, System};

/// As [`crate::machine::run`].
pub fn run(system: &System, until: u64) -> Vec<Vec<u64>> {
    let simulated = sim::System::new(vec![Pcpu { vcpus: vec_of(&system.vcpu, vcpu) }]);
    let mut simulation = Simulation::new(&simulated, 1).unwrap();
    let mut tasks: Vec<Vec<_>> = Vec::new();
    for vcpu in &system.vcpu {
        tasks.push(vcpu.task.iter().map(Followed::new).collect());
    }
    let mut observer = |at: u64, _: usize, event: Event| match event {
        Event::Release { vcpu, task } => {
            if let Some(task) = tasks[vcpu].get_mut(task) {
                let arrival = task.arrivals.next().unwrap();
                task.pending.push_back(arrival);
            }
        }
        Event::Complete { vcpu, task, .. } => {
            if let Some(task) = tasks[vcpu].get_mut(task) {
                let arrival = task.pending.pop_front().unwrap();
                task.longest = task.longest.max(at - arrival);
            }
        }
        _ => {}
    };
    // What happens at `until` still counts, as with the machine.
    let limits = Limits { until: until + 1, events: u64::MAX };
    // Jobs that pile up end a simulation; what was seen until then is as good.
    let _ = simulation.run(limits, &mut observer);
    let end = until.min(simulation.now_ns());
    let longest = |task: &Followed<'_>| {
        let pending = task.pending.front().map_or(0, |arrival| end.saturating_sub(*arrival));
        task.longest.max(pending)
    };
    vec_of(&tasks, |tasks| vec_of(tasks, longest))
}

/// A task and its jobs that are not complete.
struct Followed<'a> {
    arrivals: Box<dyn Iterator<Item = u64> + 'a>,
    pending: VecDeque<u64>,
    longest: u64,
}

impl<'a> Followed<'a> {
    fn new(task: &'a system::Task) -> Self {
        let arrivals = Box::new(task.job.iter().map(|job| job.arrival));
        Self { arrivals, pending: VecDeque::new(), longest: 0 }
    }
}

fn vcpu(vcpu: &system::Vcpu) -> Vcpu {
    let mut tasks = vec_of(&vcpu.task, |task| {
        let mut last = 0;
        let jobs = task.job.iter().map(|job| {
            last = (job.arrival + job.delay).max(last);
            (last, job.run[0])
        });
        traced(jobs.collect())
    });
    if !vcpu.below.is_empty() {
        tasks.push(traced(vec_of(&vcpu.below, |below| (below.at, below.time))));
    }
    Vcpu::new("", vcpu.policy(), tasks)
}

/// A task whose jobs are released at given times and execute for given times.
fn traced(jobs: Vec<(u64, u64)>) -> Task {
    let never = (u64::MAX, 1);
    let (offset, _) = jobs.first().copied().unwrap_or(never);
    Task {
        name: String::new(),
        offset,
        period: u64::MAX,
        deadline: u64::MAX,
        release: Release::Trace(jobs.iter().skip(1).map(|job| job.0).collect()),
        execution: Execution::Trace(if jobs.is_empty() {
            vec![1]
        } else {
            jobs.iter().map(|job| job.1).collect()
        }),
        accesses: Default::default(),
    }
}

fn vec_of<T, U>(items: &[T], each: impl Fn(&T) -> U) -> Vec<U> {
    items.iter().map(each).collect()
}
