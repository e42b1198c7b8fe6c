//! QEMU's log of all instructions and exceptions, by CPU: what EL2 does between an exception that comes to it and the
//! return from it.

use std::fs;
use std::ops::Range;

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSymbol};

use super::machine::{IMAGE_START, Machine};
use super::regulation::{WFI, acknowledges, instruction_at};
use crate::workspace::Workspace;

/// Most CPUs of a machine that is followed.
const CPUS: usize = 8;

/// The event that brought a CPU to EL2.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// An interrupt.
    Interrupt,
    /// Something that a guest did, with ESR_EL2.
    Call(u64),
}

/// The activity of EL2 until it returned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit {
    /// Instructions.
    pub instructions: u64,
    /// Those of the functions asked for that were entered, one bit each.
    pub functions: u32,
    /// True if the CPU waited for an interrupt meanwhile.
    pub waited: bool,
    /// Number of interrupts that were served.
    pub interrupts: u32,
}

/// Boots a machine, and shows each visit of a CPU to EL2 when it is over. `functions`: parts of names of
/// functions of the hypervisor; those that have one of them in their names count for its bit.
pub fn follow(
    machine: &Machine,
    workspace: &Workspace,
    functions: &[&str],
    mut see: impl FnMut(usize, Event, Visit),
) -> Result<()> {
    let ranges = places(workspace, functions)?;
    instructions(
        machine,
        |visit: &mut Visit, offset, instruction| {
            visit.instructions += 1;
            for (bit, range) in &ranges {
                visit.functions |= u32::from(range.contains(&offset)) << bit;
            }
            visit.waited |= instruction == Some(WFI);
            visit.interrupts += u32::from(acknowledges(instruction));
        },
        |cpu, event, visit| see(cpu, event, *visit),
    )
}

/// Boots a machine, and shows each visit of a CPU to EL2 when it is over: what `step` has made of its instructions, which
/// it gets with their offsets in the image.
pub fn instructions<V: Default>(
    machine: &Machine,
    step: impl Fn(&mut V, u64, Option<u32>),
    mut see: impl FnMut(usize, Event, &V),
) -> Result<()> {
    let mut visits: [Option<(Event, V)>; CPUS] = Default::default();
    // The exception that is being told, the CPU that it is on, and the one whose instruction came last.
    let (mut interrupt, mut taking, mut last) = (false, 0, 0);
    machine.instructions(|line, image| {
        if let Some(text) = line.strip_prefix("Taking exception ") {
            interrupt = text.contains("[IRQ]");
            taking = text.rsplit(' ').next().and_then(|cpu| cpu.parse().ok()).unwrap_or(0) % CPUS;
        } else if line.starts_with("...from EL1 to EL2") || line.starts_with("...from EL0 to EL2") {
            visits[taking] = Some((Event::Interrupt, V::default()));
        } else if let Some(text) = line.strip_prefix("...with ESR ") {
            let esr =
                text.split("/0x").nth(1).and_then(|esr| u64::from_str_radix(esr.trim(), 16).ok());
            if let (false, Some(esr), Some((event, _))) = (interrupt, esr, &mut visits[taking]) {
                *event = Event::Call(esr);
            }
        } else if line.starts_with("Exception return") {
            if let Some((event, visit)) = visits[last].take() {
                see(last, event, &visit);
            }
        } else if let Some((cpu, address)) = executed(line) {
            last = cpu % CPUS;
            let Some((_, visit)) = &mut visits[last] else { return };
            let offset = address.wrapping_sub(IMAGE_START);
            step(visit, offset, instruction_at(offset, image));
        }
    })
}

/// CPU and address of an instruction that a line is about, if it is about one.
fn executed(line: &str) -> Option<(usize, u64)> {
    let (cpu, rest) = line.strip_prefix("Trace ")?.split_once(':')?;
    let address = rest.split('/').nth(1)?;
    Some((cpu.parse().ok()?, u64::from_str_radix(address, 16).ok()?))
}

/// The places of functions in the image; with the number of the part that is in the name.
pub(super) fn places(
    workspace: &Workspace,
    functions: &[&str],
) -> Result<Vec<(usize, Range<u64>)>> {
    let path = workspace.hypervisor_elf();
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let file = object::File::parse(&*bytes)?;
    let mut places = Vec::new();
    for (bit, part) in functions.iter().enumerate() {
        let before = places.len();
        for symbol in file.symbols().filter(|it| it.name().is_ok_and(|name| name.contains(part))) {
            places.push((bit, symbol.address()..symbol.address() + symbol.size().max(4)));
        }
        ensure!(places.len() > before, "the hypervisor has no function with {part} in its name");
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_cpu_and_address() {
        let line = "Trace 1: 0x7f9f20000280 [00000000/0000000040080004/00000461/ff022201] ";
        assert_eq!(executed(line), Some((1, 0x4008_0004)));
        assert_eq!(executed("...from EL1 to EL2"), None);
    }
}
