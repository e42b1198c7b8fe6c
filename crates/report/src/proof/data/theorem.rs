//! Bounds as theorems, and their check.

/// The bounds of tasks as theorems.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Theorems {
    /// The folder in which the files are.
    pub folder: String,
    /// Bounds with a theorem.
    pub bounds: Vec<Theorem>,
    /// Tasks whose bounds have none.
    pub without: Vec<Unproved>,
    /// The check of the theorems.
    pub checked: Checked,
}

/// A bound that is a theorem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Theorem {
    /// Name of the VM.
    pub vm: String,
    /// The index of the VCPU in the VM.
    pub vcpu: usize,
    /// Name of the task.
    pub task: String,
    /// Name of the file.
    pub file: String,
    /// Name of the theorem.
    pub theorem: String,
    /// The bound on the response time in nanoseconds.
    pub response_ns: u64,
    /// Its assumptions besides the description, which nobody has proved: clauses.
    pub hypotheses: Vec<String>,
}

/// A task whose bound has no theorem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unproved {
    /// Name of the VM.
    pub vm: String,
    /// The index of the VCPU in the VM.
    pub vcpu: usize,
    /// Name of the task.
    pub task: String,
    /// The reason: a clause.
    pub reason: String,
}

/// The check of theorems.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Checked {
    /// There are none.
    #[default]
    Nothing,
    /// Nobody has checked them: Coq is not installed.
    NoCoq,
    /// Coq of this version.
    By {
        /// The version.
        version: String,
        /// True if the proofs were compiled for an earlier check.
        earlier: bool,
    },
    /// Coq of this version does not accept one of the files.
    Refused {
        /// The version.
        version: String,
        /// The file, and the message of Coq about it.
        refused: String,
    },
}

impl Theorems {
    /// Returns the number of checked bounds, and their checker: a sentence without an end.
    pub fn summary(&self) -> String {
        let (proved, all) = (self.bounds.len(), self.bounds.len() + self.without.len());
        match &self.checked {
            Checked::Nothing => format!("no bound of {all} is a theorem"),
            Checked::NoCoq => format!(
                "theorems for {proved} of {all} bounds, which are not checked: Coq is missing (Debian \
                 package `coq`); `make -C {}` checks them",
                self.folder
            ),
            Checked::By { version, earlier } => {
                let earlier = if *earlier { ", with proofs compiled earlier" } else { "" };
                format!("checked by Coq {version}{earlier}: {proved} of {all} bounds")
            }
            Checked::Refused { version, refused } => {
                format!("Coq {version} does not accept {refused}")
            }
        }
    }
}
