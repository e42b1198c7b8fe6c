//! Rules of areas of coloured frames, but those about overlaps.

use abi::plan::names;
use policy::color::{ColorSet, Geometry};
use units::Bytes;

use super::Mistakes;
use crate::address::{PhysicalAddress, Region};
use crate::plan::coloring::{area, frames, frames_needed, period, virtual_cache};
use crate::plan::path::{unit, vm};
use crate::plan::{Area, Coloring, Llc, Memory, PAGE, Plan, Pool, Vm};

pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    if let Some(area) = plan.platform.hypervisor_area {
        hypervisor(plan, area, mistakes);
    }
    for (index, one) in plan.vms.iter().enumerate() {
        if one.vllc {
            vllc(plan, index, mistakes);
        }
        for memory in &one.memory {
            let Some(coloring) = memory.coloring else { continue };
            let node = format!("{}/{}", vm(index), unit(names::MEMORY, memory.ipa.0));
            if one.memory.len() > 1 {
                let message = "the VM has other RAM too";
                mistakes.add(
                    &node,
                    names::COLORS,
                    message,
                    "coloured RAM is one region: remove others",
                );
            }
            if let Some(llc) = llc(plan, &node, mistakes) {
                self::memory(&node, one, memory, coloring, llc, mistakes);
            }
        }
        if let Some(it) = one.pool {
            pool(plan, index, it, mistakes);
        } else if let Some(serial) = &one.color_serial {
            let node =
                format!("{}/{}", vm(index), unit(names::COLOR_SERIAL, serial.registers.start.0));
            let help = "add a node `coloring@address`, or remove this one";
            mistakes.add(&node, "", "there are no colours that the VM could ask for", help);
        }
    }
}

/// Returns the cache that the colours of this node divide.
fn llc(plan: &Plan, node: &str, mistakes: &mut Mistakes) -> Option<Geometry> {
    if plan.platform.llc.is_none() {
        let help = "say in `/platform/llc` which cache the colours divide";
        mistakes.add(node, names::COLORS, "there is no node `/platform/llc`", help);
    }
    Some(plan.platform.llc?.geometry)
}

/// Colours of the hypervisor help only if no VM evicts its lines.
fn hypervisor(plan: &Plan, area: Area, mistakes: &mut Mistakes) {
    let node = format!("/platform/{}", unit(names::HYPERVISOR, plan.platform.hypervisor.start.0));
    for (index, _) in plan.vms.iter().enumerate().filter(|(_, vm)| vm.colors().is_none()) {
        let message = format!("{} has no colours", vm(index));
        let help = "give every VM colours, or remove those of the hypervisor";
        mistakes.add(&node, names::COLORS, message, help);
    }
    if let Some(llc) = llc(plan, &node, mistakes) {
        form(&node, area.colors, area.region, llc, mistakes);
    }
}

/// A virtual cache: guest colours are host colours only if the RAM of the guest
/// starts with the first one.
fn vllc(plan: &Plan, index: usize, mistakes: &mut Mistakes) {
    let one = &plan.vms[index];
    let Some((colors, Llc { geometry, in_registers })) = one.colors().zip(plan.platform.llc) else {
        let help = "give its RAM `colors`, or remove `vllc`";
        return mistakes.add(&vm(index), names::VLLC, "the VM has no colours", help);
    };
    // Colours that do not exist are reported with the RAM.
    if colors.is_empty() || geometry.check(colors).is_err() {
        return;
    }
    if let Err((message, help)) = virtual_cache(geometry, in_registers, colors) {
        mistakes.add(&vm(index), names::VLLC, message, &help);
    }
    let turn = Bytes(u64::from(colors.len()) * PAGE.0);
    for memory in one.memory.iter().filter(|memory| !memory.ipa.0.is_multiple_of(turn.0)) {
        let node = format!("{}/{}", vm(index), unit(names::MEMORY, memory.ipa.0));
        let message = format!("the RAM does not start at a multiple of {turn}");
        let help = "a virtual cache needs this, one page for each colour: align it";
        mistakes.add(&node, names::REG, message, help);
    }
}

fn memory(
    node: &str,
    vm: &Vm,
    memory: &Memory,
    Coloring { colors, area: size }: Coloring,
    llc: Geometry,
    mistakes: &mut Mistakes,
) {
    if !form(node, colors, memory.host_region(), llc, mistakes) {
        return;
    }
    let pool_frames = vm.pool.map_or(0, |pool| pool.frames);
    let (found, needed) = (frames(llc, colors, size), frames_needed(memory.size, pool_frames));
    if found < needed {
        let message =
            format!("the area has {found} frames of the colours ({colors}), not {needed}");
        let help = format!(
            "{} of RAM need {needed} frames, with those of the hypervisor for the VM: make it {}",
            memory.size,
            area(llc, colors, needed)
        );
        mistakes.add(node, names::HOST_REG, message, &help);
    }
}

fn pool(plan: &Plan, index: usize, pool: Pool, mistakes: &mut Mistakes) {
    let one = &plan.vms[index];
    let node = format!("{}/{}", vm(index), unit(names::COLORING, pool.doorbell.start.0));
    if pool.doorbell.size != PAGE {
        let message = format!("the doorbell has {}", pool.doorbell.size);
        mistakes.add(&node, names::REG, message, &format!("it is one page: write {PAGE}"));
    }
    if one.colors().is_none() {
        let help = "give its RAM `colors`, or remove this node";
        mistakes.add(&node, "", "the VM has no colours", help);
    }
    if one.vllc {
        let message = "the VM sees a virtual cache, whose colours follow from its addresses";
        let help = "frames of extra colours would make it wrong: remove this node or `vllc`";
        mistakes.add(&node, "", message, help);
    }
    let Some(llc) = llc(plan, &node, mistakes) else { return };
    let Area { colors, region } = pool.area;
    if !form(&node, colors, region, llc, mistakes) {
        return;
    }
    let (found, needed) = (frames(llc, colors, region.size), u64::from(pool.frames));
    if needed == 0 {
        mistakes.add(&node, names::FRAMES, "the pool is empty", "give it at least one frame");
    } else if found < needed {
        let message = format!("the area has {found} frames of the colours ({colors})");
        let help = format!("make the area {}", area(llc, colors, needed));
        mistakes.add(&node, names::FRAMES, message, &help);
    }
}

/// Returns true if the colours exist. The area must start and end where they repeat.
fn form(
    node: &str,
    colors: ColorSet,
    area: Region<PhysicalAddress>,
    llc: Geometry,
    mistakes: &mut Mistakes,
) -> bool {
    if colors.is_empty() {
        mistakes.add(node, names::COLORS, "there is no colour", "give at least one");
        return false;
    }
    if let Err(unknown) = llc.check(colors) {
        let help = format!("`/platform/llc` has {llc}");
        mistakes.add(node, names::COLORS, unknown.to_string(), &help);
        return false;
    }
    let period = period(llc);
    let places = [("start", Bytes(area.start.0)), ("size", area.size)];
    for (what, _) in places.into_iter().filter(|(_, it)| !it.is_multiple_of(period)) {
        let message = format!("the {what} of the area is not a multiple of {period}");
        mistakes.add(node, names::HOST_REG, message, "colours repeat after this: align it");
    }
    true
}
