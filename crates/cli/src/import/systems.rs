//! Descriptions out of the configurations of other hypervisors.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use import::{Imported, Left};
use lab::keep;
use lab::load;
use serde::Serialize;
use system::diagnostic::Source;

use super::written;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Write a description out of domains of Xen, given by their files for `xl create`
///
/// The command takes names, VCPUs and their PCPUs, RAM, kernels, colours and devices from the files. Comments `fill
/// in` mark values that the files do not state; comments `left out`, with file and line, mark parts that have no
/// counterpart. The command lists both.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead import xl linux.cfg rt.cfg -o system.toml
  bulkhead import xl *.cfg --rtds start.sh -o system.toml    with the lines `xl sched-rtds` of start.sh

Exit status: 0 written, 2 bad input, or another file is in the way.")]
pub struct XlOptions {
    /// Files of domains (.cfg); `-` is the standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// A script with `xl sched-rtds -d DOMAIN -v VCPU -p PERIOD -b BUDGET`; may be given several times
    #[arg(long, value_name = "SCRIPT")]
    pub rtds: Vec<PathBuf>,
    /// The description, which replaces no other file; `-` is the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// Write a description out of cells of Jailhouse, given by their sources in C
///
/// The command takes names, CPUs, memory, devices, interrupts and colours from the files. Comments `fill in` mark
/// values that the files do not state; comments `left out`, with file and line, mark parts that have no counterpart.
/// The command lists both. It knows the macros of a file, and those of Jailhouse's headers for flags of memory.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  bulkhead import jailhouse linux-demo.c inmate-demo.c -o system.toml

Exit status: 0 written, 2 bad input, or another file is in the way.")]
pub struct JailhouseOptions {
    /// Sources of cells (.c), not of the root cell; `-` is the standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The description, which replaces no other file; `-` is the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'d> {
    ok: bool,
    /// The file, unless it is the standard output.
    file: Option<String>,
    description_toml: &'d str,
    /// Parts that are to be filled in.
    open: &'d [String],
    /// Parts that have no counterpart.
    left_out: Vec<LeftOut<'d>>,
}

#[derive(Serialize)]
struct LeftOut<'d> {
    file: &'d str,
    line: usize,
    what: &'d str,
    why: &'d str,
}

/// Reads domains of Xen.
pub fn xl(options: &XlOptions, as_json: bool) -> Result<Status, Failure> {
    let read = options.files.iter().chain(&options.rtds);
    once(read.clone())?;
    keep::files(&options.output, read.map(PathBuf::as_path))?;
    let imported = import::xl(&sources(&options.files)?, &sources(&options.rtds)?)?;
    write(&imported, &options.output, as_json)
}

/// Reads cells of Jailhouse.
pub fn jailhouse(options: &JailhouseOptions, as_json: bool) -> Result<Status, Failure> {
    once(options.files.iter())?;
    keep::files(&options.output, options.files.iter().map(PathBuf::as_path))?;
    write(&import::jailhouse(&sources(&options.files)?)?, &options.output, as_json)
}

/// Refuses a standard input that is named twice: it can be read once.
fn once<'f>(files: impl Iterator<Item = &'f PathBuf>) -> Result<(), Failure> {
    if files.filter(|it| *it == Path::new("-")).count() > 1 {
        let message = "the standard input (`-`) is named twice\nhelp: name files for the others";
        return Err(Failure::file("cannot-read", message));
    }
    Ok(())
}

fn sources(files: &[PathBuf]) -> Result<Vec<Arc<Source>>, Failure> {
    let read = |file: &PathBuf| {
        let text = load::text_or_standard_input(file)?;
        Ok(Source::new(load::name_or_standard_input(file), text))
    };
    files.iter().map(read).collect()
}

fn write(imported: &Imported, output: &Path, as_json: bool) -> Result<Status, Failure> {
    let target = written(output, &imported.text)?;
    let file = target.map(|it| it.display().to_string());
    let left_out = imported.left.iter().map(|Left { file, line, what, why }| LeftOut {
        file,
        line: *line,
        what,
        why,
    });
    match &file {
        _ if as_json => json::print(&Document {
            ok: true,
            file,
            description_toml: &imported.text,
            open: &imported.open,
            left_out: left_out.collect(),
        })?,
        None => output::print(&imported.text)?,
        Some(file) => {
            let mut text = format!("wrote {file}\nfill in:\n");
            imported.open.iter().for_each(|it| text.push_str(&format!("  {it}\n")));
            if !imported.left.is_empty() {
                text.push_str("left out:\n");
            }
            for LeftOut { file, line, what, why } in left_out {
                text.push_str(&format!("  {file}:{line}: {what}: {why}\n"));
            }
            output::print(&text)?;
        }
    }
    Ok(Status::Yes)
}
