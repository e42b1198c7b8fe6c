//! What cachescope has counted, for people and for machines.

use std::path::Path;

use bulkhead_system::units::Bytes;
use serde::{Deserialize, Serialize};

use super::ranges::HYPERVISOR;
use crate::table::table;

/// The format of the summary that is understood.
const FORMAT: &str = "bulkhead-cachescope-summary-v1";

/// The plugin's summary, as far as it is shown.
#[derive(Debug, Deserialize)]
struct Scope {
    format: String,
    started: bool,
    model: Model,
    owners: Vec<Owner>,
    evictions: Evictions,
}

#[derive(Debug, Deserialize)]
struct Model {
    llc: Llc,
}

#[derive(Debug, Deserialize)]
struct Llc {
    size_bytes: u64,
    ways: u32,
}

/// What one owner of memory did.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Owner {
    /// Its name.
    pub name: String,
    accesses: u64,
    l1_misses: u64,
    llc_misses: u64,
}

/// Row: whose line came; column: whose line went.
#[derive(Debug, Deserialize)]
struct Evictions {
    suffered: Vec<Suffered>,
    owners: Vec<String>,
    by_line: Vec<Vec<u64>>,
}

/// Evictions of lines of one owner, each by one of these.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Suffered {
    owner: String,
    /// Its own line came, as it wanted.
    by_itself: u64,
    /// Its own line came, as the hypervisor wanted.
    by_hypervisor_for_it: u64,
    /// A line of the hypervisor came.
    by_hypervisor: u64,
    /// A line of another VM came, or one of its own as another VM wanted.
    by_other_vms: u64,
    /// A line came that nobody owns.
    by_unowned: u64,
}

impl Suffered {
    fn counts(&self) -> [u64; 5] {
        [
            self.by_itself,
            self.by_hypervisor_for_it,
            self.by_hypervisor,
            self.by_other_vms,
            self.by_unowned,
        ]
    }
}

/// Evictions of lines of one owner by lines of one owner.
#[derive(Clone, Debug, Serialize)]
pub struct Eviction {
    /// Whose line came.
    pub came: String,
    /// Whose line went.
    pub went: String,
    /// How often.
    pub evictions: u64,
}

/// The counts of a run. As `--json` shows them: evictions are from the
/// last-level cache, and named after the owners of both lines.
#[derive(Clone, Debug, Serialize)]
pub struct Counts {
    folder: String,
    /// Size of the last-level cache.
    pub llc_bytes: u64,
    /// Its ways.
    pub llc_ways: u32,
    /// Lines of a VM by lines of another VM.
    pub cross_vm_evictions: u64,
    /// Lines of VMs by lines of the hypervisor.
    pub vm_evictions_by_hypervisor: u64,
    /// Lines of the hypervisor by lines of VMs.
    pub hypervisor_evictions_by_vms: u64,
    /// The VMs, the hypervisor, and who else has memory.
    pub owners: Vec<Owner>,
    /// Each pair of owners.
    pub evictions: Vec<Eviction>,
    /// Of whose lines, and why.
    suffered: Vec<Suffered>,
}

impl Counts {
    /// Reads the plugin's summary. `vms` are the names of the VMs.
    pub fn read(summary: &[u8], vms: &[String], folder: &Path) -> Result<Self, String> {
        let scope: Scope = serde_json::from_slice(summary).map_err(|error| error.to_string())?;
        if scope.format != FORMAT {
            return Err(format!("its format is `{}`, expected `{FORMAT}`", scope.format));
        }
        if !scope.started {
            return Err("it has counted nothing: no VM has started, or QEMU was killed".into());
        }
        let names = &scope.evictions.owners;
        let mut evictions = Vec::new();
        for (came, row) in names.iter().zip(scope.evictions.by_line) {
            for (went, count) in names.iter().zip(row) {
                let (came, went) = (came.clone(), went.clone());
                evictions.push(Eviction { came, went, evictions: count });
            }
        }
        let count = |kind: &dyn Fn(&Eviction) -> bool| -> u64 {
            evictions.iter().filter(|it| kind(it)).map(|it| it.evictions).sum()
        };
        let is_vm = |name: &String| vms.contains(name);
        Ok(Self {
            folder: folder.display().to_string(),
            llc_bytes: scope.model.llc.size_bytes,
            llc_ways: scope.model.llc.ways,
            cross_vm_evictions: count(&|it| {
                is_vm(&it.came) && is_vm(&it.went) && it.came != it.went
            }),
            vm_evictions_by_hypervisor: count(&|it| it.came == HYPERVISOR && is_vm(&it.went)),
            hypervisor_evictions_by_vms: count(&|it| is_vm(&it.came) && it.went == HYPERVISOR),
            owners: scope.owners,
            evictions,
            suffered: scope.evictions.suffered,
        })
    }

    /// The counts for people. Who did nothing is left out.
    pub fn text(&self) -> String {
        let took_part = |owner: &&Owner| {
            let it = self.suffered.iter().find(|it| it.owner == owner.name);
            owner.accesses > 0 || it.is_some_and(|it| it.counts() != [0; 5])
        };
        let owners: Vec<&Owner> = self.owners.iter().filter(took_part).collect();
        let rows: Vec<_> = owners
            .iter()
            .map(|owner| {
                let figures = [owner.accesses, owner.l1_misses, owner.llc_misses];
                let figures = figures.iter().map(u64::to_string);
                std::iter::once(owner.name.clone()).chain(figures).collect()
            })
            .collect();
        let accesses = table(&["owner", ">accesses", ">L1 misses", ">LLC misses"], &rows);

        let titles: Vec<String> =
            owners.iter().map(|owner| format!(">of {}", owner.name)).collect();
        let heading: Vec<&str> =
            std::iter::once("evictions").chain(titles.iter().map(String::as_str)).collect();
        let evicted = |came: &str, went: &str| {
            let it = self.evictions.iter().find(|it| it.came == came && it.went == went);
            it.map_or(0, |it| it.evictions)
        };
        let rows: Vec<_> = owners
            .iter()
            .map(|came| {
                let counts = owners.iter().map(|went| evicted(&came.name, &went.name).to_string());
                std::iter::once(format!("by {}", came.name)).chain(counts).collect()
            })
            .collect();
        let evictions = table(&heading, &rows);

        let suffered = self.suffered.iter().filter(|it| it.counts() != [0; 5]);
        let rows: Vec<_> = suffered
            .map(|it| {
                let counts = it.counts();
                std::iter::once(it.owner.clone()).chain(counts.iter().map(u64::to_string)).collect()
            })
            .collect();
        let heading = [
            "evicted lines of",
            ">by itself",
            ">by hypervisor for it",
            ">by hypervisor",
            ">by other VMs",
            ">by unowned lines",
        ];
        format!(
            "{accesses}\n{evictions}\n{}\nlast-level cache: {} in {} ways; all counts: {}\n\
             hypervisor and VMs: it evicted {} of their lines, they evicted {} of its\n\
             cross-VM evictions: {}\n",
            table(&heading, &rows),
            Bytes(self.llc_bytes),
            self.llc_ways,
            self.folder,
            self.vm_evictions_by_hypervisor,
            self.hypervisor_evictions_by_vms,
            self.cross_vm_evictions,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = r#"{
        "format": "bulkhead-cachescope-summary-v1",
        "started": true,
        "model": { "llc": { "size_bytes": 1048576, "ways": 16 } },
        "owners": [
            { "name": "hypervisor", "accesses": 50, "l1_misses": 40, "llc_misses": 30 },
            { "name": "unowned", "accesses": 0, "l1_misses": 0, "llc_misses": 0 },
            { "name": "a", "accesses": 500, "l1_misses": 400, "llc_misses": 300 },
            { "name": "b", "accesses": 600, "l1_misses": 500, "llc_misses": 400 }
        ],
        "evictions": {
            "suffered": [
                { "owner": "hypervisor", "by_itself": 1, "by_hypervisor_for_it": 0, "by_hypervisor": 0, "by_other_vms": 50, "by_unowned": 0 },
                { "owner": "unowned", "by_itself": 0, "by_hypervisor_for_it": 0, "by_hypervisor": 0, "by_other_vms": 0, "by_unowned": 0 },
                { "owner": "a", "by_itself": 90, "by_hypervisor_for_it": 10, "by_hypervisor": 2, "by_other_vms": 8, "by_unowned": 0 },
                { "owner": "b", "by_itself": 200, "by_hypervisor_for_it": 0, "by_hypervisor": 3, "by_other_vms": 7, "by_unowned": 0 }
            ],
            "owners": ["hypervisor", "unowned", "a", "b"],
            "by_line": [[1, 0, 2, 3], [0, 0, 0, 0], [20, 0, 100, 7], [30, 0, 8, 200]]
        }
    }"#;

    fn read(summary: &str) -> Result<Counts, String> {
        Counts::read(summary.as_bytes(), &["a".into(), "b".into()], Path::new("scope"))
    }

    #[test]
    fn evictions_between_vms_are_told_from_those_of_the_hypervisor() {
        let counts = read(SUMMARY).expect("a summary");
        assert_eq!(counts.cross_vm_evictions, 15);
        assert_eq!(counts.vm_evictions_by_hypervisor, 5);
        assert_eq!(counts.hypervisor_evictions_by_vms, 50);
        assert_eq!(
            counts.text(),
            "\
owner       accesses  L1 misses  LLC misses
hypervisor        50         40          30
a                500        400         300
b                600        500         400

evictions      of hypervisor  of a  of b
by hypervisor              1     2     3
by a                      20   100     7
by b                      30     8   200

evicted lines of  by itself  by hypervisor for it  by hypervisor  by other VMs  by unowned lines
hypervisor                1                     0              0            50                 0
a                        90                    10              2             8                 0
b                       200                     0              3             7                 0

last-level cache: 1 MiB in 16 ways; all counts: scope
hypervisor and VMs: it evicted 5 of their lines, they evicted 50 of its
cross-VM evictions: 15
"
        );
    }

    #[test]
    fn other_formats_are_refused() {
        let error = read(&SUMMARY.replace("-v1", "-v2")).expect_err("another format");
        assert!(error.contains("summary-v2`, expected `"), "{error}");
        let error = read(&SUMMARY.replace("true", "false")).expect_err("no guest");
        assert!(error.contains("no VM has started"), "{error}");
        assert!(read("{}").expect_err("no summary").contains("missing field"));
    }
}
