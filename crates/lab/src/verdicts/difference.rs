//! What differs between two systems.

use report::verdicts::{Row, Rule, Verdicts};

use super::verdicts;
use crate::amount::time;
use crate::difference::Difference;

/// Returns a verdict for each difference between the systems of two files, or one that holds if there is none. Places
/// are in the second file.
pub fn of_differences(before: &str, after: &str, differences: &[Difference]) -> Verdicts {
    let answer = match differences.len() {
        0 => "nothing differs".into(),
        1 => "1 difference".into(),
        count => format!("{count} differences"),
    };
    let mut rows: Vec<Row> = differences.iter().map(row).collect();
    if rows.is_empty() {
        rows.push(Row::new(Rule::Difference, "all"));
    }
    let notes = vec![format!("compared with {before}")];
    verdicts(("diff", after, &answer), None, rows, notes)
}

fn row(it: &Difference) -> Row {
    let Difference { of, property, before, after, why, place } = it;
    let why = why
        .iter()
        .map(|it| format!("  {}: {} -> {}\n", it.part, time(it.before_ns), time(it.after_ns)));
    Row {
        details: why.collect(),
        ..Row::new(Rule::Difference, format!("{of}: {property}"))
            .figure("before", before)
            .figure("after", after)
            .fails_if([format!("{property} differs")])
            .at(place.clone())
    }
}
