//! Reads the serial lines between VMs.

use abi::limits::SERIAL_LINES_MAX;
use abi::plan::{names, words};

use super::ends::SerialEnd;
use super::two_ended::TwoEnded;
use super::vm::Vm;
use super::{Clock, Node, Problem, Refusal, channels};

/// Reads the serial lines, and gives each VM its ends. Returns the number of lines.
#[inline(never)]
pub fn read<'a>(
    node: Option<Node<'a>>,
    vms: &mut [Vm<'a>],
    clock: Clock,
) -> Result<usize, Refusal<'a>> {
    let Some(node) = node else { return Ok(0) };
    node.only(&[names::ADDRESS_CELLS, names::SIZE_CELLS], &[names::SERIAL_LINE])?;
    let mut count = 0;
    for child in node.children() {
        serial_line(child, count, vms, clock)?;
        count += 1;
    }
    if count > SERIAL_LINES_MAX {
        return Err(node.node_error(Problem::Text("has more than 8 serial lines")));
    }
    Ok(count)
}

/// Properties of a serial line.
const SERIAL_LINE: [&str; 6] = [
    names::COMPATIBLE,
    names::REG,
    names::VMS,
    names::INTERRUPTS,
    names::TELL_INTERVAL_NS,
    names::TELL_EARLY_NS,
];

fn serial_line<'a>(
    node: Node<'a>,
    line: usize,
    vms: &mut [Vm<'a>],
    clock: Clock,
) -> Result<(), Refusal<'a>> {
    node.only(&SERIAL_LINE, &[])?;
    node.expect_text(names::COMPATIBLE, &[words::VIRTUAL_UART])?;
    let TwoEnded { registers, vms: [first, second], interrupts } = TwoEnded::read(node, vms.len())?;
    let limit = channels::limit(node, [names::TELL_INTERVAL_NS, names::TELL_EARLY_NS], clock)?;
    let places = [first, second].map(|vm| (vm, vms[vm].serial_lines.len()));
    for side in 0..2 {
        let (interrupt, peer) = (interrupts[side], places[1 - side]);
        let end = SerialEnd { line, side, registers, interrupt, peer, limit };
        vms[places[side].0].serial_lines.push(end);
    }
    Ok(())
}
