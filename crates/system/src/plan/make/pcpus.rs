//! Assigns VCPUs to PCPUs.

use crate::address::Pcpu;
use crate::description::{Located, System, Vcpu};
use crate::diagnostic::Diagnostic;

/// Returns a PCPU for every VCPU of every VM: the given ones as they are given, then each the
/// lowest that is free, in the order of the description.
pub(super) fn assign(system: &System, mistakes: &mut Vec<Diagnostic>) -> Vec<Vec<Pcpu>> {
    let platform = &system.platform.value;
    let count = platform.cpus.len();
    let mut given: Vec<(&Located<u64>, &Vcpu)> = Vec::new();
    for vcpu in system.vms.iter().flat_map(|vm| &vm.vcpus) {
        let Some(pin) = &vcpu.pcpu else { continue };
        if pin.value >= count as u64 {
            let message = format!("PCPU {} does not exist", pin.value);
            let help = format!("`{}` has PCPUs 0 to {}", platform.name, count - 1);
            mistakes
                .push(Diagnostic::new("unknown-pcpu", message).at(&pin.place, "here").help(help));
        }
        let alone = |other: &Vcpu| vcpu.server.is_none() || other.server.is_none();
        let taken = given.iter().find(|(first, it)| first.value == pin.value && alone(it));
        if let Some((first, _)) = taken {
            let message = format!("PCPU {} is given to VCPUs without `server`", pin.value);
            mistakes.push(
                Diagnostic::new("pcpu-taken", message)
                    .at(&pin.place, "again here")
                    .also(&first.place, "first here")
                    .help("give all VCPUs of a PCPU a `server`, or each its own PCPU"),
            );
        }
        given.push((pin, vcpu));
    }
    let mut free =
        (0..count as u64).filter(|pcpu| !given.iter().any(|(pin, _)| pin.value == *pcpu));
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
        let help = "VCPUs without `pcpu` get one each: give some VMs fewer VCPUs, or let VCPUs \
                    share a PCPU by `pcpu` and `server`";
        mistakes.push(
            Diagnostic::new("too-few-pcpus", message)
                .at(&vm.name.place, "no PCPU is left for this VM")
                .help(help),
        );
    }
    assigned
}
