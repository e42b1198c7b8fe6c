//! Load addresses of the files of a guest.

use units::Bytes;

use super::RAM;
use crate::address::{Address, Ipa};
use crate::description::{Located, Protocol, Vm};
use crate::diagnostic::Diagnostic;
use crate::plan::{Boot, File, PAGE};

/// Linux is loaded this far into RAM.
const LINUX: Bytes = Bytes::mib(2);
/// Raw guests are loaded this far into RAM.
const RAW: Bytes = Bytes::kib(512);
/// The initial RAM disk is loaded at most this far into RAM, so that kernels
/// of any usual size fit below it.
const INITRD_MAX: Bytes = Bytes::mib(128);
/// Room for a device tree: Linux wants it inside one 2 MiB block.
const DEVICE_TREE: Bytes = Bytes::mib(2);

/// Linux: kernel, device tree, initial RAM disk, in this order. Raw guests:
/// device tree at the start of RAM, then the guest.
pub(in crate::plan) fn boot(vm: &Vm) -> Boot {
    let boot = &vm.boot;
    let given = |at: &Option<Located<Ipa>>, planned: u64| {
        at.as_ref().map_or(Ipa(RAM.0.saturating_add(planned)), |at| at.value)
    };
    let initrd_offset = initrd_offset(vm);
    let kernel_offset = kernel_offset(vm);
    let device_tree_offset = match boot.protocol {
        Protocol::Linux => initrd_offset.saturating_sub(DEVICE_TREE.0),
        Protocol::Raw => 0,
    };
    let load = given(&boot.load, kernel_offset);
    let file = |path: &Located<String>, load| File { file: tidy(&path.value), load };
    Boot {
        entry: boot.entry.as_ref().map_or(load, |entry| entry.value),
        bootargs: boot.bootargs.as_ref().map(|bootargs| bootargs.value.clone()),
        kernel: file(&boot.kernel, load),
        initrd: boot
            .initrd
            .as_ref()
            .map(|initrd| file(initrd, given(&boot.initrd_load, initrd_offset))),
        device_tree: boot
            .device_tree
            .then(|| given(&boot.device_tree_load, below(load, device_tree_offset, vm))),
    }
}

/// Returns the offset of the kernel in RAM, if the description does not give an address.
fn kernel_offset(vm: &Vm) -> u64 {
    match vm.boot.protocol {
        Protocol::Linux => LINUX.0,
        Protocol::Raw => RAW.0,
    }
}

/// Returns the offset of the initial RAM disk in RAM, if the description does not give an address.
fn initrd_offset(vm: &Vm) -> u64 {
    let half = vm.memory.value.0 / 2 / DEVICE_TREE.0 * DEVICE_TREE.0;
    half.min(INITRD_MAX.0)
}

/// Returns the mistake if the RAM of `vm` ends before its kernel or its initial RAM disk can start,
/// whose addresses are not given.
pub(super) fn too_small(vm: &Vm) -> Option<Diagnostic> {
    let (boot, kernel) = (&vm.boot, kernel_offset(vm));
    if boot.load.is_some() {
        return None;
    }
    let has_initrd = boot.initrd.is_some() && boot.initrd_load.is_none();
    let least = match has_initrd {
        // It starts in the middle, at a whole block, behind the start of the kernel.
        true => 2 * (kernel / DEVICE_TREE.0 + 1) * DEVICE_TREE.0,
        false => kernel + PAGE.0,
    };
    if vm.memory.value.0 >= least {
        return None;
    }
    let size = vm.memory.value;
    let message = format!("`memory` of VM `{}` is too small: {size}", vm.name.value);
    let help = format!(
        "the kernel is loaded {} behind the start of RAM: give the VM {} at least, and room for its files",
        Bytes(kernel),
        Bytes(least)
    );
    let place = &vm.memory.place;
    Some(Diagnostic::new("no-memory", message).at(place, "too small").help(help))
}

/// `planned`, or the last 64 KiB of RAM if the kernel is loaded there.
fn below(load: Ipa, planned: u64, vm: &Vm) -> u64 {
    let room = Bytes::kib(64);
    let start = Ipa(RAM.0.saturating_add(planned));
    match load >= start && load.get() - start.get() < room.0 {
        true => vm.memory.value.0.saturating_sub(room.0) & !0xfff,
        false => planned,
    }
}

/// Returns the path as plans write it: `/` between folders, no `.` and needless `..`.
fn tidy(path: &str) -> String {
    crate::plan::files::tidy(std::path::Path::new(path))
}
