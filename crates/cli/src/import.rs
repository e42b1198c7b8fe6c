//! `bulkhead import`: platforms and descriptions out of files of other systems.

mod systems;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use lab::keep;
use lab::load;
use serde::Serialize;

use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;
use systems::{JailhouseOptions, XlOptions};

/// Write a platform file or a description out of files of another system
#[derive(Args, Debug)]
pub struct ImportOptions {
    #[command(subcommand)]
    pub from: From,
}

/// Kinds of files.
#[derive(Debug, Subcommand)]
pub enum From {
    Dtb(DtbOptions),
    Xl(XlOptions),
    Jailhouse(JailhouseOptions),
}

/// Write a platform file out of a device tree of Linux
///
/// The command takes CPUs, unreserved memory, interrupt controller, console and caches from the tree. Comments `fill
/// in` in the file mark values that the tree does not state; comments `left out` mark parts of the tree that have no
/// place in the file, such as an SMMU. The command lists both.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead import dtb board.dtb -o my-board.toml
  ssh board cat /sys/firmware/fdt | bulkhead import dtb -    the tree of a board on which Linux runs

Exit status: 0 written, 2 bad input, or another file is in the way.")]
pub struct DtbOptions {
    /// Flattened device tree (.dtb); `-` is the standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The platform file, which replaces no other file; `-` is the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'d> {
    ok: bool,
    /// The file, unless it is the standard output.
    file: Option<String>,
    platform_toml: &'d str,
    /// Parts that are to be filled in.
    open: &'d [String],
    /// Parts that have no place in the file.
    left_out: Vec<LeftOut<'d>>,
}

#[derive(Serialize)]
struct LeftOut<'d> {
    what: &'d str,
    why: &'d str,
}

/// Runs the command.
pub fn import(options: &ImportOptions, as_json: bool) -> Result<Status, Failure> {
    match &options.from {
        From::Dtb(options) => dtb(options, as_json),
        From::Xl(options) => systems::xl(options, as_json),
        From::Jailhouse(options) => systems::jailhouse(options, as_json),
    }
}

/// Writes a file, unless it is the standard output; returns its path. The marks of a file that is there may have been
/// filled in by hand: it is not replaced by another one.
fn written<'t>(output: &'t Path, text: &str) -> Result<Option<&'t Path>, Failure> {
    if output == Path::new("-") {
        return Ok(None);
    }
    keep::other(output, text.as_bytes(), "name another file, and compare the two")?;
    image::write(output, text.as_bytes())?;
    Ok(Some(output))
}

fn dtb(options: &DtbOptions, as_json: bool) -> Result<Status, Failure> {
    keep::files(&options.output, [options.file.as_path()])?;
    let bytes = load::bytes_or_standard_input(&options.file)?;
    let imported = devicetree::import(&bytes).map_err(|error| {
        let name = load::name_or_standard_input(&options.file);
        Failure::new("not-a-device-tree", format!("{name}: {error}"))
    })?;
    let target = written(&options.output, &imported.text)?;
    let file = target.map(|it| it.display().to_string());
    let left_out = imported.left.iter().map(|(what, why)| LeftOut { what, why });
    match &file {
        _ if as_json => json::print(&Document {
            ok: true,
            file,
            platform_toml: &imported.text,
            open: &imported.open,
            left_out: left_out.collect(),
        })?,
        None => output::print(&imported.text)?,
        Some(file) => {
            let open: String = imported.open.iter().map(|it| format!("  {it}\n")).collect();
            let left: String = left_out.map(|it| format!("  {}: {}\n", it.what, it.why)).collect();
            let left = if left.is_empty() { left } else { format!("left out:\n{left}") };
            output::print(&format!("wrote {file}\nfill in:\n{open}{left}"))?;
        }
    }
    Ok(Status::Yes)
}
