//! Bounds as theorems: the files, and what is said about them.

use std::path::Path;

use certificate::folder::{self, COQ, MAKEFILE, PACKAGE};
use certificate::{Certificate, Vcpu};
use serde::Serialize;

use crate::failure::Failure;

/// What was written.
#[derive(Debug, Serialize)]
pub struct Written {
    /// The folder; `None` if no bound has a theorem, and nothing was written.
    folder: Option<String>,
    /// The files with theorems.
    files: Vec<File>,
    /// Tasks without.
    without: Vec<Without>,
}

#[derive(Debug, Serialize)]
struct File {
    file: String,
    vm: String,
    vcpu: usize,
    bounds: Vec<Bound>,
}

#[derive(Debug, Serialize)]
struct Bound {
    task: String,
    theorem: String,
    response_ns: u64,
}

#[derive(Debug, Serialize)]
struct Without {
    vm: String,
    vcpu: usize,
    task: String,
    reason: String,
}

/// Writes the certificates of these VCPUs into a folder.
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
        .map_err(|error| Failure::new("cannot-write", format!("cannot remove {shown}: {error}")))
}

impl Written {
    /// Returns the text for people.
    pub fn show(&self) -> String {
        let proved: usize = self.files.iter().map(|file| file.bounds.len()).sum();
        let all = proved + self.without.len();
        let mut text = match &self.folder {
            Some(folder) => format!(
                "\ntheorems for {proved} of {all} tasks; Coq (Debian package `{PACKAGE}`, tested with \
                 {COQ}) checks them by `make -C {folder}`\n"
            ),
            None => format!("\nno theorem for any of {all} tasks: nothing was written\n"),
        };
        for without in &self.without {
            let Without { vm, vcpu, task, reason } = without;
            text.push_str(&format!(
                "  none for task `{task}` on VCPU {vcpu} of VM `{vm}`: {reason}\n"
            ));
        }
        text
    }
}
