//! Gives serial lines their addresses and interrupts in guests.

use abi::guest;

use super::{bell, color_serial, free_interrupt};
use crate::address::{IntId, Region};
use crate::description::System;
use crate::plan::{PAGE, SerialLine};

/// Lowest interrupt for a serial line.
const INTERRUPT: u32 = 36;

/// Returns the serial lines of a system: one page behind the other, each with an interrupt that nothing else of the VM has.
pub(super) fn serial_lines(system: &System) -> Vec<SerialLine> {
    let mut lines: Vec<SerialLine> = Vec::new();
    for (index, described) in system.serial_lines.iter().enumerate() {
        let interrupt = |vm: usize| {
            let of = system.vms.get(vm)?;
            let emulated = [color_serial(of), bell(system, vm)].into_iter().flatten();
            let emulated = emulated.map(|it| it.interrupt.0);
            let before = lines.iter().flat_map(|it| it.vms.into_iter().zip(it.interrupts));
            let before = before.filter(|(it, _)| *it as usize == vm).map(|(_, it)| it.0);
            let last = emulated.chain(before).max().unwrap_or(0);
            free_interrupt(of, INTERRUPT.max(last + 1))
        };
        let start = guest::SERIAL_LINES + index as u64 * PAGE.0;
        lines.push(SerialLine {
            registers: Region::new(start, PAGE),
            vms: described.between.map(|vm| vm as u32),
            interrupts: described.between.map(|vm| interrupt(vm).unwrap_or(IntId(INTERRUPT))),
            tells: described.tells,
        });
    }
    lines
}
