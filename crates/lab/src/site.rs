//! Results of commands as a site of pages, which keeps them: the next results come beside those that it has.
//!
//! `document` reads what commands wrote, `find` looks for it in folders, `others` keeps it from being replaced by something else,
//! and `folder` writes the site.

mod document;
pub(crate) mod find;
mod folder;
mod others;

use std::collections::BTreeMap;
use std::path::PathBuf;

use report::site::Site;

use crate::failure::Failure;
use find::Found;
use folder::{Folder, Lock};
pub use others::refuse_other_results;

/// Options of a site.
#[derive(Clone, Debug)]
pub struct Options {
    /// Documents, and folders with documents in them.
    pub results: Vec<PathBuf>,
    /// The folder of the site.
    pub folder: PathBuf,
}

/// A site that was written.
#[derive(Debug)]
pub struct Written {
    /// Its first page.
    pub index: PathBuf,
    /// Results that it has.
    pub results: usize,
    /// Results that it did not have before.
    pub added: usize,
    /// The names of the systems that it has.
    pub systems: Vec<String>,
    /// Documents of commands that failed, which have no result; a sentence each.
    pub left_out: Vec<String>,
}

/// Writes a site of these results, and of those that the folder has if it is one.
///
/// # Errors
///
/// A file or a folder that is missing, has no result or is damaged, and a folder that is no site and not empty. Then the
/// folder is as it was.
pub fn write(options: &Options) -> Result<Written, Failure> {
    let mut left_out = Vec::new();
    let mut new = Vec::new();
    for path in &options.results {
        new.extend(find::results(path, &mut left_out)?);
    }
    let _lock = Lock::of(&options.folder);
    let mut folder = Folder::open(&options.folder)?;
    let mut all: BTreeMap<String, Found> = BTreeMap::new();
    for found in folder.kept()? {
        all.insert(found.entry.id.clone(), found);
    }
    let before = all.len();
    for found in new {
        match all.get_mut(&found.entry.id) {
            // The document may have been there alone.
            Some(kept) if kept.report.is_none() => kept.report = found.report,
            Some(_) => {}
            None => drop(all.insert(found.entry.id.clone(), found)),
        }
    }
    let results: Vec<Found> = all.into_values().map(Found::linked).collect();
    let site = Site { entries: results.iter().map(|it| it.entry.clone()).collect() };
    folder.write(&results, &site.pages())?;
    let of_systems = site.entries.iter().filter(|entry| entry.kind.is_of_system());
    let mut systems: Vec<String> = of_systems.map(|entry| entry.name.clone()).collect();
    systems.sort();
    systems.dedup();
    Ok(Written {
        index: options.folder.join(folder::INDEX),
        results: results.len(),
        added: results.len() - before,
        systems,
        left_out,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use report::proof::{Proof, Responses, Task, Vm};

    use super::*;
    use crate::proof::document::Document;

    /// Writes a proof of a system with a task, as `prove` does, into the folder `name`.
    fn proven(parent: &Path, name: &str, bound_ns: u64, page: &str) -> PathBuf {
        let responses = Responses { jobs: 20, missed: 0, max_ns: Some(900), times_ns: Vec::new() };
        let task = Task {
            name: "wheels".into(),
            deadline_ns: Some(5_000),
            bound_with_ns: Some(bound_ns),
            with: Some(responses),
            ..Task::default()
        };
        let proof = Proof {
            name: "rover".into(),
            holds: true,
            vms: vec![Vm { name: "drive".into(), ..Vm::default() }],
            tasks: vec![task],
            ..Proof::default()
        };
        // Each is made later than the one before.
        std::thread::sleep(std::time::Duration::from_millis(2));
        let folder = parent.join(name);
        fs::create_dir(&folder).expect("a folder");
        let document = serde_json::to_string(&Document::new(&proof, None)).expect("JSON");
        fs::write(folder.join("results.json"), document).expect("written");
        fs::write(folder.join("report.html"), page).expect("written");
        folder
    }

    fn written(results: &[&Path], folder: &Path) -> Written {
        let results = results.iter().map(|path| path.to_path_buf()).collect();
        let written = write(&Options { results, folder: folder.to_owned() });
        written.unwrap_or_else(|failure| panic!("{failure}"))
    }

    #[test]
    fn proofs_are_kept_with_their_pages_and_compared() {
        let parent = tempfile::tempdir().expect("a folder");
        let site = parent.path().join("site");
        let one = proven(parent.path(), "one", 1_000, "page one");
        let two = proven(parent.path(), "two", 1_200, "page two");
        // The document alone, before its folder.
        let alone = parent.path().join("alone.json");
        fs::copy(one.join("results.json"), &alone).expect("copied");
        assert_eq!(written(&[&alone], &site).added, 1);
        assert_eq!(written(&[&one], &site).added, 0);
        fs::remove_dir_all(&one).expect("removed");
        assert_eq!(written(&[&two], &site).results, 2);
        let mut pages = Vec::new();
        let mut timed = Vec::new();
        for found in Folder::open(&site).expect("a site").kept().expect("results") {
            assert!(found.entry.dated && found.entry.version.is_some());
            pages.extend(found.report.map(|page| String::from_utf8(page).expect("text")));
            timed.extend(found.entry.timed);
        }
        pages.sort();
        assert_eq!(pages, ["page one", "page two"]);
        let expected = |bound_ns| report::site::Timed {
            subject: report::site::Subject::Task { vm: "drive".into(), name: "wheels".into() },
            deadline_ns: Some(5_000),
            bound: report::site::Bound::Ns(bound_ns),
            executed_ns: Some(900),
            exact: true,
            jobs: Some(20),
            missed: Some(0),
        };
        timed.sort_by_key(|it| it.bound.ns());
        assert_eq!(timed, [expected(1_000), expected(1_200)]);
        let index = fs::read_to_string(site.join("index.html")).expect("a page");
        assert!(index.contains("1\u{a0}bound longer") && index.contains("/report.html"), "{index}");
    }

    #[test]
    fn a_site_that_was_not_completed_is_completed() {
        let parent = tempfile::tempdir().expect("a folder");
        let site = parent.path().join("site");
        let one = proven(parent.path(), "one", 1_000, "page");
        written(&[&one], &site);
        let index = site.join("index.html");
        let before = fs::read_to_string(&index).expect("a page");
        // As if something had ended the process, and left what it had gathered.
        fs::remove_file(&index).expect("removed");
        fs::create_dir(site.join(".view-left")).expect("a folder");
        fs::write(site.join(".view-left/half.json"), "{").expect("written");
        assert_eq!(written(&[&one], &site).added, 0);
        assert_eq!(fs::read_to_string(&index).expect("a page"), before);
        assert!(!site.join(".view-left").exists());
    }

    #[test]
    fn sites_that_are_written_at_once_have_all_results() {
        let parent = tempfile::tempdir().expect("a folder");
        let site = parent.path().join("site");
        let names: Vec<String> = (0..6).map(|number| format!("p{number}")).collect();
        let proofs: Vec<_> =
            names.iter().map(|name| proven(parent.path(), name, 1_000, name)).collect();
        std::thread::scope(|scope| {
            for proof in &proofs {
                scope.spawn(|| written(&[proof], &site));
            }
        });
        let index = fs::read_to_string(site.join("index.html")).expect("a page");
        assert_eq!(index.matches("/report.html").count(), 6, "{index}");
    }
}
