//! Rules of coloured RAM, apart from those about whom it may overlap.

use policy::color::Geometry;

use super::Mistakes;
use crate::plan::coloring::{area, frames, frames_needed, period, virtual_cache};
use crate::plan::path::{unit, vm};
use crate::plan::{Coloring, Memory, PAGE, Plan};
use crate::units::Bytes;

pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    for (index, one) in plan.vms.iter().enumerate() {
        if one.vllc {
            vllc(plan, index, mistakes);
        }
        for memory in &one.memory {
            let Some(coloring) = memory.coloring else { continue };
            let node = format!("{}/{}", vm(index), unit("memory", memory.ipa.0));
            if one.memory.len() > 1 {
                let message = "the VM has other RAM too";
                mistakes.add(&node, "colors", message, "coloured RAM is one region: remove others");
            }
            match plan.platform.llc {
                Some(llc) => self::memory(&node, memory, coloring, llc, mistakes),
                None => {
                    let help = "say in `/platform/llc` which cache the colours divide";
                    mistakes.add(&node, "colors", "there is no node `/platform/llc`", help);
                }
            }
        }
    }
}

/// A virtual cache: guest colours are host colours only if the RAM of the guest
/// starts with the first one.
fn vllc(plan: &Plan, index: usize, mistakes: &mut Mistakes) {
    let one = &plan.vms[index];
    let Some((colors, llc)) = one.colors().zip(plan.platform.llc) else {
        let help = "give its RAM `colors`, or remove `vllc`";
        return mistakes.add(&vm(index), "vllc", "the VM has no colours", help);
    };
    // Colours that do not exist are reported with the RAM.
    if colors.is_empty() || llc.check(colors).is_err() {
        return;
    }
    if let Err((message, help)) = virtual_cache(llc, colors) {
        mistakes.add(&vm(index), "vllc", message, &help);
    }
    let turn = Bytes(u64::from(colors.len()) * PAGE.0);
    for memory in one.memory.iter().filter(|memory| !memory.ipa.0.is_multiple_of(turn.0)) {
        let node = format!("{}/{}", vm(index), unit("memory", memory.ipa.0));
        let message = format!("the RAM does not start at a multiple of {turn}");
        let help = "a virtual cache needs this, one page for each colour: align it";
        mistakes.add(&node, "reg", message, help);
    }
}

fn memory(
    node: &str,
    memory: &Memory,
    Coloring { colors, area: size }: Coloring,
    llc: Geometry,
    mistakes: &mut Mistakes,
) {
    if colors.is_empty() {
        return mistakes.add(node, "colors", "there is no colour", "give at least one");
    }
    if let Err(unknown) = llc.check(colors) {
        let help = format!("`/platform/llc` has {llc}");
        return mistakes.add(node, "colors", unknown.to_string(), &help);
    }
    let period = period(llc);
    let places = [("start", Bytes(memory.host.0)), ("size", size)];
    for (what, _) in places.into_iter().filter(|(_, it)| !it.is_multiple_of(period)) {
        let message = format!("the {what} of the area is not a multiple of {period}");
        mistakes.add(node, "host-reg", message, "colours repeat after this: align it");
    }
    let (found, needed) = (frames(llc, colors, size), frames_needed(memory.size));
    if found < needed {
        let message =
            format!("the area has {found} frames of the colours ({colors}), not {needed}");
        let help = format!(
            "{} of RAM need {needed} frames, with those of the hypervisor for the VM: make it {}",
            memory.size,
            area(llc, colors, needed)
        );
        mistakes.add(node, "host-reg", message, &help);
    }
}
