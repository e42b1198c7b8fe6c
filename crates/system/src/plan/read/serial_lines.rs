//! Serial lines between VMs.

use abi::plan::{names, words};
use units::Duration;

use super::{Cursor, all};
use crate::address::IntId;
use crate::plan::{Rings, SerialLine};

/// Returns the serial lines.
pub(super) fn serial_lines(root: &Cursor<'_>) -> Option<Vec<SerialLine>> {
    let Some(at) = root.optional_child(names::SERIAL_LINES) else { return Some(Vec::new()) };
    at.cell_counts(2, 2);
    let lines = all(&at.units(names::SERIAL_LINE), serial_line);
    at.finish();
    lines
}

fn serial_line(at: &Cursor<'_>) -> Option<SerialLine> {
    at.word(names::COMPATIBLE, &[words::VIRTUAL_UART]);
    let registers = at.region(names::REG);
    at.named_after(registers);
    let (vms, interrupts) = (pair(at, names::VMS), pair(at, names::INTERRUPTS));
    let interval = at.long(names::TELL_INTERVAL_NS).map(Duration);
    let early = at.long(names::TELL_EARLY_NS).map(Duration);
    at.finish();
    let tells = Rings { interval: interval?, early: early? };
    Some(SerialLine { registers: registers?, vms: vms?, interrupts: interrupts?.map(IntId), tells })
}

/// One number for each end.
pub(super) fn pair(at: &Cursor<'_>, name: &str) -> Option<[u32; 2]> {
    let numbers = at.numbers(name)?;
    let pair = numbers.as_slice().try_into().ok();
    if pair.is_none() {
        let help = "write two, one for each end";
        at.wrong(name, format!("has {} numbers", numbers.len()), help);
    }
    pair
}
