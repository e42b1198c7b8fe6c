//! A machine for what `crates/sim` does not know: tasks that suspend themselves, that keep those
//! above them waiting, and that evict what others have in the cache. VCPUs are chosen by
//! `policy::cpu`.
//!
//! A task that goes on after others had the VCPU has to load again, colour by colour, what they
//! have evicted meanwhile. Not so after it suspended itself: its execution time contains that.

use policy::bandwidth::NoGrants;
use policy::cpu::{Cpu, Decision, Event, Slot};
use policy::time::Instant;

use crate::system::{Job, System, Task, Vcpu};

/// Most colours.
pub const COLORS: usize = 6;

const NEVER: u64 = u64::MAX;

/// A task while it runs.
struct Running<'a> {
    task: &'a Task,
    /// The job that executes, and the first one that is not released yet.
    first: usize,
    next: usize,
    /// Release time of that.
    release: u64,
    /// Of the first job: the part of `run` that it is at, what is left of that, until when it
    /// suspends itself, and how much longer it keeps the VCPU.
    part: usize,
    remaining: u64,
    wakes: u64,
    section: u64,
    /// Whether it has executed since it was released or woke up.
    began: bool,
    /// What it has to load again, by colour.
    owed: [u64; COLORS],
    longest: u64,
}

impl<'a> Running<'a> {
    fn new(task: &'a Task) -> Self {
        let release = task.job.first().map_or(NEVER, |job| job.arrival + job.delay);
        Self {
            task,
            first: 0,
            next: 0,
            release,
            part: 0,
            remaining: 0,
            wakes: 0,
            section: 0,
            began: false,
            owed: [0; COLORS],
            longest: 0,
        }
    }

    fn job(&self) -> &'a Job {
        &self.task.job[self.first]
    }

    /// Begins with a part of the first job that is an execution.
    fn begin(&mut self, part: usize) {
        self.part = part;
        self.remaining = self.job().run[part];
        self.section = 0;
        self.began = false;
    }

    fn release(&mut self, now: u64) {
        while self.release <= now {
            self.next += 1;
            // Jobs are released in the order of their arrivals.
            let after = self.task.job.get(self.next);
            self.release = after.map_or(NEVER, |job| (job.arrival + job.delay).max(self.release));
            if self.next == self.first + 1 {
                self.wakes = now;
                self.begin(0);
            }
        }
    }

    fn is_pending(&self) -> bool {
        self.first < self.next
    }

    fn is_ready(&self, now: u64) -> bool {
        self.is_pending() && self.wakes <= now
    }

    /// When it becomes ready by itself, or releases a job.
    fn event(&self, now: u64) -> u64 {
        let wakes = if self.is_pending() && self.wakes > now { self.wakes } else { NEVER };
        self.release.min(wakes)
    }

    fn needs(&self) -> u64 {
        self.remaining + self.owed.iter().sum::<u64>()
    }

    fn execute(&mut self, time: u64, now: u64) {
        let mut time = time;
        self.section = self.section.saturating_sub(time);
        for owed in &mut self.owed {
            let paid = time.min(*owed);
            *owed -= paid;
            time -= paid;
        }
        self.remaining -= time;
        if self.remaining > 0 || self.needs() > 0 {
            return;
        }
        self.section = 0;
        if let Some(&suspension) = self.job().run.get(self.part + 1) {
            self.wakes = now + suspension;
            self.begin(self.part + 2);
            return;
        }
        self.longest = self.longest.max(now - self.job().arrival);
        self.first += 1;
        if self.is_pending() {
            self.begin(0);
        }
    }
}

/// A VCPU while it runs.
struct RunningVcpu<'a> {
    vcpu: &'a Vcpu,
    tasks: Vec<Running<'a>>,
    /// What else it has to do: the first that is not complete, and what was done of that.
    below: usize,
    done: u64,
    /// Who used a colour last.
    user: [usize; COLORS],
    /// Who executed last.
    last: Option<usize>,
}

impl<'a> RunningVcpu<'a> {
    fn new(vcpu: &'a Vcpu) -> Self {
        let tasks = vcpu.task.iter().map(Running::new).collect();
        Self { vcpu, tasks, below: 0, done: 0, user: [usize::MAX; COLORS], last: None }
    }

    fn below_is_ready(&self, now: u64) -> bool {
        self.vcpu.below.get(self.below).is_some_and(|below| below.at <= now)
    }

    fn is_ready(&self, now: u64) -> bool {
        self.below_is_ready(now) || self.tasks.iter().any(|task| task.is_ready(now))
    }

    fn event(&self, now: u64) -> u64 {
        let tasks = self.tasks.iter().map(|task| task.event(now)).min().unwrap_or(NEVER);
        let mut below = self.vcpu.below[self.below..].iter();
        let below = below.find(|below| below.at > now).map_or(NEVER, |below| below.at);
        tasks.min(below)
    }

    /// The task that is to execute; none: what is below.
    fn choose(&self, now: u64) -> Option<usize> {
        let within = |task: &Running<'_>| task.section > 0 && task.is_ready(now);
        let keeps = self.tasks.iter().position(within);
        keeps.or_else(|| self.tasks.iter().position(|task| task.is_ready(now)))
    }

    /// A task goes on: what of its colours others have used is loaded again.
    fn dispatch(&mut self, place: usize, reload: u64) {
        let goes_on = self.last != Some(place);
        let task = &mut self.tasks[place];
        if !task.began {
            let part = task.job().run[task.part];
            task.section = task.job().section.min(part);
        }
        for color in 0..COLORS {
            if task.task.colors >> color & 1 == 1 {
                if task.began && goes_on && self.user[color] != place {
                    task.owed[color] = reload;
                }
                self.user[color] = place;
            }
        }
        task.began = true;
        self.last = Some(place);
    }

    /// How long it goes on like this at most.
    fn needs(&self, chosen: Option<usize>) -> u64 {
        match chosen.map(|place| &self.tasks[place]) {
            Some(task) if task.section > 0 => task.section.min(task.needs()),
            Some(task) => task.needs(),
            None => self.vcpu.below[self.below].time - self.done,
        }
    }

    fn execute(&mut self, chosen: Option<usize>, time: u64, now: u64) {
        match chosen {
            Some(place) => self.tasks[place].execute(time, now),
            None => {
                self.done += time;
                if self.done == self.vcpu.below[self.below].time {
                    (self.below, self.done) = (self.below + 1, 0);
                }
            }
        }
    }
}

/// The longest response time of each task of each VCPU; of jobs that are not complete at the end
/// the time until then.
pub fn run(system: &System, until: u64) -> Vec<Vec<u64>> {
    let slots: Vec<_> = system.vcpu.iter().map(|vcpu| Slot::new(vcpu.policy()).unwrap()).collect();
    let mut cpu = Cpu::new(slots);
    let mut vcpus: Vec<_> = system.vcpu.iter().map(RunningVcpu::new).collect();
    let mut now = 0;
    let mut decision: Decision = cpu.step(Event::Tick, Instant(0), &mut NoGrants);
    loop {
        let mut told = false;
        for (place, vcpu) in vcpus.iter_mut().enumerate() {
            vcpu.tasks.iter_mut().for_each(|task| task.release(now));
            match (cpu.slots()[place].is_ready(), vcpu.is_ready(now)) {
                (false, true) => {
                    decision = cpu.step(Event::Wake(place), Instant(now), &mut NoGrants)
                }
                (true, false) => {
                    decision = cpu.step(Event::Block(place), Instant(now), &mut NoGrants)
                }
                _ => continue,
            }
            told = true;
        }
        if !told && decision.timer.is_some_and(|timer| timer.0 <= now) {
            decision = cpu.step(Event::Tick, Instant(now), &mut NoGrants);
        }
        let events = vcpus.iter().map(|vcpu| vcpu.event(now));
        let timer = decision.timer.map_or(NEVER, |timer| timer.0);
        let mut next = events.min().unwrap_or(NEVER).min(timer).min(until);
        if let Some(vcpu) = decision.run.map(|place| &mut vcpus[place]) {
            let chosen = vcpu.choose(now);
            if let Some(place) = chosen {
                vcpu.dispatch(place, system.reload);
            }
            next = next.min(now + vcpu.needs(chosen));
            vcpu.execute(chosen, next - now, next);
        }
        now = next;
        if now >= until {
            break;
        }
    }
    let longest = |task: &mut Running<'_>| {
        task.release(until);
        let pending = task.is_pending().then(|| until - task.job().arrival);
        task.longest.max(pending.unwrap_or(0))
    };
    vcpus.iter_mut().map(|vcpu| vcpu.tasks.iter_mut().map(longest).collect()).collect()
}
