//! Systems with one course of events: what the analysis knows of them, and what it does not.
//!
//! Written as TOML they are counterexamples (`tests/counterexamples`).

use analysis::hierarchy::{PcpuAnalyzer, Vcpu as AnalysedVcpu};
use analysis::response::Response;
use analysis::{Caches, Duration, Failure, Kind, Limits};
use policy::color::ColorSet;
use policy::server::{Parameters, Policy};
use policy::time::Instant;
use serde::{Deserialize, Serialize};

/// What the analysis looks at; where it would have to look further there is no bound here.
pub const LIMITS: Limits = Limits { window: Duration(3_000), passes: 100_000 };

/// A PCPU: its VCPUs, the highest priority first; those without server come last.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Longest time to load one colour again.
    #[serde(default)]
    pub reload: u64,
    #[serde(default)]
    pub vcpu: Vec<Vcpu>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Vcpu {
    pub server: Option<Server>,
    /// The highest priority first.
    #[serde(default)]
    pub task: Vec<Task>,
    /// What else the VCPU has to do, below all its tasks: nothing that the analysis knows or
    /// has to know.
    #[serde(default)]
    pub below: Vec<Below>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    pub kind: ServerKind,
    pub budget: u64,
    pub period: u64,
    /// Of its first period.
    pub start: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerKind {
    Periodic,
    Deferrable,
    Sporadic,
}

/// A task as it is analysed, and its jobs.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub wcet: u64,
    pub period: u64,
    #[serde(default)]
    pub jitter: u64,
    #[serde(default)]
    pub blocking: u64,
    #[serde(default)]
    pub suspension: u64,
    /// Its colours as bits.
    #[serde(default)]
    pub colors: u64,
    #[serde(default)]
    pub job: Vec<Job>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub arrival: u64,
    /// Until it is released.
    #[serde(default)]
    pub delay: u64,
    /// Execution, suspension, execution, and so on.
    pub run: Vec<u64>,
    /// For so long at the start of each execution no task above gets the VCPU.
    #[serde(default)]
    pub section: u64,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Below {
    pub at: u64,
    pub time: u64,
}

/// Bounds of all tasks of all VCPUs.
pub type Bounds = Vec<Vec<Result<Response, Failure>>>;

impl Job {
    pub fn execution(&self) -> u64 {
        self.run.iter().step_by(2).sum()
    }

    pub fn suspension(&self) -> u64 {
        self.run.iter().skip(1).step_by(2).sum()
    }
}

impl Task {
    pub fn model(&self) -> analysis::Task {
        let task = analysis::Task::new(Duration(self.wcet), Duration(self.period)).unwrap();
        let task = task.with_jitter(Duration(self.jitter)).unwrap();
        let task = task.with_blocking(Duration(self.blocking)).unwrap();
        task.with_suspension(Duration(self.suspension)).unwrap()
    }

    /// How often one of its jobs suspends itself at most.
    fn suspensions(&self) -> u64 {
        self.job.iter().map(|job| job.run.len() as u64 / 2).max().unwrap_or(0)
    }

    fn section(&self) -> u64 {
        self.job.iter().map(|job| job.section).max().unwrap_or(0)
    }
}

impl Server {
    pub fn model(&self) -> analysis::Server {
        let kind = match self.kind {
            ServerKind::Periodic => Kind::Periodic,
            ServerKind::Deferrable => Kind::Deferrable,
            ServerKind::Sporadic => Kind::Sporadic,
        };
        analysis::Server::new(kind, Duration(self.budget), Duration(self.period)).unwrap()
    }

    fn policy(&self) -> Policy {
        let parameters = Parameters {
            budget: policy::time::Duration(self.budget),
            period: policy::time::Duration(self.period),
            start: Instant(self.start),
            overrun: policy::time::Duration::ZERO,
        };
        match self.kind {
            ServerKind::Periodic => Policy::Periodic(parameters),
            ServerKind::Deferrable => Policy::Deferrable(parameters),
            ServerKind::Sporadic => Policy::Sporadic(parameters),
        }
    }
}

impl Vcpu {
    pub fn policy(&self) -> Policy {
        self.server.as_ref().map_or(Policy::Background, Server::policy)
    }

    pub fn models(&self) -> Vec<analysis::Task> {
        self.task.iter().map(Task::model).collect()
    }

    pub fn sets(&self) -> Vec<ColorSet> {
        self.task.iter().map(|task| ColorSet::from_bits(task.colors)).collect()
    }

    /// What tasks below task `place` may keep it waiting for, as far as its jobs and theirs say:
    /// a section that began one tick before, and where it suspends itself one each time.
    pub fn blocking(&self, place: usize) -> u64 {
        let below = self.task[place + 1..].iter().map(Task::section);
        let longest = below.max().unwrap_or(0).saturating_sub(1);
        longest * (self.task[place].suspensions() + 1)
    }

    fn is_possible(&self) -> bool {
        let start = self.server.as_ref().map_or(0, |server| server.start);
        let server = self.server.as_ref().is_none_or(|it| 0 < it.budget && it.budget <= it.period);
        let tasks = self.task.iter().enumerate().all(|(place, task)| {
            let apart = |pair: &[Job]| pair[1].arrival >= pair[0].arrival + task.period;
            let job = |job: &Job| {
                // Before its first period a server gives nothing, which no bound is about.
                job.arrival >= start
                    && job.delay <= task.jitter
                    && job.run.len() % 2 == 1
                    && !job.run.contains(&0)
                    && job.execution() <= task.wcet
                    && job.suspension() <= task.suspension
            };
            let numbers = task.wcet > 0 && task.period > 0 && task.job.iter().all(job);
            numbers && task.job.windows(2).all(apart) && self.blocking(place) <= task.blocking
        });
        let order = self.below.windows(2).all(|pair| pair[0].at <= pair[1].at);
        server && tasks && order && self.below.iter().all(|below| below.time > 0)
    }
}

impl System {
    /// Returns true if the jobs are what the analysis is told of them.
    pub fn is_possible(&self) -> bool {
        let is_background = |vcpu: &Vcpu| vcpu.server.is_none();
        self.vcpu.is_sorted_by_key(is_background) && self.vcpu.iter().all(Vcpu::is_possible)
    }

    /// Returns true if `crates/sim` can simulate it.
    pub fn is_plain(&self) -> bool {
        let plain = |task: &Task| task.job.iter().all(|job| job.run.len() == 1 && job.section == 0);
        let mut tasks = self.vcpu.iter().flat_map(|vcpu| &vcpu.task);
        self.reload == 0 && tasks.all(plain)
    }

    /// The bounds of [`analysis::hierarchy`]; and both of its answers must agree.
    pub fn bounds(&self) -> Bounds {
        let tasks: Vec<_> = self.vcpu.iter().map(Vcpu::models).collect();
        let sets: Vec<_> = self.vcpu.iter().map(Vcpu::sets).collect();
        let reload = Duration(self.reload);
        let vcpu = |(place, vcpu): (usize, &Vcpu)| AnalysedVcpu {
            server: vcpu.server.as_ref().map(Server::model),
            tasks: &tasks[place],
            caches: (self.reload > 0).then(|| Caches::new(&sets[place], reload)),
        };
        let all: Vec<_> = self.vcpu.iter().enumerate().map(vcpu).collect();
        let mut analyzer = PcpuAnalyzer::new(LIMITS);
        let responses = analyzer.response_times(&all);
        let in_time = responses.iter().zip(&tasks).all(|(responses, tasks)| {
            let mut each = responses.tasks.iter().zip(tasks);
            responses.server.is_none_or(|it| it.is_ok())
                && each.all(|(it, task)| it.is_ok_and(|it| it.time <= task.deadline()))
        });
        assert_eq!(analyzer.schedulable(&all).is_ok(), in_time, "{self:?}");
        responses.into_iter().map(|it| it.tasks).collect()
    }

    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap()
    }
}
