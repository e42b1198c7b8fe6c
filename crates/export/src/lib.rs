//! A plan's colours, CPUs and memory bandwidth as the configuration of another hypervisor or of
//! Linux.
//!
//! None of these systems can do everything that a plan can contain. [`Export::missing`] and the
//! head of every file list what is lost. If a target cannot separate what the plan separates, there
//! is a [`Refusal`] and no file.

#![forbid(unsafe_code)]

mod abilities;
mod bao;
mod colors;
mod jailhouse;
mod resctrl;
mod sched_deadline;
mod text;
mod xen;
mod xvisor;

#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;
use system::plan::Plan;
use system::platform::Platform;

/// A system for which a configuration can be written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Xen 4.20 or later with `xl`: cache colours, RTDS.
    Xen,
    /// Bao: cache colours, one VCPU on each PCPU.
    Bao,
    /// Xvisor: cache colours, priorities.
    Xvisor,
    /// Jailhouse with cache colouring: one VCPU on each PCPU.
    Jailhouse,
    /// Cache ways and memory bandwidth of a Linux host (x86 RDT, Arm MPAM).
    Resctrl,
    /// Linux's `SCHED_DEADLINE` for the threads of QEMU's VCPUs, on a host with KVM.
    SchedDeadline,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 6] =
        [Self::Xen, Self::Bao, Self::Xvisor, Self::Jailhouse, Self::Resctrl, Self::SchedDeadline];

    /// Returns the word on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Xen => "xen",
            Self::Bao => "bao",
            Self::Xvisor => "xvisor",
            Self::Jailhouse => "jailhouse",
            Self::Resctrl => "resctrl",
            Self::SchedDeadline => "sched-deadline",
        }
    }

    /// Returns true if the target takes plans of machines that the hypervisor does not boot.
    pub fn takes_outlines(self) -> bool {
        self == Self::SchedDeadline
    }

    /// Returns the name in the target's own spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xen => "Xen",
            Self::Bao => "Bao",
            Self::Xvisor => "Xvisor",
            Self::Jailhouse => "Jailhouse",
            Self::Resctrl => "resctrl",
            Self::SchedDeadline => "SCHED_DEADLINE",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A file of a configuration.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct File {
    /// Name of the file, without a folder.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// The configuration of a target.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Export {
    /// The target.
    pub target: Target,
    /// The files.
    pub files: Vec<File>,
    /// Properties of the plan that the target cannot enforce, one sentence each.
    pub missing: Vec<String>,
    /// Steps that the user has to do by hand, one sentence each.
    pub left: Vec<String>,
}

/// The target cannot keep apart what the plan keeps apart.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{} cannot run this plan:\n- {}", target.name(), reasons.join("\n- "))]
pub struct Refusal {
    /// The target.
    pub target: Target,
    /// Each reason in a sentence.
    pub reasons: Vec<String>,
}

/// Writes the configuration of `target` for a plan. The machine, if it is known, says which CPUs a host with KVM has.
pub fn export(plan: &Plan, platform: Option<&Platform>, target: Target) -> Result<Export, Refusal> {
    let part = match target {
        Target::Xen => xen::part(plan),
        Target::Bao => bao::part(plan),
        Target::Xvisor => xvisor::part(plan),
        Target::Jailhouse => jailhouse::part(plan),
        Target::Resctrl => resctrl::part(plan),
        Target::SchedDeadline => sched_deadline::part(plan, platform),
    };
    let mut missing = abilities::missing(plan, target);
    missing.extend(part.missing);
    let mut reasons = abilities::impossible(plan, target);
    reasons.extend(part.impossible);
    if !reasons.is_empty() {
        return Err(Refusal { target, reasons });
    }
    let left = part.left;
    let files = part.files.into_iter().map(|file| file.with_head(plan, target, &missing, &left));
    Ok(Export { target, files: files.collect(), missing, left })
}

/// The contribution of one target to an [`Export`].
#[derive(Default)]
struct Part {
    files: Vec<Draft>,
    /// Sentences for [`Export::missing`] that are about this target alone.
    missing: Vec<String>,
    /// Sentences for [`Export::left`].
    left: Vec<String>,
    /// Sentences for [`Refusal::reasons`] that are about this target alone.
    impossible: Vec<String>,
}

/// A file without its head.
struct Draft {
    name: String,
    comment: text::Comment,
    body: String,
}

impl Draft {
    fn new(name: impl Into<String>, comment: text::Comment, body: String) -> Self {
        Self { name: name.into(), comment, body }
    }

    fn with_head(self, plan: &Plan, target: Target, missing: &[String], left: &[String]) -> File {
        let made = format!(
            "The system `{}` for {}, made out of its plan by `bulkhead export`.",
            plan.name,
            target.name()
        );
        let mut lines = vec![made];
        let mut list = |heading: String, sentences: &[String]| {
            if !sentences.is_empty() {
                lines.push(heading);
                lines.extend(sentences.iter().map(|sentence| format!("- {sentence}")));
            }
        };
        list(format!("What the plan says and {} does not do:", target.name()), missing);
        list("What is left to do:".into(), left);
        File { name: self.name, text: self.comment.head(&lines) + &self.body }
    }
}
