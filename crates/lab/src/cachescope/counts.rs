//! The counts of cachescope.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ranges::HYPERVISOR;

/// The format of the summary that is understood.
const FORMAT: &str = "bulkhead-cachescope-summary-v1";

/// The shown parts of the plugin's summary.
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

/// The counts of one owner of memory.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Owner {
    /// Name of the owner.
    pub name: String,
    /// Accesses of the owner.
    pub accesses: u64,
    /// Accesses that missed the first-level cache.
    pub l1_misses: u64,
    /// Accesses that missed the last-level cache, too.
    pub llc_misses: u64,
}

/// Rows are the owners of new lines, columns the owners of evicted lines.
#[derive(Debug, Deserialize)]
struct Evictions {
    suffered: Vec<Suffered>,
    owners: Vec<String>,
    by_line: Vec<Vec<u64>>,
}

/// Evictions of lines of one owner, each by one of these.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Suffered {
    /// The owner.
    pub owner: String,
    /// Its own line came, as it wanted.
    by_itself: u64,
    /// Its own line came, as the hypervisor wanted.
    by_hypervisor_for_it: u64,
    /// A line of the hypervisor came.
    by_hypervisor: u64,
    /// A line of another VM came, or one of its own as another VM wanted.
    by_other_vms: u64,
    /// Evictions by lines that no VM owns.
    by_unowned: u64,
}

impl Suffered {
    /// Returns all counts, in the order of the fields.
    pub fn counts(&self) -> [u64; 5] {
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
    /// Owner of the new line.
    pub came: String,
    /// Owner of the evicted line.
    pub went: String,
    /// Number of evictions.
    pub evictions: u64,
}

/// The counts of a run. As `--json` shows them: evictions are from the
/// last-level cache, and named after the owners of both lines.
#[derive(Clone, Debug, Serialize)]
pub struct Counts {
    /// The folder with all counts.
    pub folder: String,
    /// Size of the last-level cache.
    pub llc_bytes: u64,
    /// Number of ways.
    pub llc_ways: u32,
    /// Lines of a VM by lines of another VM.
    pub cross_vm_evictions: u64,
    /// Lines of VMs by lines of the hypervisor.
    pub vm_evictions_by_hypervisor: u64,
    /// Lines of the hypervisor by lines of VMs.
    pub hypervisor_evictions_by_vms: u64,
    /// The VMs, the hypervisor, and other owners of memory.
    pub owners: Vec<Owner>,
    /// Each pair of owners.
    pub evictions: Vec<Eviction>,
    /// Evictions of each owner's lines, by cause.
    pub suffered: Vec<Suffered>,
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = include_str!("../../tests/data/summary.json");

    fn read(summary: &str) -> Result<Counts, String> {
        Counts::read(summary.as_bytes(), &["a".into(), "b".into()], Path::new("scope"))
    }

    #[test]
    fn evictions_between_vms_are_told_from_those_of_the_hypervisor() {
        let counts = read(SUMMARY).expect("a summary");
        assert_eq!(counts.cross_vm_evictions, 15);
        assert_eq!(counts.vm_evictions_by_hypervisor, 5);
        assert_eq!(counts.hypervisor_evictions_by_vms, 50);
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
