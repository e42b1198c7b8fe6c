//! Results for people.

use measure::isolation::words::{answer, beside, heading, interval, notes, verdict};
use measure::isolation::{ContextResult, Report, TestResult};
use report::text::table;

/// Returns the answer and the values on which it rests.
pub fn report(report: &Report) -> String {
    let mut text = format!("{}\n", answer(report));
    for context in &report.contexts {
        for test in &context.tests {
            let name = match report.contexts.as_slice() {
                [_] => String::new(),
                _ => format!("{}, ", context.name),
            };
            text.push_str(&format!("\n{name}{}\n", heading(test)));
            text.push_str(&times(test));
        }
    }
    if let [_, _, ..] = report.contexts.as_slice() {
        text.push_str("\nI in each context:\n");
        text.push_str(&comparison(&report.contexts));
    }
    text.extend(notes(report).iter().map(|note| format!("note: {note}\n")));
    text
}

fn times(test: &TestResult) -> String {
    let ms = |ns: f64| format!("{:.3}", ns / 1e6);
    let counted = test.rows.iter().any(|row| row.llc_misses[1].is_some());
    let lines: Vec<Vec<String>> = test
        .rows
        .iter()
        .map(|row| {
            let [value, low, high] = interval(row);
            let range = |min: u64, max: u64| format!("{} .. {}", ms(min as f64), ms(max as f64));
            let mut cells = vec![
                beside(row),
                ms(row.baseline.median_ns),
                range(row.baseline.min_ns, row.baseline.max_ns),
                ms(row.loaded.median_ns),
                range(row.loaded.min_ns, row.loaded.max_ns),
                value,
                format!("{low} .. {high}"),
                row.verdict.map_or("A/A", verdict).into(),
            ];
            if counted {
                let misses = row.llc_misses[1].map(|count| format!("{count:.0}"));
                cells.insert(5, misses.unwrap_or_default());
            }
            cells
        })
        .collect();
    let mut heading =
        vec!["beside", ">C ms", "min .. max", ">P ms", "min .. max", ">I", "95 %", "verdict"];
    if counted {
        heading.insert(5, ">LLC misses");
    }
    table(&heading, &lines)
}

/// I of each row in each context, as the paper compares them.
fn comparison(contexts: &[ContextResult]) -> String {
    let mut heading = vec!["test", "beside"];
    let names: Vec<String> = contexts.iter().map(|context| format!(">{}", context.name)).collect();
    heading.extend(names.iter().map(String::as_str));
    let Some(first) = contexts.first() else { return String::new() };
    let lines: Vec<Vec<String>> = first
        .tests
        .iter()
        .enumerate()
        .flat_map(|(at, test)| (1..test.rows.len()).map(move |row| (at, row)))
        .map(|(at, row)| {
            let test = &first.tests[at];
            let mut cells = vec![test.name.clone(), beside(&test.rows[row])];
            cells.extend(contexts.iter().map(|context| {
                let found = context.tests.get(at).and_then(|test| test.rows.get(row));
                found.map(|row| interval(row)[0].clone()).unwrap_or_default()
            }));
            cells
        })
        .collect();
    table(&heading, &lines)
}

/// `0, 1 and 3`
pub fn list(numbers: &[usize]) -> String {
    let all: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => "none".into(),
    }
}
