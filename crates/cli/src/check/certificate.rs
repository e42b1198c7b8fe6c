//! Bounds as theorems, for people.

use certificate::folder::{COQ, PACKAGE};
use lab::certificate::{File, Without, Written};

/// Returns the text for people.
pub fn show(written: &Written) -> String {
    let (proved, all) = written.counts();
    let mut text = match &written.folder {
        Some(folder) => format!(
            "\ntheorems for {proved} of {all} tasks; Coq (Debian package `{PACKAGE}`, tested with \
             {COQ}) checks them by `make -C {folder}`\n"
        ),
        None => format!("\nno theorem for any of {all} tasks: nothing was written\n"),
    };
    for File { vm, vcpu, hypotheses, .. } in &written.files {
        for hypothesis in hypotheses {
            text.push_str(&format!(
                "  those of VCPU {vcpu} of VM `{vm}` assume that {hypothesis}\n"
            ));
        }
    }
    for without in &written.without {
        let Without { vm, vcpu, task, reason } = without;
        text.push_str(&format!("  none for task `{task}` on VCPU {vcpu} of VM `{vm}`: {reason}\n"));
    }
    text
}
