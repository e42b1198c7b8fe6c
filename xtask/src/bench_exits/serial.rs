//! The cost of a serial line to the VM that accesses its end, and to the CPU of a VM that is told something by the other end or
//! has to tell something late.
//!
//! Instructions are counted in QEMU's log, as in [`kicks`](super::kicks).

use anyhow::Result;

use super::kicks::range;
use super::log::{self, Event};
use super::machine::{Machine, SERIAL};
use super::regulation::{WFI, acknowledges};
use super::rows::Rows;
use crate::workspace::Workspace;

/// Row of an access to a register.
pub const ACCESS: &str = "serial_access";
/// Row of an interrupt of the CPU for ports of the VM whose VCPU executes: the other end tells something, or the time has come
/// at which the VM itself may.
pub const TELL: &str = "serial_tell";

/// Row of the part of that in which one port is brought up to date, and the others are found to need nothing.
pub const SERVED: &str = "serial_served";

/// Functions of the hypervisor by parts of their names: the last two let ports be brought up to date.
const PORT: &str = "4port6access";
const SERVE: &str = "4port5serve";
const ATTEND: &str = "4pcpu7sharing40_$LT$impl$u20$hypervisor..pcpu..Pcpu$GT$6attend";
const DEADLINES: &str = "14rare_deadlines";
/// Fewer would be chance.
const ACCESSES_LEAST: usize = 4_000;
const TELLS_LEAST: usize = 100;

/// The activity of EL2 until it returned.
#[derive(Default)]
struct Visit {
    instructions: u64,
    /// Those between the entry into the function that brings ports up to date and its return.
    serving: u64,
    is_serving: bool,
    /// Functions that were entered.
    accesses: bool,
    serves: bool,
    /// True if the CPU waited for an interrupt meanwhile.
    waited: bool,
    /// Number of interrupts that were served.
    interrupts: u32,
}

/// Measures, and adds the rows.
pub fn measure(workspace: &Workspace, rows: &mut Rows) -> Result<()> {
    let places = log::places(workspace, &[PORT, SERVE, ATTEND, DEADLINES])?;
    let step = |visit: &mut Visit, offset: u64, instruction| {
        let entered =
            |bit: usize| places.iter().any(|(it, place)| *it == bit && place.start == offset);
        let inside =
            |bit: usize| places.iter().any(|(it, place)| *it == bit && place.contains(&offset));
        visit.instructions += 1;
        visit.waited |= instruction == Some(WFI);
        visit.accesses |= entered(0);
        visit.serves |= entered(1);
        visit.interrupts += u32::from(acknowledges(instruction));
        visit.is_serving = entered(1) || visit.is_serving && !inside(2) && !inside(3);
        visit.serving += u64::from(visit.is_serving);
    };
    let machine = Machine::new(workspace, SERIAL, |_| true)?;
    let (mut accesses, mut tells, mut ports) = (Vec::new(), Vec::new(), Vec::new());
    log::instructions(&machine, step, |_, event, visit: &Visit| match event {
        Event::Call(_) if visit.accesses && !visit.serves => accesses.push(visit.instructions),
        // The other end can tell something once more meanwhile: that is another interrupt.
        Event::Interrupt if visit.serves && !visit.waited && visit.interrupts == 1 => {
            tells.push(visit.instructions);
            ports.push(visit.serving);
        }
        _ => {}
    })?;
    rows.add(ACCESS, range("accesses to serial lines", ACCESSES_LEAST, &accesses)?);
    rows.add(TELL, range("interrupts for serial lines", TELLS_LEAST, &tells)?);
    rows.add(SERVED, range("ports that are brought up to date", TELLS_LEAST, &ports)?);
    Ok(())
}
