//! The largest numbers of a description: those of the hypervisor's tables, or for a machine that is
//! only analysed those of the tools.

use super::Located;
use crate::diagnostic::Diagnostic;
use crate::document::Fields;
use crate::plan::{ANALYZED_MAX, ANALYZED_VCPUS_MAX, COUNT_MAX, RESOURCES_MAX};
use crate::platform::Platform;

/// Maximum number of resources of a system.
const RESOURCES_DESCRIBED_MAX: usize = 64;

/// Limits of a description.
struct Limits {
    vms: usize,
    /// VCPUs of a VM.
    vcpus: usize,
    /// Resources whose mutexes the hypervisor keeps: some of its calls look at each of them.
    shared: usize,
}

const HYPERVISOR: Limits = Limits { vms: COUNT_MAX, vcpus: COUNT_MAX, shared: RESOURCES_MAX };
const ANALYSIS: Limits =
    Limits { vms: ANALYZED_MAX, vcpus: ANALYZED_VCPUS_MAX, shared: RESOURCES_DESCRIBED_MAX };

/// Reports the first VM, VCPU and resource of which there are too many, each at its place. `vms`
/// are the tables of the VMs. Where the platform cannot be read, the larger limits count.
pub(super) fn check(root: &Fields<'_>, platform: Option<&Platform>, vms: &[Fields<'_>]) {
    let runs = platform.is_some_and(Platform::runs);
    let limits = if runs { HYPERVISOR } else { ANALYSIS };
    let refuse = |more: Option<&Fields<'_>>, message: String, help: &str| {
        let Some(more) = more else { return };
        root.add(Diagnostic::new("out-of-range", message).at(more.place(), "one more").help(help));
    };
    let message = format!("a system can have {} VMs", limits.vms);
    let help = "remove the VMs from here on, or give them to a second machine";
    refuse(vms.get(limits.vms), message, help);
    for vm in vms {
        vcpus(vm, limits.vcpus);
    }
    let resources = root.tables("resource", "[[resource]]");
    let message = format!("a system can have {RESOURCES_DESCRIBED_MAX} resources");
    let help = "remove the resources from here on";
    refuse(resources.get(RESOURCES_DESCRIBED_MAX), message, help);
    if limits.shared < RESOURCES_DESCRIBED_MAX {
        let message = format!("VMs can share {} resources", limits.shared);
        let help =
            "the hypervisor keeps no more: let tasks of several VMs use one resource for more";
        let mut shared = resources.iter().filter(|table| table.has("vms"));
        refuse(shared.nth(limits.shared), message, help);
    }
}

/// Reports the first VCPU of a VM beyond this number, or the number of them.
fn vcpus(vm: &Fields<'_>, most: usize) {
    let tables = vm.tables("vcpu", "[[vm.vcpu]]");
    let (place, label) = match tables.get(most) {
        Some(more) => (more.place().clone(), "one more"),
        None => match vm.peek_number("vcpus") {
            Some(Located { value, place }) if value > most as u64 => (place, "too many"),
            _ => return,
        },
    };
    let message = format!("a VM can have {most} VCPUs");
    let help = "remove the VCPUs from here on, or give their tasks to another VM";
    vm.add(Diagnostic::new("out-of-range", message).at(&place, label).help(help));
}
