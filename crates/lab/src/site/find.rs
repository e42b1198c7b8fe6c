//! Looks for results: in a file, or in a folder and those below it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use report::site::Entry;
use sha2::{Digest, Sha256};

use super::document::{self, Read};
use crate::failure::Failure;

/// The page for people beside a document.
pub const REPORT: &str = "report.html";

/// Depth of folders that are looked at: below them are no results, but perhaps a whole disk.
const DEPTH_MAX: usize = 12;

const HELP: &str = "help: name a folder into which `bulkhead prove` or `measure` wrote, or a document of `--json` of \
                    `prove`, `run`, `check`, `measure`, `reproduce` or `sweep`";

/// A result that was found.
pub struct Found {
    /// Its entry in the site.
    pub entry: Entry,
    /// The document, as it is.
    pub text: String,
    /// Its page for people, as it is.
    pub report: Option<Vec<u8>>,
}

impl Found {
    /// Returns the same with the paths at which it will be in the site.
    pub fn linked(mut self) -> Self {
        let folder = format!("results/{}", self.entry.id);
        self.entry.document = format!("{folder}/results.json");
        self.entry.report = self.report.as_ref().map(|_| format!("{folder}/{REPORT}"));
        self
    }
}

/// Returns the results at a path, of which there must be one. Documents of commands that failed are told in `left_out`.
pub fn results(path: &Path, left_out: &mut Vec<String>) -> Result<Vec<Found>, Failure> {
    let metadata = fs::metadata(path).map_err(|error| cannot_read(path, &error))?;
    if !metadata.is_dir() {
        return match read(path)? {
            What::Result(found) => Ok(vec![*found]),
            What::Failed(why) => Err(no_results(&format!(
                "{} has no result: the command failed: {why}",
                path.display()
            ))),
            What::Other => Err(no_results(&format!("{} is no result", path.display()))),
        };
    }
    let mut files = Vec::new();
    look(path, 0, &mut files)?;
    let mut results = Vec::new();
    for file in files {
        match read(&file)? {
            What::Result(found) => results.push(*found),
            What::Failed(why) => {
                left_out.push(format!("{}: the command failed: {why}", file.display()));
            }
            What::Other => {}
        }
    }
    if results.is_empty() {
        return Err(no_results(&format!("no results in {}", path.display())));
    }
    Ok(results)
}

/// Finds the documents in a folder, in the order of their names. Links to folders are not followed, and hidden names are
/// not looked at: commands keep unfinished results under such.
fn look(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = || -> io::Result<Vec<fs::DirEntry>> { fs::read_dir(folder)?.collect() };
    let mut entries = entries().map_err(|error| cannot_read(folder, &error))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let kind = entry.file_type().map_err(|error| cannot_read(&path, &error))?;
        if is_hidden {
            continue;
        }
        if kind.is_dir() {
            if depth == DEPTH_MAX {
                let message = format!(
                    "{} is {DEPTH_MAX} folders below the one that is named, and is not looked at\nhelp: name a folder nearer to it",
                    path.display()
                );
                return Err(Failure::new("no-results", message));
            }
            look(&path, depth + 1, files)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
    Ok(())
}

enum What {
    Result(Box<Found>),
    Failed(String),
    Other,
}

/// Reads a file.
fn read(path: &Path) -> Result<What, Failure> {
    let metadata = fs::metadata(path).map_err(|error| cannot_read(path, &error))?;
    if !metadata.is_file() {
        return Err(cannot_read(path, &io::Error::other("this is no regular file")));
    }
    let text = crate::load::text(path)?;
    let damaged = |why: String| {
        let message = format!(
            "{} is damaged: {why}\nhelp: expected a whole document that bulkhead wrote; make it again, or move it away",
            path.display()
        );
        Failure::new("damaged-result", message)
    };
    let mut entry = match document::read(path, &text, modified(path)).map_err(damaged)? {
        Read::Result(entry) => *entry,
        Read::Failed(why) => return Ok(What::Failed(why)),
        Read::Other => return Ok(What::Other),
    };
    let digest = Sha256::digest(text.as_bytes());
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    entry.id = format!("{}-{digest}", entry.kind.as_str());
    // Only the document of a folder has its page: others may be about something else.
    let report = match path.file_name() {
        Some(name) if name == "results.json" => page(&path.with_file_name(REPORT))?,
        _ => None,
    };
    Ok(What::Result(Box::new(Found { entry, text, report })))
}

/// Reads the page beside a document, if there is one. A link could lead to any file of this machine, and a site shows it to all.
fn page(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            fs::read(path).map(Some).map_err(|error| cannot_read(path, &error))
        }
        Ok(_) => Err(cannot_read(path, &io::Error::other("this is no regular file"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot_read(path, &error)),
    }
}

/// Returns when a file was written.
fn modified(path: &Path) -> u64 {
    let time = fs::metadata(path).and_then(|it| it.modified()).ok();
    time.and_then(|it| it.duration_since(UNIX_EPOCH).ok()).map_or(0, |it| it.as_millis() as u64)
}

/// Returns why a file or folder of results is not read.
pub fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    Failure::file("cannot-read", format!("cannot read {}: {error}", path.display()))
}

fn no_results(message: &str) -> Failure {
    Failure::new("no-results", format!("{message}\n{HELP}"))
}
