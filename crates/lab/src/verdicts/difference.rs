//! Verdicts on the differences between two systems.

use report::verdicts::{Row, Rule, Verdicts};

use super::verdicts;
use crate::amount::time;
use crate::difference::{Difference, PartDifference};

/// Returns a verdict for each difference between the systems of two files, or one that holds if there is none. Places
/// are in the second file.
pub fn of_differences(before: &str, after: &str, differences: &[Difference]) -> Verdicts {
    let answer = match differences.len() {
        0 => format!("no difference from {before}"),
        1 => format!("1 difference from {before}"),
        count => format!("{count} differences from {before}"),
    };
    let mut rows: Vec<Row> = differences.iter().map(row).collect();
    if rows.is_empty() {
        rows.push(Row::new(Rule::Difference, "all"));
    }
    verdicts(("diff", after, &answer), None, rows, Vec::new())
}

fn row(it: &Difference) -> Row {
    let Difference { of, property, before, after, why, place } = it;
    let part = |it: &PartDifference| {
        let [before, after] = [it.before_ns, it.after_ns].map(time);
        format!("{}: {before} before, {after} after", it.part)
    };
    let reasons = match why.as_slice() {
        [] => vec![format!("{property} differs")],
        parts => parts.iter().map(part).collect(),
    };
    Row::new(Rule::Difference, format!("{of}: {property}"))
        .figure("before", before)
        .figure("after", after)
        .fails_if(reasons)
        .at(place.clone())
}
