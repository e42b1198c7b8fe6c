//! When a described task does something, as a measurement and in time lines.

use serde::Deserialize;

/// The place of the mean of all tasks.
pub const MEAN: &str = "mean";

/// What the time lines of an experiment show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its length.
    pub length_ms: u64,
    /// Where it begins in executions, from the start of the first period of all servers. Simulations
    /// begin with it.
    pub start_ms: u64,
}

/// A time of a task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// The name of the task, in which `{x}` is the place; `mean`: all tasks.
    pub task: String,
    /// Where it comes from.
    pub how: How,
    /// Which time; default: the response time.
    #[serde(default)]
    pub of: Of,
}

/// Where a time comes from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// From a simulation of what the description says, with the overheads of the platform.
    Simulated,
    /// From a boot.
    Executed,
    /// From a simulation in which jobs take as long as in that boot, with all that is done for them, and
    /// VCPUs do what else they did.
    Replayed,
}

/// Which time.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// From the release of the first job to its end.
    #[default]
    Response,
    /// When the task gets its first resource, in the window.
    Gets,
    /// When it releases it.
    Releases,
}

impl Moment {
    /// Returns true if the time needs a boot.
    pub fn boots(&self) -> bool {
        self.how != How::Simulated
    }

    /// Returns true if a time line shows the time.
    pub fn is_drawn(&self) -> bool {
        self.how != How::Replayed && self.of == Of::Response
    }
}
