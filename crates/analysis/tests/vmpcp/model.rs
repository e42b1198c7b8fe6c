//! vMPCP tick by tick, written from the protocol's rules (vMPCP, sections III.A and III.B) and
//! from nothing else of this project. Slow and simple.

use std::collections::VecDeque;

use analysis::Kind;
use analysis::vmpcp::Protocol;
use testing::Random;

use super::described::Described;
use super::hostile::{Attack, Entries};

/// What the rules leave open.
#[derive(Clone, Debug)]
pub struct Course {
    /// When the first period of each VCPU begins; no budget before.
    pub vcpu_offsets: Vec<u64>,
    /// When the first job of each task is released, counted from a time at which all VCPUs have
    /// begun.
    pub task_offsets: Vec<u64>,
    /// Whether a task whose segment ends with its VCPU's budget still asks for its next resource.
    pub eager: bool,
    /// Whether the PCPU with the highest number is first with what happens at the same time.
    pub last_first: bool,
    /// For how long segment `s` of job `j` of task `i` executes: this number of its length.
    pub lengths: fn(seed: u64, task: usize, job: u64, segment: usize, longest: u64) -> u64,
    pub seed: u64,
}

/// All segments execute as long as they can.
pub fn full(_: u64, _: usize, _: u64, _: usize, longest: u64) -> u64 {
    longest
}

/// Now and then segments are shorter.
pub fn shorter(seed: u64, task: usize, job: u64, segment: usize, longest: u64) -> u64 {
    let it = Random::new(seed ^ (task as u64) << 48 ^ job << 16 ^ segment as u64).number();
    if it.is_multiple_of(3) { (it >> 8) % (longest + 1) } else { longest }
}

#[derive(Clone, Debug)]
struct Job {
    release: u64,
    /// What is left of each segment that is not over.
    rest: Vec<(Option<usize>, u64)>,
    /// In the first of these: holds its resource, or waits for it in a queue.
    holds: bool,
    waits: bool,
    /// It was refused until then.
    refused: u64,
}

struct Task {
    vcpu: usize,
    /// A larger one goes first in its VCPU.
    priority: usize,
    job: Option<Job>,
    count: u64,
    longest: u64,
    /// When the next job begins of a task of a hostile guest.
    next: u64,
    /// Jobs that are released, behind the one that is not over.
    behind: VecDeque<Job>,
    refused: bool,
}

struct Vcpu {
    budget: u64,
    overrun: u64,
    /// Of a periodic server: the budget ended, and so did the section that was open then.
    stopped: bool,
    tasks: std::ops::Range<usize>,
    /// What is enforced.
    inside: u64,
    entries: Option<Entries>,
}

struct Model<'a> {
    described: &'a Described,
    course: &'a Course,
    global: Vec<bool>,
    vcpus: Vec<Vcpu>,
    tasks: Vec<Task>,
    /// Longest global sections of all tasks of a VCPU: so long it may overrun.
    holding: Vec<u64>,
    attack: Option<&'a Attack>,
    now: u64,
}

/// The longest response time of each task until `end`, also of jobs that are not over then. Jobs that are
/// late keep those behind them waiting.
pub fn run(described: &Described, course: &Course, end: u64) -> Vec<u64> {
    run_with(described, course, end, None).into_iter().map(|it| it.0).collect()
}

/// The same where guests do as they like, and the hypervisor enforces what it does; and whether it has refused to let
/// a task into a section.
pub fn run_with(
    described: &Described,
    course: &Course,
    end: u64,
    attack: Option<&Attack>,
) -> Vec<(u64, bool)> {
    let resources = described.vcpus.iter().flat_map(|vcpu| &vcpu.tasks);
    let resources = resources.flat_map(|task| task.sections()).map(|it| it.0 + 1).max();
    let mut global: Vec<bool> =
        (0..resources.unwrap_or(0)).map(|it| described.is_global(it)).collect();
    if let Some(attack) = attack {
        global.clone_from(&attack.global);
    }
    let (mut vcpus, mut tasks, mut holding) = (Vec::new(), Vec::new(), Vec::new());
    for (index, vcpu) in described.vcpus.iter().enumerate() {
        let first = tasks.len();
        for (place, _) in vcpu.tasks.iter().enumerate() {
            let priority = vcpu.tasks.len() - place;
            let next = attack.map_or(0, |attack| attack.begin);
            let (job, behind, refused) = (None, VecDeque::new(), false);
            let (count, longest) = (0, 0);
            tasks.push(Task { vcpu: index, priority, job, count, longest, next, behind, refused });
        }
        let entries = attack.and_then(|attack| attack.guards[index].as_ref()).map(Entries::new);
        let tasks = first..tasks.len();
        vcpus.push(Vcpu { budget: 0, overrun: 0, stopped: false, tasks, inside: 0, entries });
        let longest = |task: &super::described::OneTask| {
            task.sections().filter(|it| global[it.0]).map(|it| it.1).max().unwrap_or(0)
        };
        let guard = attack.and_then(|attack| attack.guards[index].as_ref());
        let described = vcpu.tasks.iter().map(longest).sum();
        holding.push(guard.map_or(described, |guard| guard.hold));
    }
    let now = 0;
    let mut model = Model { described, course, global, vcpus, tasks, holding, attack, now };
    let begun = described.vcpus.iter().map(|vcpu| vcpu.period).max().unwrap_or(0);
    for now in 0..begun + end {
        model.now = now;
        model.begin(now, begun);
        model.request();
        model.expire_all();
        model.execute(now);
    }
    let longest = |task: &Task| {
        let waits = task.job.as_ref().map_or(0, |job| begun + end - job.release);
        (task.longest.max(waits), task.refused)
    };
    model.tasks.iter().map(longest).collect()
}

impl Model<'_> {
    /// Renewals and releases.
    fn begin(&mut self, now: u64, begun: u64) {
        for (index, vcpu) in self.vcpus.iter_mut().enumerate() {
            let (it, offset) = (&self.described.vcpus[index], self.course.vcpu_offsets[index]);
            if now >= offset && (now - offset).is_multiple_of(it.period) {
                (vcpu.budget, vcpu.overrun, vcpu.stopped) = (it.budget, 0, false);
            }
        }
        for (index, task) in self.tasks.iter_mut().enumerate() {
            let vcpu = &self.vcpus[task.vcpu];
            let it = &self.described.vcpus[task.vcpu].tasks[index - vcpu.tasks.start];
            if self.attack.is_some_and(|attack| attack.is_hostile[task.vcpu]) {
                // One job after the other.
                if task.job.is_none() && now >= task.next {
                    let rest = it.segments.iter().filter(|it| it.1 > 0).copied().collect();
                    task.job =
                        Some(Job { release: now, rest, holds: false, waits: false, refused: 0 });
                }
                continue;
            }
            let offset = begun + self.course.task_offsets[index];
            if now >= offset && (now - offset).is_multiple_of(it.period) {
                let length = |(segment, (resource, longest)): (usize, &(Option<usize>, u64))| {
                    let length = self.course.lengths;
                    let length = length(self.course.seed, index, task.count, segment, *longest);
                    (*resource, length)
                };
                let rest: Vec<_> = it.segments.iter().enumerate().map(length).collect();
                let rest: Vec<_> = rest.into_iter().filter(|it| it.1 > 0).collect();
                task.count += 1;
                if !rest.is_empty() {
                    let job = Job { release: now, rest, holds: false, waits: false, refused: 0 };
                    match task.job {
                        None => task.job = Some(job),
                        Some(_) => task.behind.push_back(job),
                    }
                }
            }
        }
    }

    fn pcpus(&self) -> Vec<usize> {
        let last = self.described.vcpus.iter().map(|vcpu| vcpu.pcpu).max().unwrap_or(0);
        let all = 0..=last;
        if self.course.last_first { all.rev().collect() } else { all.collect() }
    }

    /// Who runs asks for the resource that it needs next, until all who run can go on.
    fn request(&mut self) {
        while let Some(task) = self.pcpus().into_iter().find_map(|pcpu| {
            let task = self.runs(pcpu)?.1?;
            self.wants(task).map(|_| task)
        }) {
            self.ask(task);
        }
    }

    /// The resource that a task needs and does not have.
    fn wants(&self, task: usize) -> Option<usize> {
        let job = self.tasks[task].job.as_ref()?;
        job.rest[0].0.filter(|_| !job.holds && !job.waits && job.refused <= self.now)
    }

    fn ask(&mut self, task: usize) {
        let Some(resource) = self.wants(task) else { return };
        // A local one is asked for only if it will be granted: see `of_vcpu`.
        if self.global[resource] && !self.enter(task) {
            return;
        }
        let is_free = !self.global[resource] || !self.tasks.iter().any(|it| holds(it, resource));
        if let Some(job) = &mut self.tasks[task].job {
            (job.holds, job.waits) = (is_free, !is_free);
        }
    }

    /// A task asks for a global resource: whether the hypervisor lets it.
    fn enter(&mut self, task: usize) -> bool {
        let index = self.tasks[task].vcpu;
        let is_outside = !self.vcpu_in_gcs(index);
        let vcpu = &mut self.vcpus[index];
        let Some(entries) = &mut vcpu.entries else { return true };
        if is_outside {
            vcpu.inside = 0;
        }
        let until = entries.enter(self.now);
        if let (Some(until), Some(job)) = (until, &mut self.tasks[task].job) {
            job.refused = until;
            self.tasks[task].refused = true;
        }
        until.is_none()
    }

    fn in_gcs(&self, task: usize) -> bool {
        let job = self.tasks[task].job.as_ref();
        job.is_some_and(|job| job.holds && job.rest[0].0.is_some_and(|it| self.global[it]))
    }

    fn vcpu_in_gcs(&self, vcpu: usize) -> bool {
        self.vcpus[vcpu].tasks.clone().any(|task| self.in_gcs(task))
    }

    /// The task that a VCPU executes.
    fn of_vcpu(&self, vcpu: usize) -> Option<usize> {
        let all = || self.vcpus[vcpu].tasks.clone();
        // In the order of priorities.
        if let Some(holder) = all().find(|task| self.in_gcs(*task)) {
            return Some(holder);
        }
        let is_ready = |task: &usize| {
            let job = self.tasks[*task].job.as_ref();
            job.is_some_and(|job| !job.waits && job.refused <= self.now)
        };
        let first = all().find(is_ready)?;
        let Some(_) = self.wants(first).filter(|resource| !self.global[*resource]) else {
            return Some(first);
        };
        // PCP: above the ceilings of all resources that others hold, or who has the highest of
        // them inherits.
        let ceiling = |task: usize| {
            let resource = self.tasks[task].job.as_ref().filter(|job| job.holds)?.rest[0].0?;
            let uses = |it: &usize| {
                let place = it - self.vcpus[vcpu].tasks.start;
                let mut sections = self.described.vcpus[vcpu].tasks[place].sections();
                sections.any(|(it, _)| it == resource)
            };
            all().find(uses).map(|it| self.tasks[it].priority)
        };
        let others = all().filter(|task| *task != first);
        let highest = others.filter_map(|task| Some((ceiling(task)?, task))).max();
        match highest {
            Some((ceiling, holder)) if ceiling >= self.tasks[first].priority => Some(holder),
            _ => Some(first),
        }
    }

    /// The VCPU that has a PCPU, and the task that executes: none where budget goes by.
    fn runs(&self, pcpu: usize) -> Option<(usize, Option<usize>)> {
        let candidate = |vcpu: usize| {
            let (it, state) = (&self.described.vcpus[vcpu], &self.vcpus[vcpu]);
            let task = self.of_vcpu(vcpu);
            let in_gcs = self.vcpu_in_gcs(vcpu);
            let goes = match state.budget {
                0 => it.overrun && in_gcs && !state.stopped,
                _ => task.is_some() || it.kind == Kind::Periodic,
            };
            let raised = in_gcs && self.described.protocol == Protocol::Vmpcp;
            goes.then_some(((raised, it.priority), vcpu, task))
        };
        let here = |vcpu: &usize| self.described.vcpus[*vcpu].pcpu == pcpu;
        let found = (0..self.vcpus.len()).filter(here).filter_map(candidate).max()?;
        Some((found.1, found.2))
    }

    /// A tick.
    fn execute(&mut self, now: u64) {
        let runs: Vec<_> = self.pcpus().into_iter().filter_map(|pcpu| self.runs(pcpu)).collect();
        let insides: Vec<bool> =
            runs.iter().map(|(_, task)| task.is_some_and(|task| self.in_gcs(task))).collect();
        let mut ends = Vec::new();
        for &(vcpu, task) in &runs {
            let state = &mut self.vcpus[vcpu];
            if state.budget > 0 {
                state.budget -= 1;
            } else {
                state.overrun += 1;
                assert!(state.overrun <= self.holding[vcpu], "beyond the limit of overrun");
            }
            let Some(task) = task else { continue };
            if let Some(job) = &mut self.tasks[task].job {
                job.rest[0].1 -= 1;
                if job.rest[0].1 == 0 {
                    ends.push((task, job.rest[0].0));
                }
            }
        }
        for (task, _) in &ends {
            self.end(*task, now + 1);
        }
        self.now = now + 1;
        self.enforce(&runs, &insides);
        // Not after a section: who leaves one without budget executes no further.
        for (task, _) in ends.iter().filter(|it| self.course.eager && it.1.is_none()) {
            if self.wants(*task).is_some_and(|it| self.global[it]) {
                self.ask(*task);
            }
        }
        for vcpu in 0..self.vcpus.len() {
            if self.described.vcpus[vcpu].kind == Kind::Periodic
                && self.vcpus[vcpu].budget == 0
                && !self.vcpu_in_gcs(vcpu)
            {
                self.vcpus[vcpu].stopped = true;
            }
        }
    }

    /// VCPUs have executed: those that were in sections for too long are in none any more.
    fn enforce(&mut self, runs: &[(usize, Option<usize>)], insides: &[bool]) {
        for (&(index, task), inside) in runs.iter().zip(insides) {
            let vcpu = &mut self.vcpus[index];
            if vcpu.entries.is_none() || task.is_none() {
                continue;
            }
            vcpu.inside = if *inside { vcpu.inside + 1 } else { 0 };
            if *inside {
                self.expire(index);
            }
        }
    }

    fn expire_all(&mut self) {
        // What one leaves another one of the same VCPU can be granted.
        for _ in 0..self.vcpus.len() {
            (0..self.vcpus.len()).for_each(|vcpu| self.expire(vcpu));
        }
        self.request();
    }

    /// Who was in sections for as long as it may is in none, also if it is granted a resource only then.
    fn expire(&mut self, index: usize) {
        let vcpu = &self.vcpus[index];
        if vcpu.entries.is_none() || vcpu.inside < self.holding[index] {
            return;
        }
        while let Some(task) = vcpu_tasks(&self.vcpus[index]).find(|task| self.in_gcs(*task)) {
            let hostile = self.attack.is_some_and(|attack| attack.is_hostile[index]);
            assert!(hostile, "a section that is as described was ended");
            self.end(task, self.now);
        }
    }

    /// A segment is over.
    fn end(&mut self, task: usize, now: u64) {
        let Some(job) = &mut self.tasks[task].job else { return };
        let (resource, _) = job.rest.remove(0);
        job.holds = false;
        if job.rest.is_empty() {
            let response = now - job.release;
            self.tasks[task].job = self.tasks[task].behind.pop_front();
            self.tasks[task].next = now + self.attack.map_or(0, |attack| attack.nap(task));
            self.tasks[task].longest = self.tasks[task].longest.max(response);
        }
        let Some(resource) = resource.filter(|it| self.global[*it]) else { return };
        let waits = |it: &Task| {
            it.job.as_ref().is_some_and(|job| job.waits && job.rest[0].0 == Some(resource))
        };
        let key = |task: usize| {
            let it = &self.tasks[task];
            (self.described.vcpus[it.vcpu].priority, it.priority)
        };
        let waiting = (0..self.tasks.len()).filter(|it| waits(&self.tasks[*it]));
        let next = waiting.max_by_key(|it| key(*it));
        if let Some(job) = next.and_then(|next| self.tasks[next].job.as_mut()) {
            (job.holds, job.waits) = (true, false);
        }
    }
}

fn holds(task: &Task, resource: usize) -> bool {
    task.job.as_ref().is_some_and(|job| job.holds && job.rest[0].0 == Some(resource))
}

fn vcpu_tasks(vcpu: &Vcpu) -> std::ops::Range<usize> {
    vcpu.tasks.clone()
}
