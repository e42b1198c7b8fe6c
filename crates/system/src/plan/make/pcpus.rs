//! Assigns VCPUs to PCPUs.

use crate::address::Pcpu;
use crate::description::{Located, System, Vcpu, Vm};
use crate::diagnostic::Diagnostic;

/// Returns a PCPU for every VCPU of every VM: the given ones as they are given, then each the
/// lowest that is free, in the order of the description.
pub(super) fn assign(system: &System, mistakes: &mut Vec<Diagnostic>) -> Vec<Vec<Pcpu>> {
    let mut free = free(system, &given(system, mistakes));
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
    mistakes.extend(short.map(|vm| too_few(system, vm)));
    assigned
}

/// Checks the PCPUs that are given, and that each VCPU without `server` can have one of its own,
/// wherever the others run.
pub(super) fn check_given(system: &System, mistakes: &mut Vec<Diagnostic>) {
    let mut free = free(system, &given(system, mistakes));
    let is_alone = |vcpu: &&Vcpu| vcpu.pcpu.is_none() && vcpu.server.is_none();
    let short = system.vms.iter().find(|vm| {
        let mut alone = vm.vcpus.iter().filter(is_alone);
        alone.any(|_| free.next().is_none())
    });
    mistakes.extend(short.map(|vm| too_few(system, vm)));
}

/// Returns the PCPUs that are given, with their VCPUs.
fn given<'a>(
    system: &'a System,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<(&'a Located<u64>, &'a Vcpu)> {
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
    given
}

/// Returns the PCPUs that are given to no VCPU.
fn free(system: &System, given: &[(&Located<u64>, &Vcpu)]) -> impl Iterator<Item = u64> + use<> {
    let pins: Vec<u64> = given.iter().map(|(pin, _)| pin.value).collect();
    (0..system.platform.value.cpus.len() as u64).filter(move |pcpu| !pins.contains(pcpu))
}

/// Reports that no PCPU is left for a VM.
fn too_few(system: &System, vm: &Vm) -> Diagnostic {
    let platform = &system.platform.value;
    let needed: usize = system.vms.iter().map(|vm| vm.vcpus.len()).sum();
    let message = format!(
        "there are {needed} VCPUs, but `{}` has {} PCPUs",
        platform.name,
        platform.cpus.len()
    );
    let help = "VCPUs without `pcpu` get one each: give some VMs fewer VCPUs, or let VCPUs \
                share a PCPU by `pcpu` and `server`";
    Diagnostic::new("too-few-pcpus", message)
        .at(&vm.name.place, "no PCPU is left for this VM")
        .help(help)
}
