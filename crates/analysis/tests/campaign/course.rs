//! Courses of events for a system: those that lead to the bound of a task where the theory knows
//! them, and others at random.

use analysis::Failure;
use analysis::response::Response;
use taskgen::Random;

use crate::class::{SUSPENSIONS, longest_section, one_in};
use crate::system::{Below, Bounds, Job, Server, ServerKind, System, Task, Vcpu};

/// More than any demand.
const ENDLESS: u64 = 1_000_000;

/// A task, by its VCPU and its place in that.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub vcpu: usize,
    pub task: usize,
}

/// Whether the course is the one of the theory, or differs from it at random.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Variant {
    Theory,
    Random,
}

/// Gives the system jobs that make the response time of the target long; returns the time at
/// which its busy period is over for sure.
///
/// Its budget was used up as early as possible when it and the tasks above it are released, as
/// late as they can be, and one below has just begun a section. VCPUs above do nothing until the
/// period in which it gets the last of its budget, and then all that they can.
pub fn critical(
    system: &mut System,
    target: Target,
    bounds: &Bounds,
    variant: Variant,
    random: &mut Random,
) -> u64 {
    clear(system);
    let vary = variant == Variant::Random;
    let bound = bounds[target.vcpu][target.task].expect("a bound");
    let response = server_response(system, target.vcpu);
    let stagger = if vary && system.reload > 0 { random.between(0, 2) } else { 0 };
    let (above, rest) = system.vcpu.split_at_mut(target.vcpu);
    let own = &mut rest[0];
    // Enough time for what began before.
    let times = bounds[target.vcpu].iter().map(|it| it.map_or(0, |it| it.time.0)).max();
    let periods = own.task.iter().map(|task| task.period + task.jitter).max();
    let before = 300 + times.unwrap_or(0) + periods.unwrap_or(0);
    let (instant, last_period) = match &mut own.server {
        Some(server) => {
            server.start = before % server.period;
            let start = before - before % server.period + server.start;
            let instant = start + server.budget;
            if vary && one_in(random, 3) {
                own.below = in_pieces(server, instant, random);
            } else {
                own.below.push(Below { at: start, time: server.budget });
            }
            // The period of the supply in which the window ends.
            let late = response - server.budget;
            let periods = bound.window.0.saturating_sub(late).div_ceil(server.period).max(1);
            let periods = if vary { random.between(1, periods) } else { periods };
            (instant, instant + periods * server.period - server.budget)
        }
        None => (before, before),
    };
    own.tasks_until(target.task, instant, vary, stagger, &bounds[target.vcpu], random);
    let end = instant + 2 * bound.window.0 + 2 * own.task[target.task].period;
    own.add_later_jobs(target.task, end, vary && one_in(random, 2));
    own.add_section(target.task, instant, vary, random);
    let mut busy = 0;
    for vcpu in above {
        let Some(server) = &mut vcpu.server else { continue };
        let late = if vary && one_in(random, 2) { busy } else { 0 };
        let late = late + if vary && one_in(random, 4) { random.between(0, 5) } else { 0 };
        busy += server.budget * if server.kind == ServerKind::Deferrable { 2 } else { 1 };
        server.start = match server.kind {
            ServerKind::Periodic | ServerKind::Sporadic => last_period + late,
            ServerKind::Deferrable => {
                (last_period + late + server.budget).saturating_sub(server.period)
            }
        };
        vcpu.below.push(Below { at: (last_period + late).max(server.start), time: ENDLESS });
    }
    end
}

/// Gives the system jobs at random until some time, which is returned.
pub fn random(system: &mut System, random: &mut Random) -> u64 {
    clear(system);
    let periods = system.vcpu.iter().flat_map(|vcpu| &vcpu.task).map(|task| task.period);
    let until = 200 + 8 * periods.max().unwrap_or(0);
    let together = one_in(random, 2);
    for vcpu in &mut system.vcpu {
        let start = vcpu.server.as_mut().map_or(0, |server| {
            server.start = random.between(0, server.period);
            server.start
        });
        let busy = one_in(random, 3);
        let places = 0..vcpu.task.len();
        let can_be_late: Vec<_> = places.map(|place| vcpu.most_section(place)).collect();
        for (task, most_section) in vcpu.task.iter_mut().zip(can_be_late) {
            let offset = if together { 0 } else { random.between(0, 2 * task.period) };
            let mut arrival = start + offset;
            let (always, slack) = (one_in(random, 2), one_in(random, 3));
            while arrival < until {
                let job = task.random_job(arrival, always, most_section, random);
                task.job.push(job);
                let more = if slack { random.between(0, task.period / 2) } else { 0 };
                arrival += task.period + more;
            }
        }
        if busy {
            let mut at = start + random.between(0, 40);
            while at < until {
                let time = random.between(1, 12);
                vcpu.below.push(Below { at, time });
                at += random.between(1, 90);
            }
        }
    }
    until
}

/// How long the server of a VCPU with bounds takes until it has its budget.
fn server_response(system: &System, vcpu: usize) -> u64 {
    let servers = system.vcpu[..=vcpu].iter().map_while(|it| it.server.as_ref().map(Server::model));
    let responses = analysis::vcpu::response_times(&servers.collect::<Vec<_>>());
    responses.get(vcpu).map_or(0, |response| response.expect("a bound").0)
}

/// The budget was used in many short pieces within a period: those of a sporadic server come back
/// one by one.
fn in_pieces(server: &Server, until: u64, random: &mut Random) -> Vec<Below> {
    let pieces = server.budget.min(random.between(2, 14));
    let time = server.budget / pieces;
    let piece = |piece| Below { at: until - server.period + piece * server.period / pieces, time };
    (0..pieces).map(piece).collect()
}

fn clear(system: &mut System) {
    for vcpu in &mut system.vcpu {
        vcpu.below.clear();
        vcpu.task.iter_mut().for_each(|task| task.job.clear());
        if let Some(Server { start, .. }) = &mut vcpu.server {
            *start = 0;
        }
    }
}

impl Vcpu {
    /// The longest section of a task that those above it have to expect.
    fn most_section(&self, place: usize) -> u64 {
        let blocks = self.task[..place].iter().all(|above| above.blocking > 0);
        if blocks && place > 0 { longest_section(&self.task[place]) } else { 0 }
    }

    /// Jobs of the target and of the tasks above that are released at the instant, or where they
    /// suspend themselves, go on then; those of higher priority later by `stagger` each, so that
    /// they preempt those that have begun.
    fn tasks_until(
        &mut self,
        target: usize,
        instant: u64,
        vary: bool,
        stagger: u64,
        bounds: &[Result<Response, Failure>],
        random: &mut Random,
    ) {
        for (place, task) in self.task[..=target].iter_mut().enumerate() {
            let instant = instant + stagger * (target - place) as u64;
            let response = bounds[place].map_or(0, |it| it.time.0);
            let carry = response.saturating_sub(task.wcet);
            if place < target && task.suspension > 0 && carry > 0 && !(vary && one_in(random, 3)) {
                // As late as it can be: it began long ago, and goes on now.
                let early = if vary { random.between(1, carry) } else { carry };
                let suspension = early.saturating_sub(1).clamp(1, task.suspension);
                let begins = instant - early;
                let run = vec![1, suspension, task.wcet - 1];
                task.job.push(Job { arrival: begins, delay: 0, run, section: 0 });
                continue;
            }
            let mut arrival = instant - task.jitter;
            while arrival <= instant {
                let delay = instant - arrival;
                let run = task.run(place == target || vary, random);
                task.job.push(Job { arrival, delay, run, section: 0 });
                arrival += task.period;
            }
        }
    }

    /// More jobs of these tasks, one in each period; those above do not suspend themselves, or
    /// as the first one does.
    fn add_later_jobs(&mut self, target: usize, end: u64, suspend: bool) {
        for (place, task) in self.task[..=target].iter_mut().enumerate() {
            let Some(last) = task.job.last() else { continue };
            let alike = place == target || suspend;
            let run = if alike { last.run.clone() } else { vec![task.wcet] };
            let mut arrival = last.arrival + task.period;
            while arrival < end {
                task.job.push(Job { arrival, delay: 0, run: run.clone(), section: 0 });
                arrival += task.period;
            }
        }
    }

    /// The longest section of a task below begins at the last moment.
    fn add_section(&mut self, target: usize, instant: u64, vary: bool, random: &mut Random) {
        let below = target + 1..self.task.len();
        let sections = below.map(|place| (self.most_section(place), place));
        let Some((section, place)) = sections.max().filter(|(section, _)| *section > 0) else {
            return;
        };
        let task = &mut self.task[place];
        let run = vec![task.wcet];
        let early = if vary { random.between(1, 3) } else { 1 };
        let mut arrival = instant - early;
        for _ in 0..if vary { 4 } else { 1 } {
            task.job.push(Job { arrival, delay: 0, run: run.clone(), section });
            arrival += task.period;
        }
    }
}

impl Task {
    /// Execution and suspension of a job: all that is possible.
    fn run(&self, suspends: bool, random: &mut Random) -> Vec<u64> {
        if self.suspension == 0 || !suspends || self.wcet == 1 {
            return vec![self.wcet];
        }
        let mut run = Vec::new();
        let (mut wcet, mut suspension) = (self.wcet, self.suspension);
        for left in (1..=random.between(1, SUSPENSIONS)).rev() {
            if wcet == 1 || suspension == 0 {
                break;
            }
            let part = random.between(1, wcet - 1);
            let time = if left == 1 { suspension } else { random.between(1, suspension) };
            run.extend([part, time]);
            (wcet, suspension) = (wcet - part, suspension - time);
        }
        run.push(wcet);
        run
    }

    fn random_job(&self, arrival: u64, always: bool, section: u64, random: &mut Random) -> Job {
        let delay = match random.between(0, 2) {
            0 => 0,
            1 => self.jitter,
            _ => random.between(0, self.jitter),
        };
        let mut run = self.run(one_in(random, 2), random);
        if !always && run.len() == 1 {
            run[0] = random.between(1, run[0]);
        }
        Job { arrival, delay, run, section: if one_in(random, 2) { section } else { 0 } }
    }
}
