//! Reads `[[vm]]`.

use units::Bytes;

use super::locks::Known;
use super::trigger::{self, Ends};
use super::vcpu::Vcpus;
use super::{Boot, Device, Extra, Located, PLANNED, Protocol, Vm, bandwidth, shares, task, vcpu};
use crate::address::{Address, Ipa};
use crate::diagnostic::Diagnostic;
use crate::document::Fields;
use crate::plan::{Lifecycle, PAGE, VM_NAME_HELP, is_vm_name};

/// Returns the VM that has these ends of channels; its tasks share these resources.
pub(super) fn read(at: &Fields<'_>, ends: Ends<'_>, resources: &Known) -> Option<Vm> {
    let name = at.required("name", name(at), "\"linux\"");
    let vcpus = vcpu::read(at);
    let memory = at.required("memory", memory(at), "\"512MiB\"");
    let memory_at = at.unless_planned("memory_at", Fields::address);
    let planned = at.peek("colors").filter(|text| text.value == PLANNED);
    let colors = if planned.is_some() { None } else { at.colors_or_planned("colors") };
    let share_colors = at.boolean("share_colors");
    let vllc = at.boolean("vllc");
    for key in ["share_colors", "vllc", "extra_colors"] {
        let help = "add `colors`, or remove this";
        at.forbid_without("colors", key, "the VM has no `colors`", help);
    }
    let extra = extra(at, vllc == Some(true));
    let shares = shares::read(at);
    let lifecycle = Lifecycle::described(at, colors.is_some() || planned.is_some());
    let bandwidth = bandwidth::read(at);
    let compensation = bandwidth::compensation(at);
    let critical = at.boolean("critical").filter(|critical| *critical);
    let boot = boot(at);
    let console = at.boolean("console");
    let devices: Vec<_> = at.tables("device", "[[vm.device]]").iter().map(device).collect();
    let tasks = task::read(at, vcpus.as_ref().map(Vcpus::places), ends, resources);
    at.finish();
    let (vcpus, tasks) = (vcpus?, tasks?);
    let most = vcpus.places().most;
    let (vcpus, vcpus_open) = vcpus.with_tasks(at, &tasks);
    trigger::check_vcpus(at, &vcpus, most, &tasks);
    Some(Vm {
        name: name?,
        vcpus,
        vcpus_open,
        memory: memory?,
        memory_at,
        colors,
        colors_open: planned.map(|planned| planned.place),
        bandwidth: bandwidth?,
        compensation: compensation?,
        critical: critical.and_then(|_| at.key_place("critical")),
        share_colors: share_colors.unwrap_or(false),
        vllc: vllc.unwrap_or(false),
        extra,
        shares,
        boot: boot?,
        console: console.unwrap_or(true),
        lifecycle,
        devices: devices.into_iter().collect::<Option<_>>()?,
        tasks,
    })
}

/// Reads `extra_colors`, and the keys that have a meaning only with it.
fn extra(at: &Fields<'_>, vllc: bool) -> Option<Extra> {
    let colors = at.colors("extra_colors");
    let memory = at.quantity::<Bytes>("extra_memory");
    let serial = at.boolean("color_serial");
    for key in ["extra_memory", "color_serial"] {
        let help = "add `extra_colors`, or remove this";
        at.forbid_without("extra_colors", key, "the VM has no `extra_colors`", help);
    }
    if !at.has("extra_colors") {
        return None;
    }
    if vllc {
        let help = "a guest with a virtual cache finds its colours in its own addresses, and \
                    frames of other colours behind them would make it wrong: remove one of the two";
        at.forbid("extra_colors", "the VM has `vllc = true`", help);
    }
    let memory = at.required("extra_memory", memory, "\"64MiB\"")?;
    pages(at, &memory, "the pool consists of frames");
    Some(Extra { colors: colors?, memory, serial: serial.unwrap_or(false) })
}

/// Returns the RAM of the VM.
fn memory(at: &Fields<'_>) -> Option<Located<Bytes>> {
    let memory = at.quantity("memory")?;
    pages(at, &memory, "RAM consists of pages").then_some(memory)
}

/// Returns true if `size` is a number of pages, at least one; reports it if not, saying `why` it
/// has to be.
fn pages(at: &Fields<'_>, size: &Located<Bytes>, why: &str) -> bool {
    let bytes = size.value.0;
    if bytes != 0 && size.value.is_multiple_of(PAGE) {
        return true;
    }
    let next = bytes.checked_next_multiple_of(PAGE.0).filter(|next| *next != 0);
    let such =
        next.map(|next| format!(", such as \"{}\"", Bytes(next).to_string().replace(' ', "")));
    let message = format!("{} is not a number of pages", size.value);
    let help = format!("{why}: use a multiple of {PAGE}{}", such.unwrap_or_default());
    at.add(Diagnostic::new("wrong-value", message).at(&size.place, "here").help(help));
    false
}

fn name(at: &Fields<'_>) -> Option<Located<String>> {
    let name = at.string("name")?;
    if !is_vm_name(&name.value) {
        let message = format!("`{}` cannot name a VM", name.value.escape_debug());
        at.add(Diagnostic::new("wrong-value", message).at(&name.place, "here").help(VM_NAME_HELP));
        return None;
    }
    Some(name)
}

fn boot(at: &Fields<'_>) -> Option<Boot> {
    let protocol = at.choice("boot", &Protocol::ALL);
    let protocol_value = protocol.map_or(Protocol::Linux, |protocol| protocol.value);
    let kernel = at.required("kernel", at.string("kernel"), "\"path/to/kernel\"");
    let load = at.address::<Ipa>("load");
    let entry = at.address("entry");
    let initrd = at.string("initrd");
    let initrd_load = at.address("initrd_load");
    let device_tree = at.boolean("device_tree");
    let device_tree_load = at.address("device_tree_load");
    let bootargs = at.string("bootargs");
    let help = "add `initrd`, or remove this";
    at.forbid_without("initrd", "initrd_load", "there is no initial RAM disk", help);
    if device_tree == Some(false) {
        let why = "the guest gets no device tree";
        at.forbid("device_tree_load", why, "remove it");
        at.forbid(
            "bootargs",
            why,
            "the command line is part of the device tree: remove one of the two",
        );
    }
    if protocol_value == Protocol::Linux {
        at.forbid("entry", "Linux starts at `load`", "remove it");
        if device_tree == Some(false)
            && let Some(place) = at.key_place("device_tree")
        {
            let help = "remove it, or say `boot = \"raw\"`";
            let message = "Linux does not start without a device tree";
            at.add(Diagnostic::new("wrong-value", message).at(&place, "here").help(help));
        }
        if let Some(load) = load.as_ref().filter(|load| !load.value.get().is_multiple_of(2 << 20)) {
            let message = format!("{} is not a multiple of 2 MiB", load.value);
            let help = "Linux is loaded at a multiple of 2 MiB, as 0x40200000";
            at.add(Diagnostic::new("wrong-value", message).at(&load.place, "here").help(help));
        }
    }
    Some(Boot {
        protocol: protocol_value,
        kernel: kernel?,
        load,
        entry,
        initrd,
        initrd_load,
        device_tree: device_tree.unwrap_or(true),
        device_tree_load,
        bootargs,
    })
}

fn device(at: &Fields<'_>) -> Option<Device> {
    let compatible = at.required("compatible", at.strings("compatible"), "\"arm,pl031\"");
    let address = at.required("address", at.address("address"), "0x09010000");
    let guest_address = at.address("guest_address");
    let size = at.required("size", at.quantity("size"), "\"4KiB\"");
    let interrupt = at.shared_interrupt("interrupt");
    let guest_interrupt = at.shared_interrupt("guest_interrupt");
    let help = "add `interrupt`, or remove this";
    at.forbid_without("interrupt", "guest_interrupt", "the device has no `interrupt`", help);
    at.finish();
    let address = address?.value;
    let interrupt =
        interrupt.map(|host| (host.value, guest_interrupt.map_or(host.value, |guest| guest.value)));
    Some(Device {
        place: at.place().clone(),
        compatible: compatible?,
        address,
        guest_address: guest_address.map_or(Ipa(address.get()), |guest| guest.value),
        size: size?.value,
        interrupt,
    })
}
