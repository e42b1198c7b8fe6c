//! Parts of the last-level cache and of the memory bandwidth that Linux gives the CPUs of VMs.

use std::path::Path;

use host::partition::{Partition, Share};
use system::address::Pcpu;
use system::description::{Shares, Vm};
use system::diagnostic::{Diagnostic, Errors, Place};

use crate::failure::Failure;
use crate::load::System;

/// Returns true if a VM of the system is to have a part.
pub fn are_in(system: &System) -> bool {
    system.description.iter().flat_map(|it| &it.vms).any(|vm| place(&vm.shares).is_some())
}

/// Returns the place of one of the keys that ask for parts.
fn place(shares: &Shares) -> Option<&Place> {
    shares.ways.as_ref().map(|it| &it.place).or(shares.percent.as_ref().map(|it| &it.place))
}

fn share(vm: &Vm) -> Share {
    let Shares { ways, percent } = &vm.shares;
    Share { ways: ways.as_ref().map(|it| it.value), percent: percent.as_ref().map(|it| it.value) }
}

/// Returns the share of each PCPU whose VMs have one.
///
/// # Errors
///
/// VMs that execute on the same PCPU are to have different shares, which belong to a CPU and not to what executes on it.
fn of_pcpus(system: &System) -> Result<Vec<(Pcpu, Share)>, Errors> {
    let described = system.description.iter().flat_map(|it| &it.vms);
    let mut pcpus: Vec<(Pcpu, &Vm)> = Vec::new();
    let mut mistakes = Vec::new();
    for (vm, planned) in described.zip(&system.plan.vms) {
        for pcpu in planned.vcpus.iter().map(|vcpu| vcpu.pcpu) {
            match pcpus.iter().find(|(known, _)| *known == pcpu) {
                None => pcpus.push((pcpu, vm)),
                Some((_, other)) if share(other) == share(vm) => {}
                Some((_, other)) => {
                    let message = format!(
                        "VMs `{}` and `{}` both have VCPUs on PCPU {}, and different `ways` or `bandwidth_percent`",
                        other.name.value, vm.name.value, pcpu.0
                    );
                    let help =
                        "Linux gives them to CPUs: write the same for both VMs, or use other PCPUs";
                    let at = place(&vm.shares).or(place(&other.shares)).unwrap_or(&vm.name.place);
                    mistakes
                        .push(Diagnostic::new("shared-pcpu", message).at(at, "here").help(help));
                }
            }
        }
    }
    let with_share = pcpus.into_iter().filter(|(_, vm)| place(&vm.shares).is_some());
    Errors::unless_none(mistakes, with_share.map(|(pcpu, vm)| (pcpu, share(vm))).collect())
}

/// Checks that the PCPUs can have these shares.
pub fn check(system: &System) -> Result<(), Failure> {
    Ok(of_pcpus(system).map(drop)?)
}

/// Gives the CPUs of VMs their shares, until the result is dropped. `root`: `/`, or a folder with files of such a host.
pub fn divide(system: &System, root: &Path) -> Result<Option<Partition>, Failure> {
    let cpu = |pcpu: Pcpu| system.plan.platform.cpus.get(pcpu.0 as usize).map(|cpu| cpu.0 as usize);
    let shares = of_pcpus(system)?.into_iter();
    let shares: Vec<_> = shares.filter_map(|(pcpu, share)| Some((cpu(pcpu)?, share))).collect();
    if shares.is_empty() {
        // Those of a run that was killed would hold for this one, too.
        host::partition::remove_left(root).map_err(|error| {
            let text = format!(
                "groups of an earlier run cannot be removed from /sys/fs/resctrl: {error}\nhelp: remove them as root"
            );
            Failure::new("resctrl", text)
        })?;
        return Ok(None);
    }
    let made = Partition::new(root, &shares);
    Ok(Some(made.map_err(|why| Failure::new("resctrl", why))?))
}

/// Returns who else uses the parts of VMs.
pub fn remark(system: &System) -> Option<String> {
    are_in(system).then(|| {
        "`ways` and `bandwidth_percent` hold for the CPUs of VMs: Linux and all programs on other CPUs keep the whole cache"
            .into()
    })
}
