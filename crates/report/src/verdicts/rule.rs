//! Questions about a system: names that stay, for tools that follow a verdict from one change to the next.

use std::borrow::Cow;

/// A question that a command answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rule {
    /// A mistake in the input, with the stable name of its kind: `unknown-key`.
    Input(&'static str),
    /// Is there a plan?
    Plan,
    /// Is a task in time?
    Deadline,
    /// Is the data of a chain in time?
    Chain,
    /// Does a VCPU get its budget?
    Budget,
    /// Has a VCPU time for its tasks?
    Load,
    /// Does a bound of the analysis hold?
    Bound,
    /// Does a VM keep its limit of memory accesses?
    MemoryBudget,
    /// Do VMs evict no cache lines of each other?
    CacheIsolation,
    /// Does memory lie in frames of its colours?
    Colors,
    /// Does Coq accept the theorems?
    Theorems,
    /// Did the scheduler decide as its policies do?
    Decisions,
    /// Did a VM end well?
    Vm,
    /// Did the run end well?
    Run,
    /// Was all recorded that was to be?
    Recording,
    /// Are two systems the same in something?
    Difference,
}

impl Rule {
    /// All rules; the kinds of mistakes are one of them.
    pub const ALL: [Self; 16] = [
        Self::Input(""),
        Self::Plan,
        Self::Deadline,
        Self::Chain,
        Self::Budget,
        Self::Load,
        Self::Bound,
        Self::MemoryBudget,
        Self::CacheIsolation,
        Self::Colors,
        Self::Theorems,
        Self::Decisions,
        Self::Vm,
        Self::Run,
        Self::Recording,
        Self::Difference,
    ];

    /// Returns its stable name, such as `deadline` or `input/unknown-key`.
    pub fn id(self) -> Cow<'static, str> {
        match self {
            Self::Input("") => "input".into(),
            Self::Input(kind) => format!("input/{kind}").into(),
            Self::Plan => "plan".into(),
            Self::Deadline => "deadline".into(),
            Self::Chain => "chain".into(),
            Self::Budget => "budget".into(),
            Self::Load => "load".into(),
            Self::Bound => "bound".into(),
            Self::MemoryBudget => "memory-budget".into(),
            Self::CacheIsolation => "cache-isolation".into(),
            Self::Colors => "colors".into(),
            Self::Theorems => "theorems".into(),
            Self::Decisions => "decisions".into(),
            Self::Vm => "vm".into(),
            Self::Run => "run".into(),
            Self::Recording => "recording".into(),
            Self::Difference => "difference".into(),
        }
    }

    /// Returns the statement that holds if the answer is yes, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Input(_) => "The input has no mistake.",
            Self::Plan => "The description is sound, and a plan for it exists.",
            Self::Deadline => "Each job of the task meets its deadline.",
            Self::Chain => "Data takes no longer through the chain than it may.",
            Self::Budget => "The VCPU gets its budget in each of its periods.",
            Self::Load => "The VCPU has at least the time that its tasks certainly need.",
            Self::Bound => "No job takes longer than the bound that the analysis has for it.",
            Self::MemoryBudget => {
                "The VM makes no more memory accesses in a period than the analysis counts with."
            }
            Self::CacheIsolation => "No VM evicts cache lines of another one.",
            Self::Colors => "All memory of the VM lies in frames of its colours.",
            Self::Theorems => "Coq accepts the theorems on the bounds.",
            Self::Decisions => "The scheduler decides as its policies do.",
            Self::Vm => "The VM ends well, and its guest reports no failure.",
            Self::Run => "The run ends by itself and in good order.",
            Self::Recording => "All counts and records are complete.",
            Self::Difference => "Both systems are the same in this.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rules_have_names_of_their_own() {
        let mut names: Vec<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), Rule::ALL.len());
        assert_eq!(Rule::Input("unknown-key").id(), "input/unknown-key");
    }
}
