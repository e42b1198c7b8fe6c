//! VCPUs that must not share a PCPU for tasks to have bounds.
//!
//! Where a PCPU has critical sections, the analysis has no bounds for VCPUs with a limit on memory
//! accesses, nor for any if one of them has a sporadic server.

use policy::server::kind::Kind;
use system::description::System;
use system::plan::Class;

use super::pcpus::{At, all, vcpu};

/// Returns true if some VCPUs of a system must not be on the PCPU of others.
pub(super) fn matters(system: &System) -> bool {
    is_mixed(system, &all(system))
}

/// Returns true if these VCPUs must not share a PCPU.
pub(super) fn is_mixed(system: &System, on: &[At]) -> bool {
    on.iter().any(|&at| has_sections(system, at)) && on.iter().any(|&at| keeps_away(system, at))
}

fn has_sections(system: &System, (vm, vcpu): At) -> bool {
    let mut tasks = system.vms[vm].tasks.iter();
    tasks.any(|task| !task.sections.is_empty() && (task.vcpu_open || task.vcpu == vcpu))
}

fn keeps_away(system: &System, (vm, index): At) -> bool {
    let of_vm = &system.vms[vm];
    let own = vcpu(system, (vm, index));
    let is_limited = of_vm.bandwidth.is_some() || own.bandwidth.is_some();
    let has_tasks = of_vm.tasks.iter().any(|task| task.vcpu_open || task.vcpu == index);
    let class = own.server.as_ref().filter(|it| it.kind_open.is_none()).map(|it| it.class.value);
    let is_sporadic = matches!(class, Some(Class::Reserved(Kind::Sporadic, _)));
    is_limited && has_tasks || is_sporadic
}
