//! The cost of a link: the time for which the CPU of a VM that sends, stops or restarts does not look for interrupts.
//!
//! Instructions are counted in QEMU's log, from one look to the next.

use anyhow::Result;

use super::kicks::range;
use super::log;
use super::machine::{LINKS, Machine};
use super::regulation::WFI;
use super::rows::Rows;
use crate::workspace::Workspace;

/// Row of a chunk that sends a frame.
pub const FRAME: &str = "link_frame";
/// Row of the longest part of a stop or a restart of a VM that has eight links, without what it waits for.
pub const STOP: &str = "link_stop";

/// Functions of the hypervisor by parts of their names.
const SEND: &str = "4link10send_frame";
const ENDS: &str = "4link4stop";
/// A read of ISR_EL1 into register 0: which interrupts are pending.
const LOOK: u32 = 0xd538_c100;
const REGISTER: u32 = 0x1f;
/// The instruction that a CPU executes while it waits for a lock: `yield`.
const YIELD: u32 = 0xd503_203f;
/// Fewer would be chance; and one VM restarts once, and stops.
const FRAMES_LEAST: usize = 100;
const STOPS_LEAST: usize = 2;

/// The activity of EL2 until it returned, in parts.
#[derive(Default)]
struct Visit {
    part: Part,
    frames: Vec<u64>,
    stops: Vec<u64>,
}

/// The activity of EL2 between two looks.
#[derive(Clone, Copy, Default)]
struct Part {
    instructions: u64,
    sends: bool,
    stops: bool,
    waits: bool,
}

impl Visit {
    fn looks(&mut self) {
        let part = std::mem::take(&mut self.part);
        if part.sends && !part.waits {
            self.frames.push(part.instructions);
        }
        if part.stops && !part.waits {
            self.stops.push(part.instructions);
        }
    }
}

/// Measures, and adds the rows.
pub fn measure(workspace: &Workspace, rows: &mut Rows) -> Result<()> {
    let plain = Machine::new(workspace, LINKS, |line| !line.contains("# late"))?;
    let (frames, _) = follow(workspace, &plain)?;
    rows.add(FRAME, range("frames", FRAMES_LEAST, &frames)?);
    let mut late = Machine::new(workspace, LINKS, |_| true)?;
    late.tell("storm.mode=link-long storm.ms=6 storm.end=reset".into())?;
    let (_, stops) = follow(workspace, &late)?;
    rows.add(STOP, range("stops", STOPS_LEAST, &stops)?);
    Ok(())
}

/// Boots a machine; returns the instructions of parts that send a frame, and of those that stop a VM.
fn follow(workspace: &Workspace, machine: &Machine) -> Result<(Vec<u64>, Vec<u64>)> {
    let places = log::places(workspace, &[SEND, ENDS])?;
    let step = |visit: &mut Visit, offset: u64, instruction: Option<u32>| {
        let entered =
            |bit: usize| places.iter().any(|(it, place)| *it == bit && place.start == offset);
        let part = &mut visit.part;
        part.instructions += 1;
        part.sends |= entered(0);
        part.stops |= entered(1);
        part.waits |= instruction == Some(YIELD);
        if instruction.is_some_and(|it| it == WFI || it & !REGISTER == LOOK) {
            visit.looks();
        }
    };
    let (mut frames, mut stops) = (Vec::new(), Vec::new());
    log::instructions(machine, step, |_, _, visit: &Visit| {
        // The last part ends with the return.
        let mut last = Visit { part: visit.part, ..Visit::default() };
        last.looks();
        for parts in [visit, &last] {
            frames.extend(&parts.frames);
            stops.extend(&parts.stops);
        }
    })?;
    Ok((frames, stops))
}
