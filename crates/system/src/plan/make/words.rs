//! Translates the nodes of a plan into words of the description.

use crate::diagnostic::Diagnostic;
use crate::plan::Plan;
use crate::plan::path::{channel as channel_path, link as link_path, serial_line};

/// Properties that say no more than the place in the description does.
const PLAIN: [&str; 5] = ["reg", "host-reg", "load", "vm-name", "file"];

/// Returns the mistake with nodes of `plan` in words of the description; one whose node has none
/// stays as it is.
pub(super) fn reword(plan: &Plan, mut mistake: Diagnostic) -> Diagnostic {
    let node = mistake.node.clone().unwrap_or_default();
    let (path, property) = node.split_once(": ").unwrap_or((&node, ""));
    let Some(what) = of(plan, path) else { return mistake };
    let message = message(plan, &mistake.message);
    mistake.message = match property {
        property if property.is_empty() || PLAIN.contains(&property) => {
            format!("{what}: {message}")
        }
        property => format!("{what}: {property}: {message}"),
    };
    mistake.node = None;
    mistake
}

/// Returns the nodes that a message names.
pub(super) fn nodes(message: &str) -> impl Iterator<Item = &str> {
    const PARTS: [&str; 5] = ["/vms/", "/platform/", "/channels/", "/serial-lines/", "/links/"];
    message.split(' ').filter(|word| PARTS.iter().any(|part| word.starts_with(part)))
}

/// Returns the message with its nodes in words.
fn message(plan: &Plan, message: &str) -> String {
    let words = message.split(' ');
    let words = words.map(|word| match nodes(word).next() {
        Some(node) => of(plan, node).unwrap_or_else(|| node.to_owned()),
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the words for the node with this path, if there are some.
pub(super) fn of(plan: &Plan, path: &str) -> Option<String> {
    let mut parts = path.strip_prefix('/')?.split('/');
    match parts.next()? {
        "platform" => machine(parts.next()?).map(str::to_owned),
        "channels" => {
            let channel = plan.channels.iter().find(|channel| channel_path(channel) == path)?;
            Some(format!("channel `{}`", channel.name.escape_debug()))
        }
        "serial-lines" => {
            let line = plan.serial_lines.iter().find(|line| serial_line(line) == path)?;
            let name = |vm: u32| plan.vms.get(vm as usize).map_or("?", |vm| vm.name.as_str());
            let [one, other] = line.vms.map(|vm| name(vm).escape_debug());
            Some(format!("the serial line between `{one}` and `{other}`"))
        }
        "links" => {
            let link = plan.links.iter().find(|link| link_path(link) == path)?;
            Some(format!("link `{}`", link.name.escape_debug()))
        }
        "vms" => {
            let index = parts.next()?.strip_prefix("vm@")?;
            let vm = plan.vms.get(usize::from_str_radix(index, 16).ok()?)?;
            let owner = format!("VM `{}`", vm.name.escape_debug());
            match (parts.next(), parts.next()) {
                (None, _) => Some(owner),
                (Some("boot"), None) => Some(format!("the start of {owner}")),
                (Some("vcpus"), Some(vcpu)) => {
                    let index = usize::from_str_radix(vcpu.strip_prefix("vcpu@")?, 16).ok()?;
                    Some(format!("VCPU {index} of {owner}"))
                }
                (Some("boot"), Some(part)) | (Some(part), None) => {
                    Some(format!("{} of {owner}", of_vm(name(part))?))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns a node without its address.
fn name(part: &str) -> &str {
    part.split('@').next().unwrap_or(part)
}

fn machine(part: &str) -> Option<&'static str> {
    Some(match name(part) {
        "hypervisor" => "the memory of the hypervisor",
        "memory" => "the RAM of the machine",
        "serial" => "the console of the machine",
        "interrupt-controller" => "the interrupt controller of the machine",
        "power-off" => "the power switch of the machine",
        "bandwidth-counter" => "the counter of memory accesses",
        _ => return None,
    })
}

fn of_vm(name: &str) -> Option<&'static str> {
    Some(match name {
        "memory" => "the memory",
        "coloring" => "the pool of extra colours",
        "color-serial" => "the colour serial port",
        "serial" => "the console",
        "interrupt-controller" => "the interrupt controller",
        "device" => "a device",
        "kernel" => "the kernel",
        "initrd" => "the initial RAM disk",
        "device-tree" => "the device tree",
        _ => return None,
    })
}
