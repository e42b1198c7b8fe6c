//! Counts the EL2 instructions of every exit path, and holds them against limits.
//!
//! `docs/figures.md` says what is measured, how, and how to repeat it on other hypervisors.

mod coloring;
mod figures;
mod holds;
mod kicks;
mod links;
mod locks;
mod log;
mod machine;
mod range;
mod regulation;
mod report;
mod rings;
mod rows;
mod serial;
mod switching;

use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Context, Result, bail, ensure};

use crate::build::{self, Part};
use crate::size;
use crate::workspace::Workspace;
use figures::{CODE_AND_RODATA, ENTRY_LARGE, LATEST_TICK, LOAD_PER_MIB, OTHER_CPUS};
use machine::{Load, Machine};
use range::Range;
use rows::{ENTRY, Rows};

/// Sizes of the two files whose loading is compared, in MiB.
const FILES_MIB: [u64; 2] = [1, 9];

/// Size of a guest that is no smaller than most, in KiB.
const LARGE_KIB: u64 = 24;

/// How the figures are measured and printed.
#[derive(clap::Args)]
pub struct Options {
    /// How often to measure everything; every time must give the same figures.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Print one JSON document.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print the table as it stands in docs/figures.md.
    #[arg(long)]
    markdown: bool,
}

/// Builds hypervisor and guest, measures and prints; fails if a limit is exceeded.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    build::run(workspace, &[Part::Hypervisor, Part::Guests])?;
    let marked = build::marked_hypervisor(workspace)?;
    let mut measured = Vec::new();
    let lanes = thread::available_parallelism().map_or(1, NonZero::get);
    while let left @ 1.. = options.repeat as usize - measured.len() {
        measured.extend(at_once(left.min(lanes), workspace, &marked)?);
    }
    let (rows, others) = measured.split_first().context("nothing was measured")?;
    others.iter().try_for_each(|other| same(rows, other))?;
    let results = figures::judge(rows)?;
    if options.json {
        println!("{:#}", report::json(&results, options.repeat));
    } else if options.markdown {
        print!("{}", report::markdown(&results));
    } else {
        print!("{}", report::text(&results, options.repeat));
    }
    let exceeded: Vec<_> = results
        .iter()
        .filter(|result| result.over() > 0)
        .map(|result| result.figure.name)
        .collect();
    ensure!(exceeded.is_empty(), "above the limit: {}", exceeded.join("; "));
    Ok(())
}

/// Measures everything `times` times, at the same time.
fn at_once(times: usize, workspace: &Workspace, marked: &Path) -> Result<Vec<Rows>> {
    thread::scope(|scope| {
        let begin = |_| scope.spawn(|| measure(workspace, marked));
        let all: Vec<_> = (0..times).map(begin).collect();
        let end = |it: ScopedJoinHandle<'_, _>| it.join().unwrap_or_else(|why| resume_unwind(why));
        all.into_iter().map(end).collect()
    })
}

/// Everything once. `marked`: the hypervisor with marks at its locks.
fn measure(workspace: &Workspace, marked: &Path) -> Result<Rows> {
    let machine = Machine::new(workspace, machine::EXITS, |_| true)?;
    let mut rows = machine.run(Load::Guest)?;
    let [small, large] = FILES_MIB;
    let entry = |mib| Ok::<_, anyhow::Error>(machine.run(Load::File(mib << 20))?.get(ENTRY)?.min);
    let loading = entry(large)?.saturating_sub(entry(small)?) / (large - small);
    rows.add(LOAD_PER_MIB, Range::exact(loading));
    rows.add(ENTRY_LARGE, machine.run(Load::Large(LARGE_KIB << 10))?.get(ENTRY)?);
    coloring::measure(workspace, &mut rows)?;
    switching::measure(workspace, &mut rows)?;
    regulation::measure(workspace, &mut rows)?;
    locks::measure(workspace, &mut rows)?;
    kicks::measure(workspace, &mut rows)?;
    rings::measure(workspace, &mut rows)?;
    serial::measure(workspace, &mut rows)?;
    links::measure(workspace, &mut rows)?;
    holds::measure(workspace, marked, &mut rows)?;
    let waits = OTHER_CPUS * rows.get("hold_gic")?.max;
    let path = rows.get(kicks::KICK)?.max.max(rows.get(holds::EXIT)?.max);
    rows.add(LATEST_TICK, Range::exact(path + waits));
    // Frames on their way to the VM come to an end at the same time.
    let stop = rows.get(links::STOP)?.max + rows.get(holds::RING)?.max;
    rows.add(figures::LATEST_STOP, Range::exact(stop));
    rows.add(CODE_AND_RODATA, Range::exact(size::measure(workspace)?.total()));
    Ok(rows)
}

/// Fails if two measurements differ.
fn same(first: &Rows, second: &Rows) -> Result<()> {
    if let Some(difference) = first.difference(second) {
        bail!(
            "two measurements differ, although time is deterministic: {difference}\n\
             was something built in between? then try again; else the figures are worth nothing"
        );
    }
    Ok(())
}
