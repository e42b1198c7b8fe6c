//! The result of a check, as a document.

use serde::Serialize;
use system::diagnostic::Entry;
use system::report::{PlannedVm, Report, hypervisor_colors, planned_vms};
use verdict::{Sensitivity, Verdict};

use super::Checked;
use crate::certificate::Written;

/// A checked system.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    /// True if every deadline is met; of a plan, which has no tasks, if it is sound.
    pub ok: bool,
    /// False for a plan.
    pub deadlines_checked: bool,
    /// The file, as the user names it.
    pub file: &'a str,
    /// The name of the system.
    pub system: &'a str,
    /// The VMs with all that the plan gives them, if the machine can have a plan.
    pub vms: Vec<PlannedVm<'a>>,
    /// The colours of the hypervisor's own code and data, if the plan limits them.
    pub hypervisor_colors: Option<Vec<usize>>,
    /// Files of the plan that do not exist yet.
    pub missing_files: &'a [String],
    /// The summary of the description, if the file is one.
    pub report: Option<&'a Report>,
    /// The bounds.
    pub analysis: &'a Verdict,
    /// Advice for tasks and chains that can be late.
    pub advice: &'a [String],
    /// The possible growth of execution times, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<&'a Sensitivity>,
    /// The theorems that were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<&'a Written>,
    /// None: documents of failures have theirs under the same name.
    pub errors: Vec<Entry>,
}

impl<'a> Document<'a> {
    /// The document of a check.
    pub fn new(checked: &'a Checked) -> Self {
        let plan = checked.plan.as_ref();
        Self {
            ok: checked.is_ok(),
            deadlines_checked: checked.described.is_some(),
            file: &checked.file,
            system: checked.name(),
            vms: plan.map(planned_vms).unwrap_or_default(),
            hypervisor_colors: plan.and_then(hypervisor_colors),
            missing_files: &checked.missing,
            report: checked.report.as_ref(),
            analysis: &checked.verdict,
            advice: &checked.advice,
            sensitivity: checked.sensitivity.as_ref(),
            certificate: checked.certificate.as_ref(),
            errors: Vec::new(),
        }
    }
}
