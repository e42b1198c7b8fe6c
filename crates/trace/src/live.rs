//! Counts of events on the PCPUs of a system while it runs: processor time and accesses of VCPUs, and jobs of
//! tasks.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Clock, Entry, Event, Header, JobMark, Step, VcpuId};

/// Counts events of a system in the order in which they are told, PCPU by PCPU.
#[derive(Clone, Debug)]
pub struct Live {
    header: Header,
    clock: Clock,
    /// Times of the first and of the last event, and of the last view.
    first: Option<u64>,
    now: u64,
    viewed: u64,
    /// The VCPU that each PCPU runs.
    runs: Vec<Option<Span>>,
    vcpus: BTreeMap<VcpuId, Vcpu>,
    tasks: BTreeMap<(VcpuId, u8), Task>,
    lost: u64,
}

/// A VCPU has the PCPU.
#[derive(Clone, Copy, Debug)]
struct Span {
    vcpu: VcpuId,
    start: u64,
    /// Time up to which its use is counted.
    counted: u64,
    budget: Option<u64>,
}

/// A VCPU since the last view.
#[derive(Clone, Copy, Debug, Default)]
struct Vcpu {
    used: u64,
    used_up: u64,
    accesses: u64,
    throttled: u64,
    waited: u64,
    /// Since when it waits for accesses.
    waits: Option<u64>,
}

/// A task since the start.
#[derive(Clone, Debug, Default)]
struct Task {
    jobs: u64,
    misses: u64,
    longest: u64,
    /// Noted releases of jobs that are not complete, by their numbers.
    released: BTreeMap<u32, u64>,
    /// The release of the job with the number 0, if releases are whole periods apart.
    zero: Option<u64>,
    /// The last job that is complete.
    last: Option<u32>,
}

/// Everything at one time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// Time in the machine since the first event.
    pub time_ns: u64,
    /// Time in the machine since the view before, to which the numbers of VCPUs belong.
    pub interval_ns: u64,
    /// The VCPUs, in the order of the plan.
    pub vcpus: Vec<VcpuView>,
    /// The tasks that have had jobs or are described, by VCPU and priority.
    pub tasks: Vec<TaskView>,
    /// Events that were overwritten before they were read, since the start.
    pub lost: u64,
}

/// A VCPU in the interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VcpuView {
    /// Its name, such as `linux/0`.
    pub name: String,
    /// Its PCPU.
    pub pcpu: usize,
    /// Its server in words; `None`: it has a PCPU of its own.
    pub server: Option<String>,
    /// Processor time.
    pub used_ns: u64,
    /// Budget of the interval, if it has one.
    pub budget_ns: Option<u64>,
    /// Number of times that its budget was used up.
    pub used_up: u64,
    /// Accesses to memory that were counted.
    pub accesses: u64,
    /// Number of times that it had made all accesses that it may make.
    pub throttled: u64,
    /// The time for which it waited for accesses.
    pub waited_ns: u64,
}

/// A task since the start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskView {
    /// The name of its VCPU.
    pub vcpu: String,
    /// Its name.
    pub name: String,
    /// Jobs that are complete.
    pub jobs: u64,
    /// Number of jobs that were late.
    pub misses: u64,
    /// The longest response time.
    pub longest_ns: Option<u64>,
    /// The time from release to deadline, if it has one.
    pub deadline_ns: Option<u64>,
}

impl Live {
    /// Nothing has happened in this system.
    pub fn new(header: &Header) -> Self {
        let described = header.vcpus().flat_map(|(id, vcpu)| {
            let tasks = (0..).zip(&vcpu.tasks);
            tasks.map(move |(number, _)| ((id, number), Task::default()))
        });
        Self {
            clock: Clock::new(0, header.frequency_hz),
            first: None,
            now: 0,
            viewed: 0,
            runs: vec![None; header.pcpus],
            vcpus: header.vcpus().map(|(id, _)| (id, Vcpu::default())).collect(),
            tasks: described.collect(),
            lost: 0,
            header: header.clone(),
        }
    }

    /// Notes that events of a PCPU were overwritten: what it runs is unknown until the next one.
    pub fn lose(&mut self, pcpu: usize, events: u64) {
        if events > 0 {
            self.lost += events;
            self.switch(pcpu, self.now, None);
        }
    }

    /// Counts an event of a PCPU.
    pub fn tell(&mut self, pcpu: usize, entry: Entry) {
        let ticks = entry.ticks;
        if self.first.is_none() {
            self.first = Some(ticks);
            self.viewed = ticks;
        }
        self.now = self.now.max(ticks);
        match entry.event {
            Event::Run { vcpu, budget } => {
                let span = Span { vcpu, start: ticks, counted: ticks, budget };
                self.switch(pcpu, ticks, Some(span));
            }
            Event::Idle => self.switch(pcpu, ticks, None),
            Event::Stop(vcpu)
                if self.runs.get(pcpu).copied().flatten().is_some_and(|it| it.vcpu == vcpu) =>
            {
                self.switch(pcpu, ticks, None);
            }
            Event::Lost { records } => self.lose(pcpu, records),
            Event::Account { vcpu, accesses } => self.vcpu(vcpu).accesses += accesses,
            Event::Overflow { vcpu, accesses } => {
                let vcpu = self.vcpu(vcpu);
                vcpu.accesses += accesses;
                vcpu.throttled += 1;
                vcpu.waits = vcpu.waits.or(Some(ticks));
            }
            Event::Recharge { vcpu, .. } => {
                let vcpu = self.vcpu(vcpu);
                let since = vcpu.waits.take();
                vcpu.waited += since.map_or(0, |since| ticks.saturating_sub(since));
            }
            _ => {}
        }
        if let Some((vcpu, mark)) = entry.event.job() {
            self.mark(vcpu, mark, ticks);
        }
    }

    /// Returns the numbers since the last call, and those of tasks since the start.
    pub fn view(&mut self) -> View {
        for pcpu in 0..self.runs.len() {
            self.count(pcpu, self.now);
        }
        let now = self.now;
        let interval = now - std::mem::replace(&mut self.viewed, now);
        let ns = |ticks: u64| self.clock.length_ns(ticks);
        let mut vcpus = Vec::new();
        for (id, of) in self.header.vcpus() {
            let counted = self.vcpus.entry(id).or_default();
            let waits = counted.waits.map(|since| now.saturating_sub(since));
            let (server, times) =
                (of.server.as_ref(), Vcpu { waits: counted.waits.map(|_| now), ..Vcpu::default() });
            let it = std::mem::replace(counted, times);
            let of_interval = server.and_then(|server| {
                let (budget, period) =
                    server.budget_ns.zip(server.period_ns.filter(|it| *it > 0))?;
                let budget = u128::from(budget) * u128::from(ns(interval)) / u128::from(period);
                u64::try_from(budget).ok()
            });
            vcpus.push(VcpuView {
                name: self.header.vcpu_name(id),
                pcpu: of.pcpu,
                server: server.map(ToString::to_string),
                used_ns: ns(it.used),
                budget_ns: of_interval,
                used_up: it.used_up,
                accesses: it.accesses,
                throttled: it.throttled,
                waited_ns: ns(it.waited + waits.unwrap_or(0)),
            });
        }
        let tasks = self.tasks.iter().map(|(&(vcpu, number), task)| TaskView {
            vcpu: self.header.vcpu_name(vcpu),
            name: self.header.task_name(vcpu, number),
            jobs: task.jobs,
            misses: task.misses,
            longest_ns: (task.jobs > 0).then(|| ns(task.longest)),
            deadline_ns: self.header.task(vcpu, number).and_then(|it| it.deadline_ns),
        });
        View {
            time_ns: ns(now - self.first.unwrap_or(now)),
            interval_ns: ns(interval),
            tasks: tasks.collect(),
            vcpus,
            lost: self.lost,
        }
    }

    fn vcpu(&mut self, id: VcpuId) -> &mut Vcpu {
        self.vcpus.entry(id).or_default()
    }

    /// A PCPU runs something else from now on.
    fn switch(&mut self, pcpu: usize, ticks: u64, next: Option<Span>) {
        self.count(pcpu, ticks);
        let Some(slot) = self.runs.get_mut(pcpu) else { return };
        let before = std::mem::replace(slot, next);
        if let Some(Span { vcpu, start, budget: Some(budget), .. }) = before
            && ticks.saturating_sub(start) >= budget
        {
            self.vcpu(vcpu).used_up += 1;
        }
    }

    /// Counts the time up to now for the VCPU that a PCPU runs.
    fn count(&mut self, pcpu: usize, now: u64) {
        if let Some(Some(span)) = self.runs.get_mut(pcpu) {
            let used = now.saturating_sub(span.counted);
            span.counted = span.counted.max(now);
            let vcpu = span.vcpu;
            self.vcpu(vcpu).used += used;
        }
    }

    /// A guest notes a release when it has the processor: if the period is known, releases are whole periods apart, as
    /// early as the earliest note shows.
    fn mark(&mut self, vcpu: VcpuId, mark: JobMark, ticks: u64) {
        let known = self.header.task(vcpu, mark.task);
        let period = known.and_then(|it| it.period_ns);
        let deadline = known.and_then(|it| it.deadline_ns);
        let since = |job: u32, period: u64| {
            let ns = u128::from(job) * u128::from(period);
            u64::try_from(ns * u128::from(self.header.frequency_hz) / 1_000_000_000).ok()
        };
        let clock = self.clock;
        let task = self.tasks.entry((vcpu, mark.task)).or_default();
        match mark.step {
            Step::Start => {}
            Step::Release => {
                // A guest that started again counts from 0.
                if task.last.is_some_and(|last| mark.job <= last) {
                    (task.zero, task.last) = (None, None);
                    task.released.clear();
                }
                task.released.insert(mark.job, ticks);
                let zero = period.and_then(|it| ticks.checked_sub(since(mark.job, it)?));
                task.zero =
                    task.zero.map_or(zero, |known| Some(zero.map_or(known, |it| it.min(known))));
            }
            Step::Finish => {
                let noted = task.released.remove(&mark.job);
                // Jobs complete in the order of their releases.
                task.released.retain(|job, _| *job > mark.job);
                task.last = Some(mark.job);
                let whole = period
                    .zip(task.zero)
                    .and_then(|(period, zero)| zero.checked_add(since(mark.job, period)?));
                let Some(release) = noted.map(|noted| whole.map_or(noted, |it| it.min(noted)))
                else {
                    return;
                };
                let response = ticks.saturating_sub(release);
                task.jobs += 1;
                task.longest = task.longest.max(response);
                task.misses += u64::from(deadline.is_some_and(|it| clock.length_ns(response) > it));
            }
        }
    }
}
