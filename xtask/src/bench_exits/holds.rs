//! For how long EL2 holds its locks: others wait for so long.
//!
//! A hypervisor of its own has marks where locks are taken and released, hints that do nothing. They are found in QEMU's log of all
//! instructions, while guests make the hypervisor work for VCPUs on other CPUs.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSymbol};

use super::figures::Range;
use super::log;
use super::machine::{KICKS, LOCKS, Machine};
use super::rows::Rows;
use crate::build;
use crate::workspace::Workspace;

/// Rows of locks, and what the names of functions that take them contain; the first that fits counts.
pub const HELD: [(&str, &[&str]); 5] = [
    ("hold_machine", &["gic_env"]),
    ("hold_gic", &["3gic"]),
    ("hold_resources", &["5locks"]),
    ("hold_console", &["7console", "10data_abort", "9interrupt5other"]),
    ("hold_other", &[""]),
];

/// The marks: `hint #0x70` and `hint #0x71`.
const TAKEN: u32 = 0xd503_2e1f;
const RELEASED: u32 = 0xd503_2e3f;
/// What guests do meanwhile, each for a millisecond.
const MODES: [&str; 9] = [
    "sgi-taking",
    "device-taking",
    "enable",
    "group",
    "active-spi",
    "router",
    "timer",
    "console-call",
    "console-uart",
];
/// The longest of each row, in instructions.
type Longest = BTreeMap<&'static str, u64>;

/// Measures, and adds the rows.
pub fn measure(workspace: &Workspace, rows: &mut Rows) -> Result<()> {
    let hypervisor = build::marked_hypervisor(workspace)?;
    let bytes = fs::read(&hypervisor).context("the hypervisor with marks cannot be read")?;
    let file = object::File::parse(&*bytes)?;
    let mut functions: Vec<(u64, &str)> =
        file.symbols().filter_map(|it| Some((it.address(), it.name().ok()?))).collect();
    functions.retain(|(_, name)| name.starts_with("_ZN"));
    functions.sort_unstable();

    let mut longest = Longest::new();
    for mode in MODES {
        let machine = Machine::new(workspace, KICKS, |_| true)?;
        let mut machine = machine.with_hypervisor(&hypervisor)?;
        machine.tell(format!("storm.mode={mode} storm.ms=1"))?;
        follow(&machine, &functions, &mut longest)?;
    }
    let machine = Machine::new(workspace, LOCKS, |_| true)?.with_hypervisor(&hypervisor)?;
    follow(&machine, &functions, &mut longest)?;
    for (row, _) in HELD {
        let most = longest.get(row).with_context(|| format!("no lock was held for {row}"))?;
        rows.add(row, Range::exact(*most));
    }
    Ok(())
}

/// The locks of a visit to EL2: the row and the instructions of those that are held, and of those that were.
#[derive(Default)]
struct Locks {
    held: Vec<(&'static str, u64)>,
    released: Vec<(&'static str, u64)>,
}

/// Boots the machine once: every lock that is taken counts until it is released, but for boot and power-off.
fn follow(machine: &Machine, functions: &[(u64, &str)], longest: &mut Longest) -> Result<()> {
    let step = |locks: &mut Locks, offset, instruction| match instruction {
        Some(TAKEN) => locks.held.push((row(functions, offset), 0)),
        Some(RELEASED) => locks.released.extend(locks.held.pop()),
        // The marks are not in the image that is shipped.
        _ => locks.held.iter_mut().for_each(|(_, instructions)| *instructions += 1),
    };
    let mut holds = 0;
    log::instructions(machine, step, |_, _, locks: &Locks| {
        for (row, instructions) in &locks.released {
            holds += 1;
            let most = longest.entry(row).or_default();
            *most = (*most).max(*instructions);
        }
    })?;
    ensure!(holds > 0, "no lock was taken");
    Ok(())
}

/// The row of a lock that is taken at this place.
fn row(functions: &[(u64, &str)], offset: u64) -> &'static str {
    let after = functions.partition_point(|(address, _)| *address <= offset);
    let name = after.checked_sub(1).map_or("", |at| functions[at].1);
    let fits = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    HELD.iter().find(|(_, parts)| fits(parts)).map_or("", |(row, _)| row)
}
