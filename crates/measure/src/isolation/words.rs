//! Results in words.

use super::{Report, Row, TestResult, Verdict};

/// Returns notes for readers of the figures.
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

/// Returns a verdict as in sentences.
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

/// Returns true if the CPUs were near each other at one end of the row and not at the other.
fn has_moved(row: &Row) -> bool {
    match row.distance_ns {
        [Some(before), Some(after)] => before > 2.0 * after || after > 2.0 * before,
        _ => false,
    }
}
