//! The summary of a run, for people and for tools.

use serde::Serialize;

use crate::tally::{Eviction, Totals};
use crate::{Counters, Geometry, Longest, Machine, Owner, Owners, Suffered};

/// Version of the format; changes when a field changes its meaning or goes.
const FORMAT: &str = "bulkhead-cachescope-summary-v1";

/// All of a run that fits on a page. Field names say their units.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Version of the format.
    pub format: &'static str,
    /// The model.
    pub model: Model,
    /// True if an instruction was executed that counts: without one there was no guest.
    pub started: bool,
    /// The time that guests' clock shows at the model's time 0, if they see the model's time.
    pub guest_origin_ns: Option<i64>,
    /// The counts of all owners together.
    pub totals: Totals,
    /// The counts of each owner: the hypervisor, memory without a known owner, the VMs.
    pub owners: Vec<OwnerSummary>,
    /// The counts of each CPU.
    pub cpus: Vec<CpuSummary>,
    /// The evictions from the last-level cache, by owners.
    pub evictions: Evictions,
    /// The bus.
    pub bus: BusSummary,
    /// Jobs that guests marked.
    pub jobs: JobSummary,
    /// Operations on lines by address, if QEMU tells what they need.
    pub operations: Option<OperationSummary>,
    /// The accesses that are not in the counts.
    pub skipped: SkippedSummary,
}

/// The options of the model, as they were understood.
#[derive(Clone, Debug, Serialize)]
pub struct Model {
    /// Private data cache of each CPU.
    pub l1: Option<CacheSummary>,
    /// Private instruction cache of each CPU, if fetches are modelled.
    pub l1i: Option<CacheSummary>,
    /// Last-level cache.
    pub llc: CacheSummary,
    /// True if there is one for all CPUs, false if there is one for each.
    pub llc_shared: bool,
    /// Lines of each CPU that may be on their way before it asks for them.
    pub prefetch: usize,
    /// True if the shared cache holds all that the private ones hold.
    pub inclusive: bool,
    /// Page of which colours are made.
    pub page_bytes: u64,
    /// Colours of the shared cache.
    pub colors: u64,
    /// Clock of the CPUs.
    pub clock_mhz: u64,
    /// Cost of a hit in the private cache beyond the instruction.
    pub l1_hit_cycles: u64,
    /// Cost of a hit in the shared cache.
    pub llc_hit_cycles: u64,
    /// Cost of an access to memory, without the bus.
    pub memory_cycles: u64,
    /// Time for which a line occupies the bus.
    pub bus_cycles: u64,
    /// The cycles by which CPUs' clocks may run apart, 0 without bound.
    pub quantum_cycles: u64,
    /// The time that guests saw: qemu or model.
    pub time: &'static str,
    /// Interval of the time series.
    pub bin_ns: u64,
    /// The start of counting: guest or boot.
    pub start: &'static str,
}

/// A cache.
#[derive(Clone, Debug, Serialize)]
pub struct CacheSummary {
    /// Its size.
    pub size_bytes: u64,
    /// Its ways.
    pub ways: u32,
    /// Its sets.
    pub sets: u64,
    /// Its lines.
    pub line_bytes: u32,
    /// Its replacement: lru, plru or random.
    pub policy: &'static str,
}

/// The counts of an owner.
#[derive(Clone, Debug, Serialize)]
pub struct OwnerSummary {
    /// Its name.
    pub name: String,
    /// Memory that it was given.
    pub memory_bytes: u64,
    /// The counts of the owner.
    #[serde(flatten)]
    pub totals: Totals,
    /// Colours in which it made accesses.
    pub colors_accessed: Vec<usize>,
}

/// The counts of a CPU.
#[derive(Clone, Debug, Serialize)]
pub struct CpuSummary {
    /// Its index.
    pub cpu: usize,
    /// Its VM, if it was given one.
    pub vm: Option<String>,
    /// Its time.
    pub time_ns: u64,
    /// Lines moved between the last-level cache and memory on its behalf, to it and back.
    pub memory_lines: u64,
    /// The largest counts of the hypervisor on it from where it looks for interrupts to the next such place.
    pub hypervisor_paths: Longest,
    /// The counts of the CPU.
    #[serde(flatten)]
    pub counters: Counters,
}

/// Evictions from the last-level cache. Rows and columns of matrices follow `owners`.
#[derive(Clone, Debug, Serialize)]
pub struct Evictions {
    /// All of them.
    pub total: u64,
    /// Those of a line whose owner is not the one that made the access.
    pub cross_by_accessor: u64,
    /// Those of a line whose owner is not the owner of the line that came.
    pub cross_by_line: u64,
    /// The evictions that owners suffered, and the reasons.
    pub suffered: Vec<Suffered>,
    /// Names of rows and columns.
    pub owners: Vec<String>,
    /// Row: the owner that made the access; column: owner of the line that went.
    pub by_accessor: Vec<Vec<u64>>,
    /// Row: owner of the line that came; column: owner of the line that went.
    pub by_line: Vec<Vec<u64>>,
}

/// The bus.
#[derive(Clone, Debug, Serialize)]
pub struct BusSummary {
    /// Lines that were moved.
    pub transfers: u64,
    /// Time in which it moved them.
    pub busy_cycles: u64,
}

/// Jobs.
#[derive(Clone, Debug, Serialize)]
pub struct JobSummary {
    /// Jobs with begin and end.
    pub complete: usize,
    /// Marks without counterpart.
    pub unmatched_marks: u64,
}

/// Accesses that are not part of the model.
#[derive(Clone, Debug, Serialize)]
pub struct SkippedSummary {
    /// Accesses to devices.
    pub device_accesses: u64,
    /// Accesses whose physical address could not be found.
    pub unresolved_accesses: u64,
    /// Accesses and fetches that went past the caches. They are counted as such,
    /// and miss no cache.
    pub uncached_accesses: u64,
}

/// Operations on lines by address.
#[derive(Clone, Debug, Serialize)]
pub struct OperationSummary {
    /// Blocks filled with zeroes (DC ZVA); each is an access, too.
    pub zeroed_blocks: u64,
    /// Lines written back or removed (DC CVAU, CVAC, CVAP, CVADP, CIVAC, IVAC).
    pub maintained_lines: u64,
    /// The same at addresses at which a CPU has no memory (yet). QEMU ignores them.
    pub unmapped_lines: u64,
}

impl Machine {
    /// The summary of what happened so far.
    pub fn summary(&self) -> Summary {
        let options = self.options();
        let (hierarchy, owners) = (self.hierarchy(), self.hierarchy().owners());
        let tally = hierarchy.tally();
        let all: Vec<Owner> = owners.iter().collect();
        let line = u64::from(options.llc.line());
        let of_owner = |&owner: &Owner| OwnerSummary {
            name: owners.name(owner).into(),
            memory_bytes: owners.bytes(owner),
            totals: tally.totals(owner, line),
            colors_accessed: (0..tally.colors())
                .filter(|&color| {
                    let counts = tally.of(owner, color);
                    counts.accesses + counts.fetches > 0
                })
                .collect(),
        };
        let of_cpu = |(index, cpu): (usize, &crate::cpu::Cpu)| CpuSummary {
            cpu: index,
            vm: options.vm_of(index).map(|vm| owners.name(vm).into()),
            time_ns: options.clock.nanoseconds(cpu.counters().cycles),
            memory_lines: self.lines_moved(index),
            hypervisor_paths: self.paths(index),
            counters: cpu.counters(),
        };
        Summary {
            format: FORMAT,
            model: self.model(),
            started: self.started(),
            guest_origin_ns: self.guest_origin(),
            totals: all
                .iter()
                .fold(Totals::default(), |sum, &owner| sum.plus(tally.totals(owner, line))),
            owners: all.iter().map(of_owner).collect(),
            cpus: self.cpus().iter().enumerate().map(of_cpu).collect(),
            evictions: evictions(owners, &tally.evictions(&all)),
            bus: BusSummary {
                transfers: hierarchy.bus().transfers(),
                busy_cycles: hierarchy.bus().busy(),
            },
            jobs: JobSummary {
                complete: self.jobs().complete().len(),
                unmatched_marks: self.jobs().unmatched(),
            },
            operations: self.operations().map(|operations| OperationSummary {
                zeroed_blocks: operations.zeroed,
                maintained_lines: operations.maintained,
                unmapped_lines: operations.unmapped,
            }),
            skipped: SkippedSummary {
                device_accesses: self.skipped().device,
                unresolved_accesses: self.skipped().unresolved,
                uncached_accesses: hierarchy.uncached(),
            },
        }
    }

    fn model(&self) -> Model {
        let options = self.options();
        let clock = options.clock;
        let cache = |geometry: Geometry, policy: crate::Policy| CacheSummary {
            size_bytes: geometry.size(),
            ways: geometry.ways(),
            sets: geometry.sets(),
            line_bytes: geometry.line(),
            policy: policy.name(),
        };
        Model {
            l1: options.l1.map(|l1| cache(l1, options.l1_policy)),
            l1i: options.fetch.then(|| cache(options.l1i, options.l1_policy)),
            llc: cache(options.llc, options.llc_policy),
            llc_shared: options.llc_shared,
            prefetch: options.prefetch,
            inclusive: options.inclusive,
            page_bytes: options.page,
            colors: options.llc.colors(options.page),
            clock_mhz: clock.mhz,
            l1_hit_cycles: clock.cycles(options.l1_hit),
            llc_hit_cycles: clock.cycles(options.llc_hit),
            memory_cycles: clock.cycles(options.memory),
            bus_cycles: clock.cycles(options.bus),
            quantum_cycles: clock.cycles(options.quantum),
            time: options.time.name(),
            bin_ns: clock.nanoseconds(clock.cycles(options.bin)),
            start: options.start.name(),
        }
    }
}

fn evictions(owners: &Owners, found: &[Eviction]) -> Evictions {
    let suffered = Suffered::of_all(owners, found);
    let owners: Vec<String> = owners.iter().map(|owner| owners.name(owner).into()).collect();
    let empty = vec![vec![0; owners.len()]; owners.len()];
    let (mut by_accessor, mut by_line) = (empty.clone(), empty);
    let (mut total, mut cross_by_accessor, mut cross_by_line) = (0, 0, 0);
    for eviction in found {
        let evicted = eviction.evicted.index();
        by_accessor[eviction.accessor.index()][evicted] += eviction.count;
        by_line[eviction.incoming.index()][evicted] += eviction.count;
        total += eviction.count;
        if eviction.accessor != eviction.evicted {
            cross_by_accessor += eviction.count;
        }
        if eviction.incoming != eviction.evicted {
            cross_by_line += eviction.count;
        }
    }
    Evictions { total, cross_by_accessor, cross_by_line, suffered, owners, by_accessor, by_line }
}
