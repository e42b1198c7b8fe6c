//! The simulator's view of a system.

use policy::bandwidth::Parameters;
use policy::cpu::WHOLE_CPU;
use policy::server::{self, Policy};
use policy::time::Instant;
use system::description::{self, Protocol};
use system::plan::{Budget, Class, Plan, Server};
use units::Duration;

use crate::assumptions::{Assume, Assumptions, Execution};
use crate::locks;
use crate::memory::Accesses;
use crate::rings;

/// A system to simulate, and the names of its parts.
#[derive(Debug)]
pub struct Model {
    /// Input of the simulator: all PCPUs, in the order of their indices.
    pub system: sim::System,
    /// The VCPUs of each PCPU, in the order of `system`.
    pub pcpus: Vec<Vec<Vcpu>>,
    /// Memory accesses, if they are simulated.
    pub accesses: Option<Accesses>,
}

/// A VCPU of the model.
#[derive(Debug)]
pub struct Vcpu {
    /// Index of the VM.
    pub vm: usize,
    /// Name of the VM.
    pub vm_name: String,
    /// Index in the VM.
    pub index: usize,
    /// The server under which the VCPU shares its PCPU, if it shares it.
    pub server: Option<Server>,
    /// The work of the VCPU.
    pub load: Load,
    /// Its tasks, in the order of `system`, which has one task more for a VCPU that is always busy.
    pub tasks: Vec<Task>,
}

/// A task of the model.
#[derive(Debug)]
pub struct Task {
    /// Its number among the tasks of the VCPU, in the order of the description.
    pub number: usize,
    /// Name of the task.
    pub name: String,
    /// Time between two releases.
    pub period: Duration,
    /// Time from release to deadline.
    pub deadline: Duration,
}

/// The work of a VCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Load {
    /// The VCPU executes its tasks.
    Tasks,
    /// The VCPU executes its tasks, and is busy whenever they are not.
    TasksAndMore,
    /// The VCPU is always busy.
    Busy,
    /// The VCPU is always idle.
    Idle,
    /// The VCPU executes the same work as in a trace.
    Traced,
}

impl Load {
    /// Returns the words for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::TasksAndMore => "tasks and more",
            Self::Busy => "busy",
            Self::Idle => "idle",
            Self::Traced => "as traced",
        }
    }
}

impl Model {
    /// Returns the model of a plan. `described` is the description behind the plan, if it is known.
    pub fn new(
        plan: &Plan,
        described: Option<&description::System>,
        assumptions: &Assumptions,
    ) -> Self {
        let mut pcpus: Vec<Vec<_>> = Vec::new();
        pcpus.resize_with(plan.platform.cpus.len(), Vec::new);
        let accesses = Accesses::new(plan, described, assumptions);
        let overheads = overheads(described, assumptions);
        for (vm_index, vm) in plan.vms.iter().enumerate() {
            let described = described.and_then(|system| system.vms.get(vm_index));
            let colors = vm.colors().map(|colors| u64::from(colors.len()));
            for (index, planned) in vm.vcpus.iter().enumerate() {
                let tasks = described.map(|vm| vm.tasks_of(index)).unwrap_or_default();
                let is_linux = described.is_some_and(|vm| vm.boot.protocol == Protocol::Linux);
                let load = match (tasks.is_empty(), assumptions.assume) {
                    (true, Assume::Busy) => Load::Busy,
                    (true, Assume::Idle) => Load::Idle,
                    (false, Assume::Busy) if is_linux => Load::TasksAndMore,
                    (false, _) => Load::Tasks,
                };
                let simulated = tasks
                    .iter()
                    .map(|(_, task)| simulated(task, colors, assumptions, overheads.exit));
                let endless = endless(load, accesses.as_ref());
                let mut simulated = sim::Vcpu::new(
                    format!("{}/{index}", vm.name),
                    planned.server.map_or(WHOLE_CPU, policy),
                    simulated.chain(endless).collect(),
                );
                simulated.critical = vm.critical;
                if let Some(accesses) = &accesses {
                    simulated.memory = accesses.budget(plan, vm_index, planned);
                }
                let vcpu = Vcpu {
                    vm: vm_index,
                    vm_name: vm.name.clone(),
                    index,
                    server: planned.server,
                    load,
                    tasks: tasks
                        .into_iter()
                        .map(|(number, task)| Task::new(number, task))
                        .collect(),
                };
                if let Some(pcpu) = pcpus.get_mut(planned.pcpu.0 as usize) {
                    pcpu.push((planned.order(), (vcpu, simulated)));
                }
            }
        }
        let mut model = Self { system: sim::System::default(), pcpus: Vec::new(), accesses };
        model.system.overheads = overheads;
        model.system.memory = accesses.map(|it| it.shared(plan)).unwrap_or_default();
        for mut pcpu in pcpus {
            pcpu.sort_by_key(|(order, _)| *order);
            let (vcpus, simulated) = pcpu.into_iter().map(|(_, vcpu)| vcpu).unzip();
            model.system.pcpus.push(sim::Pcpu { vcpus: simulated });
            model.pcpus.push(vcpus);
        }
        model.system.locks = locks::shared(plan, described, &model.pcpus);
        rings::connect(described, &mut model);
        model
    }

    /// Returns all VCPUs: index of the PCPU, index on it, and the VCPU.
    pub fn vcpus(&self) -> impl Iterator<Item = (usize, usize, &Vcpu)> {
        self.pcpus.iter().enumerate().flat_map(|(pcpu, vcpus)| {
            vcpus.iter().enumerate().map(move |(index, vcpu)| (pcpu, index, vcpu))
        })
    }

    /// Returns the memory budget of a VCPU, its own or that of its VM.
    pub fn memory_budget(&self, vcpu: &sim::Vcpu) -> Option<Parameters> {
        match vcpu.memory {
            sim::MemoryBudget::None => None,
            sim::MemoryBudget::Own(parameters) => Some(parameters),
            sim::MemoryBudget::Shared(pool) => Some(self.system.memory.pools[pool].parameters),
        }
    }

    /// Returns the last offset and twice the least common multiple of all periods, of that PCPU
    /// where it is the longest: a schedule of tasks without servers repeats then (Leung and
    /// Merrill, Information Processing Letters 1980). `None` if it is more than 64 bits of
    /// nanoseconds, or nothing repeats.
    pub fn hyperperiod(&self) -> Option<Duration> {
        let mut longest = 0;
        for (vcpus, simulated) in self.pcpus.iter().zip(&self.system.pcpus) {
            let servers = vcpus.iter().filter_map(|vcpu| vcpu.server?.class.budget());
            let tasks = vcpus.iter().flat_map(|vcpu| &vcpu.tasks).map(|task| task.period);
            let memory = simulated.vcpus.iter().filter_map(|vcpu| self.memory_budget(vcpu));
            let memory = memory.map(|budget| Duration(budget.period.0));
            let mut periods = servers.map(|budget| budget.period).chain(tasks).chain(memory);
            let first = match periods.next() {
                Some(Duration(first)) => first,
                None => continue,
            };
            let multiple = periods.try_fold(first, |multiple, Duration(period)| {
                (multiple / greatest_common_divisor(multiple, period)).checked_mul(period)
            })?;
            let offsets = simulated.vcpus.iter().flat_map(|vcpu| &vcpu.tasks);
            let offset = offsets.map(|task| task.offset).max().unwrap_or(0);
            longest = longest.max(multiple.checked_mul(2)?.checked_add(offset)?);
        }
        (longest > 0).then_some(Duration(longest))
    }
}

impl Task {
    fn new(number: usize, task: &description::Task) -> Self {
        Self { number, name: task.name.value.clone(), period: task.period, deadline: task.deadline }
    }
}

/// Returns the overheads of the hypervisor if the platform has them. Execution times of a trace
/// contain the overheads.
fn overheads(described: Option<&description::System>, assumptions: &Assumptions) -> sim::Overheads {
    let platform = described.map(|system| &system.platform.value);
    let known = platform.and_then(|platform| platform.overheads);
    let known = known.filter(|_| assumptions.execution != Execution::Traced);
    known.map_or_else(sim::Overheads::default, |it| sim::Overheads {
        kicks: 0, // what other PCPUs ask for is not simulated
        switch: it.switch.0,
        tick: it.tick.0,
        kick: it.kick.0,
        interrupt: it.interrupt.0,
        exit: it.exit.0,
    })
}

/// Returns a task as the simulator has it. With its colours, or those of its VM, it takes a certain
/// time; where the VM shares all of the cache, the longest that there is.
fn simulated(
    task: &description::Task,
    colors: Option<u64>,
    assumptions: &Assumptions,
    exit: u64,
) -> sim::Task {
    // What its jobs ask the hypervisor for.
    let calls = task.all_exits().saturating_mul(exit);
    let own = task.colors.as_ref().map(|own| u64::from(own.value.len()));
    let wcet = match own.or(colors) {
        Some(colors) => task.wcet.with_colors(colors).0,
        None => task.wcet.longest().0,
    };
    let random = assumptions.execution == Execution::Uniform;
    sim::Task {
        name: task.name.value.clone(),
        offset: task.offset.0,
        period: task.period.0,
        deadline: task.deadline.0,
        release: match task.sporadic && random {
            _ if task.triggered_by.is_some() => rings::limited(task, random),
            true => sim::Release::Sporadic { delay_max: task.period.0 },
            false => sim::Release::Periodic,
        },
        execution: match task.bcet {
            Some(bcet) if random => {
                sim::Execution::Uniform { min: bcet.0, max: wcet.saturating_add(calls) }
            }
            _ => sim::Execution::Always(wcet.saturating_add(calls)),
        },
        accesses: Accesses::of(task),
    }
}

/// Returns the work of a busy VCPU: one job that never ends, with the lowest priority.
fn endless(load: Load, accesses: Option<&Accesses>) -> Option<sim::Task> {
    matches!(load, Load::TasksAndMore | Load::Busy).then(|| sim::Task {
        name: "all else".into(),
        offset: 0,
        period: u64::MAX,
        deadline: u64::MAX,
        release: sim::Release::Periodic,
        execution: sim::Execution::Always(u64::MAX),
        accesses: accesses.map_or(sim::Accesses::None, Accesses::endless),
    })
}

fn policy(planned: Server) -> Policy {
    let parameters = |Budget { budget, period }| server::Parameters {
        budget: policy::time::Duration(budget.0),
        period: policy::time::Duration(period.0),
        start: Instant(0),
        overrun: policy::time::Duration(planned.overrun.0),
    };
    match planned.class {
        Class::Reserved(kind, budget) => kind.policy(parameters(budget)),
        Class::Background => Policy::Background,
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
