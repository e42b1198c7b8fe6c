//! Parts of descriptions that nothing enforces under KVM yet.

use abi::kvm::{ARGUMENTS_MAX, RAM_MAX};
use abi::limits::COUNT_MAX;
use policy::color::ColorSet;
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
        "`console = false` (VM {}) changes nothing under KVM: the lines that guests print are shown",
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
    Diagnostic::new("not-for-kvm", format!("under KVM there are no {what} yet"))
        .at(place, "here")
        .help("remove this, or use a board")
}

/// Returns the parts for which a VM asks and that it does not get.
fn wrong(vm: &description::Vm) -> Vec<(&'static str, &Place)> {
    let mut wrong = Vec::new();
    match vm.boot.protocol {
        Protocol::Linux => wrong.extend(wrong_linux(vm)),
        Protocol::Raw => {
            let initrd = vm.boot.initrd.iter();
            wrong.extend(initrd.map(|it| ("initial RAM disks of real-time guests", &it.place)));
            let arguments = vm.boot.bootargs.iter();
            let arguments = arguments.filter(|it| it.value.len() as u64 > ARGUMENTS_MAX);
            let what = "command lines of more than 1,024 bytes";
            wrong.extend(arguments.map(|it| (what, &it.place)));
        }
    }
    wrong.extend(vm.devices.iter().map(|it| ("devices", &it.place)));
    let serial = vm.extra.iter().filter(|extra| extra.serial);
    wrong.extend(serial.map(|it| ("serial ports for requests for colours", &it.colors.place)));
    wrong.extend(not_given(vm));
    wrong.extend(vm.memory_at.iter().map(|it| ("places of RAM in the machine", &it.place)));
    if vm.lifecycle.aborts {
        wrong.push(("aborts of accesses where a VM has nothing", &vm.name.place));
    }
    if vm.memory.value.0 > RAM_MAX {
        wrong.push(("VMs with more than 2 GiB of RAM", &vm.memory.place));
    }
    if vm.vcpus.len() > COUNT_MAX {
        wrong.push(("VMs with more than eight VCPUs", &vm.name.place));
    }
    wrong
}

/// Returns the colours of tasks that these do not get: a guest can ask for extra colours, and a task that has all colours of its
/// VM needs nothing more.
fn not_given(vm: &description::Vm) -> impl Iterator<Item = (&'static str, &Place)> {
    let is_given = |own: ColorSet| {
        let extra = vm.extra.as_ref().is_some_and(|it| own.is_subset(it.colors.value));
        extra || vm.colors.as_ref().is_some_and(|all| all.value == own)
    };
    let own = vm.tasks.iter().filter_map(|task| task.colors.as_ref());
    let own = own.filter(move |own| !is_given(own.value));
    own.map(|it| ("colours for tasks other than `extra_colors`", &it.place))
}

/// Returns the parts that only a Linux does not get.
fn wrong_linux(vm: &description::Vm) -> Vec<(&'static str, &Place)> {
    let mut wrong = Vec::new();
    if vm.vcpus.len() > 1 {
        wrong.push(("Linux guests with more than one VCPU", &vm.name.place));
    }
    let places = [&vm.boot.load, &vm.boot.initrd_load, &vm.boot.device_tree_load];
    let places = places.into_iter().flatten();
    wrong.extend(places.map(|it| ("addresses for the files of a Linux", &it.place)));
    wrong.extend(vm.extra.iter().map(|it| ("extra colours for a Linux", &it.colors.place)));
    let sections = vm.tasks.iter().filter(|task| !task.sections.is_empty());
    wrong.extend(sections.map(|it| ("critical sections of a Linux", &it.name.place)));
    wrong
}
