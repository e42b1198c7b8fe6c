//! Serial lines between VMs.

use abi::plan::{names, words};

use super::{cell_counts, region, unit};
use crate::plan::tree::Node;
use crate::plan::{Rings, SerialLine};

/// `serial-lines`, if there are some.
pub(super) fn serial_lines(lines: &[SerialLine]) -> Option<Node> {
    if lines.is_empty() {
        return None;
    }
    let mut node = Node::new(names::SERIAL_LINES);
    node.comment = "two virtual PL011s each, whose lines cross".into();
    cell_counts(&mut node, 2, 2);
    node.children = lines.iter().map(serial_line).collect();
    Some(node)
}

fn serial_line(line: &SerialLine) -> Node {
    let mut node = Node::new(unit(names::SERIAL_LINE, line.registers.start.0));
    node.strings(names::COMPATIBLE, &[words::VIRTUAL_UART]);
    region(&mut node, names::REG, line.registers, "IPA, ");
    node.numbers(names::VMS, &line.vms).comment("at its ends");
    let interrupts = line.interrupts.map(|it| it.0);
    node.numbers(names::INTERRUPTS, &interrupts).comment("at its ends");
    let Rings { interval, early } = line.tells;
    node.longs(names::TELL_INTERVAL_NS, &[interval.0], 1)
        .comment(format!("{interval} between two interrupts"));
    node.longs(names::TELL_EARLY_NS, &[early.0], 1).comment(format!("{early} early"));
    node
}
