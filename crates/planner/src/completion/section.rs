//! The time that the hypervisor may take in critical sections.

use analysis::{Duration, Reason};
use system::description::System;
use verdict::{TaskVerdict, Verdict};

use super::change::exact;
use super::verdict;

/// Rounds of [`needed`]: the time of the hypervisor grows with the time that it may take, but by less.
const ROUNDS: usize = 16;

/// Returns the least `section_overhead` that was found with which no VCPU of a complete description
/// exceeds it; `None` if none does, or no such value was found.
pub(super) fn needed(system: &System) -> Option<Duration> {
    let mut changed = system.clone();
    for _ in 0..ROUNDS {
        match taken(&verdict(&changed)?) {
            Some(taken) => changed.section_overhead = taken,
            None if changed.section_overhead == system.section_overhead => return None,
            None => return Some(changed.section_overhead),
        }
    }
    None
}

/// Says which time is needed if that is why a task of a complete description has no bound.
pub(super) fn advice(system: &System, task: &TaskVerdict) -> Option<String> {
    if task.failure != Some(Reason::SectionOverhead) {
        return None;
    }
    let needed = exact(needed(system)?);
    Some(format!("say `section_overhead = \"{needed}\"`: that is enough for all VCPUs here"))
}

/// Returns the longest time that the hypervisor may take in a section of a VCPU that does not allow
/// it.
fn taken(verdict: &Verdict) -> Option<Duration> {
    let vcpus = verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
    vcpus.filter_map(|vcpu| vcpu.in_section_ns).max().map(Duration)
}
