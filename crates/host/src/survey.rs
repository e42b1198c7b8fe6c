//! The parts that a host lacks to run VMs under KVM, and to run them with times that can be trusted.
//!
//! Everything is read from files, below a folder that is `/` on the host itself, and nothing is changed.

mod cache;
mod colors;
mod cpus;
mod files;
mod kernel;
mod limits;
mod rights;
mod ways;

use std::path::Path;

pub(crate) use cache::id_of_last_level as cache_id;
pub use cache::{HostCache, last_level_cache};
pub(crate) use files::{Files, list};
use serde::Serialize;

/// The folder of Linux' files for parts of caches and of memory bandwidth.
pub(crate) const RESCTRL: &str = "sys/fs/resctrl";

/// Something that the host lacks.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Lack {
    /// A stable name.
    pub name: &'static str,
    /// Its effect.
    pub effect: Effect,
    /// The finding in a sentence.
    pub found: String,
    /// The remedy.
    pub help: String,
}

/// The effect of a lack.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// No VM runs.
    Prevents,
    /// VMs with colours do not run.
    PreventsColors,
    /// VMs with limits of memory accesses do not run.
    PreventsLimits,
    /// VMs with ways of the last-level cache, or with a percentage of the memory bandwidth, do not run.
    PreventsWays,
    /// VMs run, and may have to wait for longer.
    Delays,
    /// VMs with colours run, and may lose their frames, or share more than the colours say.
    WeakensColors,
}

impl Effect {
    /// Returns the word for tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prevents => "prevents runs",
            Self::PreventsColors => "prevents colours",
            Self::PreventsLimits => "prevents limits",
            Self::PreventsWays => "prevents ways",
            Self::Delays => "delays VMs",
            Self::WeakensColors => "weakens colours",
        }
    }
}

/// Returns all that the host lacks, what prevents runs first. `root`: `/`, or a folder with files of such a host. `cpus`: the
/// numbers of the CPUs with VCPUs, if they are known.
pub fn survey(root: &Path, cpus: &[usize]) -> Vec<Lack> {
    let files = Files::new(root);
    let checks = [rights::CHECKS, cpus::CHECKS, kernel::CHECKS];
    let checks = checks.into_iter().chain([colors::CHECKS, limits::CHECKS, ways::CHECKS]);
    let mut lacks: Vec<Lack> = checks.flatten().filter_map(|check| check(&files, cpus)).collect();
    lacks.sort_by_key(|lack| lack.effect);
    lacks
}

/// Looks for one thing that the host lacks to run VCPUs on CPUs with these numbers.
type Check = fn(&Files, &[usize]) -> Option<Lack>;

/// Returns a lack.
fn lack(
    name: &'static str,
    effect: Effect,
    found: impl Into<String>,
    help: impl Into<String>,
) -> Option<Lack> {
    Some(Lack { name, effect, found: found.into(), help: help.into() })
}
