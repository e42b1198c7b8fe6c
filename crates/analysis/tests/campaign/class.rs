//! What kinds of systems are drawn.
//!
//! Times are small numbers, so that releases, ends of budgets and replenishments meet often, in
//! all orders.

use serde::{Deserialize, Serialize};
use taskgen::{Random, uunifast};

use crate::machine::COLORS;
use crate::system::{Server, ServerKind, System, Task, Vcpu};

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    Alone,
    Jitter,
    Blocking,
    Suspension,
    Cache,
    Periodic,
    Deferrable,
    Sporadic,
    SeveralServers,
    Background,
    Everything,
}

impl Class {
    /// All, with what they are.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Alone, "a PCPU of their own"),
        (Self::Jitter, "… with release jitter"),
        (Self::Blocking, "… with jitter and blocking"),
        (Self::Suspension, "… with suspension, jitter, blocking"),
        (Self::Cache, "… with cache reloads"),
        (Self::Periodic, "one periodic server, jitter, blocking"),
        (Self::Deferrable, "one deferrable server, jitter, blocking"),
        (Self::Sporadic, "one sporadic server, jitter, blocking"),
        (Self::SeveralServers, "two or three servers of all kinds"),
        (Self::Background, "the background below servers"),
        (Self::Everything, "all of this together"),
    ];

    /// Returns true if the critical instant of each task leads to its bound: the analysis is exact, and
    /// we know the worst case.
    pub fn is_exact(self) -> bool {
        matches!(
            self,
            Self::Alone
                | Self::Jitter
                | Self::Blocking
                | Self::Periodic
                | Self::Deferrable
                | Self::Sporadic
        )
    }
}

/// What tasks of a class can have.
#[derive(Clone, Copy, Default)]
struct Features {
    jitter: bool,
    blocking: bool,
    suspension: bool,
    colors: bool,
}

/// A system without jobs.
pub fn draw(class: Class, random: &mut Random) -> System {
    use ServerKind::{Deferrable, Periodic, Sporadic};
    let mut features = Features::default();
    match class {
        Class::Alone | Class::SeveralServers | Class::Background => {}
        Class::Jitter => features.jitter = true,
        Class::Blocking | Class::Periodic | Class::Deferrable | Class::Sporadic => {
            features = Features { jitter: true, blocking: true, ..features };
        }
        Class::Suspension => {
            features = Features { jitter: true, blocking: true, suspension: true, ..features };
        }
        Class::Cache => features = Features { jitter: true, colors: true, ..features },
        Class::Everything => {
            features = Features { jitter: true, blocking: true, suspension: true, colors: true };
        }
    }
    let kinds = [Periodic, Deferrable, Sporadic];
    let kind = |random: &mut Random| kinds[random.between(0, 2) as usize];
    let servers: Vec<ServerKind> = match class {
        Class::Periodic => vec![Periodic],
        Class::Deferrable => vec![Deferrable],
        Class::Sporadic => vec![Sporadic],
        Class::SeveralServers => (0..random.between(2, 3)).map(|_| kind(random)).collect(),
        Class::Background => (0..random.between(1, 2)).map(|_| kind(random)).collect(),
        Class::Everything => (0..random.between(0, 3)).map(|_| kind(random)).collect(),
        _ => Vec::new(),
    };
    let background = servers.is_empty()
        || class == Class::Background
        || class == Class::Everything && one_in(random, 3);
    // What servers have of the PCPU together, and what is left.
    let mut left = 1.0;
    let count = servers.len() + usize::from(background);
    let mut vcpu: Vec<Vcpu> = Vec::new();
    for kind in servers {
        let share = random.real(0.3, 1.1) / count as f64;
        let server = server(kind, share, random);
        let share = server.budget as f64 / server.period as f64;
        left -= share;
        vcpu.push(Vcpu {
            task: tasks(share * random.real(0.2, 0.95), features, random),
            server: Some(server),
            ..Vcpu::default()
        });
    }
    if background {
        let share = f64::max(left, 0.1) * random.real(0.3, 1.0);
        vcpu.push(Vcpu { task: tasks(share, features, random), ..Vcpu::default() });
    }
    let reload = if features.colors { random.between(0, 3) } else { 0 };
    System { reload, vcpu }
}

fn server(kind: ServerKind, share: f64, random: &mut Random) -> Server {
    let budget = random.between(1, 12);
    let period = ((budget as f64 / share).round() as u64).clamp(budget, 60);
    Server { kind, budget, period, start: 0 }
}

fn tasks(share: f64, features: Features, random: &mut Random) -> Vec<Task> {
    let count = random.between(1, 4) as usize;
    let shares = uunifast::sample(random, count, share.min(0.99)).unwrap();
    let mut tasks: Vec<_> = shares.iter().map(|share| task(*share, features, random)).collect();
    if !one_in(random, 4) {
        tasks.sort_by_key(|task| task.period);
    }
    if features.blocking {
        // Sections of tasks below, and how often a task can run into one.
        for place in 0..tasks.len() {
            let below = &tasks[place + 1..];
            let section = below.iter().map(longest_section).max().unwrap_or(0);
            let waits = if tasks[place].suspension > 0 { SUSPENSIONS + 1 } else { 1 };
            tasks[place].blocking = section.saturating_sub(1) * waits;
        }
    }
    tasks
}

/// How often a job that suspends itself does so at most.
pub const SUSPENSIONS: u64 = 2;

/// The longest section of a task, where tasks have any.
pub fn longest_section(task: &Task) -> u64 {
    task.wcet.min(1 + task.period % 5)
}

fn task(share: f64, features: Features, random: &mut Random) -> Task {
    // About as many short as long ones.
    let period = (6.0 * 20.0_f64.powf(random.unit())).round() as u64;
    let wcet = ((period as f64 * share).round() as u64).max(1);
    let mut task = Task { wcet, period, ..Task::default() };
    if features.jitter && !one_in(random, 3) {
        let most = if one_in(random, 4) { 2 * period } else { period / 3 };
        task.jitter = random.between(0, most);
    }
    if features.suspension && wcet > 1 && one_in(random, 2) {
        task.suspension = random.between(1, 1 + period / 4);
    }
    if features.colors {
        task.colors = random.between(1, (1 << COLORS) - 1);
    }
    task
}

pub fn one_in(random: &mut Random, count: u64) -> bool {
    random.between(1, count) == 1
}
