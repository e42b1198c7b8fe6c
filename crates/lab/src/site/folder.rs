//! The folder of a site: the results that it keeps, and its pages. Each file is whole or not there, and only files of the
//! site are replaced.
//!
//! `site.json` says that the folder is a site. It is the first file that is written, and the index the last one: if
//! something ends the process in between, the next one completes the site.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use image::without_path;
use report::date;
use report::site::Page;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::find::{self, Found, REPORT, cannot_read};
use crate::failure::Failure;

/// The first page.
pub const INDEX: &str = "index.html";
const SITE: &str = "site.json";
const RESULTS: &str = "results";
const SYSTEMS: &str = "systems";
const FORMAT: &str = "bulkhead-site-v1";
/// Names of folders in which a site is gathered.
const GATHERED: &str = ".view-";

/// `site.json`.
#[derive(Debug, Deserialize, Serialize)]
struct Known {
    format: String,
    /// The pages of systems, so that those of systems that are not there any more can be removed.
    pages: Vec<String>,
    /// The dates of files of results that do not say when they were made, by the names of the results.
    dates: BTreeMap<String, String>,
}

/// Nobody else changes a site that this process has locked: other calls wait.
#[derive(Debug)]
pub struct Lock {
    _folder: Option<File>,
}

impl Lock {
    /// Locks the site in this folder, by the nearest folder above it that is there: the site itself may have to be made. Where
    /// folders cannot be locked, nothing is.
    pub fn of(site: &Path) -> Self {
        let here = Path::new(".");
        let above =
            site.ancestors().skip(1).map(|it| if it.as_os_str().is_empty() { here } else { it });
        let folder = above.filter(|it| it.is_dir()).find_map(|it| File::open(it).ok());
        if let Some(folder) = &folder {
            let _ = flock(folder, FlockOperation::LockExclusive);
        }
        Self { _folder: folder }
    }
}

/// A folder that is a site, or can become one.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    known: Known,
}

impl Folder {
    /// Opens a folder, which need not be there, without a change.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let known = Known { format: FORMAT.into(), pages: Vec::new(), dates: BTreeMap::new() };
        let new = Self { path: path.to_owned(), known };
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(new),
            Err(error) => return Err(cannot_write(path, &error)),
        };
        let names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>();
        let names = names.map_err(|error| cannot_write(path, &error))?;
        if names.iter().all(|name| name.as_encoded_bytes().starts_with(GATHERED.as_bytes())) {
            return Ok(new);
        }
        let file = path.join(SITE);
        if !file.is_file() {
            let message = format!(
                "{} is no site of `bulkhead view`, and not empty: nothing in it is replaced\n\
                 help: name another folder",
                path.display()
            );
            return Err(Failure::file("output", message));
        }
        let damaged = |why: String| {
            let message = format!(
                "{} is damaged: {why}\nhelp: expected what `bulkhead view` writes; name another folder, or make the site \
                 again from its folder `{RESULTS}`",
                file.display()
            );
            Failure::new("damaged-site", message)
        };
        let known: Known = serde_json::from_str(&crate::load::text(&file)?)
            .map_err(|error| damaged(error.to_string()))?;
        if known.format != FORMAT {
            let why =
                format!("the format is `{}`, and this version knows only `{FORMAT}`", known.format);
            return Err(damaged(why));
        }
        Ok(Self { path: path.to_owned(), known })
    }

    /// Reads the results that the site has.
    pub fn kept(&self) -> Result<Vec<Found>, Failure> {
        let folder = self.path.join(RESULTS);
        let is_shown =
            |entry: &fs::DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".");
        match fs::read_dir(&folder) {
            Ok(mut entries) => {
                if !entries.any(|entry| entry.as_ref().is_ok_and(is_shown)) {
                    return Ok(Vec::new());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(cannot_read(&folder, &error)),
        }
        let mut results = find::results(&folder, &mut Vec::new())?;
        for found in results.iter_mut().filter(|found| !found.entry.dated) {
            let date = self.known.dates.get(&found.entry.id);
            found.entry.time = date.and_then(|date| date::read(date)).unwrap_or(found.entry.time);
        }
        Ok(results)
    }

    /// Writes results and pages. Results that are there stay as they are.
    pub fn write(&mut self, results: &[Found], pages: &[Page]) -> Result<(), Failure> {
        let is_new = !self.path.exists();
        let written = self.gather_and_move(results, pages);
        if written.is_err() && is_new {
            // It goes only if nothing is in it.
            let _ = fs::remove_dir(&self.path);
        }
        written.map_err(|error| cannot_write(&self.path, &error))
    }

    fn gather_and_move(&mut self, results: &[Found], pages: &[Page]) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        // Calls that were killed left these.
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(GATHERED.as_bytes()) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        let gathered = tempfile::Builder::new().prefix(GATHERED).tempdir_in(&self.path);
        let gathered: TempDir = gathered.map_err(without_path)?;
        let of_systems = pages.iter().map(|page| &page.path).filter(|path| *path != INDEX);
        let of_systems: Vec<String> = of_systems.cloned().collect();
        let before = std::mem::take(&mut self.known.pages);
        let gone: Vec<&String> = before.iter().filter(|it| !of_systems.contains(it)).collect();
        let undated = results.iter().map(|it| &it.entry).filter(|entry| !entry.dated);
        self.known.dates =
            undated.map(|entry| (entry.id.clone(), date::written(entry.time))).collect();
        // What will be removed is named until then.
        self.known.pages = of_systems.iter().chain(gone.iter().copied()).cloned().collect();
        for folder in [RESULTS, SYSTEMS] {
            fs::create_dir_all(gathered.path().join(folder))?;
        }
        fs::write(gathered.path().join(SITE), self.known.text()?)?;
        let new: Vec<(PathBuf, &Found)> = results
            .iter()
            .map(|found| (Path::new(RESULTS).join(&found.entry.id), found))
            .filter(|(place, _)| !self.path.join(place).join("results.json").exists())
            .collect();
        for (place, found) in &new {
            put_result(&gathered.path().join(place), found)?;
        }
        for page in pages {
            fs::write(gathered.path().join(&page.path), &page.html)?;
        }

        let rename = |name: &Path| fs::rename(gathered.path().join(name), self.path.join(name));
        rename(Path::new(SITE))?;
        for folder in [RESULTS, SYSTEMS] {
            fs::create_dir_all(self.path.join(folder))?;
        }
        for (place, _) in &new {
            rename(place)?;
        }
        for found in results {
            self.add_report(gathered.path(), found)?;
        }
        for path in &of_systems {
            rename(Path::new(path))?;
        }
        rename(Path::new(INDEX))?;
        for path in gone.into_iter().filter(|path| is_page(path)) {
            match fs::remove_file(self.path.join(path)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.known.pages = of_systems;
        fs::write(gathered.path().join(SITE), self.known.text()?)?;
        rename(Path::new(SITE))
    }

    /// Adds the page of a result that was there without it.
    fn add_report(&self, gathered: &Path, found: &Found) -> io::Result<()> {
        let place = self.path.join(RESULTS).join(&found.entry.id).join(REPORT);
        let Some(report) = found.report.as_ref().filter(|_| !place.exists()) else {
            return Ok(());
        };
        let file = gathered.join(REPORT);
        fs::write(&file, report)?;
        fs::rename(file, place)
    }
}

/// Writes a result, with the date of its file, which a folder that is copied as results shows again.
fn put_result(folder: &Path, found: &Found) -> io::Result<()> {
    fs::create_dir(folder)?;
    let file = folder.join("results.json");
    fs::write(&file, &found.text)?;
    File::options()
        .write(true)
        .open(&file)?
        .set_modified(UNIX_EPOCH + Duration::from_millis(found.entry.time))?;
    match &found.report {
        Some(report) => fs::write(folder.join(REPORT), report),
        None => Ok(()),
    }
}

impl Known {
    fn text(&self) -> io::Result<String> {
        Ok(format!("{}\n", serde_json::to_string_pretty(self)?))
    }
}

/// Returns true if `path` is that of a page of a system. Only such pages are removed, whatever `site.json` names.
fn is_page(path: &str) -> bool {
    let name = path.strip_prefix(SYSTEMS).and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| name.ends_with(".html") && !name.contains('/'))
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::file("output", format!("cannot write {}: {error}", path.display()))
}
