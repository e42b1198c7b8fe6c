//! Rules of serial lines, but those about overlaps and interrupts.

use abi::limits::SERIAL_LINES_MAX;
use abi::plan::names;

use super::{Mistakes, channels};
use crate::plan::path::serial_line;
use crate::plan::{PAGE, Plan};

pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    let count = plan.serial_lines.len();
    if count > SERIAL_LINES_MAX {
        let help = format!("1 to {SERIAL_LINES_MAX} are possible");
        mistakes.add("/serial-lines", "", format!("there are {count} serial lines"), &help);
    }
    for line in &plan.serial_lines {
        let node = serial_line(line);
        if line.registers.size != PAGE {
            let message = format!("the registers have {}", line.registers.size);
            mistakes.add(&node, names::REG, message, &format!("give them one page, {PAGE}"));
        }
        if let Some(vm) = line.vms.iter().find(|vm| **vm as usize >= plan.vms.len()) {
            let help = format!("VMs are 0 to {}", plan.vms.len().saturating_sub(1));
            mistakes.add(&node, names::VMS, format!("VM {vm} does not exist"), &help);
        }
        if line.vms[0] >= line.vms[1] {
            let help = "write two different VMs, the lower number first";
            mistakes.add(&node, names::VMS, "the VMs are not in ascending order", help);
        }
        let properties = [names::TELL_INTERVAL_NS, names::TELL_EARLY_NS];
        channels::rings(&node, properties, "interrupt", line.tells, mistakes);
    }
}
