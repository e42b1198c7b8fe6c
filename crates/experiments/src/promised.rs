//! Times that the analysis promises for a task, to stand beside measured ones.

use std::path::Path;

use lab::Failure;
use lab::load;
use serde::Deserialize;
use verdict::Verdict;

use crate::template::expand;
use crate::values::NoValue;
use crate::variant::Variant;

/// A time of a task, as `bulkhead check` shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promised {
    /// The VM of the task; default: any.
    pub vm: Option<String>,
    /// Its name, after [`expand`].
    pub task: String,
    /// The kind of time.
    pub time: Time,
    /// In ms rather than ns.
    #[serde(default)]
    pub in_ms: bool,
}

/// A kind of time of a task.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Time {
    /// The time after its release at which a job has to be complete.
    Deadline,
    /// The time after its release at which a job is complete at the latest.
    Bound,
}

impl Promised {
    /// The time in ns or ms, with what is left open in the system planned as for a boot. A task without a bound has no
    /// value; a task that does not exist is a mistake.
    pub fn read(&self, system: &Path, variant: &Variant, x: &str) -> Result<f64, NoValue> {
        let mut planned = load::plan(system)?;
        variant.apply(&mut planned)?;
        let name = expand(&self.task, x);
        let verdict = Verdict::of_plan(&planned.plan, planned.description.as_deref());
        let is_meant =
            |vm: &str, task: &str| self.vm.as_ref().is_none_or(|it| it == vm) && task == name;
        let mut tasks = verdict.tasks();
        let Some((vcpu, task)) = tasks.find(|(vcpu, task)| is_meant(&vcpu.vm, &task.task)) else {
            let vm =
                self.vm.as_ref().map_or("no VM has a".into(), |vm| format!("VM `{vm}` has no"));
            let text = format!("{}: {vm} task `{name}`", system.display());
            return Err(Failure::new("experiment", text).into());
        };
        let time = match self.time {
            Time::Deadline => Some(task.deadline_ns),
            Time::Bound => task.wcrt_ns,
        };
        let unit = if self.in_ms { 1e6 } else { 1.0 };
        let why = || NoValue::Absent(vcpu.why_no_bound(task));
        Ok(time.ok_or_else(why)? as f64 / unit)
    }
}
