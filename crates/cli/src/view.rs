//! `bulkhead view`: results of commands as a site, with the changes from one to the next.

use std::path::PathBuf;

use clap::Args;
use lab::site::{Options, Written, write};
use serde::Serialize;

use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Show results of commands as a site, with what changed from one to the next
///
/// The site is a folder of pages. One page lists all results. Each system has a page with its results in the order of
/// time: their verdicts, for each task the deadline, the bound and the longest executed response, and the changes
/// since the result before. The pages need neither a server nor a network. The site keeps documents and reports in
/// its folder `results`, and the next call adds results to them; if you remove the folder of a result there, the next
/// call no longer shows it. The site distinguishes systems by their names.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead prove systems/rover.toml -o build/rover && bulkhead view build/rover -o build/site
  bulkhead check system.toml --json > check.json; bulkhead view check.json -o build/site
  bulkhead view nightly/ other-site/

Exit status: 0 written, 2 bad input: a file that is missing, damaged or no result, or a folder
that is no site.")]
pub struct ViewOptions {
    /// Folders of results, with all below them, and documents of `--json` of prove, run, check, measure, reproduce
    /// and sweep
    #[arg(value_name = "RESULTS", required = true)]
    pub results: Vec<PathBuf>,
    /// The folder of the site: a new one, or one that `view` wrote
    #[arg(short, long, alias = "out", value_name = "FOLDER", default_value = "bulkhead-site")]
    pub output: PathBuf,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    /// The first page.
    index: String,
    results: usize,
    /// Results that were not there before.
    added: usize,
    systems: &'a [String],
    /// Documents of commands that failed, which have no result.
    left_out: &'a [String],
    errors: [(); 0],
}

/// Runs the command.
pub fn view(options: &ViewOptions, as_json: bool) -> Result<Status, Failure> {
    let (results, folder) = (options.results.clone(), options.output.clone());
    let written = write(&Options { results, folder })?;
    let Written { index, results, added, systems, left_out } = &written;
    let index = index.display().to_string();
    let (results, added) = (*results, *added);
    if as_json {
        let (ok, errors) = (true, []);
        json::print(&Document { ok, index, results, added, systems, left_out, errors })?;
        return Ok(Status::Yes);
    }
    let mut text: String = left_out.iter().map(|it| format!("left out: {it}\n")).collect();
    let systems = systems.len();
    text.push_str(&format!(
        "results: {results}, new: {added}, systems: {systems}\nsite: {index}\n"
    ));
    output::print(&text)?;
    Ok(Status::Yes)
}
