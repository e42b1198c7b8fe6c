//! Where in the description the parts of a plan come from.

use crate::description::System;
use crate::diagnostic::{Errors, Place};
use crate::plan::Plan;
use crate::plan::path::{unit, vcpu, vm};

/// Nodes of a plan and the places that made them.
pub(super) struct Origins(Vec<(String, Place)>);

impl Origins {
    pub fn new(system: &System, plan: &Plan) -> Self {
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
        Self(origins)
    }

    /// Gives each mistake the place of the closest node around it.
    pub fn locate(&self, errors: Errors) -> Errors {
        errors.map(|mistake| {
            let node = mistake.node.clone().unwrap_or_default();
            let around = self.0.iter().filter(|(prefix, _)| node.starts_with(prefix.as_str()));
            match around.max_by_key(|(prefix, _)| prefix.len()) {
                Some((_, place)) => mistake.at(place, "made from this"),
                None => mistake,
            }
        })
    }
}
