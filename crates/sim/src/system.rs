//! What is simulated.

use policy::bandwidth;
use policy::server::Policy;

/// Physical CPUs with all that runs on them.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// The physical CPUs.
    pub pcpus: Vec<Pcpu>,
    /// What they share on their way to memory.
    pub memory: Memory,
    /// What tasks share.
    pub locks: Locks,
    /// What the hypervisor takes.
    pub overheads: Overheads,
}

impl System {
    /// PCPUs on which memory is accessed without limits and without contention, and nothing
    /// is shared.
    pub fn new(pcpus: Vec<Pcpu>) -> Self {
        Self { pcpus, ..Self::default() }
    }
}

/// What tasks share in critical sections ([`policy::lock`]).
#[derive(Clone, Debug, Default)]
pub struct Locks {
    /// Whether each resource is global, in the order of their indices; at most
    /// [`policy::lock::RESOURCES_MAX`].
    pub global: Vec<bool>,
    /// VCPUs in global critical sections go before all others of their PCPU, and may overrun
    /// (vMPCP). Otherwise their schedulers are not told (MPCP).
    pub ceilings: bool,
    /// The rank of each VCPU among those that share resources: by PCPU, then by VCPU on it. 0 is the
    /// highest priority, each rank is given once, and all of them are below
    /// [`policy::lock::VCPUS_MAX`].
    pub ranks: Vec<Vec<u8>>,
    /// The tasks that have critical sections.
    pub tasks: Vec<Sections>,
}

/// The critical sections of a task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sections {
    /// Index of the PCPU.
    pub pcpu: usize,
    /// Index of the VCPU on the PCPU.
    pub vcpu: usize,
    /// Index of the task in the VCPU.
    pub task: usize,
    /// The sections in the order in which a job comes through them.
    pub sections: Vec<Section>,
}

/// A critical section of a job that takes as long as jobs of the task can. Of a shorter one all
/// parts are shorter in proportion.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Section {
    /// Index of the resource.
    pub resource: usize,
    /// Execution before it, since the start or the section before, in nanoseconds.
    pub after: u64,
    /// Execution in it in nanoseconds; at least 1.
    pub length: u64,
}

/// What the VCPUs of several PCPUs share on their way to memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Memory budgets of VMs.
    pub pools: Vec<Pool>,
    /// How accesses delay others; none: not at all.
    pub contention: Option<Contention>,
}

/// The memory budget of a VM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pool {
    /// Name in messages.
    pub name: String,
    /// Accesses of all its VCPUs together; ticks are nanoseconds.
    pub parameters: bandwidth::Parameters,
    /// What it gets of the interference that critical VCPUs did not have.
    pub compensation: Option<Compensation>,
}

/// Compensation of a memory budget (XenThrottle, section 3.4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Compensation {
    /// Credit is reset every so many periods: `n`.
    pub periods: u32,
    /// It is flushed whenever a critical VCPU goes on with another task, not only when a
    /// critical VCPU begins to run.
    pub flush_task_switch: bool,
}

/// How accesses of other PCPUs delay those of a PCPU: each of them at most one access, by at
/// most [`Contention::latency`]; an access is delayed by at most one of each other PCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Contention {
    /// For how long an access keeps the memory busy in nanoseconds: `L` (XenThrottle, section 3.1).
    pub latency: u64,
    /// Each access that is delayed is delayed for that long. Otherwise it waits until the other
    /// access is over.
    pub always_longest: bool,
}

/// A physical CPU.
#[derive(Clone, Debug, Default)]
pub struct Pcpu {
    /// Its VCPUs, the one with the highest priority first; those of the background
    /// class last.
    pub vcpus: Vec<Vcpu>,
}

/// How long a physical CPU is in the hypervisor for what that does, in nanoseconds. The time belongs to the VCPU
/// because of which it is there: its tasks wait, and its budget goes by.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Overheads {
    /// What a VCPU pays of its budget at most that wakes, for interrupts while it waited ([`policy::cpu::Cpu::with_wait`]).
    pub wait: u64,
    /// How many interrupts come for a VCPU that has stopped: whoever runs next waits for them.
    pub kicks: u64,
    /// A VCPU begins to run, because it wakes or gets budget, or those above leave the PCPU. One that blocks pays as much for
    /// leaving ([`policy::cpu::Cpu::with_switch`]).
    pub switch: u64,
    /// Time has passed, and the same VCPU goes on.
    pub tick: u64,
    /// Another VCPU wakes, and has to wait.
    pub kick: u64,
    /// A job is released, or gets a resource.
    pub interrupt: u64,
    /// A job asks for a global resource, or leaves it.
    pub exit: u64,
}

/// A virtual CPU.
#[derive(Clone, Debug)]
pub struct Vcpu {
    /// Name in messages.
    pub name: String,
    /// How much of the CPU it gets; ticks are nanoseconds.
    pub server: Policy,
    /// Its tasks, the one with the highest priority first; at most
    /// [`policy::task::TASKS_MAX`].
    pub tasks: Vec<Task>,
    /// How many memory accesses it may make.
    pub memory: MemoryBudget,
    /// Its accesses are those of the critical side for [`Compensation`].
    pub critical: bool,
}

impl Vcpu {
    /// A VCPU without a memory budget.
    pub fn new(name: impl Into<String>, server: Policy, tasks: Vec<Task>) -> Self {
        Self { name: name.into(), server, tasks, memory: MemoryBudget::None, critical: false }
    }
}

/// How many memory accesses a VCPU may make.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum MemoryBudget {
    /// Any number.
    #[default]
    None,
    /// So many; ticks are nanoseconds.
    Own(bandwidth::Parameters),
    /// Those of the pool with this index in [`Memory::pools`], with others.
    Shared(usize),
}

/// A task that releases jobs again and again.
#[derive(Clone, Debug)]
pub struct Task {
    /// Name in messages.
    pub name: String,
    /// Time of the first release in nanoseconds.
    pub offset: u64,
    /// Least time between two releases in nanoseconds: `T`.
    pub period: u64,
    /// From release to deadline in nanoseconds: `D`.
    pub deadline: u64,
    /// When jobs are released.
    pub release: Release,
    /// How long jobs execute.
    pub execution: Execution,
    /// What jobs access of memory.
    pub accesses: Accesses,
}

/// Memory accesses of the jobs of a task.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Accesses {
    /// None that matter.
    #[default]
    None,
    /// So many in each job, evenly over its execution, but at most one in each nanosecond: number
    /// `i` of `N` when `i/N` of it are done. They can be delayed, which makes the job take longer.
    PerJob(u64),
    /// One whenever the job has executed for so many nanoseconds; they are not delayed. At least 1.
    Every(u64),
    /// One with each delayable access of another PCPU, which it delays: the worst neighbour that
    /// there is. Only with [`Contention`].
    WithOthers,
}

/// When the jobs of a task are released.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Release {
    /// Once in each period.
    Periodic,
    /// The period and up to so many nanoseconds more after the release before,
    /// uniformly distributed.
    Sporadic {
        /// Longest delay in nanoseconds.
        delay_max: u64,
    },
    /// The first one at the offset, then one at each of these times in nanoseconds, in
    /// ascending order. The period does not count.
    Trace(Vec<u64>),
}

/// How long the jobs of a task execute, in nanoseconds; at least one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Execution {
    /// All jobs for the same time: the worst case `C`.
    Always(u64),
    /// Uniformly distributed.
    Uniform {
        /// Shortest time.
        min: u64,
        /// Longest time.
        max: u64,
    },
    /// One after the other, and then from the start again.
    Trace(Vec<u64>),
}
