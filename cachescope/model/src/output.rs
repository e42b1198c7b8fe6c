//! The files of a run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::{Machine, Owner};

/// Writes `summary.json`, `timeseries.csv`, `evictions.csv`, `colors.csv` and
/// `jobs.csv` into a folder, which is made if need be.
///
/// # Errors
/// If the folder or a file cannot be written.
pub fn write(machine: &Machine, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let file = |name: &str, content: Content| {
        let mut out = BufWriter::new(File::create(folder.join(name))?);
        content(machine, &mut out)?;
        out.flush()
    };
    file("summary.json", summary)?;
    file("timeseries.csv", timeseries)?;
    file("evictions.csv", evictions)?;
    file("colors.csv", colors)?;
    file("jobs.csv", jobs)
}

type Output = BufWriter<File>;
type Content = fn(&Machine, &mut Output) -> io::Result<()>;

fn summary(machine: &Machine, out: &mut Output) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &machine.summary())?;
    writeln!(out)
}

fn timeseries(machine: &Machine, out: &mut Output) -> io::Result<()> {
    writeln!(
        out,
        "time_ns,owner,accesses,l1_misses,llc_misses,llc_write_backs,memory_read_bytes,\
         memory_written_bytes,evictions_caused,evictions_suffered,fetches,l1i_misses"
    )?;
    let options = machine.options();
    let owners: Vec<Owner> = options.owners.iter().collect();
    for row in machine.series().rows() {
        let totals = row.totals;
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{}",
            options.clock.nanoseconds(row.start),
            options.owners.name(owners[row.owner]),
            totals.accesses,
            totals.l1_misses,
            totals.llc_misses,
            totals.llc_write_backs,
            totals.memory_read_bytes,
            totals.memory_written_bytes,
            totals.evictions_caused,
            totals.evictions_suffered,
            totals.fetches,
            totals.l1i_misses,
        )?;
    }
    Ok(())
}

fn evictions(machine: &Machine, out: &mut Output) -> io::Result<()> {
    writeln!(out, "color,accessor,incoming_owner,evicted_owner,evictions")?;
    let owners = &machine.options().owners;
    let all: Vec<Owner> = owners.iter().collect();
    for eviction in machine.hierarchy().tally().evictions(&all) {
        writeln!(
            out,
            "{},{},{},{},{}",
            eviction.color,
            owners.name(eviction.accessor),
            owners.name(eviction.incoming),
            owners.name(eviction.evicted),
            eviction.count,
        )?;
    }
    Ok(())
}

fn colors(machine: &Machine, out: &mut Output) -> io::Result<()> {
    writeln!(out, "owner,color,accesses,l1_misses,llc_misses,fetches,l1i_misses")?;
    let (owners, tally) = (&machine.options().owners, machine.hierarchy().tally());
    for owner in owners.iter() {
        for color in 0..tally.colors() {
            let counts = tally.of(owner, color);
            if counts.accesses + counts.fetches > 0 {
                writeln!(
                    out,
                    "{},{color},{},{},{},{},{}",
                    owners.name(owner),
                    counts.accesses,
                    counts.l1_misses,
                    counts.llc_misses,
                    counts.fetches,
                    counts.l1i_misses,
                )?;
            }
        }
    }
    Ok(())
}

fn jobs(machine: &Machine, out: &mut Output) -> io::Result<()> {
    writeln!(
        out,
        "vm,cpu,task,job,release_ns,start_ns,finish_ns,execution_ns,instructions,stall_ns,\
         bus_wait_ns,accesses,l1_misses,llc_misses,l1i_misses"
    )?;
    let options = machine.options();
    let clock = options.clock;
    for job in machine.jobs().complete() {
        let (start, finish) = (job.start, job.finish);
        let release = job.released.map(|cycles| clock.nanoseconds(cycles).to_string());
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            options.owners.name(job.vm),
            job.cpu,
            job.task,
            job.job,
            release.unwrap_or_default(),
            clock.nanoseconds(start.cycles),
            clock.nanoseconds(finish.cycles),
            clock.nanoseconds(finish.cycles - start.cycles),
            finish.instructions - start.instructions,
            clock.nanoseconds(finish.stall_cycles - start.stall_cycles),
            clock.nanoseconds(finish.bus_wait_cycles - start.bus_wait_cycles),
            finish.accesses - start.accesses,
            finish.l1_misses - start.l1_misses,
            finish.llc_misses - start.llc_misses,
            finish.l1i_misses - start.l1i_misses,
        )?;
    }
    Ok(())
}
