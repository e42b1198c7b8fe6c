//! Times at which a described task does something, as measurements and in time lines.

use serde::Deserialize;

/// The place of the mean of all tasks.
pub const MEAN: &str = "mean";

/// The window of the time lines of an experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its length.
    pub length_ms: u64,
    /// Its start in executions, from the start of the first period of all servers. Simulations
    /// begin with it.
    pub start_ms: u64,
}

/// A time of a task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// The name of the task, in which `{x}` is the place; `mean`: all tasks.
    pub task: String,
    /// The source of the time.
    pub how: How,
    /// The kind of time; default: the response time.
    #[serde(default)]
    pub of: Of,
}

/// The source of a time.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// A simulation of the description, with the overheads of the platform.
    Simulated,
    /// A boot.
    Executed,
    /// A simulation in which jobs take as long as in that boot, with all that is done for them, and
    /// VCPUs do what else they did.
    Replayed,
}

/// A kind of time.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The time from the release of the first job to its end.
    #[default]
    Response,
    /// The time at which the task gets its first resource, in the window.
    Gets,
    /// The time at which it releases that resource.
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
