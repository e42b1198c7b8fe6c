//! Which VCPU runs on which PCPU.

use crate::description::{Located, System};
use crate::diagnostic::Diagnostic;
use crate::units::Pcpu;

/// A PCPU for every VCPU of every VM: the given ones as they are given, then
/// the lowest free ones in the order of the description.
pub(super) fn assign(system: &System, mistakes: &mut Vec<Diagnostic>) -> Vec<Vec<Pcpu>> {
    let platform = &system.platform.value;
    let count = platform.cpus.len();
    let mut given: Vec<&Located<u64>> = Vec::new();
    for pin in system.vms.iter().flat_map(|vm| &vm.vcpus).filter_map(|vcpu| vcpu.pcpu.as_ref()) {
        if pin.value >= count as u64 {
            let message = format!("PCPU {} does not exist", pin.value);
            let help = format!("`{}` has PCPUs 0 to {}", platform.name, count - 1);
            mistakes
                .push(Diagnostic::new("unknown-pcpu", message).at(&pin.place, "here").help(help));
        }
        match given.iter().find(|other| other.value == pin.value) {
            Some(first) => mistakes.push(
                Diagnostic::new("pcpu-taken", format!("PCPU {} is given to two VCPUs", pin.value))
                    .at(&pin.place, "again here")
                    .also(&first.place, "first here")
                    .help("a PCPU runs one VCPU: give another number, or none to have it planned"),
            ),
            None => given.push(pin),
        }
    }
    let mut free = (0..count as u64).filter(|pcpu| !given.iter().any(|pin| pin.value == *pcpu));
    let mut short = None;
    let assigned = system.vms.iter().map(|vm| {
        let vcpus = vm.vcpus.iter().map(|vcpu| {
            let pcpu = vcpu.pcpu.as_ref().map(|pin| pin.value).or_else(|| free.next());
            if pcpu.is_none() {
                short.get_or_insert(vm);
            }
            Pcpu(pcpu.unwrap_or(0) as u32)
        });
        vcpus.collect()
    });
    let assigned = assigned.collect();
    if let Some(vm) = short {
        let needed: usize = system.vms.iter().map(|vm| vm.vcpus.len()).sum();
        let message =
            format!("there are {needed} VCPUs, but `{}` has {count} PCPUs", platform.name);
        mistakes.push(
            Diagnostic::new("too-few-pcpus", message)
                .at(&vm.name.place, "no PCPU is left for this VM")
                .help("a PCPU runs one VCPU: give some VMs fewer VCPUs"),
        );
    }
    assigned
}
