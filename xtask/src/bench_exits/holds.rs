//! The times for which EL2 holds its locks, which are the times for which others wait, and the longest times of calls and
//! accesses of guests where they wait for no lock.
//!
//! A hypervisor of its own has marks where locks are taken and released, hints that do nothing. They are found in QEMU's log of
//! all instructions, while guests make the hypervisor work for VCPUs on other CPUs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSymbol};

use super::kicks;
use super::log::{self, Event};
use super::machine::{KICKS, LINKS, LOCKS, Machine};
use super::range::Range;
use super::regulation::WFI;
use super::rows::Rows;
use crate::workspace::Workspace;

/// Rows of locks, and what the names of functions that take them contain; the first that fits counts.
pub const HELD: [(&str, &[&str]); 7] = [
    (RING, &["4link7deliver", "4link4stop"]),
    ("hold_card", &["4link10send_frame", "4link5serve", "4link4hear", "4link5reset"]),
    ("hold_machine", &["gic_env"]),
    ("hold_gic", &["3gic"]),
    ("hold_resources", &["5locks"]),
    (CONSOLE, &["7console", "10data_abort", "9interrupt5other"]),
    ("hold_other", &[""]),
];

/// Row of the ring of a link into which others send.
pub const RING: &str = "hold_ring";
/// Row of the locks of the console.
const CONSOLE: &str = "hold_console";
/// Row of the longest call or access that writes nothing to the console, and of the longest one that does.
pub const EXIT: &str = "exit";
pub const EXIT_CONSOLE: &str = "exit_console";
/// Classes of ESR_EL2 of calls and accesses: HVC, a system register, an access to memory.
const CLASSES: [u64; 3] = [0x16, 0x18, 0x24];

/// The instruction that a CPU executes while it waits for a lock: `yield`.
const YIELD: u32 = 0xd503_203f;
/// The marks: `hint #0x70` and `hint #0x71`.
const TAKEN: u32 = 0xd503_2e1f;
const RELEASED: u32 = 0xd503_2e3f;
/// The activities of guests meanwhile, each for a millisecond.
const MODES: [&str; 10] = [
    "many",
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
/// The activities of a VM with its links, while another one sends the longest frames on them.
const LINK_MODES: [&str; 3] = ["link-long", "link-reset", "link-wrong"];
/// Its chunks are long work, in which the CPU looks for interrupts: not part of an access.
const WORK: &str = "4link4send17h";
/// The longest of each row, in instructions.
type Longest = BTreeMap<&'static str, u64>;

/// Measures, and adds the rows. `hypervisor`: the one with marks.
pub fn measure(workspace: &Workspace, hypervisor: &Path, rows: &mut Rows) -> Result<()> {
    let bytes = fs::read(hypervisor).context("the hypervisor with marks cannot be read")?;
    let file = object::File::parse(&*bytes)?;
    let mut functions: Vec<(u64, &str)> =
        file.symbols().filter_map(|it| Some((it.address(), it.name().ok()?))).collect();
    functions.retain(|(_, name)| name.starts_with("_ZN"));
    functions.sort_unstable();

    let mut longest = Longest::new();
    for mode in MODES {
        let machine = Machine::new(workspace, KICKS, kicks::is_alone)?;
        let mut machine = machine.with_hypervisor(hypervisor)?;
        machine.tell(format!("storm.mode={mode} storm.ms=1"))?;
        follow(&machine, &functions, &mut longest)?;
    }
    let machine = Machine::new(workspace, LOCKS, |_| true)?.with_hypervisor(hypervisor)?;
    follow(&machine, &functions, &mut longest)?;
    for mode in LINK_MODES {
        let machine = Machine::new(workspace, LINKS, |line| !line.contains("# late"))?;
        let mut machine = machine.with_hypervisor(hypervisor)?;
        machine.tell(format!("storm.mode={mode} storm.ms=8"))?;
        follow(&machine, &functions, &mut longest)?;
    }
    for row in HELD.map(|(row, _)| row).into_iter().chain([EXIT, EXIT_CONSOLE]) {
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
    /// All instructions but marks.
    instructions: u64,
    /// True if the CPU waited for a lock, or for an interrupt.
    waited: bool,
    /// True if it had a lock of the console.
    console: bool,
    /// True if it did long work.
    works: bool,
}

/// Boots the machine once: every lock that is taken counts until it is released, but for boot and power-off.
fn follow(machine: &Machine, functions: &[(u64, &str)], longest: &mut Longest) -> Result<()> {
    let work = functions.iter().filter(|(_, name)| name.contains(WORK));
    let work: Vec<u64> = work.map(|(address, _)| *address).collect();
    ensure!(!work.is_empty(), "the hypervisor has no function with {WORK} in its name");
    let step = |locks: &mut Locks, offset, instruction| match instruction {
        Some(TAKEN) => {
            let row = row(functions, offset);
            locks.console |= row == CONSOLE;
            locks.held.push((row, 0));
        }
        Some(RELEASED) => locks.released.extend(locks.held.pop()),
        // The marks are not in the image that is shipped.
        other => {
            locks.works |= work.contains(&offset);
            locks.waited |= matches!(other, Some(YIELD | WFI));
            locks.instructions += 1;
            locks.held.iter_mut().for_each(|(_, instructions)| *instructions += 1);
        }
    };
    let mut holds = 0;
    log::instructions(machine, step, |_, event, locks: &Locks| {
        if let Event::Call(esr) = event
            && CLASSES.contains(&(esr >> 26))
            && !locks.waited
            && !locks.works
        {
            let row = if locks.console { EXIT_CONSOLE } else { EXIT };
            let most = longest.entry(row).or_default();
            *most = (*most).max(locks.instructions);
        }
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
