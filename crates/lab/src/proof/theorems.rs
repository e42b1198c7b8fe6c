//! Bounds as theorems, in the results of a proof; and Coq, which checks them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ::certificate::folder::PROOFS;
use report::proof::{Checked, Theorem, Theorems, Unproved};
use verdict::Verdict;

use super::folder::Folder;
use crate::certificate::{self, Written};
use crate::failure::Failure;
use crate::load::System;
use crate::watch::Watch;

/// The folder in that of the results.
pub const FOLDER: &str = "certificate";
/// What Coq says of the file that it reads, in that folder.
const LOG: &str = "coq.log";
/// The program.
const COQC: &str = "coqc";
/// Time between two looks at Coq.
const LOOK: Duration = Duration::from_millis(50);

/// Writes the bounds of a system with its plan as theorems, and has Coq check them, if it is
/// installed. `None`: `watch` stopped it.
pub fn theorems(
    system: &System,
    folder: &Folder,
    watch: &dyn Watch,
) -> Result<Option<Theorems>, Failure> {
    let described = system.description.as_deref();
    let vcpus = described.map(|described| {
        Verdict::of_plan(&system.plan, Some(described)).certificates(&system.plan, described)
    });
    let path = folder.of_run(FOLDER)?;
    let written = certificate::write(&path, &vcpus.unwrap_or_default())?;
    let Some(checked) = check(&path, &written, Path::new(COQC), watch)? else { return Ok(None) };
    let bounds = written.files.iter().flat_map(|file| {
        file.bounds.iter().map(|bound| Theorem {
            vm: file.vm.clone(),
            vcpu: file.vcpu,
            task: bound.task.clone(),
            file: file.file.clone(),
            theorem: bound.theorem.clone(),
            response_ns: bound.response_ns,
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

/// Removes the theorems of an earlier proof, whose bounds may be others.
pub fn remove(folder: &Folder) -> Result<(), Failure> {
    let path = folder.place(FOLDER);
    if !certificate::is_in(&path) {
        return Ok(());
    }
    let cannot =
        |error| Failure::new("output", format!("cannot remove {}: {error}", path.display()));
    std::fs::remove_dir_all(&path).map_err(cannot)
}

/// Has Coq check the files in a folder. `None`: `watch` stopped it.
fn check(
    folder: &Path,
    written: &Written,
    coqc: &Path,
    watch: &dyn Watch,
) -> Result<Option<Checked>, Failure> {
    if written.files.is_empty() {
        return Ok(Some(Checked::Nothing));
    }
    let Some(version) = version(coqc) else { return Ok(Some(Checked::NoCoq)) };
    let proofs = PROOFS.iter().map(|(name, _)| PathBuf::from(format!("Bulkhead/{name}.v")));
    let own = written.files.iter().map(|it| PathBuf::from(&it.file));
    for file in proofs.chain(own) {
        let broken = |error: io::Error| {
            Failure::new("coq", format!("cannot check {} with Coq: {error}", file.display()))
        };
        let mut coq = start(coqc, folder, &file).map_err(broken)?;
        let status = loop {
            if watch.stops() {
                // It may have ended by itself.
                let _ = coq.kill();
                let _ = coq.wait();
                return Ok(None);
            }
            match coq.try_wait().map_err(broken)? {
                Some(status) => break status,
                None => thread::sleep(LOOK),
            }
            watch.tick();
        };
        if !status.success() {
            let says = std::fs::read_to_string(folder.join(LOG)).unwrap_or_default();
            let says = says.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing");
            let refused = format!("{}: {}", file.display(), says.trim());
            return Ok(Some(Checked::Refused { version, refused }));
        }
    }
    Ok(Some(Checked::By { version }))
}

fn start(coqc: &Path, folder: &Path, file: &Path) -> io::Result<Child> {
    let log = File::create(folder.join(LOG))?;
    Command::new(coqc)
        .current_dir(folder)
        .args(["-q", "-Q", "Bulkhead", "Bulkhead"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

/// Returns the version of Coq, if it is installed.
fn version(coqc: &Path) -> Option<String> {
    let output = Command::new(coqc).arg("--print-version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().next().filter(|_| output.status.success()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// A program in place of Coq, which checks one certificate.
    fn checked(script: &str, stops: bool) -> Option<Checked> {
        let folder = tempfile::tempdir().expect("a folder");
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
        };
        let written = Written { folder: None, files: vec![file], without: Vec::new() };
        let watch = AtomicBool::new(stops);
        check(folder.path(), &written, &coqc, &watch).expect("it can be started")
    }

    const VERSION: &str = "if [ \"$1\" = --print-version ]; then echo '8.16.1 4.13.1'; exit; fi";

    #[test]
    fn what_coq_accepts_is_checked() {
        let version = "8.16.1".to_owned();
        assert_eq!(checked(VERSION, false), Some(Checked::By { version }));
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
    fn without_coq_nothing_is_checked() {
        assert_eq!(checked("exit 127", false), Some(Checked::NoCoq));
        let written = Written { folder: None, files: Vec::new(), without: Vec::new() };
        let none = check(Path::new("."), &written, Path::new("nowhere"), &AtomicBool::new(false));
        assert_eq!(none.expect("it is not started"), Some(Checked::Nothing));
    }

    #[test]
    fn a_signal_ends_coq() {
        assert_eq!(checked(&format!("{VERSION}\nexec sleep 100"), true), None);
    }
}
