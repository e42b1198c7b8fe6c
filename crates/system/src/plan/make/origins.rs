//! Places in the description from which parts of a plan come.

use super::words;
use crate::description::System;
use crate::diagnostic::{Diagnostic, Errors, Place};
use crate::plan::Plan;
use crate::plan::path::{channel, link, serial_line, unit, vcpu, vm};

/// Nodes of a plan and the places that made them.
pub(in crate::plan) struct Origins<'a> {
    plan: &'a Plan,
    places: Vec<(String, Place)>,
}

impl<'a> Origins<'a> {
    /// Returns the places in the description of `system` from which the parts of its `plan` come.
    pub fn new(system: &System, plan: &'a Plan) -> Self {
        let mut origins = vec![("/".to_owned(), system.platform.place.clone())];
        let mut add = |node: String, place: &Place| origins.push((node, place.clone()));
        if let Some(size) = &system.hypervisor_memory {
            let node = unit("hypervisor", plan.platform.hypervisor.start.0);
            add(format!("/platform/{node}"), &size.place);
        }
        if let Some(colors) = &system.hypervisor_colors {
            let node = unit("hypervisor", plan.platform.hypervisor.start.0);
            for property in ["colors", "host-reg"] {
                add(format!("/platform/{node}: {property}"), &colors.place);
            }
        }
        for (described, planned) in system.channels.iter().zip(&plan.channels) {
            let node = channel(planned);
            let host = described.memory_at.as_ref().map_or(&described.size.place, |at| &at.place);
            add(format!("{node}: host-reg"), host);
            add(node, &described.name.place);
        }
        for (described, planned) in system.serial_lines.iter().zip(&plan.serial_lines) {
            add(serial_line(planned), &described.place);
        }
        for (described, planned) in system.links.iter().zip(&plan.links) {
            add(link(planned), &described.name.place);
        }
        for (index, described) in system.vms.iter().enumerate() {
            let node = vm(index);
            add(node.clone(), &described.name.place);
            if let Some(bandwidth) = &described.bandwidth {
                add(format!("{node}: memory-budget"), &bandwidth.amount.place);
                add(format!("{node}: memory-period-ns"), &bandwidth.period.place);
            }
            if let Some(credits) = &described.compensation {
                add(format!("{node}: compensation"), &credits.place);
            }
            for (at, it) in described.vcpus.iter().enumerate() {
                if let Some(pin) = &it.pcpu {
                    add(vcpu(index, at), &pin.place);
                }
                if let Some(bandwidth) = &it.bandwidth {
                    add(format!("{}: memory", vcpu(index, at)), &bandwidth.amount.place);
                }
            }
            let memory = described.memory_at.as_ref().map(|at| &at.place);
            add(format!("{node}/memory"), &described.memory.place);
            for map in &plan.vms[index].memory {
                let memory_node = format!("{node}/{}", unit("memory", map.ipa.0));
                let host = memory.unwrap_or(&described.memory.place);
                add(memory_node.clone(), &described.memory.place);
                add(format!("{memory_node}: host-reg"), host);
                if let Some(colors) = &described.colors {
                    add(format!("{memory_node}: colors"), &colors.place);
                    add(format!("{node}: vllc"), &colors.place);
                }
            }
            if let Some(extra) = &described.extra {
                let nodes = plan.vms[index]
                    .pool
                    .iter()
                    .map(|pool| format!("{node}/{}", unit("coloring", pool.doorbell.start.0)));
                for node in nodes {
                    add(node.clone(), &extra.memory.place);
                    add(format!("{node}: colors"), &extra.colors.place);
                }
                add(format!("{node}/color-serial"), &extra.colors.place);
            }
            for device in &described.devices {
                add(format!("{node}/{}", unit("device", device.guest_address.0)), &device.place);
            }
            let boot = &described.boot;
            add(format!("{node}/boot"), &boot.kernel.place);
            let given = [
                ("boot/kernel", boot.load.as_ref().map(|at| &at.place)),
                ("boot: entry", boot.entry.as_ref().map(|at| &at.place)),
                ("boot: bootargs", boot.bootargs.as_ref().map(|at| &at.place)),
                ("boot/initrd", boot.initrd.as_ref().map(|at| &at.place)),
                ("boot/initrd: load", boot.initrd_load.as_ref().map(|at| &at.place)),
                ("boot/device-tree", boot.device_tree_load.as_ref().map(|at| &at.place)),
            ];
            for (name, place) in given {
                if let Some(place) = place {
                    add(format!("{node}/{name}"), place);
                }
            }
        }
        Self { plan, places: origins }
    }

    /// Returns the mistakes in words of the description, each with the place of the closest node
    /// around it, and with the places of the nodes that it names.
    pub fn locate(&self, errors: Errors) -> Errors {
        errors.map(|mistake| self.locate_one(mistake))
    }

    fn locate_one(&self, mistake: Diagnostic) -> Diagnostic {
        let node = mistake.node.clone().unwrap_or_default();
        let Some(place) = self.place(&node) else { return mistake };
        // What is wrong with both is the same property.
        let same = |other: &str| match node.split_once(": ") {
            Some((_, property)) => self.place(&format!("{other}: {property}")),
            None => self.place(other),
        };
        let others: Vec<_> = words::nodes(&mistake.message)
            .filter_map(|other| Some((same(other)?, words::of(self.plan, other)?)))
            .filter(|(other, _)| *other != place)
            .map(|(place, words)| (place.clone(), words))
            .collect();
        let mistake = words::reword(self.plan, mistake).at(place, "made from this");
        others.iter().fold(mistake, |mistake, (place, words)| mistake.also(place, words))
    }

    /// Returns the place of the closest node around `node`.
    fn place(&self, node: &str) -> Option<&Place> {
        let around = self.places.iter().filter(|(prefix, _)| node.starts_with(prefix.as_str()));
        around.max_by_key(|(prefix, _)| prefix.len()).map(|(_, place)| place)
    }
}
