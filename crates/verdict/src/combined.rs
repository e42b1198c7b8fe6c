//! Critical sections beside something with which they are not analysed, in words.

use analysis::Duration;
use serde::Serialize;

/// Something with which critical sections are not analysed, and the VCPU that has it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Combination {
    /// The thing with which sections are not analysed.
    #[serde(flatten)]
    pub with: With,
    /// Name of the VM.
    pub vm: String,
    /// The index of the VCPU in the VM.
    pub vcpu: usize,
    /// The tasks of the VCPU that have it; none if it concerns the VCPU.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// True if the VCPU has no critical sections itself: those of others are on its PCPU.
    pub beside: bool,
}

/// Something with which critical sections are not analysed: a stable word for documents.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "with", rename_all = "kebab-case")]
pub enum With {
    /// The VCPU has a sporadic server.
    SporadicServer,
    /// The VCPU is of the background class, and sections are on its PCPU.
    Background,
    /// The time to load lines again is counted for each preemption.
    ColorReload,
    /// Tasks of the same priority.
    SamePriority,
    /// Tasks whose number of memory accesses is unknown.
    UnknownAccesses,
    /// Tasks that wait while tasks below can make memory accesses.
    Waits,
    /// A limit on memory accesses of the VCPU.
    MemoryBudget,
    /// A limit on memory accesses of the VM.
    SharedMemoryBudget,
    /// The hypervisor may take more time in sections than is allowed.
    SectionOverhead {
        /// That time.
        taken_ns: u64,
    },
}

impl Combination {
    /// Returns why there is no bound: a clause.
    pub fn reason(&self) -> String {
        let vcpu = self.vcpu_of_vm();
        let tasks = self.tasks_of_vm();
        match self.with {
            With::SporadicServer => {
                format!(
                    "critical sections are not analysed on sporadic servers, and {vcpu} has one"
                )
            }
            With::Background => format!(
                "critical sections are not analysed on a PCPU with tasks in the background class, and \
                 {vcpu} is in that class"
            ),
            With::ColorReload => {
                "critical sections are not analysed together with `color_reload`".into()
            }
            With::SamePriority => format!(
                "critical sections are not analysed beside tasks of the same priority, as {tasks} are"
            ),
            With::UnknownAccesses => format!(
                "memory accesses are counted, and how many {tasks} can make is not described, which is \
                 not analysed together with critical sections"
            ),
            With::Waits => format!(
                "critical sections are not analysed where tasks can make memory accesses while one above \
                 them waits, as {tasks} can (`self_suspension` or `blocking`)"
            ),
            With::MemoryBudget | With::SharedMemoryBudget => format!(
                "critical sections are not analysed under a limit on memory accesses, which can stop {vcpu} \
                 in a section"
            ),
            With::SectionOverhead { taken_ns } => format!(
                "the hypervisor may take {} of {vcpu} in a critical section, which is more than `section_overhead`",
                Duration(taken_ns).short()
            ),
        }
    }

    /// Returns a change after which it is no reason any more: an imperative.
    pub fn help(&self) -> String {
        let change = self.change();
        match self.beside {
            true => {
                format!("give {} a PCPU without critical sections, or {change}", self.vcpu_of_vm())
            }
            false => change,
        }
    }

    fn change(&self) -> String {
        let vcpu = self.vcpu_of_vm();
        let tasks = self.tasks_of_vm();
        match self.with {
            With::SporadicServer | With::Background => {
                format!("give {vcpu} a deferrable or periodic server")
            }
            With::ColorReload => {
                "leave `color_reload` away, and include in each `wcet` the time to load lines again"
                    .into()
            }
            With::SamePriority => format!("give {tasks} different values of `priority`"),
            With::UnknownAccesses => {
                format!("say in `accesses` how many a job of {tasks} makes at most (0: none)")
            }
            With::Waits => format!(
                "count the time for which {tasks} can wait in `wcet`, and what tasks below access meanwhile in \
                 `accesses`"
            ),
            With::MemoryBudget => format!("leave the `bandwidth` of {vcpu} away"),
            With::SharedMemoryBudget => format!("leave the `bandwidth` of VM `{}` away", self.vm),
            With::SectionOverhead { taken_ns } => {
                format!("set `section_overhead` to {} or more", Duration(taken_ns).short())
            }
        }
    }

    fn vcpu_of_vm(&self) -> String {
        format!("VCPU {} of VM `{}`", self.vcpu, self.vm)
    }

    /// Names the first tasks.
    fn tasks_of_vm(&self) -> String {
        const SHOWN: usize = 3;
        let names = self.tasks.iter().take(SHOWN).map(|name| format!("`{name}`"));
        let mut all: Vec<String> = names.collect();
        if self.tasks.len() > SHOWN {
            all.push(format!("{} others", self.tasks.len() - SHOWN));
        }
        let last = all.pop().unwrap_or_default();
        let names = if all.is_empty() { last } else { format!("{} and {last}", all.join(", ")) };
        let word = if self.tasks.len() == 1 { "task" } else { "tasks" };
        format!("{word} {names} of VM `{}`", self.vm)
    }
}

/// Joins the first reasons of these, and the help against all of them.
pub fn all_of(combinations: &[Combination]) -> (String, String) {
    const SHOWN: usize = 3;
    let join = |of: fn(&Combination) -> String, with: &str| {
        let mut parts: Vec<String> = Vec::new();
        for part in combinations.iter().map(of) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        let more = parts.len().saturating_sub(SHOWN);
        parts.truncate(SHOWN);
        if more > 0 {
            parts.push(format!("the same for {more} more"));
        }
        parts.join(with)
    };
    (join(Combination::reason, "; "), join(Combination::help, ", and "))
}
