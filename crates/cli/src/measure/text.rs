//! Results for people.

use measure::isolation::{ContextResult, Report, Row, TestResult, Verdict};
use report::text::table;

/// The answer and what it rests on.
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

/// What readers of the figures should know.
pub fn notes(report: &Report) -> Vec<String> {
    let mut notes = report.remarks.clone();
    let disturbed = rows(report).filter(|(_, row)| row.all_count).count();
    if disturbed > 0 {
        notes.push(format!(
            "other programs interrupted most runs of {disturbed} rows: there all runs count"
        ));
    }
    let moved = rows(report).filter(|(_, row)| has_moved(row)).count();
    if moved > 0 {
        notes.push(format!("the distance of CPUs changed during {moved} rows"));
    }
    notes
}

/// The verdict with its reason.
pub fn answer(report: &Report) -> String {
    let part = if report.complete { "" } else { ", of what was measured before the end" };
    let tolerance = format!("{}%", report.tolerance * 100.0);
    let of = |wanted: Verdict| rows(report).filter(move |(_, row)| row.verdict == Some(wanted));
    match report.verdict {
        Verdict::Isolated => format!("isolated: no I is above {tolerance}{part}"),
        Verdict::NotIsolated => {
            let worst = of(Verdict::NotIsolated)
                .max_by(|one, other| one.1.coefficient.value.total_cmp(&other.1.coefficient.value));
            let worst = worst.map(|(test, row)| {
                let [value, low, high] = interval(row);
                format!(
                    ": I = {value} ({low} .. {high}) of {} beside {}",
                    test.workload,
                    beside(row)
                )
            });
            format!("not isolated{}{part}", worst.unwrap_or_default())
        }
        Verdict::CannotTell => {
            let open = of(Verdict::CannotTell).count();
            if open == 0 {
                let end = if report.complete { "" } else { " before the end" };
                return format!("cannot tell: no victim was measured beside a leech{end}");
            }
            format!(
                "cannot tell: {open} intervals of I contain {tolerance}, or the noise of this \
                 machine does{part}\nhelp: measure on a quiet machine, with more --runs"
            )
        }
    }
}

/// A test in one line.
pub fn heading(test: &TestResult) -> String {
    let repeats = match test.repeats {
        1 => String::new(),
        repeats => format!(" x {repeats}"),
    };
    let cpu = test.victim.cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
    format!("{}{repeats}{cpu}", name(test))
}

/// A test and its workload. Tests of the user are named after it.
pub fn name(test: &TestResult) -> String {
    match test.name == test.workload {
        true => test.workload.clone(),
        false => format!("{}: {}", test.name, test.workload),
    }
}

fn rows(report: &Report) -> impl Iterator<Item = (&TestResult, &Row)> {
    let tests = report.contexts.iter().flat_map(|context| &context.tests);
    tests.flat_map(|test| test.rows.iter().map(move |row| (test, row)))
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

/// Leeches of a row.
pub fn beside(row: &Row) -> String {
    match (row.verdict.is_none(), row.leeches) {
        (true, _) => "nothing".into(),
        (false, 1) => row.leech.clone(),
        (false, count) => format!("{count} x {}", row.leech),
    }
}

/// I and the ends of its interval.
pub fn interval(row: &Row) -> [String; 3] {
    let it = &row.coefficient;
    [it.value, it.low, it.high].map(percent)
}

/// As in sentences.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Isolated => "isolated",
        Verdict::NotIsolated => "not isolated",
        Verdict::CannotTell => "cannot tell",
    }
}

/// `+2.50%`
fn percent(value: f64) -> String {
    format!("{:+.2}%", value * 100.0)
}

/// Whether the CPUs were near each other at one end of the row and not at the other.
fn has_moved(row: &Row) -> bool {
    match row.distance_ns {
        [Some(before), Some(after)] => before > 2.0 * after || after > 2.0 * before,
        _ => false,
    }
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
