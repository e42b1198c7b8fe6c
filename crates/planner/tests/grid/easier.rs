//! Systems that are easier than a given one: whatever is a plan of that is one of these, too.

use crate::draft::{Colors, Draft};

/// Returns the ways in which a system becomes easier, as far as each applies.
pub fn all(draft: &Draft) -> Vec<(&'static str, Draft)> {
    let ways = [("less work", less_work(draft)), ("a PCPU more", more_pcpus(draft))];
    let ways = ways.into_iter().chain([("more colours", more_colors(draft))]);
    ways.filter_map(|(name, draft)| Some((name, draft?))).collect()
}

/// All execution times, and the sections in them, times 0.8.
fn less_work(draft: &Draft) -> Option<Draft> {
    let mut easier = draft.clone();
    let less = |time: &mut u64| *time = (*time * 4 / 5).max(1);
    for task in easier.vms.iter_mut().flat_map(|vm| &mut vm.tasks) {
        task.wcet_ns.iter_mut().for_each(|(_, time)| less(time));
        for (_, after, length) in &mut task.sections {
            *after = *after * 4 / 5;
            less(length);
        }
    }
    Some(easier)
}

/// Not where memory accesses are counted: in a critical section each access waits for one of every
/// other PCPU.
fn more_pcpus(draft: &Draft) -> Option<Draft> {
    let counted = draft.vms.iter().flat_map(|vm| &vm.tasks).any(|task| task.accesses.is_some());
    // Each VCPU without a server gets the lowest PCPU that is free, which would be another one.
    let alone = draft.vms.iter().flat_map(|vm| &vm.vcpus).any(|vcpu| vcpu.server.is_none());
    let may = draft.pcpus < crate::draw::PCPUS_MAX && !counted && !alone;
    may.then(|| Draft { pcpus: draft.pcpus + 1, ..draft.clone() })
}

/// Not where a VM has all of the cache and loads it again after preemptions.
fn more_colors(draft: &Draft) -> Option<Draft> {
    let planned = draft.vms.iter().any(|vm| vm.colors == Colors::Planned);
    let all = draft.vms.iter().any(|vm| vm.colors == Colors::All);
    let may = planned && (!all || draft.reload_us.is_none());
    may.then(|| Draft { colors: draft.colors * 2, ..draft.clone() })
}
