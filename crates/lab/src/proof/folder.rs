//! The folder of a proof: whole results, or those of an earlier proof.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use image::{LockedFolder, remove_abandoned_after};

use super::execute::TRACE;
use super::theorems;
use crate::certificate;
use crate::failure::Failure;

/// The page for people.
pub const PAGE: &str = "report.html";
/// The results for programs.
pub const RESULTS: &str = "results.json";

/// The plan.
pub const PLAN: &str = "with.plan.dts";
/// The plan without isolation.
pub const PLAN_WITHOUT: &str = "without.plan.dts";

/// The prefix of the names of folders in which results are gathered.
const GATHERED: &str = ".proof-";
/// The folder there for earlier results, while new ones take their place.
const EARLIER: &str = "earlier";
/// The file there that lists the moves by which they do, before the first of them: a line each.
const MOVES: &str = "moves";

/// All that a proof can write.
const ENTRIES: [(&str, Kind); 7] = [
    (PAGE, Kind::File),
    (RESULTS, Kind::File),
    (PLAN, Kind::File),
    (PLAN_WITHOUT, Kind::File),
    ("with", Kind::Run),
    ("without", Kind::Run),
    (theorems::FOLDER, Kind::Theorems),
];

#[derive(Clone, Copy, Eq, PartialEq)]
enum Kind {
    File,
    /// A folder with the trace of a run.
    Run,
    /// A folder with theorems.
    Theorems,
}

impl Kind {
    /// Returns true if nothing of somebody else is lost with the file or folder at a place.
    fn is_ours(self, place: &Path) -> bool {
        let is_empty = || fs::read_dir(place).is_ok_and(|mut it| it.next().is_none());
        match self {
            Self::File => !place.symlink_metadata().is_ok_and(|it| it.is_dir()),
            Self::Run => place.join(TRACE).exists() || is_empty(),
            Self::Theorems => certificate::is_in(place) || is_empty(),
        }
    }
}

/// A folder in which results are gathered beside those that are there.
pub struct Folder {
    path: PathBuf,
    /// The folder was made for these results.
    is_new: bool,
    /// Removed with this value, with all that did not get out of it.
    gathered: Option<LockedFolder>,
}

impl Folder {
    /// Made before anything is run: a name that cannot be is known at once. What proofs gathered there that were killed is
    /// removed. If one of them was about to replace earlier results, these come back.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        refuse_others(path, |name| name != theorems::FOLDER)?;
        let is_new = path.symlink_metadata().is_err();
        let gather = || {
            fs::create_dir_all(path)?;
            let ours = |it: &Path| {
                let name = it.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with(GATHERED) && it.symlink_metadata().is_ok_and(|it| it.is_dir())
            };
            remove_abandoned_after(path, ours, |gathered| undo(path, gathered).is_ok());
            LockedFolder::create(tempfile::Builder::new().prefix(GATHERED), path)
        };
        let gathered = gather().map_err(|error| cannot_write(path, &error))?;
        Ok(Self { path: path.to_owned(), is_new, gathered: Some(gathered) })
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

    /// Returns where a file will be.
    pub fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns true if there are results of an earlier proof.
    pub fn has_earlier(&self) -> bool {
        self.place(RESULTS).is_file()
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let path = self.file(name);
        fs::write(&path, content).map_err(|error| cannot_write(&path, &error))
    }

    fn is_gathered(&self, name: &str) -> bool {
        self.file(name).symlink_metadata().is_ok()
    }

    /// Returns the moves by which what was gathered takes the place of what is there.
    fn moves(&self) -> Vec<(PathBuf, PathBuf)> {
        let earlier = self.file(EARLIER);
        let has_earlier = self.has_earlier();
        let goes = ENTRIES.iter().filter(|(name, kind)| {
            let place = self.place(name);
            let is_there = place.symlink_metadata().is_ok();
            is_there && (self.is_gathered(name) || has_earlier && kind.is_ours(&place))
        });
        let away = goes.map(|(name, _)| (self.place(name), earlier.join(name)));
        let comes = ENTRIES.iter().rev().filter(|(name, _)| self.is_gathered(name));
        away.chain(comes.map(|(name, _)| (self.file(name), self.place(name)))).collect()
    }

    /// Lists moves before the first of them, so that the next proof can undo them if this one is killed.
    fn begin(&self, moves: &[(PathBuf, PathBuf)]) -> io::Result<()> {
        fs::create_dir(self.file(EARLIER))?;
        fs::write(self.file(MOVES), listed(&self.path, self.gathered(), moves))
    }

    /// All that was gathered takes the place of all results of an earlier proof, or nothing does. Without a page nothing seems
    /// complete: the earlier one goes first, and the new one comes last.
    pub fn finish(&mut self) -> Result<(), Failure> {
        refuse_others(&self.path, |name| self.is_gathered(name))?;
        let moves = self.moves();
        let replaced = self.begin(&moves).and_then(|()| all_or_nothing(&moves));
        replaced.map_err(|error| cannot_write(&self.path, &error))?;
        self.gathered = None;
        Ok(())
    }
}

/// A folder in which nothing is was made for nothing, if it was made here.
impl Drop for Folder {
    fn drop(&mut self) {
        self.gathered = None;
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Refuses a folder in which something of somebody else has one of the names that results are to have.
fn refuse_others(path: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<(), Failure> {
    let wanted = ENTRIES.iter().filter(|(name, _)| is_wanted(name));
    for (name, kind) in wanted {
        let place = path.join(name);
        if place.symlink_metadata().is_ok() && !kind.is_ours(&place) {
            let what = match kind {
                Kind::File => "a folder",
                Kind::Run => "no run of an earlier proof",
                Kind::Theorems => "no folder with theorems of an earlier proof",
            };
            let text = format!(
                "{} is in the way: it is {what}\nhelp: move it, or name another folder with `-o`",
                place.display()
            );
            return Err(Failure::file("output", text));
        }
    }
    Ok(())
}

/// Renames all, or puts everything back if one cannot be renamed.
fn all_or_nothing(moves: &[(PathBuf, PathBuf)]) -> io::Result<()> {
    for (done, (from, to)) in moves.iter().enumerate() {
        if let Err(error) = fs::rename(from, to) {
            for (from, to) in moves[..done].iter().rev() {
                fs::rename(to, from)?;
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Returns the moves as lines of two names with a tab between them. `folder` has the results, `gathered` in it is that of a proof.
fn listed(folder: &Path, gathered: &Path, moves: &[(PathBuf, PathBuf)]) -> String {
    let name = |path: &PathBuf| {
        let below = path.strip_prefix(gathered).map(|it| Path::new(".").join(it));
        let name = below.or_else(|_| path.strip_prefix(folder).map(Path::to_owned));
        name.unwrap_or_default().display().to_string()
    };
    moves.iter().map(|(from, to)| format!("{}\t{}\n", name(from), name(to))).collect()
}

/// Undoes the moves of a proof that was killed between two of them.
fn undo(folder: &Path, gathered: &Path) -> io::Result<()> {
    let list = match fs::read_to_string(gathered.join(MOVES)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        list => list?,
    };
    let path = |name: &str| match name.strip_prefix("./") {
        Some(name) => gathered.join(name),
        None => folder.join(name),
    };
    let moves = list.lines().filter_map(|line| line.split_once('\t'));
    let moves: Vec<_> = moves.map(|(from, to)| (path(from), path(to))).collect();
    let is_done = |(from, to): &(PathBuf, PathBuf)| {
        from.symlink_metadata().is_err() && to.symlink_metadata().is_ok()
    };
    if moves.last().is_some_and(is_done) {
        return Ok(());
    }
    moves.iter().rev().filter(|it| is_done(it)).try_for_each(|(from, to)| fs::rename(to, from))
}

fn cannot_write(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::file("output", format!("cannot write {}: {error}", path.display()))
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
        fs::create_dir(&empty).expect("a folder");
        drop(Folder::create(&empty).expect("a folder"));
        assert!(empty.exists(), "it was there before");
    }

    #[test]
    fn results_that_a_new_proof_has_not_do_not_stay_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path(PLAN), "mine").expect("a file");
        let prove = |all: bool| {
            let mut folder = Folder::create(folder.path()).expect("a folder");
            for run in if all { &["with", "without"][..] } else { &["with"] } {
                fs::write(folder.of_run(run).expect("a run").join(TRACE), "").expect("a trace");
            }
            for file in if all { &[PAGE, RESULTS, PLAN_WITHOUT][..] } else { &[PAGE, RESULTS] } {
                folder.write(file, b"").expect("a file");
            }
            folder.finish().expect("it is there");
        };
        prove(true);
        assert!(path(PLAN).exists(), "there were no results, of which it could be one");
        fs::write(path("notes.txt"), "mine").expect("a file");
        prove(false);
        assert!(path("with").exists() && path(RESULTS).exists() && path("notes.txt").exists());
        let earlier = ["without", PLAN, PLAN_WITHOUT].map(|name| path(name).exists());
        assert_eq!(earlier, [false; 3]);
    }

    #[test]
    fn what_is_in_the_way_leaves_all_earlier_results() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let gather = |text: &str| {
            let folder = Folder::create(folder.path()).expect("a folder");
            fs::write(folder.of_run("with").expect("a run").join(TRACE), text).expect("a trace");
            for name in [PAGE, RESULTS, PLAN] {
                folder.write(name, text.as_bytes()).expect("a file");
            }
            folder
        };
        gather("one").finish().expect("it is there");
        let mut second = gather("two");
        // Meanwhile somebody else makes a folder.
        fs::remove_file(path(PLAN)).expect("it was there");
        fs::create_dir(path(PLAN)).expect("a folder");
        fs::write(path(PLAN).join("thesis.txt"), "mine").expect("a file");
        let refused = second.finish().expect_err("it is in the way").to_string();
        assert!(refused.contains("with.plan.dts is in the way: it is a folder"), "{refused}");
        drop(second);
        for name in [PAGE, RESULTS, "with/run.trace"] {
            assert_eq!(fs::read_to_string(path(name)).expect("it stayed"), "one");
        }
        assert!(path(PLAN).join("thesis.txt").exists());
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 4);
    }

    #[test]
    fn a_move_that_fails_takes_back_those_before_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            fs::write(path(name), name).expect("a file");
        }
        let moves =
            [("a", "old-a"), ("b", "a"), ("none", "b")].map(|(from, to)| (path(from), path(to)));
        assert!(all_or_nothing(&moves).is_err());
        for name in ["a", "b"] {
            assert_eq!(fs::read_to_string(path(name)).expect("it is there"), name);
        }
        assert!(!path("old-a").exists());
    }

    #[test]
    fn what_a_proof_gathered_that_was_killed_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let left = folder.path().join(".proof-abc123");
        fs::create_dir(&left).expect("a folder");
        fs::write(left.join(PAGE), "half").expect("a file");
        let first = Folder::create(folder.path()).expect("a folder");
        assert!(!left.exists());
        let second = Folder::create(folder.path()).expect("a folder");
        assert!(first.gathered().exists() && second.gathered().exists());
    }

    /// Each move is the last one of a proof that was killed then.
    #[test]
    fn a_proof_that_is_killed_between_its_moves_leaves_the_earlier_results() {
        let results = |folder: &Path| -> Vec<(String, String)> {
            let names = [PAGE, RESULTS, PLAN, PLAN_WITHOUT, "with/run.trace"];
            let read =
                |name: &str| Some((name.into(), fs::read_to_string(folder.join(name)).ok()?));
            names.into_iter().filter_map(read).collect()
        };
        let gather = |folder: &Path, files: &[&str], text: &str| {
            let gathered = Folder::create(folder).expect("a folder");
            fs::write(gathered.of_run("with").expect("a run").join(TRACE), text).expect("a trace");
            for name in files {
                gathered.write(name, text.as_bytes()).expect("a file");
            }
            gathered
        };
        let mut whole = 0;
        for kill_after in 0.. {
            let folder = tempfile::tempdir().expect("a folder");
            gather(folder.path(), &[PAGE, RESULTS, PLAN_WITHOUT], "one").finish().expect("written");
            let earlier = results(folder.path());
            let second = gather(folder.path(), &[PAGE, RESULTS, PLAN], "two");
            let moves = second.moves();
            if kill_after > moves.len() {
                break;
            }
            second.begin(&moves).expect("a list");
            all_or_nothing(&moves[..kill_after]).expect("moved");
            // As SIGKILL leaves it: nothing is undone, and there is no lock.
            let gathered = second.gathered().to_owned();
            let copy = folder.path().join(format!("{GATHERED}killed"));
            fs::rename(&gathered, &copy).expect("renamed");
            drop(second);
            drop(Folder::create(folder.path()).expect("a folder"));
            let left = results(folder.path());
            if kill_after == moves.len() {
                whole += 1;
                assert!(left.iter().all(|(_, text)| text == "two") && left.len() == 4, "{left:?}");
            } else {
                assert_eq!(left, earlier, "after {kill_after} moves");
            }
            assert!(!copy.exists());
        }
        assert_eq!(whole, 1);
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
