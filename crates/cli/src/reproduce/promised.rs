//! What the analysis promises of a task, to stand beside what is measured.

use std::path::Path;

use analysis::verdict::Verdict;
use serde::Deserialize;

use crate::failure::Failure;
use crate::input;

/// A time of a task, as `bulkhead check` shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promised {
    /// The VM of the task.
    pub vm: String,
    /// Its name.
    pub task: String,
    /// Which time.
    pub time: Time,
}

/// Which time of a task.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Time {
    /// When a job has to be complete after its release.
    Deadline,
    /// When it is, for sure.
    Bound,
}

impl Promised {
    /// The time in ns, with what is left open in the system planned as for a boot.
    pub fn read(&self, system: &Path) -> Result<f64, Failure> {
        let planned = input::plan(system)?;
        let verdict = Verdict::of_plan(&planned.plan, planned.description.as_deref());
        let vcpus = verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
        let mut tasks = vcpus.filter(|vcpu| vcpu.vm == self.vm).flat_map(|vcpu| &vcpu.tasks);
        let task = tasks.find(|task| task.task == self.task);
        let time = task.and_then(|task| match self.time {
            Time::Deadline => Some(task.deadline_ns),
            Time::Bound => task.wcrt_ns,
        });
        time.map(|ns| ns as f64).ok_or_else(|| {
            let (file, Self { vm, task, .. }) = (system.display(), self);
            let text = match self.time {
                Time::Deadline => format!("{file}: VM `{vm}` has no task `{task}`"),
                Time::Bound => format!("{file}: no bound for a task `{task}` of VM `{vm}`"),
            };
            Failure::new("experiment", text)
        })
    }
}
