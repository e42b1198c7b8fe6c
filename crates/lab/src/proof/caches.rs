//! The traffic in the last-level cache and on the bus.

use std::fs::File;
use std::path::Path;

use report::proof::{Cache, Owner};
use serde::Deserialize;

use super::execute::Executed;
use crate::cachescope::Counts;
use crate::cachescope::bins::ACCESS_BYTES;
use crate::cachescope::rows;
use crate::failure::Failure;

/// The used columns of a row of `colors.csv`.
#[derive(Deserialize)]
struct Color {
    owner: String,
    color: usize,
    l1_misses: u64,
    l1i_misses: u64,
}

/// A row of `evictions.csv`.
#[derive(Deserialize)]
struct Evicted {
    color: usize,
    incoming_owner: String,
    evicted_owner: String,
    evictions: u64,
}

/// The used parts of `summary.json`.
#[derive(Deserialize)]
struct Summary {
    model: Model,
    cpus: Vec<Cpu>,
    owners: Vec<Moved>,
}

/// Times in the cache model.
#[derive(Deserialize)]
struct Model {
    llc_hit_cycles: u64,
    memory_cycles: u64,
    bus_cycles: u64,
    clock_mhz: u64,
}

#[derive(Deserialize)]
struct Cpu {
    vm: Option<String>,
    time_ns: u64,
    time_cycles: u64,
    bus_wait_cycles: u64,
}

#[derive(Deserialize)]
struct Moved {
    name: String,
    memory_read_bytes: u64,
    memory_written_bytes: u64,
}

/// The traffic of a VM behind the caches.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Beyond {
    /// Time that its PCPUs waited for the bus; `None` if it shares PCPUs.
    pub bus_wait_ns: Option<u64>,
    /// Lines that were moved to and from memory.
    pub memory_lines: Option<u64>,
}

/// Returns the cache in a run with these counts; `vms` are the names of the VMs.
pub fn cache(run: &Executed, counts: &Counts, vms: &[String]) -> Result<Cache, Failure> {
    let colors: Vec<Color> = rows(&run.folder.join("colors.csv"))?;
    let evicted: Vec<Evicted> = rows(&run.folder.join("evictions.csv"))?;
    let place = |name: &String| vms.iter().position(|vm| vm == name);
    let owner = |name: &String| {
        let vm = place(name);
        let of_owner = colors.iter().filter(|it| it.owner == *name);
        let lost = evicted
            .iter()
            .filter(|it| vm.is_some() && it.evicted_owner == *name && it.incoming_owner != *name);
        let lost = lost.filter(|it| place(&it.incoming_owner).is_some());
        Owner {
            name: name.clone(),
            vm,
            accesses_by_color: by_color(
                of_owner.map(|it| (it.color, it.l1_misses + it.l1i_misses)),
            ),
            lost_by_color: by_color(lost.map(|it| (it.color, it.evictions))),
        }
    };
    let names: Vec<String> = counts.owners.iter().map(|it| it.name.clone()).collect();
    let row = |came: &String| names.iter().map(|went| count(counts, came, went)).collect();
    Ok(Cache {
        owners: names.iter().map(owner).collect(),
        evictions: names.iter().map(row).collect(),
    })
}

fn summary(run: &Executed) -> Result<Summary, Failure> {
    let path = run.folder.join("summary.json");
    let file = File::open(&path).map_err(|error| cannot_read(&path, &error))?;
    serde_json::from_reader(file).map_err(|error| cannot_read(&path, &error))
}

/// Describes the times of the cache model.
pub fn model(run: &Executed) -> Result<String, Failure> {
    let Model { llc_hit_cycles, memory_cycles, bus_cycles, clock_mhz } = summary(run)?.model;
    Ok(format!(
        "{clock_mhz} MHz, a cycle for each instruction; a hit in the last-level cache takes {llc_hit_cycles} \
         cycles, memory {memory_cycles}, a line keeps the bus busy for {bus_cycles}"
    ))
}

/// Returns the traffic of each VM behind the caches, in the order of their names.
pub fn beyond(run: &Executed, vms: &[String]) -> Result<Vec<Beyond>, Failure> {
    let summary = summary(run)?;
    let line = ACCESS_BYTES;
    Ok(vms
        .iter()
        .map(|vm| {
            let own = || summary.cpus.iter().filter(|cpu| cpu.vm.as_ref() == Some(vm));
            let wait = |cpu: &Cpu| {
                let ns = u128::from(cpu.bus_wait_cycles) * u128::from(cpu.time_ns);
                (ns / u128::from(cpu.time_cycles.max(1))) as u64
            };
            let moved = summary.owners.iter().find(|it| it.name == *vm);
            Beyond {
                bus_wait_ns: own().next().map(|_| own().map(wait).sum()),
                memory_lines: moved
                    .map(|it| (it.memory_read_bytes + it.memory_written_bytes) / line),
            }
        })
        .collect())
}

fn count(counts: &Counts, came: &str, went: &str) -> u64 {
    let pair = counts.evictions.iter().find(|it| it.came == came && it.went == went);
    pair.map_or(0, |it| it.evictions)
}

fn by_color(counts: impl Iterator<Item = (usize, u64)>) -> Vec<u64> {
    let mut all = Vec::new();
    for (color, count) in counts {
        all.resize(all.len().max(color + 1), 0);
        all[color] += count;
    }
    all
}

fn cannot_read(file: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::file("cannot-read", format!("cannot read {}: {error}", file.display()))
}
