//! Counts whose accesses evict whose cache lines in the host: QEMU with the plugin cachescope.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use linux_guest::file;
use report::text::table;
use serde::{Deserialize, Serialize};
use system::description::System;
use units::Bytes;

use crate::workspace::Workspace;

/// Environment variable that names another plugin than the one that was built, as for `bulkhead run`.
const PLUGIN_VARIABLE: &str = "BULKHEAD_CACHESCOPE";
const PLUGIN: &str = "cachescope/target/release/libbulkhead_cachescope.so";
/// The counts that the plugin writes at the end, and their format.
const SUMMARY: &str = "summary.json";
const FORMAT: &str = "bulkhead-cachescope-summary-v1";
/// The owner of all memory that no VM has, and how people read it.
const REST: &str = "unowned";
const REST_SHOWN: &str = "Linux and the rest";
/// The plugin's owner that a host does not have.
const HYPERVISOR: &str = "hypervisor";
/// The option of `bulkhead run` with which it tells the plugin the frames of VMs.
pub const TELL: &str = "--tell-frames";

/// Options of the command about caches.
#[derive(Args, Clone, Debug, Default)]
pub struct CacheOptions {
    /// Count which VM evicts whose cache lines, and what Linux evicts, into this folder (needs `make cachescope`).
    #[arg(long, value_name = "DIR")]
    pub cachescope: Option<PathBuf>,
    /// Pass an option to cachescope, such as llc=2MiB:16; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", requires = "cachescope")]
    pub cachescope_option: Vec<String>,
}

/// The counts of one owner of memory.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Owner {
    name: String,
    accesses: u64,
    l1_misses: u64,
    fetches: u64,
    llc_misses: u64,
}

#[derive(Deserialize)]
struct Matrix {
    owners: Vec<String>,
    /// Rows are the owners of new lines, columns those of evicted lines.
    by_line: Vec<Vec<u64>>,
}

#[derive(Deserialize)]
struct Cache {
    size_bytes: u64,
    ways: u32,
}

#[derive(Deserialize)]
struct Model {
    llc: Cache,
}

#[derive(Deserialize)]
struct Summary {
    format: String,
    started: bool,
    model: Model,
    owners: Vec<Owner>,
    evictions: Matrix,
}

/// Evictions from the last-level cache of lines of one owner by lines of one owner.
#[derive(Clone, Debug, Serialize)]
struct Eviction {
    came: String,
    went: String,
    evictions: u64,
}

/// The counts of a run, as `--json` shows them: with the keys of `bulkhead run`.
#[derive(Clone, Debug, Serialize)]
pub struct Counts {
    folder: String,
    llc_bytes: u64,
    llc_ways: u32,
    /// Lines of a VM by lines of another VM.
    cross_vm_evictions: u64,
    /// Lines of VMs by lines that no VM has.
    vm_evictions_by_rest: u64,
    owners: Vec<Owner>,
    evictions: Vec<Eviction>,
}

impl CacheOptions {
    /// Returns the arguments for QEMU. Counts of an earlier run are removed from the folder.
    pub fn arguments(&self, workspace: &Workspace, system: &System) -> Result<Vec<String>> {
        let Some(folder) = &self.cachescope else { return Ok(Vec::new()) };
        let named = std::env::var_os(PLUGIN_VARIABLE).filter(|path| !path.is_empty());
        let plugin = named.map_or_else(|| workspace.root().join(PLUGIN), PathBuf::from);
        let plugin = plugin.canonicalize().with_context(|| {
            format!(
                "the plugin cachescope is missing: {}: `make cachescope` makes it",
                plugin.display()
            )
        })?;
        let prepare = || -> io::Result<PathBuf> {
            fs::create_dir_all(folder)?;
            match fs::remove_file(folder.join(SUMMARY)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => folder.canonicalize(),
            }
        };
        let out = prepare().with_context(|| format!("cannot write into {}", folder.display()))?;
        let mut words = vec![shown(&plugin), format!("out={}", shown(&out))];
        words.push(self.last_level(system)?);
        for vm in &system.vms {
            let name = &vm.name.value;
            ensure!(
                ![HYPERVISOR, REST].contains(&name.as_str()),
                "cachescope cannot tell the VM `{name}` from what it calls {name} itself: give the VM another name"
            );
            words.push(format!("vm={name}"));
        }
        for option in &self.cachescope_option {
            match option.split_once('=') {
                Some(("out" | "vm" | "ranges" | "cpu" | "start", _)) | None => bail!(
                    "--cachescope-option {option}: expected an option that `--cachescope DIR` does not set itself, `=` and its value"
                ),
                Some(_) => words.push(option.replace(',', ",,")),
            }
        }
        Ok(vec!["-plugin".into(), words.join(",")])
    }

    /// The last-level cache of the platform, as an option.
    fn last_level(&self, system: &System) -> Result<String> {
        let platform = &system.platform.value;
        let Some(llc) = platform.last_level_cache().map(|cache| cache.shape) else {
            ensure!(
                self.cachescope_option.iter().any(|it| it.starts_with("llc=")),
                "the platform `{}` states no cache that CPUs share: give it a `[[platform.cache]]`, or --cachescope-option llc=SIZE:WAYS",
                platform.name
            );
            return Ok("line=64".into());
        };
        Ok(format!("llc={}:{},line={}", llc.bytes(), llc.ways(), llc.line_bytes()))
    }

    /// Reads the counts of a run that is over, if they were wanted.
    pub fn counts(&self) -> Result<Option<Counts>> {
        let Some(folder) = &self.cachescope else { return Ok(None) };
        let path = folder.join(SUMMARY);
        ensure!(path.exists(), "cachescope has no counts: it writes them when QEMU ends by itself");
        let read = Counts::read(&file::read(&path)?, folder);
        read.map(Some).with_context(|| path.display().to_string())
    }
}

/// A path in an argument of QEMU, where a comma would end it.
fn shown(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

impl Counts {
    fn read(summary: &[u8], folder: &Path) -> Result<Self> {
        let summary: Summary = serde_json::from_slice(summary)?;
        ensure!(
            summary.format == FORMAT,
            "its format is `{}`, expected `{FORMAT}`",
            summary.format
        );
        ensure!(
            summary.started,
            "it has counted nothing: `bulkhead run` did not tell the frames of VMs"
        );
        let is_there = |name: &str| name != HYPERVISOR;
        let is_vm = |name: &str| is_there(name) && name != REST;
        let Matrix { owners: names, by_line } = summary.evictions;
        let mut evictions = Vec::new();
        for (came, row) in names.iter().zip(by_line).filter(|(came, _)| is_there(came)) {
            for (went, evictions_of) in names.iter().zip(row).filter(|(went, _)| is_there(went)) {
                let (came, went) = (came.clone(), went.clone());
                evictions.push(Eviction { came, went, evictions: evictions_of });
            }
        }
        let sum = |kind: &dyn Fn(&Eviction) -> bool| -> u64 {
            evictions.iter().filter(|it| kind(it)).map(|it| it.evictions).sum()
        };
        Ok(Self {
            folder: folder.display().to_string(),
            llc_bytes: summary.model.llc.size_bytes,
            llc_ways: summary.model.llc.ways,
            cross_vm_evictions: sum(&|it| is_vm(&it.came) && is_vm(&it.went) && it.came != it.went),
            vm_evictions_by_rest: sum(&|it| it.came == REST && is_vm(&it.went)),
            owners: summary.owners.into_iter().filter(|it| is_there(&it.name)).collect(),
            evictions,
        })
    }

    /// The counts for people.
    pub fn text(&self) -> String {
        let name = |name: &str| if name == REST { REST_SHOWN.into() } else { name.to_owned() };
        let rows: Vec<Vec<String>> = self
            .owners
            .iter()
            .map(|it| {
                let counts = [it.accesses, it.l1_misses, it.fetches, it.llc_misses];
                std::iter::once(name(&it.name)).chain(counts.map(|it| it.to_string())).collect()
            })
            .collect();
        let heading = ["memory of", ">accesses", ">L1 misses", ">fetches", ">LLC misses"];
        let mut text = table(&heading, &rows);
        let titles: Vec<String> =
            self.owners.iter().map(|it| format!(">of {}", name(&it.name))).collect();
        let heading: Vec<&str> =
            std::iter::once("evictions").chain(titles.iter().map(String::as_str)).collect();
        let mut by: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for it in &self.evictions {
            by.entry(&it.came).or_default().push(it.evictions.to_string());
        }
        let row = |it: &Owner| {
            let counts = by.get(it.name.as_str()).into_iter().flatten().cloned();
            std::iter::once(format!("by {}", name(&it.name))).chain(counts).collect()
        };
        let rows: Vec<Vec<String>> = self.owners.iter().map(row).collect();
        let (evictions, llc) = (table(&heading, &rows), Bytes(self.llc_bytes));
        // A string takes text.
        let _ = write!(
            text,
            "\n{evictions}\nlast-level cache: {llc} in {} ways; all counts: {}\n\
             Linux, KVM and `bulkhead` evicted {} lines of VMs\ncross-VM evictions: {}\n",
            self.llc_ways, self.folder, self.vm_evictions_by_rest, self.cross_vm_evictions
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = include_str!("../../../crates/lab/tests/data/summary.json");

    #[test]
    fn evictions_between_vms_are_told_from_those_of_the_rest() {
        let summary = SUMMARY.replace("\"l1_misses\"", "\"fetches\": 7, \"l1_misses\"");
        let counts = Counts::read(summary.as_bytes(), Path::new("scope")).expect("a summary");
        assert_eq!((counts.cross_vm_evictions, counts.vm_evictions_by_rest), (15, 0));
        let text = counts.text();
        assert!(text.contains("by a") && !text.contains(HYPERVISOR), "{text}");
        assert!(text.ends_with("cross-VM evictions: 15\n"), "{text}");
        let none = summary.replace("\"started\": true", "\"started\": false");
        let none = none.replace("\"started\":true", "\"started\":false");
        let refused = Counts::read(none.as_bytes(), Path::new("scope")).expect_err("no counts");
        assert!(refused.to_string().contains("did not tell"), "{refused}");
    }
}
