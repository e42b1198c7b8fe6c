//! `bulkhead diff`: the differences between two systems, or two results.

use std::path::PathBuf;

use clap::Args;
use lab::amount::time;
use lab::difference::{Difference, differences};
use lab::verdicts::of_differences;
use report::text::table;
use serde::Serialize;

use crate::failure::Failure;
use crate::format::Format;
use crate::json;
use crate::status::Status;

/// Compare two descriptions, plans or results: what moved, which bounds changed, and why
///
/// The command plans what descriptions leave open, as `check` does. If one of the two files is a plan, which has no
/// tasks, the command compares only the values that plans have. It does not compare keys that only guide the planner
/// (`objective`, `margin`).
///
/// A result is a folder of `prove -o`, or a document of `--json` in a file whose name ends in .json. Both results
/// have to be of the same command. The command compares their verdicts and times and, as possible causes, their plans
/// and input files.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead diff old.toml new.toml
  bulkhead diff system.toml build/system.plan.dts
  bulkhead diff build/monday build/tuesday

Exit status: 0 nothing differs, 1 something does, 2 bad input.")]
pub struct DiffOptions {
    /// The first description (.toml), plan (.dts, .dtb) or result (a folder, .json)
    #[arg(value_name = "A")]
    pub before: PathBuf,
    /// The second one
    #[arg(value_name = "B")]
    pub after: PathBuf,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    /// True if nothing differs.
    ok: bool,
    differences: &'a [Difference],
}

/// Runs the command.
pub fn diff(options: &DiffOptions, format: Format) -> Result<Status, Failure> {
    let differences = differences(&options.before, &options.after)?;
    let ok = differences.is_empty();
    let [before, after] = [&options.before, &options.after].map(|it| it.display().to_string());
    format.print(
        || of_differences(&before, &after, &differences),
        || json::print(&Document { ok, differences: &differences }),
        || shown([&before, &after], &differences),
    )?;
    Ok(if ok { Status::Yes } else { Status::No })
}

fn shown([before, after]: [&str; 2], differences: &[Difference]) -> String {
    let count = match differences.len() {
        0 => return format!("{before} and {after} do not differ\n"),
        1 => "1 difference".into(),
        count => format!("{count} differences"),
    };
    let mut rows = Vec::new();
    for it in differences {
        let row = [&it.of, it.property, &it.before, &it.after];
        rows.push(row.map(str::to_owned).to_vec());
        rows.extend(it.why.iter().map(|it| {
            vec![String::new(), format!("  {}", it.part), time(it.before_ns), time(it.after_ns)]
        }));
    }
    let rows = table(&["", "", "before", "after"], &rows);
    format!("{before} -> {after}: {count}\n\n{rows}")
}
