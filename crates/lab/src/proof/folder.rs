//! The folder of a proof: whole results, or those of an earlier proof.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use image::without_path;
use tempfile::TempDir;

use super::execute::TRACE;
use crate::failure::Failure;

/// The page for people.
pub const PAGE: &str = "report.html";
/// The results for programs.
pub const RESULTS: &str = "results.json";

/// The plan.
pub const PLAN: &str = "with.plan.dts";
/// The plan without isolation.
pub const PLAN_WITHOUT: &str = "without.plan.dts";

/// The folders of runs.
const RUNS: [&str; 2] = ["with", "without"];

/// A folder in which results are gathered beside those that are there.
pub struct Folder {
    path: PathBuf,
    /// Removed with this value, with all that did not get out of it.
    gathered: Option<TempDir>,
}

impl Folder {
    /// Made before anything is run: a name that cannot be is known at once.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        // A folder of a run takes the place of an earlier one, and of nothing else.
        for place in RUNS.map(|name| path.join(name)) {
            let is_empty = || fs::read_dir(&place).is_ok_and(|mut it| it.next().is_none());
            if place.symlink_metadata().is_ok() && !place.join(TRACE).exists() && !is_empty() {
                let text = format!(
                    "{} is in the way: it is no run of an earlier proof\nhelp: move it, or name another folder with `-o`",
                    place.display()
                );
                return Err(Failure::new("output", text));
            }
        }
        let gather = || {
            fs::create_dir_all(path)?;
            tempfile::Builder::new().prefix(".proof-").tempdir_in(path).map_err(without_path)
        };
        let gathered = gather().map_err(|error| cannot_write(path, &error))?;
        Ok(Self { path: path.to_owned(), gathered: Some(gathered) })
    }

    fn gathered(&self) -> &Path {
        self.gathered.as_ref().map_or(&self.path, |it| it.path())
    }

    /// A folder for a run.
    pub fn of_run(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.gathered().join(name);
        fs::create_dir(&path).map_err(|error| cannot_write(&path, &error))?;
        Ok(path)
    }

    /// A file, to be written.
    pub fn file(&self, name: &str) -> PathBuf {
        self.gathered().join(name)
    }

    /// Where a file will be.
    pub fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let path = self.file(name);
        fs::write(&path, content).map_err(|error| cannot_write(&path, &error))
    }

    /// All that was gathered takes the place of what is there: the page last.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let replace = || {
            let entries = fs::read_dir(self.gathered())?;
            let mut names =
                entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
            names.sort_by_key(|name| name == PAGE);
            for name in names {
                let place = self.path.join(&name);
                if place.is_dir() {
                    fs::remove_dir_all(&place)?;
                }
                fs::rename(self.gathered().join(&name), place)?;
            }
            io::Result::Ok(())
        };
        replace().map_err(|error| cannot_write(&self.path, &error))?;
        self.gathered = None;
        Ok(())
    }
}

/// A folder in which nothing is was made for nothing.
impl Drop for Folder {
    fn drop(&mut self) {
        self.gathered = None;
        let _ = fs::remove_dir(&self.path);
    }
}

fn cannot_write(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new("output", format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_all_at_once_and_replace_earlier_ones() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("proof");
        let names = || -> Vec<String> {
            let entries = fs::read_dir(&path).expect("the folder");
            let mut names: Vec<String> = entries
                .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        for text in ["one", "two"] {
            let mut folder = Folder::create(&path).expect("a folder");
            fs::write(folder.of_run("with").expect("a run").join(TRACE), text).expect("a trace");
            folder.write(PAGE, text.as_bytes()).expect("a page");
            folder.finish().expect("it is there");
            assert_eq!(names(), [PAGE, "with"]);
            for file in [PAGE, "with/run.trace"] {
                assert_eq!(fs::read_to_string(path.join(file)).expect("a file"), text);
            }
        }
        let folder = Folder::create(&path).expect("a folder");
        folder.write(PAGE, b"three").expect("a page");
        drop(folder);
        assert_eq!(fs::read_to_string(path.join(PAGE)).expect("a page"), "two");
        assert_eq!(names(), [PAGE, "with"]);
        let empty = parent.path().join("empty");
        drop(Folder::create(&empty).expect("a folder"));
        assert!(!empty.exists());
    }

    #[test]
    fn what_is_no_run_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().join("with");
        fs::create_dir(&run).expect("a folder");
        fs::write(folder.path().join("mine"), "mine").expect("a file");
        assert!(Folder::create(folder.path()).is_ok(), "an empty folder is nobody's");
        fs::write(run.join("thesis.txt"), "mine").expect("a file");
        let refused = Folder::create(folder.path()).err().expect("it is in the way").to_string();
        assert!(refused.contains("with is in the way"), "{refused}");
        fs::write(run.join(TRACE), "").expect("a file");
        assert!(Folder::create(folder.path()).is_ok(), "it is a run");
        fs::write(folder.path().join("without"), "mine").expect("a file");
        assert!(Folder::create(folder.path()).is_err(), "a file is no run");
    }
}
