//! The verdict as types, for programs.

use analysis::Reason;
use analysis::overheads::Source;
use serde::Serialize;

use crate::chain::ChainVerdict;
use crate::combined::Combination;
use crate::words;

/// The verdict. Field names contain their units.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Verdict {
    /// True if every task is guaranteed to meet its deadline, and every chain to be within its
    /// limits.
    pub schedulable: bool,
    /// True if tasks run under the hypervisor, but the platform does not state its overheads: none
    /// are counted.
    pub overheads_unknown: bool,
    /// The PCPUs with VCPUs.
    pub pcpus: Vec<PcpuVerdict>,
    /// The chains, in the order of the description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<ChainVerdict>,
}

/// A PCPU.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PcpuVerdict {
    /// Its index.
    pub pcpu: u32,
    /// The share of its servers, in millionths, rounded up.
    pub budgets_ppm: u64,
    /// Its VCPUs, the highest priority first.
    pub vcpus: Vec<VcpuVerdict>,
}

/// A VCPU.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct VcpuVerdict {
    /// Name of its VM.
    pub vm: String,
    /// Its index in the VM.
    pub vcpu: usize,
    /// `periodic`, `deferrable`, `sporadic` or `background`; `None`: the VCPU has a PCPU of its
    /// own.
    pub server: Option<&'static str>,
    /// Its budget, as the hypervisor counts it.
    pub budget_ns: Option<u64>,
    /// Its period.
    pub period_ns: Option<u64>,
    /// The longest time until it has its budget: `W^v` (vCache, Eq. 1).
    pub wcrt_ns: Option<u64>,
    /// The longest time for which it has to wait for supply.
    pub blackout_ns: Option<u64>,
    /// The utilisation of its tasks, in millionths of a PCPU, rounded up.
    pub utilization_ppm: u64,
    /// True if it gets its budget in each period.
    pub ok: bool,
    /// The reason if it does not.
    #[serde(serialize_with = "words::reason")]
    pub failure: Option<Reason>,
    /// If not: a time for which it may have to wait until it has its budget; it may be even longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least_ns: Option<u64>,
    /// The time that the hypervisor may take of it in a global critical section, if more than
    /// `section_overhead`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_section_ns: Option<u64>,
    /// `section_overhead` then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_overhead_ns: Option<u64>,
    /// Things together with which critical sections are not analysed, if its tasks have no bound because of
    /// that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub combined: Vec<Combination>,
    /// The VMs on other PCPUs without a limit on memory accesses, if tasks have to wait for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unlimited_neighbours: Vec<String>,
    /// True if other VCPUs of its PCPU can evict lines of its tasks, although the time to load
    /// colours again is given: that time covers only lines that its tasks evict of each other.
    pub shares_colors: bool,
    /// True if the VCPU has tasks and a limit on memory accesses and shares its PCPU: `accesses` of
    /// its tasks must include the accesses to stop it and to continue it.
    pub limited_beside_others: bool,
    /// Its tasks, the highest priority first.
    pub tasks: Vec<TaskVerdict>,
}

/// A task.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct TaskVerdict {
    /// Its name.
    pub task: String,
    /// Its execution time in the analysis.
    pub wcet_ns: u64,
    /// Its period; the least time between two rings if rings release its jobs.
    pub period_ns: u64,
    /// The channel whose rings release its jobs, if they do: deadline and bound count from the ring.
    pub triggered_by: Option<String>,
    /// Its deadline.
    pub deadline_ns: u64,
    /// Bound for its response time, if there is one.
    pub wcrt_ns: Option<u64>,
    /// Deadline less bound: negative if it can be late.
    pub slack_ns: Option<i64>,
    /// True if it is guaranteed to meet its deadline.
    pub ok: bool,
    /// The reason if not.
    #[serde(serialize_with = "words::reason")]
    pub failure: Option<Reason>,
    /// Jobs of the task in the busy window that leads to the bound: more than one if it is longer
    /// than the period.
    pub jobs: Option<u64>,
    /// The parts of that window, and the jitter; the longest first.
    pub terms: Vec<Term>,
}

/// A part of a bound.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Term {
    /// The kind of the part.
    pub term: Part,
    /// The task that preempts.
    pub task: Option<String>,
    /// Its jobs.
    pub jobs: Option<u64>,
    /// Length of the part.
    pub time_ns: u64,
}

/// The kind of a part of a bound: a stable word for documents.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The execution of the task's own jobs.
    Execution,
    /// The jitter of its releases.
    Jitter,
    /// Tasks below keep the processor.
    Blocking,
    /// The task suspends itself.
    Suspension,
    /// Waiting for resources that others hold.
    Remote,
    /// Tasks above execute.
    Preemption,
    /// Caches are loaded again after tasks above.
    Cache,
    /// Waiting for memory accesses of other PCPUs.
    Memory,
    /// The VCPU waits for its memory budget.
    MemoryBudget,
    /// VCPUs above execute.
    Servers,
    /// The VCPU waits for budget or for other VCPUs.
    Supply,
    /// The time of the hypervisor for the jobs themselves.
    OverheadJob,
    /// Other time of the hypervisor: `overhead-release`, `overhead-switch` and so on.
    #[serde(untagged, serialize_with = "words::overhead")]
    Overhead(Source),
}

impl TaskVerdict {
    /// Returns the bound for its response time, also if that is above the deadline; `None` if it has
    /// none, or its execution time is not known.
    pub fn bound_ns(&self) -> Option<u64> {
        self.wcrt_ns.filter(|_| matches!(self.failure, None | Some(Reason::Unschedulable)))
    }
}

impl Verdict {
    /// Returns all tasks, with their VCPUs.
    pub fn tasks(&self) -> impl Iterator<Item = (&VcpuVerdict, &TaskVerdict)> {
        let vcpus = self.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
        vcpus.flat_map(|vcpu| vcpu.tasks.iter().map(move |task| (vcpu, task)))
    }

    /// Returns the chain that is latest for its limits, if one is late.
    pub fn latest_chain(&self) -> Option<&ChainVerdict> {
        self.chains.iter().filter(|chain| !chain.ok).max_by_key(|chain| chain.used_ppm())
    }
}
