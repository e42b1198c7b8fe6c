//! Bounds as theorems: files in a folder, and tasks without theorems.

use std::path::Path;

use certificate::folder::{self, MAKEFILE};
use certificate::{Certificate, Vcpu};
use serde::Serialize;

use crate::Failure;

/// The files that were written.
#[derive(Debug, Serialize)]
pub struct Written {
    /// The folder; `None` if no bound has a theorem, and nothing was written.
    pub folder: Option<String>,
    /// The files with theorems, one for each VCPU that has some.
    pub files: Vec<File>,
    /// Tasks without.
    pub without: Vec<Without>,
}

/// The theorems of a VCPU.
#[derive(Debug, Serialize)]
pub struct File {
    /// Name of the file, in the folder.
    pub file: String,
    /// Name of the VM.
    pub vm: String,
    /// The index of the VCPU in the VM.
    pub vcpu: usize,
    /// The theorems.
    pub bounds: Vec<Bound>,
    /// Their assumptions besides the description, which nobody has proved: clauses.
    pub hypotheses: Vec<String>,
}

/// A bound with a theorem.
#[derive(Debug, Serialize)]
pub struct Bound {
    /// Name of the task.
    pub task: String,
    /// Name of the theorem.
    pub theorem: String,
    /// The bound on its response time.
    pub response_ns: u64,
}

/// A task without a theorem.
#[derive(Debug, Serialize)]
pub struct Without {
    /// Name of the VM.
    pub vm: String,
    /// The index of the VCPU in the VM.
    pub vcpu: usize,
    /// Name of the task.
    pub task: String,
    /// The reason: a clause.
    pub reason: String,
}

impl Written {
    /// Returns the number of bounds with a theorem, and that of all tasks.
    pub fn counts(&self) -> (usize, usize) {
        let proved = self.files.iter().map(|file| file.bounds.len()).sum();
        (proved, proved + self.without.len())
    }
}

/// Writes the certificates of these VCPUs into a folder.
///
/// # Errors
///
/// There are no tasks; a `Makefile` that is not one of certificates would be lost; or the folder
/// cannot be written.
pub fn write(path: &Path, vcpus: &[Vcpu]) -> Result<Written, Failure> {
    if vcpus.is_empty() {
        let help = "describe tasks, or leave out `--certificate`";
        return Err(Failure::new("no-tasks", format!("there are no tasks\nhelp: {help}")));
    }
    let all: Vec<(&Vcpu, Certificate)> =
        vcpus.iter().map(|vcpu| (vcpu, certificate::write(vcpu))).collect();
    let (with, _): (Vec<_>, Vec<_>) = all.iter().partition(|(_, it)| !it.bounds.is_empty());
    let names = folder::names(with.iter().map(|(vcpu, _)| *vcpu));
    let files: Vec<_> = names.iter().cloned().zip(with.iter().map(|(_, it)| it)).collect();
    remove_makefile(path)?;
    let written = (!files.is_empty()).then(|| path.display().to_string());
    if written.is_some() {
        // The `Makefile` is the last one: without it nothing seems complete.
        for file in folder::files(&files) {
            image::write(&path.join(&file.path), file.text.as_bytes())?;
        }
    }
    let files = with.iter().zip(names).map(|((vcpu, certificate), file)| File {
        file,
        vm: vcpu.vm.clone(),
        vcpu: vcpu.vcpu,
        bounds: certificate
            .bounds
            .iter()
            .map(|it| Bound {
                task: vcpu.tasks[it.task].name.clone(),
                theorem: it.theorem.clone(),
                response_ns: it.response,
            })
            .collect(),
        hypotheses: certificate.hypotheses.clone(),
    });
    let without = all.iter().flat_map(|(vcpu, certificate)| {
        certificate.without.iter().map(|(task, lack)| Without {
            vm: vcpu.vm.clone(),
            vcpu: vcpu.vcpu,
            task: vcpu.tasks[*task].name.clone(),
            reason: lack.to_string(),
        })
    });
    Ok(Written { folder: written, files: files.collect(), without: without.collect() })
}

/// Returns true if there are certificates in a folder.
pub fn is_in(folder: &Path) -> bool {
    let makefile = std::fs::read(folder.join("Makefile"));
    makefile.is_ok_and(|text| text.starts_with(MAKEFILE.as_bytes()))
}

/// Removes the `Makefile` of certificates that were written earlier, so that they are not checked in place of new ones.
/// Another `Makefile` is an error: it would be lost.
fn remove_makefile(folder: &Path) -> Result<(), Failure> {
    let makefile = folder.join("Makefile");
    let Ok(text) = std::fs::read(&makefile) else { return Ok(()) };
    let shown = makefile.display();
    if !text.starts_with(MAKEFILE.as_bytes()) {
        let help = "name another folder for the certificates";
        let text = format!("{shown} is not one of certificates, and would be lost\nhelp: {help}");
        return Err(Failure::new("another-makefile", text));
    }
    std::fs::remove_file(&makefile)
        .map_err(|error| Failure::file("cannot-write", format!("cannot remove {shown}: {error}")))
}
