//! Results as a table for programs.

use measure::isolation::{Report, Verdict};
use serde::Serialize;

use crate::failure::Failure;

/// A row; columns are named after its fields.
#[derive(Serialize)]
struct Line<'a> {
    context: &'a str,
    test: &'a str,
    workload: &'a str,
    leech: &'a str,
    leeches: usize,
    size_bytes: Option<u64>,
    sleep_ms: u64,
    runs: usize,
    disturbed: usize,
    baseline_median_ns: f64,
    baseline_min_ns: u64,
    baseline_max_ns: u64,
    loaded_median_ns: f64,
    loaded_min_ns: u64,
    loaded_max_ns: u64,
    i: f64,
    i_low: f64,
    i_high: f64,
    baseline_llc_misses: Option<f64>,
    loaded_llc_misses: Option<f64>,
    verdict: Option<Verdict>,
}

/// A line for each row of a report, and a heading.
pub fn csv(report: &Report) -> Result<String, Failure> {
    let failed =
        |error: String| Failure::file("output", format!("cannot make results.csv: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    for context in &report.contexts {
        for test in &context.tests {
            for row in &test.rows {
                let line = Line {
                    context: &context.name,
                    test: &test.name,
                    workload: &test.workload,
                    leech: &row.leech,
                    leeches: row.leeches,
                    size_bytes: row.size_bytes,
                    sleep_ms: row.sleep_ms,
                    runs: row.samples.len() / 2,
                    disturbed: row.disturbed,
                    baseline_median_ns: row.baseline.median_ns,
                    baseline_min_ns: row.baseline.min_ns,
                    baseline_max_ns: row.baseline.max_ns,
                    loaded_median_ns: row.loaded.median_ns,
                    loaded_min_ns: row.loaded.min_ns,
                    loaded_max_ns: row.loaded.max_ns,
                    i: row.coefficient.value,
                    i_low: row.coefficient.low,
                    i_high: row.coefficient.high,
                    baseline_llc_misses: row.llc_misses[0],
                    loaded_llc_misses: row.llc_misses[1],
                    verdict: row.verdict,
                };
                writer.serialize(line).map_err(|error| failed(error.to_string()))?;
            }
        }
    }
    let bytes = writer.into_inner().map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}
