//! An experiment: `experiment.toml` and `published.toml` in a folder of its own.

mod chains;
mod check;
mod figure;
mod measured;
mod moment;
mod peer;
mod sets;

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use lab::Failure;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::changes::Change;
use crate::claim::Claim;
use crate::points::Points;
use crate::values::{DivideBy, Values};
use crate::variant::Variant;

pub use chains::{Bound, Given, Offsets, Quantile, Stage, Taken};
pub use figure::Figure;
pub use measured::{Console, Counted, Evictions, Excess, Jobs, Measure};
pub use moment::{How, MEAN, Moment, Of, Window};
pub use peer::Peer;
pub use sets::{Allocation, Chains, Locks, Peers, Tasks, Vary};

/// The file with the runs and measurements.
const EXPERIMENT: &str = "experiment.toml";
/// The file with the publications of others about it.
const PUBLISHED: &str = "published.toml";

/// An experiment and the publications about it.
#[derive(Debug)]
pub struct Experiment {
    /// Name of its folder.
    pub name: String,
    /// Its folder: paths of systems start there.
    pub folder: PathBuf,
    /// The runs and measurements.
    pub plan: Plan,
    /// The publications of others.
    pub published: Published,
}

/// The runs and measurements of an experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The content of the figure, in a line.
    pub title: String,
    /// The place of publication: paper, section, figure.
    pub source: String,
    /// The description of the experiment, in Markdown.
    pub about: String,
    /// The reason why figures differ from the published ones, in Markdown.
    pub differences: String,
    /// The form of the figure; none: a table only.
    pub plot: Option<Plot>,
    /// Several figures over numbers; default: one of all series, `plot.svg`.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Figure>,
    /// The places of the values: label of the first column and of the axis.
    pub x: String,
    /// The quantity of the values, with their unit.
    pub y: String,
    /// Decimals of the values in the table; default: those that suit their kind.
    pub decimals: Option<usize>,
    /// The divisor of values before they are shown and judged.
    pub divide_by: Option<DivideBy>,
    /// Boots without cachescope: only what guests print can be measured.
    #[serde(default)]
    pub plain: bool,
    /// Options of cachescope.
    #[serde(default)]
    pub cachescope: BTreeMap<String, String>,
    /// Seconds after which a boot has failed.
    #[serde(default = "default_timeout")]
    pub timeout_s: u64,
    /// The task sets of an experiment that allocates some.
    pub allocation: Option<Allocation>,
    /// The task sets of an experiment about locks.
    pub locks: Option<Locks>,
    /// The systems of an experiment that plans some by several methods.
    pub peers: Option<Peers>,
    /// The task sets of an experiment about random chains.
    pub chains: Option<Chains>,
    /// Chains whose bounds are measured.
    #[serde(default, rename = "chain")]
    pub given: Vec<Given>,
    /// The window of time lines; none: there are none.
    pub timelines: Option<Window>,
    /// Means that are compared.
    #[serde(default, rename = "change")]
    pub changes: Vec<Change>,
    /// The measurements.
    #[serde(rename = "run")]
    pub runs: Vec<Runs>,
}

/// The form of a figure.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plot {
    /// Lines over numbers.
    Lines,
    /// Groups of bars over names.
    Bars,
}

/// Measurements of one series that differ in x alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// The series that the values belong to; several runs may have one.
    pub series: String,
    /// The places.
    pub x: Points,
    /// The places with `--quick`, or none (`[]`); default: all.
    pub quick: Option<Points>,
    /// The description of the system; none for measurements without a boot.
    pub system: Option<PathBuf>,
    /// The differences from the description.
    #[serde(default)]
    pub variant: Variant,
    /// Text that is appended to the command lines of VMs; `{x}` in it is the place, `{placement}` the number of the
    /// placement.
    #[serde(default)]
    pub append: BTreeMap<String, String>,
    /// The number of placements: boots of the same system in which the guest gets other frames. Default: one boot.
    #[serde(default = "one")]
    pub placements: NonZeroU64,
    /// Options of cachescope in place of those of the experiment.
    #[serde(default)]
    pub cachescope: BTreeMap<String, String>,
    /// The measurement.
    pub measure: Measure,
}

impl Plan {
    /// The places that are names of tasks: of response times, but for their mean.
    pub fn tasks(&self) -> Vec<String> {
        let mut tasks = Vec::new();
        for runs in &self.runs {
            if matches!(&runs.measure, Measure::Moment(it) if it.task == "{x}") {
                tasks.extend(runs.x.0.iter().filter(|x| *x != MEAN).cloned());
            }
        }
        tasks.sort();
        tasks.dedup();
        tasks
    }
}

impl Runs {
    /// The places of the values.
    pub fn places(&self, quick: bool) -> &[String] {
        match &self.quick {
            Some(few) if quick => &few.0,
            _ => &self.x.0,
        }
    }

    /// The numbers of the placements, from 1.
    pub fn placements(&self, quick: bool) -> RangeInclusive<u64> {
        1..=if quick { 1 } else { self.placements.get() }
    }

    /// The jobs that belong to a place, counted from 0 in the order of their ends.
    pub fn numbers(&self, jobs: &Jobs, x: &str) -> std::ops::Range<u64> {
        match (jobs.each, self.x.0.iter().position(|it| it == x)) {
            (Some(each), Some(at)) => at as u64 * each..(at as u64 + 1) * each,
            _ => jobs.skip..u64::MAX,
        }
    }
}

/// The publications of others about an experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The claims that can be compared with our values.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
    /// Published values that stand beside ours in the table.
    #[serde(default, rename = "value")]
    pub values: Vec<Value>,
}

impl Published {
    /// The headings of published values.
    pub fn columns(&self) -> Vec<&str> {
        self.values.iter().map(|value| value.column.as_str()).collect()
    }

    /// Values with the published numbers that a statement names beside them.
    pub fn beside(&self, values: &Values, claim: &Claim) -> Values {
        let mut values = values.clone();
        let named = |it: &&Value| claim.series().any(|name| name == it.column);
        for published in self.values.iter().filter(named) {
            let Ok(number) = published.value.parse() else { continue };
            let (series, x) = (published.column.clone(), published.x.clone());
            values.all.push(crate::values::Value::new(series, x, number, None));
        }
        values
    }
}

/// A published value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// The place, as in our runs.
    pub x: String,
    /// Heading of its column.
    pub column: String,
    /// The value with its unit.
    pub value: String,
}

fn one() -> NonZeroU64 {
    NonZeroU64::MIN
}

fn default_timeout() -> u64 {
    300
}

impl Experiment {
    /// Reads the experiment in a folder.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let plan: Plan = read(&folder.join(EXPERIMENT))?;
        let published = read(&folder.join(PUBLISHED))?;
        let experiment = Self { name, folder: folder.to_owned(), plan, published };
        experiment.check()?;
        Ok(experiment)
    }

    /// The title of the experiment in a folder, if there is one.
    pub fn title(folder: &Path) -> Option<String> {
        #[derive(Deserialize)]
        struct Title {
            title: String,
        }
        let text = fs::read_to_string(folder.join(EXPERIMENT)).ok()?;
        Some(toml::from_str::<Title>(&text).ok()?.title)
    }
}

/// Reads a file of an experiment.
pub fn read<T: DeserializeOwned>(file: &Path) -> Result<T, Failure> {
    let text = fs::read_to_string(file).map_err(|error| {
        Failure::file("cannot-read", format!("cannot read {}: {error}", file.display()))
    })?;
    toml::from_str(&text).map_err(|error| {
        Failure::new("experiment", format!("{}: {}", file.display(), error.to_string().trim_end()))
    })
}
