//! Bounds as theorems, in the results of a proof; and Coq, which checks them.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ::certificate::folder::{NOTHING_ASSUMED, PROOFS, STATEMENTS};
use report::proof::{Checked, Theorem, Theorems, Unproved};
use verdict::Verdict;

use super::folder::Folder;
use super::kept::{self, Kept};
use crate::certificate::{self, Written};
use crate::failure::Failure;
use crate::load::System;
use crate::watch::Watch;

/// The folder in that of the results.
pub const FOLDER: &str = "certificate";
/// The file with the output of Coq, in that folder.
const LOG: &str = "coq.log";
/// The proofs, in that folder.
const PROOFS_FOLDER: &str = "Bulkhead";
/// The program.
const COQC: &str = "coqc";
/// Time between two looks at Coq.
const LOOK: Duration = Duration::from_millis(50);

/// Writes the bounds of a system with its plan as theorems, and has Coq check them, if it is
/// installed. `anew`: Coq also compiles the proofs again that it compiled for an earlier check.
/// `None`: `watch` stopped it.
pub fn theorems(
    system: &System,
    folder: &Folder,
    anew: bool,
    watch: &dyn Watch,
) -> Result<Option<Theorems>, Failure> {
    let described = system.description.as_deref();
    let vcpus = described.map(|described| {
        Verdict::of_plan(&system.plan, Some(described)).certificates(&system.plan, described)
    });
    let path = folder.of_run(FOLDER)?;
    let written = certificate::write(&path, &vcpus.unwrap_or_default())?;
    let coq = Coq { coqc: Path::new(COQC), folder: &path, watch };
    let Some(checked) = coq.check(&written, anew, Kept::of_user)? else { return Ok(None) };
    let bounds = written.files.iter().flat_map(|file| {
        file.bounds.iter().map(|bound| Theorem {
            vm: file.vm.clone(),
            vcpu: file.vcpu,
            task: bound.task.clone(),
            file: file.file.clone(),
            theorem: bound.theorem.clone(),
            response_ns: bound.response_ns,
            hypotheses: file.hypotheses.clone(),
        })
    });
    let without = written.without.iter().map(|it| Unproved {
        vm: it.vm.clone(),
        vcpu: it.vcpu,
        task: it.task.clone(),
        reason: it.reason.clone(),
    });
    Ok(Some(Theorems {
        folder: folder.place(FOLDER).display().to_string(),
        bounds: bounds.collect(),
        without: without.collect(),
        checked,
    }))
}

/// Coq, which checks the files in a folder.
struct Coq<'a> {
    coqc: &'a Path,
    folder: &'a Path,
    watch: &'a dyn Watch,
}

/// The outcome of a check of files by Coq.
enum Outcome {
    Accepted,
    /// The file, and the message of Coq about it.
    Refused(String),
    Stopped,
}

impl Coq<'_> {
    /// Checks the written files. `kept`: the place of the proofs that Coq of this version has compiled; `anew`: these are not
    /// used. `None`: `watch` stopped the check.
    fn check(
        &self,
        written: &Written,
        anew: bool,
        kept: impl Fn(&str) -> Option<Kept>,
    ) -> Result<Option<Checked>, Failure> {
        if written.files.is_empty() {
            return Ok(Some(Checked::Nothing));
        }
        let Some(says) = self.version() else { return Ok(Some(Checked::NoCoq)) };
        let version = says.split_whitespace().next().unwrap_or_default().to_owned();
        let proofs = self.folder.join(PROOFS_FOLDER);
        let kept = kept(&says);
        let earlier = !anew && kept.as_ref().is_some_and(|kept| kept.copy(&proofs));
        let outcome = match earlier {
            true => Outcome::Accepted,
            false => {
                let names = PROOFS.iter().map(|(name, _)| format!("{PROOFS_FOLDER}/{name}.v"));
                let outcome = self.compile(names)?;
                if let (Outcome::Accepted, Some(kept)) = (&outcome, &kept) {
                    kept.keep(&proofs);
                }
                outcome
            }
        };
        let outcome = match outcome {
            Outcome::Accepted => {
                let own = written.files.iter().map(|it| it.file.clone());
                self.compile(own.chain([format!("{STATEMENTS}.v")]))?
            }
            other => other,
        };
        let outcome = match outcome {
            Outcome::Accepted if self.says().trim() != NOTHING_ASSUMED => {
                let says = self.says();
                let first = says.lines().next().unwrap_or("nothing");
                Outcome::Refused(format!("{STATEMENTS}.v: proofs assume more: {first}"))
            }
            other => other,
        };
        // `make` in this folder compiles the proofs by itself.
        kept::remove_compiled(&proofs).map_err(|error| self.broken(PROOFS_FOLDER, &error))?;
        Ok(match outcome {
            Outcome::Accepted => Some(Checked::By { version, earlier }),
            Outcome::Refused(refused) => Some(Checked::Refused { version, refused }),
            Outcome::Stopped => None,
        })
    }

    /// Has Coq compile files of the folder, one after the other, until it does not accept one.
    fn compile(&self, files: impl Iterator<Item = String>) -> Result<Outcome, Failure> {
        for file in files {
            let broken = |error| self.broken(&file, &error);
            let mut coq = self.start(&file).map_err(broken)?;
            let status = loop {
                if self.watch.stops() {
                    // It may have ended by itself.
                    let _ = coq.kill();
                    let _ = coq.wait();
                    return Ok(Outcome::Stopped);
                }
                match coq.try_wait().map_err(broken)? {
                    Some(status) => break status,
                    None => thread::sleep(LOOK),
                }
                self.watch.tick();
            };
            if !status.success() {
                let says = self.says();
                let says = says.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing");
                return Ok(Outcome::Refused(format!("{file}: {}", says.trim())));
            }
        }
        Ok(Outcome::Accepted)
    }

    /// Returns the message of Coq about the last file.
    fn says(&self) -> String {
        std::fs::read_to_string(self.folder.join(LOG)).unwrap_or_default()
    }

    fn start(&self, file: &str) -> io::Result<Child> {
        let log = File::create(self.folder.join(LOG))?;
        Command::new(self.coqc)
            .current_dir(self.folder)
            .args(["-q", "-Q", PROOFS_FOLDER, "Bulkhead"])
            .arg(file)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
    }

    /// Returns the versions of Coq and of its compiler, if it is installed.
    fn version(&self) -> Option<String> {
        let mut coqc = Command::new(self.coqc);
        let output = coqc.arg("--print-version").stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    }

    fn broken(&self, file: &str, error: &io::Error) -> Failure {
        Failure::new("coq", format!("cannot check {file} with Coq: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// A program in place of Coq, which checks one certificate.
    fn checked(script: &str, stops: bool) -> Option<Checked> {
        let cache = tempfile::tempdir().expect("a folder");
        let watch = AtomicBool::new(stops);
        checked_with(script, &watch, cache.path(), true)
    }

    /// The same with proofs that were kept in a folder.
    fn checked_with(script: &str, watch: &AtomicBool, cache: &Path, anew: bool) -> Option<Checked> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(PROOFS_FOLDER)).expect("a folder");
        let coqc = folder.path().join("coqc");
        // A shell writes it: a file that this process has open cannot be executed by a thread.
        let text = format!("#!/bin/sh\n{script}\n");
        let mut shell = Command::new("sh");
        shell.args(["-c", "printf %s \"$1\" >\"$2\" && chmod 755 \"$2\"", "sh", &text]).arg(&coqc);
        assert!(shell.status().expect("a shell").success());
        let file = certificate::File {
            file: "vm_a_0.v".into(),
            vm: "a".into(),
            vcpu: 0,
            bounds: Vec::new(),
            hypotheses: Vec::new(),
        };
        let written = Written { folder: None, files: vec![file], without: Vec::new() };
        let coq = Coq { coqc: &coqc, folder: folder.path(), watch };
        let kept = |version: &str| Some(Kept::within(cache, version));
        let checked = coq.check(&written, anew, kept).expect("it can be started");
        if checked.is_some() {
            let left = std::fs::read_dir(folder.path().join(PROOFS_FOLDER)).expect("a folder");
            assert_eq!(left.count(), 0, "compiled proofs");
        }
        checked
    }

    const VERSION: &str = "if [ \"$1\" = --print-version ]; then echo '8.16.1 4.13.1'; exit; fi\n\
        case $5 in Statements.v) echo 'Closed under the global context'; exit; esac";

    #[test]
    fn what_coq_accepts_is_checked() {
        let version = "8.16.1".to_owned();
        assert_eq!(checked(VERSION, false), Some(Checked::By { version, earlier: false }));
    }

    #[test]
    fn proofs_are_compiled_once_for_each_version() {
        let cache = tempfile::tempdir().expect("a folder");
        let compiled = cache.path().join("compiled");
        let script = |version: &str| {
            format!(
                "if [ \"$1\" = --print-version ]; then echo '{version} 4.13.1'; exit; fi\n\
                 case $5 in Statements.v) echo 'Closed under the global context';; Bulkhead/*) echo $5 >\"${{5%.v}}.vo\"; echo $5 >>'{}';; esac",
                compiled.display()
            )
        };
        let mut times = 0;
        for (version, anew, earlier) in [
            ("8.16.1", false, false),
            ("8.16.1", false, true),
            ("8.16.1", true, false),
            ("8.16.1", false, true),
            ("8.17.0", false, false),
        ] {
            let kept = cache.path().join("kept");
            let watch = AtomicBool::new(false);
            let checked = checked_with(&script(version), &watch, &kept, anew);
            assert_eq!(checked, Some(Checked::By { version: version.into(), earlier }));
            times += usize::from(!earlier);
            let lines = std::fs::read_to_string(&compiled).expect("a file");
            assert_eq!(lines.lines().count(), times * PROOFS.len());
        }
    }

    #[test]
    fn what_coq_does_not_accept_is_named_with_its_words() {
        let script = format!(
            "{VERSION}\ncase $5 in vm_*) echo 'File, line 7:'; echo 'Error: no.' >&2; exit 1; esac"
        );
        let (version, refused) = ("8.16.1".to_owned(), "vm_a_0.v: Error: no.".to_owned());
        assert_eq!(checked(&script, false), Some(Checked::Refused { version, refused }));
    }

    #[test]
    fn proofs_that_assume_more_are_not_accepted() {
        let script = VERSION.replace("Closed under the global context", "Axioms: more : False");
        let refused = "Statements.v: proofs assume more: Axioms: more : False".to_owned();
        let version = "8.16.1".to_owned();
        assert_eq!(checked(&script, false), Some(Checked::Refused { version, refused }));
    }

    #[test]
    fn without_coq_nothing_is_checked() {
        assert_eq!(checked("exit 127", false), Some(Checked::NoCoq));
        let written = Written { folder: None, files: Vec::new(), without: Vec::new() };
        let watch = AtomicBool::new(false);
        let coq = Coq { coqc: Path::new("nowhere"), folder: Path::new("."), watch: &watch };
        let none = coq.check(&written, false, |_| None);
        assert_eq!(none.expect("it is not started"), Some(Checked::Nothing));
    }

    #[test]
    fn a_signal_ends_coq() {
        assert_eq!(checked(&format!("{VERSION}\nexec sleep 100"), true), None);
    }
}
