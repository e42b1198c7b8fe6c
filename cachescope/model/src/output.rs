//! The files of a run.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;
mod table;
mod tables;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::{Format, Machine};
use table::Table;

/// The file that is written last.
const SUMMARY: &str = "summary.json";

/// Makes the folder if need be, finds out whether results can be written there, and removes those of an earlier
/// run: what is found there later is of a run that came to its end.
///
/// # Errors
/// If the folder or a file cannot be written or removed.
pub fn prepare(machine: &Machine, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let summary = folder.join(SUMMARY);
    whole(&summary, |_| Ok(()))?;
    fs::remove_file(summary)?;
    for table in tables::of(machine) {
        for ending in ["csv", "parquet"] {
            one_or_none(folder, &table, ending, false, csv::write)?;
        }
    }
    Ok(())
}

/// Writes `summary.json` and the tables `timeseries`, `evictions`, `colors` and
/// `jobs` into a folder, which is made if need be. A table that an earlier run
/// left in another format is removed: it is not of this run.
///
/// # Errors
/// If the folder or a file cannot be written.
pub fn write(machine: &Machine, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let format = machine.options().format;
    for table in tables::of(machine) {
        one_or_none(folder, &table, "csv", format != Format::Parquet, csv::write)?;
        #[cfg(feature = "parquet")]
        one_or_none(folder, &table, "parquet", format != Format::Csv, parquet::write)?;
        #[cfg(not(feature = "parquet"))]
        one_or_none(folder, &table, "parquet", false, csv::write)?;
    }
    // Last: who finds it finds all.
    whole(&folder.join(SUMMARY), |file| {
        let mut out = BufWriter::new(file);
        serde_json::to_writer_pretty(&mut out, &machine.summary())?;
        writeln!(out)?;
        out.flush()
    })
}

/// Writes a file under another name until it is complete: whatever ends the process, there is no part of one.
fn whole(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    write(File::create(&part)?)?;
    fs::rename(part, path)
}

/// Writes a table to its file with this ending, or removes the file.
fn one_or_none(
    folder: &Path,
    table: &Table,
    ending: &str,
    wanted: bool,
    write: fn(&Table, File) -> io::Result<()>,
) -> io::Result<()> {
    let path = folder.join(format!("{}.{ending}", table.name));
    if wanted {
        return whole(&path, |file| write(table, file));
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
