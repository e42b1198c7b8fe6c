//! The tables of a run.

use super::table::Table;
use crate::tally::Eviction;
use crate::{ByColor, Job, Machine, Owner, Row, Totals};

/// All of them.
pub fn of(machine: &Machine) -> [Table; 4] {
    [timeseries(machine), evictions(machine), colors(machine), jobs(machine)]
}

fn timeseries(machine: &Machine) -> Table {
    let options = machine.options();
    let owners: Vec<Owner> = options.owners.iter().collect();
    let rows = machine.series().rows();
    let of = |value: fn(&Totals) -> u64| rows.iter().map(move |row: &Row| value(&row.totals));
    Table::new("timeseries")
        .numbers("time_ns", rows.iter().map(|row| options.clock.nanoseconds(row.start)))
        .names("owner", rows.iter().map(|row| options.owners.name(owners[row.owner])))
        .numbers("accesses", of(|totals| totals.accesses))
        .numbers("l1_misses", of(|totals| totals.l1_misses))
        .numbers("llc_misses", of(|totals| totals.llc_misses))
        .numbers("llc_write_backs", of(|totals| totals.llc_write_backs))
        .numbers("memory_read_bytes", of(|totals| totals.memory_read_bytes))
        .numbers("memory_written_bytes", of(|totals| totals.memory_written_bytes))
        .numbers("evictions_caused", of(|totals| totals.evictions_caused))
        .numbers("evictions_suffered", of(|totals| totals.evictions_suffered))
        .numbers("fetches", of(|totals| totals.fetches))
        .numbers("l1i_misses", of(|totals| totals.l1i_misses))
}

fn evictions(machine: &Machine) -> Table {
    let owners = &machine.options().owners;
    let all: Vec<Owner> = owners.iter().collect();
    let found = machine.hierarchy().tally().evictions(&all);
    let name = |who: fn(&Eviction) -> Owner| found.iter().map(move |it| owners.name(who(it)));
    Table::new("evictions")
        .numbers("color", found.iter().map(|it| it.color as u64))
        .names("accessor", name(|it| it.accessor))
        .names("incoming_owner", name(|it| it.incoming))
        .names("evicted_owner", name(|it| it.evicted))
        .numbers("evictions", found.iter().map(|it| it.count))
}

fn colors(machine: &Machine) -> Table {
    let (owners, tally) = (&machine.options().owners, machine.hierarchy().tally());
    let all = owners.iter().flat_map(|owner| {
        (0..tally.colors()).map(move |color| (owner, color, tally.of(owner, color)))
    });
    let rows: Vec<(Owner, usize, ByColor)> =
        all.filter(|(_, _, counts)| counts.accesses + counts.fetches > 0).collect();
    let of = |value: fn(&ByColor) -> u64| rows.iter().map(move |row| value(&row.2));
    Table::new("colors")
        .names("owner", rows.iter().map(|row| owners.name(row.0)))
        .numbers("color", rows.iter().map(|row| row.1 as u64))
        .numbers("accesses", of(|counts| counts.accesses))
        .numbers("l1_misses", of(|counts| counts.l1_misses))
        .numbers("llc_misses", of(|counts| counts.llc_misses))
        .numbers("fetches", of(|counts| counts.fetches))
        .numbers("l1i_misses", of(|counts| counts.l1i_misses))
}

fn jobs(machine: &Machine) -> Table {
    let options = machine.options();
    let ns = |cycles| options.clock.nanoseconds(cycles);
    let jobs = machine.jobs().complete();
    let of = |value: fn(&Job) -> u64| jobs.iter().map(value);
    Table::new("jobs")
        .names("vm", jobs.iter().map(|job| options.owners.name(job.vm)))
        .numbers("cpu", of(|job| job.cpu as u64))
        .numbers("task", of(|job| job.task.into()))
        .numbers("job", of(|job| job.job.into()))
        .maybe_numbers("release_ns", jobs.iter().map(|job| job.released.map(ns)))
        .numbers("start_ns", of(|job| job.start.cycles).map(ns))
        .numbers("finish_ns", of(|job| job.finish.cycles).map(ns))
        .numbers("execution_ns", of(|job| job.finish.cycles - job.start.cycles).map(ns))
        .numbers("others_ns", of(|job| job.others).map(ns))
        .numbers("instructions", of(|job| job.finish.instructions - job.start.instructions))
        .numbers("stall_ns", of(|job| job.finish.stall_cycles - job.start.stall_cycles).map(ns))
        .numbers(
            "bus_wait_ns",
            of(|job| job.finish.bus_wait_cycles - job.start.bus_wait_cycles).map(ns),
        )
        .numbers("accesses", of(|job| job.finish.accesses - job.start.accesses))
        .numbers("l1_misses", of(|job| job.finish.l1_misses - job.start.l1_misses))
        .numbers("llc_misses", of(|job| job.finish.llc_misses - job.start.llc_misses))
        .numbers("l1i_misses", of(|job| job.finish.l1i_misses - job.start.l1i_misses))
}
