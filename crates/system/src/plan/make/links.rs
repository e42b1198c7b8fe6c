//! Gives links their addresses and interrupts in guests.

use abi::guest;

use super::{bell, color_serial, free_interrupt};
use crate::address::{IntId, Region};
use crate::description::System;
use crate::plan::{Link, PAGE, SerialLine};

/// Lowest interrupt for a link.
const INTERRUPT: u32 = 36;

/// Returns the links of a system: one page behind the other, each with an interrupt that nothing else of the VM has.
/// `lines`: its serial lines.
pub(super) fn links(system: &System, lines: &[SerialLine]) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for (index, described) in system.links.iter().enumerate() {
        let interrupt = |vm: usize| {
            let of = system.vms.get(vm)?;
            let emulated = [color_serial(of), bell(system, vm)].into_iter().flatten();
            let emulated = emulated.map(|it| it.interrupt.0);
            let lines = lines.iter().flat_map(|it| it.vms.into_iter().zip(it.interrupts));
            let before = links.iter().flat_map(|it| it.vms.into_iter().zip(it.interrupts));
            let before = lines.chain(before).filter(|(it, _)| *it as usize == vm);
            let last = emulated.chain(before.map(|(_, it)| it.0)).max().unwrap_or(0);
            free_interrupt(of, INTERRUPT.max(last + 1))
        };
        let start = guest::LINKS + index as u64 * PAGE.0;
        links.push(Link {
            name: described.name.value.clone(),
            registers: Region::new(start, PAGE),
            vms: described.between.map(|vm| vm as u32),
            interrupts: described.between.map(|vm| interrupt(vm).unwrap_or(IntId(INTERRUPT))),
            macs: described.macs,
            rate: described.rate,
            burst: described.burst,
            tells: described.tells,
        });
    }
    links
}
