//! The cost of VCPUs that take turns on a CPU.
//!
//! Two guests tell when each of them lost the CPU and got it back (`rt-switch`). Between the last
//! instruction of one and the first of the other lie those of the hypervisor.

use anyhow::{Result, ensure};

use super::machine::{Load, Machine, SWITCHING, WAITING};
use super::range::Range;
use super::rows::Rows;
use crate::workspace::Workspace;

/// Row of all switches between VCPUs that have something to do.
pub const SWITCH: &str = "switch";
/// Row of those at the end of a budget, from that time on.
pub const EXPIRY: &str = "budget_expiry";
/// Row of a VCPU that waits: to the next one's first instruction.
pub const WAIT: &str = "wait";
/// Row of a VCPU that waits while another one runs: from the time of its timer to its first instruction.
pub const WAKE: &str = "wake";

/// Instructions that are the machine's own: it takes the interrupt behind the one at the time of a timer.
const MACHINE: u64 = 1;
/// WFI itself is an instruction of the guest.
const WFI: u64 = 1;
/// Fewer would be chance.
const SWITCHES_LEAST: usize = 16;

/// Measures, and adds the rows.
pub fn measure(workspace: &Workspace, rows: &mut Rows) -> Result<()> {
    let console = |system| Machine::new(workspace, system, |_| true)?.console(Load::Guest);
    let busy = console(SWITCHING)?;
    let (first, second) = (absences(&busy, "first")?, absences(&busy, "second")?);
    // The first one, with the higher priority, loses the CPU when its budget is used up, and takes it
    // from the second one when it is renewed.
    let expiry = switches(&first, &second)?;
    let renewal = switches(&second, &first)?;
    rows.add(SWITCH, range(expiry.iter().chain(&renewal).copied()));
    rows.add(EXPIRY, range(expiry.iter().map(|ticks| ticks + MACHINE)));

    let waiting = console(WAITING)?;
    let (first, second) = (absences(&waiting, "first")?, absences(&waiting, "second")?);
    rows.add(WAIT, range(switches(&first, &second)?.iter().map(|ticks| ticks - WFI)));
    rows.add(WAKE, range(switches(&second, &first)?.iter().map(|ticks| ticks + MACHINE)));
    Ok(())
}

/// A time in which a guest did not run: times of its last instruction before and of its first one behind.
#[derive(Clone, Copy, Debug)]
struct Absence {
    stop: u64,
    resume: u64,
}

/// Returns the absences that a guest told.
fn absences(console: &str, vm: &str) -> Result<Vec<Absence>> {
    let own = |line: &str| {
        let (label, text) = line.strip_prefix('[')?.split_once("] switch: stop=")?;
        let (stop, resume) = text.trim_end().split_once(" resume=")?;
        (label.trim_end() == vm)
            .then_some(Absence { stop: stop.parse().ok()?, resume: resume.parse().ok()? })
    };
    let done = |line: &str| {
        line.starts_with(&format!("[{vm}")) && line.trim_end().ends_with("switch: done")
    };
    ensure!(console.lines().any(done), "{vm} did not reach its last line: {console}");
    Ok(console.lines().filter_map(own).collect())
}

/// Ticks between each stop of one guest and the other one's resumption if no other guest ran in between.
fn switches(from: &[Absence], to: &[Absence]) -> Result<Vec<u64>> {
    let mut ticks = Vec::new();
    for lost in from {
        let got = to
            .iter()
            .find(|got| got.stop < lost.stop && lost.stop < got.resume && got.resume < lost.resume);
        if let Some(got) = got {
            ticks.push(got.resume - lost.stop - 1);
        }
    }
    ensure!(
        ticks.len() >= SWITCHES_LEAST,
        "only {} switches between the guests were seen, at least {SWITCHES_LEAST} are needed: \
         give the guests more samples",
        ticks.len()
    );
    Ok(ticks)
}

fn range(ticks: impl Iterator<Item = u64> + Clone) -> Range {
    let (min, max) = (ticks.clone().min(), ticks.max());
    Range { min: min.unwrap_or(0), max: max.unwrap_or(0) }
}
