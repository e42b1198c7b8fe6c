//! What a simulation found, for people and machines.

mod memory;

use lab::chains::Seen;
use model::{Accesses, Assume, Contention, Execution, Model, Vcpu};
use report::text::table;
use serde::Serialize;
use sim::Simulation;
use system::diagnostic::Entry;
use units::Duration;

use super::options::SimOptions;
use super::run::Ended;
use crate::check::chains;
use memory::MemoryResult;

/// All that was found; field names carry their units.
#[derive(Serialize)]
pub struct Results {
    /// Whether no deadline was missed, and no chain took longer than it may.
    ok: bool,
    file: String,
    system: String,
    simulated_ns: u64,
    /// The time that was to be simulated.
    until_ns: u64,
    events: u64,
    /// `time`, `events`, `interrupted` or `overload`.
    ended: &'static str,
    /// Why the simulation could not go on.
    overload: Option<String>,
    execution: Execution,
    assume: Assume,
    /// How accesses delay each other, if they are simulated.
    contention: Option<Contention>,
    seed: u64,
    missed_deadlines: u64,
    vcpus: Vec<VcpuResult>,
    tasks: Vec<TaskResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chains: Vec<Seen>,
    errors: Vec<Entry>,
    #[serde(skip)]
    accesses: Option<Accesses>,
}

#[derive(Serialize)]
struct VcpuResult {
    pcpu: usize,
    vm: String,
    vcpu: usize,
    server: Option<&'static str>,
    budget_ns: Option<u64>,
    period_ns: Option<u64>,
    priority: Option<u32>,
    /// What it had to do: `tasks`, `tasks and more`, `busy` or `idle`.
    load: &'static str,
    supply_ns: u64,
    /// Part of the simulated time for which it ran, in millionths.
    supply_ppm: u64,
    /// Part of its budget that it used, in millionths.
    budget_used_ppm: Option<u64>,
    dispatches: u64,
    /// Memory accesses, if they are simulated.
    memory: Option<MemoryResult>,
}

#[derive(Serialize)]
struct TaskResult {
    vm: String,
    vcpu: usize,
    task: String,
    period_ns: u64,
    deadline_ns: u64,
    releases: u64,
    jobs: u64,
    response_min_ns: Option<u64>,
    response_mean_ns: Option<u64>,
    response_max_ns: Option<u64>,
    /// Jobs that were late, those that are not complete included.
    missed_deadlines: u64,
}

impl Results {
    /// The results of a simulation that ended.
    pub fn new(
        system: &str,
        options: &SimOptions,
        model: &Model,
        (simulation, until): (&Simulation, Duration),
        ended: &Ended,
    ) -> Self {
        let now = simulation.now_ns();
        let vcpus = model.vcpus().map(|(pcpu, index, vcpu)| {
            let found = simulation.vcpu(pcpu, index);
            let memory = model.accesses.as_ref().map(|_| {
                MemoryResult::new(model, &model.system.pcpus[pcpu].vcpus[index], found, now)
            });
            VcpuResult { memory, ..VcpuResult::new(pcpu, vcpu, found, now) }
        });
        let tasks = model.vcpus().flat_map(|(pcpu, index, vcpu)| {
            (0..vcpu.tasks.len()).map(move |task| {
                let found = simulation.task(pcpu, index, task);
                let overdue = simulation.overdue(pcpu, index, task);
                TaskResult::new(vcpu, task, found, overdue)
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let missed_deadlines = tasks.iter().map(|task| task.missed_deadlines).sum();
        let overload = match ended {
            Ended::Overload(error) => Some(error.to_string()),
            _ => None,
        };
        Self {
            ok: missed_deadlines == 0 && overload.is_none(),
            file: options.file.display().to_string(),
            system: system.into(),
            simulated_ns: now,
            until_ns: until.0,
            events: simulation.events(),
            ended: ended.as_str(),
            overload,
            execution: match options.like {
                Some(_) => Execution::Traced,
                None => options.execution,
            },
            assume: options.assume,
            contention: model.accesses.map(|accesses| accesses.contention),
            seed: options.seed,
            missed_deadlines,
            vcpus: vcpus.collect(),
            tasks,
            chains: Vec::new(),
            errors: Vec::new(),
            accesses: model.accesses,
        }
    }

    /// The same with chains.
    pub fn with_chains(mut self, chains: Vec<Seen>) -> Self {
        self.ok &= !chains.iter().any(Seen::is_late);
        self.chains = chains;
        self
    }

    /// Whether no deadline was missed, and no chain took longer than it may.
    pub fn ok(&self) -> bool {
        self.ok
    }

    /// For people.
    pub fn text(&self) -> String {
        let verdict = match (&self.overload, self.missed_deadlines) {
            (Some(overload), _) => format!("not schedulable: {overload}"),
            (None, 0) if self.tasks.is_empty() => "there are no tasks".into(),
            (None, 0) => "no deadline was missed".into(),
            (None, 1) => "1 deadline was missed".into(),
            (None, missed) => format!("{missed} deadlines were missed"),
        };
        let late = match self.chains.iter().filter(|chain| chain.is_late()).count() {
            0 => String::new(),
            1 => "; 1 chain took longer than it may".into(),
            late => format!("; {late} chains took longer than they may"),
        };
        let (of_all, ended) = match self.ended {
            "interrupted" => (format!(" of {} s", seconds(self.until_ns)), ", interrupted"),
            _ => (String::new(), ""),
        };
        let mut text = format!(
            "{}: {verdict}{late}\nsimulated {} s{of_all}, {} events{ended}\n",
            self.file,
            seconds(self.simulated_ns),
            self.events
        );
        if !self.tasks.is_empty() {
            text.push_str(&format!("\n{}", self.task_table()));
        }
        text.push_str(&chains::seen(&self.chains));
        let above = self.chains.iter().flat_map(Seen::above_bounds);
        text.extend(above.map(|above| format!("{above}\n")));
        text.push_str(&format!("\n{}", self.vcpu_table()));
        if self.accesses.is_some() {
            text.push_str(&format!("\n{}", memory::memory_table(&self.vcpus)));
        }
        text.push_str(&self.assumptions());
        text
    }

    fn task_table(&self) -> String {
        let row = |task: &TaskResult| {
            vec![
                task.vm.clone(),
                task.vcpu.to_string(),
                task.task.clone(),
                Duration(task.period_ns).to_string(),
                task.jobs.to_string(),
                micros(task.response_min_ns),
                micros(task.response_mean_ns),
                micros(task.response_max_ns),
                micros(Some(task.deadline_ns)),
                task.missed_deadlines.to_string(),
            ]
        };
        let rows: Vec<_> = self.tasks.iter().map(row).collect();
        let heading = [
            "VM",
            ">VCPU",
            "task",
            ">period",
            ">jobs",
            ">min us",
            ">mean us",
            ">max us",
            ">deadline us",
            ">missed",
        ];
        table(&heading, &rows)
    }

    fn vcpu_table(&self) -> String {
        let row = |vcpu: &VcpuResult| {
            let time = |time: Option<u64>| time.map_or("-".into(), |ns| Duration(ns).to_string());
            vec![
                vcpu.pcpu.to_string(),
                vcpu.vm.clone(),
                vcpu.vcpu.to_string(),
                vcpu.server.unwrap_or("whole PCPU").into(),
                time(vcpu.budget_ns),
                time(vcpu.period_ns),
                vcpu.load.into(),
                percent(vcpu.supply_ppm),
                vcpu.budget_used_ppm.map_or("-".into(), percent),
                vcpu.dispatches.to_string(),
            ]
        };
        let rows: Vec<_> = self.vcpus.iter().map(row).collect();
        let heading = [
            ">PCPU",
            "VM",
            ">VCPU",
            "server",
            ">budget",
            ">period",
            "load",
            ">% of PCPU",
            ">% of budget",
            ">dispatches",
        ];
        table(&heading, &rows)
    }

    /// What the description does not say.
    fn assumptions(&self) -> String {
        let with = |load: &str| {
            let vcpus = self.vcpus.iter().filter(|vcpu| vcpu.load == load);
            let names: Vec<_> = vcpus.map(|vcpu| format!("{}/{}", vcpu.vm, vcpu.vcpu)).collect();
            names.join(", ")
        };
        let mut text = String::new();
        for (load, what) in [
            ("busy", "these VCPUs are always busy"),
            ("idle", "these VCPUs are always idle"),
            (
                "tasks and more",
                "these VCPUs are always busy, with less urgent work than their tasks",
            ),
        ] {
            let vcpus = with(load);
            if !vcpus.is_empty() {
                text.push_str(&format!("\nassumed: {what}: {vcpus}"));
            }
        }
        if !text.is_empty() {
            text.push_str("\n(`--assume busy` or `--assume idle`)\n");
        }
        if let Some(accesses) = &self.accesses {
            text.push_str(assumptions(accesses));
        }
        text
    }
}

impl VcpuResult {
    fn new(pcpu: usize, vcpu: &Vcpu, found: sim::VcpuStatistics, now: u64) -> Self {
        let budget = vcpu.server.and_then(|server| server.class.budget());
        let given =
            budget.map(|it| u128::from(it.budget.0) * u128::from(now) / u128::from(it.period.0));
        Self {
            pcpu,
            vm: vcpu.vm_name.clone(),
            vcpu: vcpu.index,
            server: vcpu.server.map(|server| server.class.as_str()),
            budget_ns: budget.map(|it| it.budget.0),
            period_ns: budget.map(|it| it.period.0),
            priority: vcpu.server.map(|server| server.priority),
            load: vcpu.load.as_str(),
            supply_ns: found.supply_ns,
            supply_ppm: ppm(found.supply_ns, now.into()),
            budget_used_ppm: given.map(|given| ppm(found.supply_ns, given)),
            dispatches: found.dispatches,
            memory: None,
        }
    }
}

impl TaskResult {
    fn new(vcpu: &Vcpu, task: usize, found: sim::TaskStatistics, overdue: u64) -> Self {
        let task = &vcpu.tasks[task];
        let some = found.jobs > 0;
        Self {
            vm: vcpu.vm_name.clone(),
            vcpu: vcpu.index,
            task: task.name.clone(),
            period_ns: task.period.0,
            deadline_ns: task.deadline.0,
            releases: found.releases,
            jobs: found.jobs,
            response_min_ns: some.then_some(found.response_min_ns),
            response_mean_ns: found
                .response_sum_ns
                .checked_div(found.jobs.into())
                .map(|mean| mean as u64),
            response_max_ns: some.then_some(found.response_max_ns),
            missed_deadlines: found.misses + overdue,
        }
    }
}

/// Part in millionths, rounded down; 0 of nothing.
fn ppm(part: u64, all: u128) -> u64 {
    (u128::from(part) * 1_000_000).checked_div(all).unwrap_or(0) as u64
}

fn percent(ppm: u64) -> String {
    format!("{}.{:02}", ppm / 10_000, ppm % 10_000 / 100)
}

/// Nanoseconds as microseconds, exact.
fn micros(ns: Option<u64>) -> String {
    ns.map_or("-".into(), |ns| format!("{}.{:03}", ns / 1_000, ns % 1_000))
}

fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// What is assumed of memory accesses.
fn assumptions(accesses: &Accesses) -> &'static str {
    match (accesses.budgets, accesses.latency, accesses.contention) {
        (false, ..) => "\nmemory budgets are not simulated: they do not count memory accesses\n",
        (_, None, _) => {
            "\nassumed: no access delays another one, and VCPUs make no accesses but those of their \
             tasks: the platform has no access_latency\n"
        }
        (.., Contention::Stream) => {
            "\nassumed: busy VCPUs make one memory access after the other\n\
             (`--contention stream`, `worst` or `none`)\n"
        }
        (.., Contention::Worst) => {
            "\nassumed: busy VCPUs make a memory access whenever a task of another PCPU does\n\
             (`--contention stream`, `worst` or `none`)\n"
        }
        (.., Contention::None) => {
            "\nassumed: no access delays another one (`--contention stream`, `worst` or `none`)\n"
        }
    }
}
