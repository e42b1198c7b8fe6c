//! The cost of a ring for a channel to its writer, and to the CPU of its reader.
//!
//! Instructions are counted in QEMU's log, as in [`kicks`](super::kicks).

use anyhow::Result;

use super::kicks::range;
use super::log::{self, Event};
use super::machine::{Machine, RINGS};
use super::rows::Rows;
use crate::workspace::Workspace;

/// Row of a ring, passed or refused.
pub const RING: &str = "ring";
/// Row of the interrupt by which the reader's CPU is told, where a VCPU executes.
pub const KICK: &str = "ring_kick";

/// Functions of the hypervisor by parts of their names.
const ACCESS: &str = "4bell6access";
const TAKE: &str = "4bell4take";
/// It serves the scheduler's timer, which can fire meanwhile: that is not a part of it.
const TIMER: &str = "9interrupt5timer";
/// Fewer would be chance: 80 times three rings, of which two pass.
const RINGS_LEAST: usize = 240;
const KICKS_LEAST: usize = 40;
/// The reader's CPU.
const READER: usize = 1;

/// Measures, and adds the rows.
pub fn measure(workspace: &Workspace, rows: &mut Rows) -> Result<()> {
    let machine = Machine::new(workspace, RINGS, |_| true)?;
    let (mut rings, mut kicks) = (Vec::new(), Vec::new());
    log::follow(&machine, workspace, &[ACCESS, TAKE, TIMER], |cpu, event, visited| {
        match (event, visited.functions) {
            (Event::Call(_), 1) => rings.push(visited.instructions),
            // A second ring can come meanwhile: that is one more.
            (Event::Interrupt, 2)
                if cpu == READER && !visited.waited && visited.interrupts == 1 =>
            {
                kicks.push(visited.instructions);
            }
            _ => {}
        }
    })?;
    rows.add(RING, range("rings", RINGS_LEAST, &rings)?);
    rows.add(KICK, range("kicks for rings", KICKS_LEAST, &kicks)?);
    Ok(())
}
