//! The simulated system.

use policy::bandwidth;
use policy::rate::Rate;
use policy::server::Policy;

/// Physical CPUs with all that runs on them.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// The physical CPUs.
    pub pcpus: Vec<Pcpu>,
    /// The shared memory.
    pub memory: Memory,
    /// The shared resources.
    pub locks: Locks,
    /// The channels for which tasks ring.
    pub channels: Vec<Channel>,
    /// Times that the hypervisor takes.
    pub overheads: Overheads,
}

impl System {
    /// PCPUs on which memory is accessed without limits and without contention, and nothing
    /// is shared.
    pub fn new(pcpus: Vec<Pcpu>) -> Self {
        Self { pcpus, ..Self::default() }
    }
}

/// A channel for which a task rings when its jobs are done.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Channel {
    /// The limit on rings; its ticks are nanoseconds. Others are refused.
    pub limit: Rate,
    /// The task that rings.
    pub from: TaskPlace,
    /// The tasks of which each ring that passes releases a job: those with [`Release::Rung`].
    pub to: Vec<TaskPlace>,
}

/// The place of a task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TaskPlace {
    /// Index of the PCPU.
    pub pcpu: usize,
    /// Index of the VCPU on the PCPU.
    pub vcpu: usize,
    /// Index of the task in the VCPU.
    pub task: usize,
}

/// Maximum number of resources of a simulated system.
pub const RESOURCES_MAX: usize = 64;

/// Stands for the rank of a VCPU whose tasks have no critical sections.
pub const NO_RANK: u8 = u8::MAX;

/// The resources of critical sections ([`policy::lock`]).
#[derive(Clone, Debug, Default)]
pub struct Locks {
    /// For each resource in the order of their indices, true if it is global. There are at most
    /// [`RESOURCES_MAX`] resources.
    pub global: Vec<bool>,
    /// True (vMPCP): VCPUs in global critical sections run before all other VCPUs of their PCPU,
    /// and may overrun their budgets. False (MPCP): their schedulers do not know of the sections.
    pub ceilings: bool,
    /// The rank of each VCPU among those that share resources: by PCPU, then by VCPU on it. 0 is the
    /// highest priority, each rank is given once, and all of them are below
    /// [`policy::lock::VCPUS_MAX`]. VCPUs whose tasks have no sections may have
    /// [`NO_RANK`].
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

/// The memory that the VCPUs of several PCPUs share.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Memory budgets of VMs.
    pub pools: Vec<Pool>,
    /// The delay of accesses by other accesses; `None`: no access delays another one.
    pub contention: Option<Contention>,
}

/// The memory budget of a VM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pool {
    /// Name in messages.
    pub name: String,
    /// Accesses of all its VCPUs together; ticks are nanoseconds.
    pub parameters: bandwidth::Parameters,
    /// Compensation of the pool for interference that critical VCPUs did not have.
    pub compensation: Option<Compensation>,
}

/// Compensation of a memory budget (XenThrottle, section 3.4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Compensation {
    /// Number of periods after which credit is reset: `n`.
    pub periods: u32,
    /// True if credit is flushed whenever a critical VCPU runs another task, too, and not only when
    /// a critical VCPU begins to run.
    pub flush_task_switch: bool,
}

/// The delay of accesses by accesses of other PCPUs. An access of another PCPU delays at most one
/// access, by at most [`Contention::latency`]; an access is delayed by at most one access of each
/// other PCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Contention {
    /// Time in nanoseconds for which an access keeps the memory busy: `L` (XenThrottle, section
    /// 3.1).
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

/// Times that a physical CPU spends in the hypervisor, in nanoseconds. The VCPU that causes the
/// work pays: its tasks wait, and its budget decreases.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Overheads {
    /// Number of interrupts for a VCPU that waits, one after the other, as soon as another VCPU
    /// executes.
    pub kicks: u64,
    /// A VCPU begins to run, because it wakes or gets budget, or those above leave the PCPU. One that blocks pays as much for
    /// leaving ([`policy::cpu::Cpu::with_switch`]).
    pub switch: u64,
    /// Time has passed, and the same VCPU continues.
    pub tick: u64,
    /// Another VCPU wakes, and has to wait; or is interrupted, and waits on
    /// ([`policy::cpu::Cpu::with_kick`]).
    pub kick: u64,
    /// A job is released, or gets a resource.
    pub interrupt: u64,
    /// A job requests a global resource, or releases it.
    pub exit: u64,
}

/// A virtual CPU.
#[derive(Clone, Debug)]
pub struct Vcpu {
    /// Name in messages.
    pub name: String,
    /// The server; its ticks are nanoseconds.
    pub server: Policy,
    /// Its tasks, the one with the highest priority first; at most [`crate::TASKS_MAX`].
    pub tasks: Vec<Task>,
    /// The budget of memory accesses.
    pub memory: MemoryBudget,
    /// Its accesses are those of the critical side for [`Compensation`].
    pub critical: bool,
}

impl Vcpu {
    /// Returns a VCPU without a memory budget.
    pub fn new(name: impl Into<String>, server: Policy, tasks: Vec<Task>) -> Self {
        Self { name: name.into(), server, tasks, memory: MemoryBudget::None, critical: false }
    }
}

/// The budget of memory accesses of a VCPU.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum MemoryBudget {
    /// Any number.
    #[default]
    None,
    /// The VCPU has a budget of its own; its ticks are nanoseconds.
    Own(bandwidth::Parameters),
    /// The VCPU shares the pool with this index in [`Memory::pools`].
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
    /// Time from release to deadline in nanoseconds: `D`.
    pub deadline: u64,
    /// Releases of jobs.
    pub release: Release,
    /// Execution times of jobs.
    pub execution: Execution,
    /// Memory accesses of jobs.
    pub accesses: Accesses,
}

/// Memory accesses of the jobs of a task.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Accesses {
    /// Jobs make no accesses.
    #[default]
    None,
    /// Each job makes this number of accesses, evenly over its execution, but at most one in each
    /// nanosecond: access `i` of `N` when `i/N` of the job are done. An access that is delayed
    /// makes the job take longer.
    PerJob(u64),
    /// A job makes an access whenever it has executed for this number of nanoseconds, at least 1.
    /// These accesses are not delayed.
    Every(u64),
    /// An access with each delayable access of another PCPU, which it delays: the worst possible
    /// neighbour. Only with [`Contention`].
    WithOthers,
}

/// Release times of the jobs of a task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Release {
    /// Once in each period.
    Periodic,
    /// The time between two releases is the period and up to this number of nanoseconds more,
    /// uniformly distributed.
    Sporadic {
        /// Longest delay in nanoseconds.
        delay_max: u64,
    },
    /// Rings of another task release jobs ([`System::channels`]). Neither offset nor period counts.
    Rung,
    /// The first one at the offset, then as often as the limit, whose ticks are nanoseconds, lets
    /// pass, and up to this number of nanoseconds later, uniformly distributed. The period does not
    /// count.
    Limited {
        /// The limit.
        limit: Rate,
        /// Longest delay in nanoseconds.
        delay_max: u64,
    },
    /// The first one at the offset, then one at each of these times in nanoseconds, in
    /// ascending order. The period does not count.
    Trace(Vec<u64>),
}

/// Execution times of the jobs of a task in nanoseconds, at least one.
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
    /// These times one after the other, repeatedly.
    Trace(Vec<u64>),
}
