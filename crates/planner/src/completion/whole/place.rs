//! Simple ways to put VCPUs onto PCPUs.

use std::cmp::Reverse;

use system::description::System;

use super::super::apart;
use super::super::pcpus::{At, all, given, place_background, priorities_fit, put, reserve, vcpu};
use super::fill::Weights;
use super::judge::WHOLE;

/// A way to choose PCPUs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// Each to the PCPU where least is needed, the largest first.
    Worst,
    /// Each to the PCPU where most is needed, of those with room up to this share in millionths; the largest first.
    Best(u64),
    /// One after the other, in the order of the description.
    Around,
    /// The same, the largest first.
    Turns,
    /// All VCPUs of a VM together, VM after VM.
    ByVm,
    /// The same, but the VCPUs of each VM one after the other.
    Apart,
}

/// Gives every VCPU without PCPU one of the first `most` PCPUs that VCPUs can share; `None` if
/// there is none for some VCPU.
pub fn place(system: &System, weights: &Weights, way: Way, most: usize) -> Option<System> {
    let mut system = system.clone();
    let mut shared = reserve(&mut system)?;
    let used = |pcpu: &usize| all(&system).iter().any(|&at| given(&system, at) == Some(*pcpu));
    // PCPUs that were given do not count.
    let mut left = most;
    shared.retain(|pcpu| {
        let keeps = used(pcpu) || left > 0;
        left -= usize::from(!used(pcpu) && left > 0);
        keeps
    });
    if shared.is_empty() {
        let none = all(&system).iter().all(|&at| given(&system, at).is_some());
        return none.then_some(system);
    }
    let is_open = |at: &At| {
        vcpu(&system, *at).server.as_ref().is_some_and(|it| it.class.value.budget().is_some())
            && given(&system, *at).is_none()
    };
    let mut open: Vec<At> = all(&system).into_iter().filter(is_open).collect();
    if matches!(way, Way::Worst | Way::Best(_) | Way::Turns) {
        open.sort_by_key(|&at| Reverse(weights.of(at)));
    }
    let keeps_apart = apart::matters(&system);
    for (number, &at) in open.iter().enumerate() {
        let on = |pcpu: usize| -> Vec<At> {
            all(&system).into_iter().filter(|&it| given(&system, it) == Some(pcpu)).collect()
        };
        let load =
            |pcpu: usize| on(pcpu).iter().map(|&it| load_of(&system, weights, it)).sum::<u64>();
        let fits = |pcpu: usize| {
            let mut members = on(pcpu);
            members.retain(|&it| {
                vcpu(&system, it)
                    .server
                    .as_ref()
                    .is_some_and(|it| it.class.value.budget().is_some())
            });
            members.push(at);
            members.sort_by_key(|&it| super::super::pcpus::order(&system, it));
            priorities_fit(&system, &members)
        };
        let own = load_of(&system, weights, at);
        let mut fitting: Vec<usize> = shared.iter().copied().filter(|&pcpu| fits(pcpu)).collect();
        let stays_apart = |pcpu: &usize| {
            let here: Vec<At> = on(*pcpu).into_iter().chain([at]).collect();
            !apart::is_mixed(&system, &here)
        };
        if keeps_apart && fitting.iter().any(stays_apart) {
            fitting.retain(stays_apart);
        }
        let preferred = match way {
            Way::Worst => None,
            Way::Best(room) => {
                let room = |&pcpu: &usize| load(pcpu) + own <= room;
                fitting.iter().copied().filter(room).max_by_key(|&pcpu| (load(pcpu), Reverse(pcpu)))
            }
            Way::Around | Way::Turns => Some(shared[number % shared.len()]),
            Way::ByVm => Some(shared[at.0 % shared.len()]),
            Way::Apart => Some(shared[(at.0 + at.1) % shared.len()]),
        };
        let preferred = preferred.filter(|pcpu| fitting.contains(pcpu));
        let least =
            || fitting.iter().copied().min_by_key(|&pcpu| (load(pcpu), on(pcpu).len(), pcpu));
        let pcpu = preferred.or_else(least)?;
        put(&mut system, at, pcpu);
    }
    place_background(&mut system, &shared);
    Some(system)
}

/// Returns the need of a VCPU: its weight, or its budget if that is given.
pub fn load_of(system: &System, weights: &Weights, at: At) -> u64 {
    let server = vcpu(system, at).server.as_ref();
    let given = server.filter(|server| !server.open).and_then(|it| it.class.value.budget());
    match given {
        Some(budget) => weights.of(at).max((budget.share() / 1_000_000_000_000) as u64),
        None => weights.of(at).max(WHOLE / 100),
    }
}
