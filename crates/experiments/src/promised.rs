//! What the analysis promises of a task, to stand beside what is measured.

use std::path::Path;

use lab::Failure;
use lab::load;
use serde::Deserialize;
use verdict::Verdict;

use crate::template::expand;
use crate::variant::Variant;

/// A time of a task, as `bulkhead check` shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promised {
    /// The VM of the task; default: any.
    pub vm: Option<String>,
    /// Its name, after [`expand`].
    pub task: String,
    /// Which time.
    pub time: Time,
    /// In ms rather than ns.
    #[serde(default)]
    pub in_ms: bool,
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
    /// The time in ns or ms, with what is left open in the system planned as for a boot.
    pub fn read(&self, system: &Path, variant: &Variant, x: &str) -> Result<f64, Failure> {
        let mut planned = load::plan(system)?;
        variant.apply(&mut planned)?;
        let name = expand(&self.task, x);
        let verdict = Verdict::of_plan(&planned.plan, planned.description.as_deref());
        let vcpus = verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
        let mine = vcpus.filter(|vcpu| self.vm.as_ref().is_none_or(|vm| *vm == vcpu.vm));
        let mut tasks = mine.flat_map(|vcpu| &vcpu.tasks);
        let task = tasks.find(|task| task.task == name);
        let time = task.and_then(|task| match self.time {
            Time::Deadline => Some(task.deadline_ns),
            Time::Bound => task.wcrt_ns,
        });
        let unit = if self.in_ms { 1e6 } else { 1.0 };
        time.map(|ns| ns as f64 / unit).ok_or_else(|| {
            let (file, vm) = (system.display(), self.vm.as_deref().unwrap_or("any"));
            let text = match self.time {
                Time::Deadline => format!("{file}: VM `{vm}` has no task `{name}`"),
                Time::Bound => format!(
                    "{file}: the analysis has no bound for a task `{name}` of VM `{vm}`\nhelp: `bulkhead check {file}` says why"
                ),
            };
            Failure::new("experiment", text)
        })
    }
}
