//! Parts of descriptions that nothing enforces under KVM yet.

use abi::kvm::{ARGUMENTS_MAX, RAM_MAX};
use abi::limits::COUNT_MAX;
use system::description::{self, Protocol};
use system::diagnostic::{Diagnostic, Errors, Place};

use crate::failure::Failure;
use crate::load::System;

/// Refuses a system that cannot run under KVM: with all reasons, each at its place.
pub fn check(system: &System) -> Result<(), Failure> {
    let Some(described) = system.description.as_deref() else {
        let text = "a plan is for a board, and VMs under KVM have none\n\
                    help: name the description, of a system on the platform `linux-kvm`";
        return Err(Failure::new("not-for-kvm", text));
    };
    let platform = &described.platform;
    if !platform.value.kvm {
        let message = format!("the platform `{}` is no Linux host with KVM", platform.value.name);
        let mistake = Diagnostic::new("not-for-kvm", message).at(&platform.place, "this platform");
        let help = "write `platform = \"linux-kvm\"`, or run the system without `--on kvm`";
        return Err(Errors::from(mistake.help(help)).into());
    }
    let mut mistakes = Vec::new();
    mistakes.extend(described.hypervisor_colors.iter().map(|it| no_hypervisor(&it.place)));
    mistakes.extend(described.hypervisor_memory.iter().map(|it| no_hypervisor(&it.place)));
    let channels = described.channels.iter();
    mistakes.extend(channels.map(|it| unsupported("channels", &it.name.place)));
    let lines = described.serial_lines.iter();
    mistakes.extend(lines.map(|it| unsupported("serial lines", &it.place)));
    let links = described.links.iter();
    mistakes.extend(links.map(|it| unsupported("links", &it.name.place)));
    for vm in &described.vms {
        mistakes.extend(wrong(vm).into_iter().map(|(what, place)| unsupported(what, place)));
    }
    if described.vms.len() > COUNT_MAX {
        let place = &described.vms[COUNT_MAX].name.place;
        mistakes.push(unsupported("more than eight VMs", place));
    }
    Ok(Errors::unless_none(mistakes, ())?)
}

/// Returns the statements of the description that change nothing because there is no hypervisor, a sentence each.
pub fn without_meaning(system: &System) -> Vec<String> {
    let vms = system.description.iter().flat_map(|it| &it.vms).filter(|vm| !vm.console);
    let names: Vec<_> = vms.map(|vm| format!("`{}`", vm.name.value)).collect();
    let note = format!(
        "`console = false` (VM {}) changes nothing under KVM: guests print by calls, and their lines are shown",
        names.join(", ")
    );
    if names.is_empty() { Vec::new() } else { vec![note] }
}

fn no_hypervisor(place: &Place) -> Diagnostic {
    Diagnostic::new("not-for-kvm", "under KVM there is no hypervisor that could have this")
        .at(place, "here")
        .help("remove this, or use a board")
}

fn unsupported(what: &str, place: &Place) -> Diagnostic {
    let message = format!("under KVM there are no {what} yet");
    let help = match what {
        "Linux guests" => {
            "write `boot = \"raw\"` if this is a real-time guest; Linux needs a board"
        }
        _ => "remove this, or use a board",
    };
    Diagnostic::new("not-for-kvm", message).at(place, "here").help(help)
}

/// Returns the parts for which a VM asks and that it does not get.
fn wrong(vm: &description::Vm) -> Vec<(&'static str, &Place)> {
    let mut wrong = Vec::new();
    if vm.boot.protocol != Protocol::Raw {
        wrong.push(("Linux guests", &vm.boot.kernel.place));
    }
    wrong.extend(vm.boot.initrd.iter().map(|it| ("initial RAM disks", &it.place)));
    wrong.extend(vm.devices.iter().map(|it| ("devices", &it.place)));
    wrong.extend(vm.extra.iter().map(|it| ("further colours for tasks", &it.colors.place)));
    let colors = vm.colors.as_ref();
    // A task that has all colours of its VM needs nothing more.
    let own = vm.tasks.iter().filter_map(|task| task.colors.as_ref());
    let own = own.filter(|own| colors.is_none_or(|all| all.value != own.value));
    wrong.extend(own.map(|it| ("colours for tasks", &it.place)));
    wrong.extend(vm.memory_at.iter().map(|it| ("places of RAM in the machine", &it.place)));
    if vm.lifecycle.aborts {
        wrong.push(("aborts of accesses where a VM has nothing", &vm.name.place));
    }
    if vm.memory.value.0 > RAM_MAX {
        wrong.push(("VMs with more than 2 GiB of RAM", &vm.memory.place));
    }
    let arguments = vm.boot.bootargs.iter().filter(|it| it.value.len() as u64 > ARGUMENTS_MAX);
    wrong.extend(arguments.map(|it| ("command lines of more than 1,024 bytes", &it.place)));
    if vm.vcpus.len() > COUNT_MAX {
        wrong.push(("VMs with more than eight VCPUs", &vm.name.place));
    }
    wrong
}
