//! The results of a measurement.

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
    /// The missing protection of processes, and what could not be measured, each once.
    pub remarks: Vec<String>,
    /// True if all requested tests were measured.
    pub complete: bool,
    /// Time that it took.
    pub seconds: f64,
    /// The results in each context.
    pub contexts: Vec<ContextResult>,
}

/// The results in one context.
#[derive(Clone, Debug, Serialize)]
pub struct ContextResult {
    /// Name of the context.
    pub name: String,
    /// The command that starts victims there; without one they start here.
    pub command: Option<String>,
    /// The answer, over all its tests.
    pub verdict: Verdict,
    /// Its tests.
    pub tests: Vec<TestResult>,
}

/// The results of a victim.
#[derive(Clone, Debug, Serialize)]
pub struct TestResult {
    /// Name of the test.
    pub name: String,
    /// The workload of the victim.
    pub workload: String,
    /// Number of times that a run repeats it.
    pub repeats: u32,
    /// The protection of the victim.
    pub victim: Protection,
    /// The rows; the first one compares the baseline with itself.
    pub rows: Vec<Row>,
}

/// A victim beside leeches.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The kind of leech.
    pub leech: String,
    /// Number of leeches.
    pub leeches: usize,
    /// Bytes of the buffer of each.
    pub size_bytes: Option<u64>,
    /// Time that each sleeps after a round.
    pub sleep_ms: u64,
    /// CPUs of the leeches.
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
    /// The verdict; absent for the row that compares the baseline with itself.
    pub verdict: Option<Verdict>,
    /// Medians of reads that the last-level cache missed, without and with leeches.
    pub llc_misses: [Option<f64>; 2],
    /// Runs that other programs interrupted; they are not in the medians, unless most are.
    pub disturbed: usize,
    /// True if interrupted runs count, because most runs without or beside leeches were
    /// interrupted.
    pub all_count: bool,
    /// Every run, in its order.
    pub samples: Vec<Sample>,
}

/// A run of a victim.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// True if leeches loaded their resource.
    pub loaded: bool,
    /// True if other programs interrupted the run.
    pub disturbed: bool,
    /// The run.
    #[serde(flatten)]
    pub run: Run,
}
