//! The limits of memory accesses of a plan, for VMs under KVM.

use system::plan::Plan;

/// Returns true if accesses of VMs have to be counted.
pub fn are_in(plan: &Plan) -> bool {
    let compensates = plan.vms.iter().any(|vm| vm.compensation.is_some());
    plan.vms.iter().any(|vm| {
        vm.memory_budget.is_some()
            || vm.vcpus.iter().any(|vcpu| vcpu.memory_budget.is_some())
            || vm.critical && compensates
    })
}
