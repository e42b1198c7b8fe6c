//! What was measured.

use serde::Serialize;

use super::coefficient::{Coefficient, Times, Verdict};
use super::machine::Machine;
use super::protection::Protection;
use super::worker::Run;

/// A measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The answer, over all contexts and tests.
    pub verdict: Verdict,
    /// I of a victim that is isolated is at most this.
    pub tolerance: f64,
    /// The machine.
    pub machine: Machine,
    /// What the processes did not get, and what could not be measured, once each.
    pub remarks: Vec<String>,
    /// Whether everything that was asked for was measured.
    pub complete: bool,
    /// Time that it took.
    pub seconds: f64,
    /// What was measured, in each context.
    pub contexts: Vec<ContextResult>,
}

/// What was measured in one context.
#[derive(Clone, Debug, Serialize)]
pub struct ContextResult {
    /// Its name.
    pub name: String,
    /// The command that starts victims there; without one they start here.
    pub command: Option<String>,
    /// The answer, over all its tests.
    pub verdict: Verdict,
    /// Its tests.
    pub tests: Vec<TestResult>,
}

/// What a victim was exposed to.
#[derive(Clone, Debug, Serialize)]
pub struct TestResult {
    /// Its name.
    pub name: String,
    /// What the victim does.
    pub workload: String,
    /// How often a run repeats it.
    pub repeats: u32,
    /// What the victim got.
    pub victim: Protection,
    /// What was measured; the first row compares the baseline with itself.
    pub rows: Vec<Row>,
}

/// A victim beside leeches.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What the leeches take.
    pub leech: String,
    /// How many there are.
    pub leeches: usize,
    /// Bytes of the buffer of each.
    pub size_bytes: Option<u64>,
    /// For how long each sleeps after a round.
    pub sleep_ms: u64,
    /// Where they run.
    pub leech_cpus: Vec<usize>,
    /// Time that a line takes from the victim's CPU to the first leech's, at the
    /// beginning and at the end of the row: equal, unless the host moved one of them.
    pub distance_ns: [Option<f64>; 2],
    /// Runs without leeches: C is their median.
    pub baseline: Times,
    /// Runs beside leeches: P is their median.
    pub loaded: Times,
    /// I and its interval.
    pub coefficient: Coefficient,
    /// What it means; absent for the row that compares the baseline with itself.
    pub verdict: Option<Verdict>,
    /// Medians of reads that the last-level cache missed, without and with leeches.
    pub llc_misses: [Option<f64>; 2],
    /// Runs that other programs interrupted; they are not in the medians, unless most are.
    pub disturbed: usize,
    /// Whether they are, since most runs without or beside leeches were interrupted.
    pub all_count: bool,
    /// Every run, in its order.
    pub samples: Vec<Sample>,
}

/// A run of a victim.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Whether leeches took.
    pub loaded: bool,
    /// Whether other programs interrupted it.
    pub disturbed: bool,
    /// The run.
    #[serde(flatten)]
    pub run: Run,
}
