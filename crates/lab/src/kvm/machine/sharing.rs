//! The resources that the VMs of a plan share.

use abi::hypercall::resource_name;
use host::machine::{Id, Sharer, Sharing};
use policy::rate::Rate;
use policy::time::Duration;
use system::plan::{Plan, Vcpu};

/// Returns the resources of a plan, and all VCPUs in the order in which the hypervisor ranks them. Times are in nanoseconds.
pub fn sharing(plan: &Plan) -> Sharing {
    let resources = plan.resources.iter().map(|resource| {
        let vms = resource.vms.iter().fold(0, |vms, vm| vms | 1u8.checked_shl(*vm).unwrap_or(0));
        // Longer names are refused in a description.
        (resource_name(resource.name.as_bytes()).unwrap_or_default(), vms)
    });
    let vcpus = plan.vms.iter().zip(0..).flat_map(|(vm, number)| {
        vm.vcpus.iter().zip(0..).map(move |(vcpu, index)| Sharer {
            id: Id { vm: number, vcpu: index },
            priority: vcpu.server.map_or(0, |server| server.priority),
            rate: rate(vcpu),
        })
    });
    Sharing { resources: resources.collect(), vcpus: vcpus.collect() }
}

/// Returns the limit as the hypervisor has it: a VCPU that may be in no section may enter none.
fn rate(vcpu: &Vcpu) -> Option<Rate> {
    let (interval, early) = (vcpu.entries.interval.0, vcpu.entries.early.0);
    (vcpu.hold.0 > 0).then(|| Rate::new(Duration(interval.max(1)), Duration(early + 1)))
}
