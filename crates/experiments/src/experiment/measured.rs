//! Measurements.

use serde::Deserialize;
use sweep::{allocation, locks};

use super::chains::{Bound, Offsets, Taken};
use super::moment::Moment;
use super::peer::Peer;
use crate::bench::Tool;
use crate::job::Statistic;
use crate::promised::Promised;
use crate::traffic::{Allowed, Traffic};

/// A measurement.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The execution time of a task's jobs.
    Jobs(Jobs),
    /// Evictions from the last-level cache until this VM has ended.
    Evictions(Evictions),
    /// A number that a guest prints.
    Console(Console),
    /// EL2 instructions: the longest of this row of `cargo xtask bench-exits`.
    Instructions(String),
    /// Instructions of the emulated x86 host: the median of this row of `cargo xtask bench-host-x86`.
    HostInstructions(String),
    /// The need of VMs if random task sets are allocated by this scheme.
    Utilization(allocation::Scheme),
    /// The percentage by which one scheme needs more than another.
    Excess(Excess),
    /// The share of random task sets that meet their deadlines, in percent.
    Schedulable(locks::Scheme),
    /// The share of random systems for which this method has a plan, in percent.
    Planned(Peer),
    /// The processor time in which this method plans a random system, in milliseconds: the mean.
    PlanningTime(Peer),
    /// The percentage by which the bound of random chains is below that of Davare et al.
    Reduction(Taken),
    /// The bound of random chains, in milliseconds.
    Length(Taken),
    /// The bound of the `[[chain]]` that has the name of the place.
    Chain(Bound),
    /// The reduced data age of that chain by an analysis that knows offsets.
    JobByJob(Offsets),
    /// Accesses to memory over time.
    Traffic(Traffic),
    /// The most accesses that a budget allows.
    Allowed(Allowed),
    /// A time of a task that the analysis of the system promises.
    Promised(Promised),
    /// A time of a task, simulated or executed.
    Moment(Moment),
}

impl Measure {
    /// Returns the tool that counts instructions, and the row that is meant, if one is.
    pub fn row(&self) -> Option<(Tool, &str)> {
        match self {
            Self::Instructions(row) => Some((Tool::Exits, row)),
            Self::HostInstructions(row) => Some((Tool::HostX86, row)),
            _ => None,
        }
    }

    /// Returns true if a system is booted for it.
    pub fn boots(&self) -> bool {
        match self {
            Self::Moment(moment) => moment.boots(),
            Self::Instructions(_)
            | Self::HostInstructions(_)
            | Self::Utilization(_)
            | Self::Excess(_)
            | Self::Schedulable(_)
            | Self::Planned(_)
            | Self::PlanningTime(_)
            | Self::Reduction(_)
            | Self::Length(_)
            | Self::Chain(_)
            | Self::JobByJob(_)
            | Self::Allowed(_)
            | Self::Promised(_) => false,
            Self::Jobs(_) | Self::Evictions(_) | Self::Console(_) | Self::Traffic(_) => true,
        }
    }
}

impl Measure {
    /// Returns true if it can be measured in several boots, of which the median counts.
    pub fn repeats(&self) -> bool {
        matches!(self, Self::Jobs(_) | Self::Evictions(_) | Self::Console(_) | Self::Traffic(_))
    }
}

/// The execution time of a task's jobs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jobs {
    /// The VM of the task.
    pub vm: String,
    /// The boot ends when this VM has ended; default: that of the task.
    pub until: Option<String>,
    /// The number of the task in its marks; `{x}` in it is the place.
    pub task: String,
    /// The job that counts.
    pub take: Statistic,
    /// Number of jobs of each place of `x`, if one boot measures all places, one after the other;
    /// default: all jobs of a boot belong to one place.
    pub each: Option<u64>,
    /// Number of jobs that are left out at the beginning; default: none.
    #[serde(default)]
    pub skip: u64,
    /// Leaves out jobs that others interrupted: those with more than twice as
    /// many instructions as the shortest.
    #[serde(default)]
    pub undisturbed: bool,
    /// Only the time that the CPU did not spend in the address spaces of other tasks.
    #[serde(default)]
    pub own: bool,
}

/// A number that a guest prints as `key=number`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Console {
    /// The VM of the guest. The boot ends when this VM has ended.
    pub vm: String,
    /// The key, in which `{x}` is the place; its first number counts.
    pub key: String,
    /// Only what is printed after the first of this text counts.
    pub after: Option<String>,
}

/// Evictions from the last-level cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evictions {
    /// The boot ends when this VM has ended.
    pub until: String,
    /// The evictions that count.
    pub count: Counted,
}

/// Evictions by the owners of the two lines.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Lines of a VM by lines of another VM.
    AcrossVms,
    /// Lines of VMs by lines of the hypervisor.
    ByHypervisor,
    /// Lines of the hypervisor by lines of VMs.
    OfHypervisor,
}

/// The percentage by which one scheme needs more than another, for the task sets that both allocate.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Excess {
    /// The one that needs more.
    pub scheme: allocation::Scheme,
    /// The other one.
    pub of: allocation::Scheme,
    /// The task set that counts.
    pub take: Statistic,
}
