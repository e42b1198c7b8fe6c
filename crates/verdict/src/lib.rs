//! The verdict on a described system: does it meet its deadlines? Bounds for all VCPUs and tasks.
//!
//! This crate makes models of a description or a plan ([`bulkhead_system`]), which the equations of
//! [`analysis`] judge: [`analysis::vcpu`] tests VCPUs, and [`mod@analysis::response`] tests tasks
//! with the supply of their VCPU. The hypervisor counts in ticks of the system counter and rounds
//! budgets down; if the platform states the frequency of the counter, a VCPU gets the rounded
//! budget.
//!
//! ```
//! use std::path::Path;
//!
//! use bulkhead_system::description::System;
//! use bulkhead_system::plan;
//! use verdict::Verdict;
//!
//! let text = r#"
//! platform = "qemu-virt"
//!
//! [[vm]]
//! name = "rt"
//! boot = "raw"
//! memory = "16MiB"
//! kernel = "rt.bin"
//!
//! [[vm.task]]
//! name = "control"
//! period = "5ms"
//! wcet = "0.5ms"
//! "#;
//! let system = System::from_toml("demo.toml", text, Path::new("."))?;
//! let verdict = Verdict::of_plan(&plan::make(&system)?, Some(&system));
//! assert!(verdict.schedulable);
//! let (vcpu, task) = verdict.tasks().next().expect("a task");
//! assert_eq!((vcpu.vm.as_str(), task.task.as_str()), ("rt", "control"));
//! assert!(task.wcrt_ns.is_some_and(|wcrt| wcrt > 500_000));
//! # Ok::<(), bulkhead_system::diagnostic::Errors>(())
//! ```

#![forbid(unsafe_code)]

mod budgets;
mod locks;
mod member;
mod memory;
mod overheads;
mod pcpu;
mod sensitivity;
mod ties;
mod words;

use analysis::Reason;
use analysis::overheads::Source;
use bulkhead_system::description::System;
use bulkhead_system::plan::{self, Plan};
use serde::Serialize;

use member::Member;
use memory::Accesses;

pub use budgets::{NoBudgets, Open, memory_budgets};
pub use overheads::costs;
pub use sensitivity::{Sensitivity, TaskSensitivity, scale};

/// Returns the maximum number of accesses beyond a memory budget that the bounds count: of a VCPU
/// of a plan, or of all VCPUs of the VM together.
pub fn memory_overshoot(plan: &Plan, described: &System, vm: usize, vcpu: Option<usize>) -> u64 {
    let vcpus: Vec<_> = plan.vms.iter().map(|vm| &*vm.vcpus).collect();
    let of_vm = vcpus.get(vm).copied().unwrap_or_default();
    let own = match vcpu {
        Some(index) => of_vm.get(index..=index).unwrap_or_default(),
        None => of_vm,
    };
    Accesses::known(described, &vcpus).overshoot(vm, own)
}

/// The verdict. Field names contain their units.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Verdict {
    /// True if every task is guaranteed to meet its deadline.
    pub schedulable: bool,
    /// True if tasks run under the hypervisor, but the platform does not state its overheads: none
    /// are counted.
    pub overheads_unknown: bool,
    /// The PCPUs with VCPUs.
    pub pcpus: Vec<PcpuVerdict>,
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
    /// Why not.
    #[serde(serialize_with = "words::reason")]
    pub failure: Option<Reason>,
    /// If not: so long it may have to wait until it has its budget, or longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least_ns: Option<u64>,
    /// The time that the hypervisor may take of it in a global critical section, if more than
    /// `section_overhead`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_section_ns: Option<u64>,
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
    /// Its period.
    pub period_ns: u64,
    /// Its deadline.
    pub deadline_ns: u64,
    /// Bound for its response time, if there is one.
    pub wcrt_ns: Option<u64>,
    /// Deadline less bound: negative if it can be late.
    pub slack_ns: Option<i64>,
    /// True if it is guaranteed to meet its deadline.
    pub ok: bool,
    /// Why not.
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
    /// What it is.
    pub term: Part,
    /// The task that preempts.
    pub task: Option<String>,
    /// Its jobs.
    pub jobs: Option<u64>,
    /// Length of the part.
    pub time_ns: u64,
}

/// What a part of a bound is: a stable word for documents.
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
    /// What jobs themselves cost the hypervisor.
    OverheadJob,
    /// What else the hypervisor takes: `overhead-release`, `overhead-switch` and so on.
    #[serde(untagged, serialize_with = "words::overhead")]
    Overhead(Source),
}

impl PcpuVerdict {
    /// Returns the verdict on VCPUs of a description, each with its VM and its index there. They
    /// count as if they had a PCPU of their own and ran with these parameters, and as if no VCPU on
    /// other PCPUs delayed their memory accesses or held resources that they use. There must be at
    /// least one VCPU. `console`: the PCPU serves the console.
    pub fn of(system: &System, vcpus: &[(usize, usize, plan::Vcpu)], console: bool) -> Self {
        let member = |&(vm, index, vcpu): &(usize, usize, plan::Vcpu)| {
            let name = system.vms.get(vm).map_or("", |vm| vm.name.value.as_str());
            Member::new(name, Some(system), None, (vm, index), vcpu)
        };
        let mut members: Vec<_> = vcpus.iter().map(member).collect();
        members.sort_by_key(|it| it.vcpu.order());
        overheads::attach(&mut members, Some(system), console.then_some(0));
        pcpu::verdict(&members, &locks::bounds(system, &members))
    }
}

impl Verdict {
    /// Returns the verdict on a plan, and on the tasks in the description from which it was made,
    /// if that is known.
    pub fn of_plan(plan: &Plan, described: Option<&System>) -> Self {
        let vms: Vec<_> = plan.vms.iter().map(|vm| (vm.name.as_str(), &*vm.vcpus)).collect();
        Self::new(&vms, described, Some(plan.platform.serial.pcpu.0))
    }

    /// Returns the verdict on a description, with its VCPUs in their assigned places
    /// ([`plan::assign`]): for machines that have no plan.
    pub fn of_description(system: &System, vcpus: &[Vec<plan::Vcpu>]) -> Self {
        let names = system.vms.iter().map(|vm| vm.name.value.as_str());
        let vms: Vec<_> = names.zip(vcpus.iter().map(Vec::as_slice)).collect();
        let used = |pcpu| vcpus.iter().flatten().any(|vcpu| vcpu.pcpu.0 == pcpu);
        let console = plan::console(system.platform.value.cpus.len(), used);
        Self::new(&vms, Some(system), Some(console))
    }

    /// Returns all tasks, with their VCPUs.
    pub fn tasks(&self) -> impl Iterator<Item = (&VcpuVerdict, &TaskVerdict)> {
        let vcpus = self.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
        vcpus.flat_map(|vcpu| vcpu.tasks.iter().map(move |task| (vcpu, task)))
    }

    fn new(
        vms: &[(&str, &[plan::Vcpu])],
        described: Option<&System>,
        console: Option<u32>,
    ) -> Self {
        let vcpus: Vec<_> = vms.iter().map(|(_, vcpus)| *vcpus).collect();
        let accesses = described.and_then(|system| Accesses::new(system, &vcpus));
        let mut all: Vec<Member<'_>> = Vec::new();
        for (vm_index, (vm, vcpus)) in vms.iter().enumerate() {
            let of_vm = vcpus.iter().enumerate();
            all.extend(of_vm.map(|(index, &vcpu)| {
                Member::new(vm, described, accesses.as_ref(), (vm_index, index), vcpu)
            }));
        }
        // On each PCPU the highest priority first.
        all.sort_by_key(|it| (it.vcpu.pcpu, it.vcpu.order()));
        overheads::attach(&mut all, described, console);
        let same = |one: &Member<'_>, other: &Member<'_>| one.vcpu.pcpu == other.vcpu.pcpu;
        let mut bounds = match described {
            Some(system) => locks::bounds(system, &all),
            None => Vec::new(),
        };
        bounds.resize_with(all.len(), || None);
        let mut bounds = bounds.into_iter();
        let verdict = |members: &[Member<'_>]| {
            let bounds: Vec<_> = bounds.by_ref().take(members.len()).collect();
            pcpu::verdict(members, &bounds)
        };
        let pcpus: Vec<_> = all.chunk_by(same).map(verdict).collect();
        let mut tasks = pcpus.iter().flat_map(|pcpu| &pcpu.vcpus).flat_map(|vcpu| &vcpu.tasks);
        let schedulable = tasks.all(|task| task.ok);
        let overheads_unknown = described.is_some_and(|system| {
            let platform = &system.platform.value;
            let has_tasks = system.vms.iter().any(|vm| !vm.tasks.is_empty());
            has_tasks && platform.boot.is_ok() && platform.overheads.is_none()
        });
        Self { schedulable, overheads_unknown, pcpus }
    }
}
