//! The verdict on a described system: does it meet its deadlines? Bounds for all VCPUs and tasks.
//!
//! This crate makes models of a description or a plan ([`system`]), which the equations of
//! [`analysis`] judge: [`analysis::vcpu`] tests VCPUs, and [`mod@analysis::response`] tests tasks
//! with the supply of their VCPU. The hypervisor counts in ticks of the system counter and rounds
//! budgets down; if the platform states the frequency of the counter, a VCPU gets the rounded
//! budget.
//!
//! ```
//! use std::path::Path;
//!
//! use system::description::System;
//! use system::plan;
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
//! # Ok::<(), system::diagnostic::Errors>(())
//! ```

#![forbid(unsafe_code)]

mod budgets;
mod certificates;
mod chain;
mod combined;
mod costs;
mod judge;
mod limits;
mod locks;
mod member;
mod memo;
mod memory;
mod no_bound;
mod overheads;
mod pcpu;
mod sensitivity;
mod ties;
mod verdict;
mod words;

use system::description::System;
use system::plan::Plan;

pub use budgets::{NoBudgets, Open, memory_budgets};
pub use chain::{ChainVerdict, StepVerdict};
pub use combined::{Combination, With, all_of};
pub use costs::costs;
pub use memo::{Known, Memo};
use memory::Accesses;
pub use sensitivity::{Sensitivity, TaskSensitivity, scale};
pub use verdict::{Part, PcpuVerdict, TaskVerdict, Term, VcpuVerdict, Verdict};

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
