//! The reasons for the decisions of a plan, and its differences from an old one.

use std::path::Path;

use planner::completion::{Changed, Reason};
use report::text::table;

/// A paragraph for each decision.
pub fn reasons(reasons: &[Reason]) -> String {
    if reasons.is_empty() {
        return "\nnothing to explain: the plan leaves a task late, or nothing was open\n".into();
    }
    let mut text = String::from("\nwhy:\n");
    for reason in reasons {
        text.push_str(&format!("{}: {}\n", reason.decision, reason.value));
        for trial in &reason.trials {
            text.push_str(&format!("  {trial}\n"));
        }
    }
    text
}

/// The decisions that differ from the old plan.
pub fn changes(old: &Path, changes: &[Changed]) -> String {
    let old = old.display();
    if changes.is_empty() {
        return format!("\nno decision differs from {old}\n");
    }
    let rows: Vec<Vec<String>> = changes
        .iter()
        .map(|it| vec![it.decision.clone(), it.old.clone(), "->".into(), it.new.clone()])
        .collect();
    let rows = table(&[&format!("changed in {old}"), "old", "", "new"], &rows);
    format!("\n{rows}")
}
