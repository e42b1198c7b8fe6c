//! Checks that the RAM of described VMs is large enough for their files.

use units::Bytes;

use super::files::{FileReport, check_files, size};
use super::make::{Origins, RAM, boot};
use super::{PAGE, Plan};
use crate::address::{Ipa, Region};
use crate::description::{System, Vm};
use crate::diagnostic::{Diagnostic, Errors};

/// The most RAM that is proposed.
const MOST: Bytes = Bytes::gib(4);
/// Proposals are multiples of this.
const STEP: Bytes = Bytes::mib(1);

/// As [`check_files`] for the `plan` that was made from `system`, in words of the description.
///
/// # Errors
///
/// As [`check_room`] and [`check_files`].
pub fn check_described_files(system: &System, plan: &Plan) -> Result<FileReport, Errors> {
    check_room(system)?;
    let checked = check_files(plan, &system.folder);
    checked.map_err(|errors| Origins::new(system, plan).locate(errors))
}

/// Checks that VMs of `system` have enough RAM for their files. It skips missing files, and VMs
/// whose load addresses are given.
///
/// # Errors
///
/// Each VM whose RAM is too small, and the size that it needs.
pub fn check_room(system: &System) -> Result<(), Errors> {
    Errors::unless_none(system.vms.iter().filter_map(|vm| too_small(vm, system)).collect(), ())
}

/// The files of a VM: bytes in memory.
struct Files {
    kernel: Bytes,
    initrd: Option<Bytes>,
}

/// Returns the mistake if the files of `vm` do not fit, but would with more RAM.
fn too_small(vm: &Vm, system: &System) -> Option<Diagnostic> {
    let boot = &vm.boot;
    if boot.load.is_some() || boot.initrd_load.is_some() || boot.device_tree_load.is_some() {
        return None;
    }
    let known = |path: &str| size(&system.folder.join(path)).ok().flatten();
    let initrd = boot.initrd.as_ref().and_then(|initrd| known(&initrd.value));
    let files = Files { kernel: known(&boot.kernel.value)?, initrd };
    let given = vm.memory.value;
    if files.fit(vm, given) {
        return None;
    }
    let larger = given.0.checked_next_multiple_of(STEP.0)?..=MOST.0;
    let enough =
        larger.step_by(STEP.0 as usize).map(Bytes).find(|memory| files.fit(vm, *memory))?;
    let disk = files.initrd.map(|bytes| format!(", its initial RAM disk {}", rounded(bytes)));
    let message = format!(
        "`memory` of VM `{}` is too small: its kernel takes {}{} in memory",
        vm.name.value,
        rounded(files.kernel),
        disk.unwrap_or_default()
    );
    let help = format!("write `memory = \"{}\"` or more", enough.to_string().replace(' ', ""));
    let label = format!("{enough} are needed");
    Some(Diagnostic::new("no-memory", message).at(&vm.memory.place, label).help(help))
}

impl Files {
    /// Returns true if the files fit into this `memory` of `vm`, at the addresses that they then
    /// get.
    fn fit(&self, vm: &Vm, memory: Bytes) -> bool {
        let mut vm = vm.clone();
        vm.memory.value = memory;
        let (boot, ram) = (boot(&vm), Region { start: RAM, size: memory });
        let region = |start: Ipa, size| Region { start, size };
        let mut loaded = vec![region(boot.kernel.load, self.kernel)];
        let initrd = boot.initrd.as_ref().zip(self.initrd);
        loaded.extend(initrd.map(|(file, size)| region(file.load, size)));
        loaded.extend(boot.device_tree.map(|load| region(load, PAGE)));
        loaded.iter().enumerate().all(|(at, one)| {
            ram.contains(one) && !loaded[..at].iter().any(|other| other.overlaps(one))
        })
    }
}

/// Bytes in whole MiB or KiB, rounded up.
fn rounded(bytes: Bytes) -> Bytes {
    let unit = if bytes >= Bytes::mib(16) { Bytes::mib(1) } else { Bytes::kib(1) };
    Bytes(bytes.0.checked_next_multiple_of(unit.0).unwrap_or(bytes.0))
}
