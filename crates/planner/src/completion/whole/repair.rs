//! Local search from a candidate that does not hold, by small changes of everything that is open.

use std::collections::BTreeSet;
use system::description::{Located, System};
use system::plan::Budget;

use super::super::memory::Limits;
use super::super::pcpus::{At, all, given, members, order, priorities_fit, vcpu};
use super::super::{priorities, set_class};
use super::bases;
use super::candidate::Candidate;
use super::fill::{Weights, fill};
use super::judge::{Judge, Lateness, Share, WHOLE};
use super::kinds;
use super::open::Open;
use super::random::Random;
use super::utilization::utilization;

/// Rounds in which only weights change.
const WEIGHINGS: usize = 6;
/// Changes that are tried before one that helps little is enough.
const TRIALS: usize = 24;
/// In another order, budgets begin in proportion to the needs of tasks, and this, in millionths of a PCPU.
const PLUS: u64 = WHOLE / 20;

/// Returns the best candidate that is found from `start` by at most `changes` changes.
pub fn repair(
    judge: &Judge<'_>,
    open: &Open,
    limits: Option<&Limits>,
    start: Candidate,
    random: &mut Random,
    changes: usize,
) -> Candidate {
    let mut best = weigh(judge, open, start);
    let mut since = 0;
    for _ in 0..changes {
        if best.holds() || judge.is_done() || since > TRIALS * 4 {
            break;
        }
        let Some(changed) = change(open, limits, &best, random) else {
            since += 1;
            continue;
        };
        let Some(mut next) = Candidate::new(judge, changed.0, changed.1) else {
            since += 1;
            continue;
        };
        // What is nearly as good may be better with other weights.
        let near = Lateness { sum: best.lateness().sum / 4 * 5, worst: u64::MAX };
        // In another order, other weights are the right ones.
        if !next.holds() && (open.orders || next.lateness() <= near) {
            next = weigh(judge, open, next);
        }
        if next.lateness() < best.lateness() {
            best = next;
            since = 0;
        } else {
            since += 1;
        }
    }
    best
}

/// Changes the weights of VCPUs on PCPUs that are not well, as long as that helps.
pub fn weigh(judge: &Judge<'_>, open: &Open, start: Candidate) -> Candidate {
    let mut best = start;
    let mut now = best.clone();
    for _ in 0..WEIGHINGS {
        if now.holds() || judge.is_done() {
            break;
        }
        let bad: BTreeSet<u32> =
            now.judgement.vcpus.iter().filter(|it| !it.is_well()).map(|it| it.pcpu).collect();
        let mut weights = now.weights.clone();
        for it in now.judgement.vcpus.iter().filter(|it| bad.contains(&it.pcpu)) {
            let Some(weight) = weights.vcpus.get_mut(it.at.0).and_then(|vm| vm.get_mut(it.at.1))
            else {
                continue;
            };
            // Half of the way to where the worst task would be just in time.
            let factor = (it.worst.clamp(WHOLE / 4, 4 * WHOLE) + WHOLE) / 2;
            *weight = (u128::from(*weight) * u128::from(factor) / u128::from(WHOLE))
                .clamp(u128::from(*weight > 0), u128::from(100 * WHOLE))
                as u64;
        }
        for it in now.judgement.vcpus.iter().filter(|it| !it.served) {
            if let Some(cap) = weights.caps.get_mut(it.pcpu as usize) {
                *cap = *cap / 10 * 9;
            }
        }
        normalize(&mut weights, &now.judgement.vcpus, &bad);
        let mut system = now.system.clone();
        for &pcpu in &bad {
            fill(&mut system, open, &weights, pcpu as usize);
        }
        if system == now.system {
            break;
        }
        let Some(next) = Candidate::new(judge, system, weights) else { break };
        if next.lateness() < best.lateness() {
            best = next.clone();
        } else if next.lateness().sum > best.lateness().sum.saturating_mul(2) {
            break;
        }
        now = next;
    }
    best
}

/// Keeps the weights of a PCPU from growing beyond all others: their largest is one PCPU.
fn normalize(weights: &mut Weights, vcpus: &[Share], pcpus: &BTreeSet<u32>) {
    for pcpu in pcpus {
        let here = || vcpus.iter().filter(|it| it.pcpu == *pcpu).map(|it| it.at);
        let most = here().map(|at| weights.of(at)).max().unwrap_or(0);
        if most <= WHOLE {
            continue;
        }
        for at in here().collect::<Vec<_>>() {
            let weight = &mut weights.vcpus[at.0][at.1];
            if *weight > 0 {
                *weight =
                    (u128::from(*weight) * u128::from(WHOLE) / u128::from(most)).max(1) as u64;
            }
        }
    }
}

/// Returns the candidate with one random change that concerns a VCPU that is not well, or any if all
/// are.
pub fn change(
    open: &Open,
    limits: Option<&Limits>,
    from: &Candidate,
    random: &mut Random,
) -> Option<(System, Weights)> {
    let bad: Vec<&Share> = from.judgement.vcpus.iter().filter(|it| !it.is_well()).collect();
    let it = match bad.is_empty() {
        true => *random.of(&from.judgement.vcpus)?,
        false => **random.of(&bad)?,
    };
    if open.orders && random.below(3) == 0 {
        return reorder(open, from, &it, random);
    }
    if !open.kinds.is_empty() && random.below(3) == 0 {
        return kinds::change(open, from, &it, random);
    }
    match random.below(if limits.is_some() { 6 } else { 5 }) {
        0 | 1 => move_vcpu(open, from, &it, random),
        2 => swap(open, from, &it, random),
        3 => move_task(open, from, &it, random),
        4 => period(open, from, &it, random).or_else(|| move_task(open, from, &it, random)),
        _ => {
            let mut system = from.system.clone();
            limits?.change(&mut system, random.below(usize::MAX), random.below(4));
            Some((system, from.weights.clone()))
        }
    }
}

/// Returns the VCPUs of a PCPU that may go elsewhere.
fn movable(open: &Open, system: &System, pcpu: usize) -> Vec<At> {
    members(system, pcpu).into_iter().filter(|at| open.pcpus.contains(at)).collect()
}

/// Returns the PCPUs that VCPUs share, or can share.
fn shared(open: &Open, system: &System) -> Vec<usize> {
    let on =
        |pcpu: usize| all(system).into_iter().filter(move |&at| given(system, at) == Some(pcpu));
    let is_alone = |pcpu: usize| on(pcpu).any(|at| vcpu(system, at).server.is_none());
    let is_used = |pcpu: usize| on(pcpu).next().is_some();
    (0..system.platform.value.cpus.len())
        .filter(|&pcpu| !is_alone(pcpu) && (!open.packs || is_used(pcpu)))
        .collect()
}

/// Puts a VCPU onto another PCPU. An order that was decided on one of them does not hold any more.
fn set_pcpu(system: &mut System, open: &Open, (vm, vcpu): At, pcpu: usize) {
    for pcpu in given(system, (vm, vcpu)).into_iter().chain([pcpu]) {
        priorities::clear_pcpu(system, open, pcpu);
    }
    let place = system.vms[vm].name.place.clone();
    system.vms[vm].vcpus[vcpu].pcpu = Some(Located::new(pcpu as u64, &place));
}

fn fits(system: &System, pcpu: usize) -> bool {
    let mut here = members(system, pcpu);
    here.sort_by_key(|&at| order(system, at));
    priorities_fit(system, &here)
}

/// A VCPU from the PCPU of one that is not well to another one.
fn move_vcpu(
    open: &Open,
    from: &Candidate,
    it: &Share,
    random: &mut Random,
) -> Option<(System, Weights)> {
    let here = it.pcpu as usize;
    let moved = *random.of(&movable(open, &from.system, here))?;
    let to: Vec<usize> =
        shared(open, &from.system).into_iter().filter(|&pcpu| pcpu != here).collect();
    // Of some, the one with the most slack.
    let slack = |pcpu: usize| {
        let on = from.judgement.vcpus.iter().filter(|it| it.pcpu as usize == pcpu);
        on.map(|it| it.worst).sum::<u64>()
    };
    let some: Vec<usize> = (0..2).filter_map(|_| random.of(&to).copied()).collect();
    let to = some.into_iter().min_by_key(|&pcpu| slack(pcpu))?;
    let (mut system, weights) = (from.system.clone(), from.weights.clone());
    set_pcpu(&mut system, open, moved, to);
    refill(&mut system, open, weights, [here, to])
}

/// Two VCPUs of two PCPUs, one of which has one that is not well.
fn swap(
    open: &Open,
    from: &Candidate,
    it: &Share,
    random: &mut Random,
) -> Option<(System, Weights)> {
    let here = it.pcpu as usize;
    let one = *random.of(&movable(open, &from.system, here))?;
    let to: Vec<usize> =
        shared(open, &from.system).into_iter().filter(|&pcpu| pcpu != here).collect();
    let there = *random.of(&to)?;
    let other = *random.of(&movable(open, &from.system, there))?;
    let (mut system, weights) = (from.system.clone(), from.weights.clone());
    set_pcpu(&mut system, open, one, there);
    set_pcpu(&mut system, open, other, here);
    refill(&mut system, open, weights, [here, there])
}

fn refill(
    system: &mut System,
    open: &Open,
    mut weights: Weights,
    pcpus: [usize; 2],
) -> Option<(System, Weights)> {
    for pcpu in pcpus {
        if !fits(system, pcpu) {
            return None;
        }
        weights.caps[pcpu] = WHOLE;
        fill(system, open, &weights, pcpu);
    }
    Some((system.clone(), weights))
}

/// Two VCPUs of the PCPU, one of which follows the other, in the other order: two with the same
/// period as often as any.
fn reorder(
    open: &Open,
    from: &Candidate,
    it: &Share,
    random: &mut Random,
) -> Option<(System, Weights)> {
    let pcpu = it.pcpu as usize;
    let mut here = members(&from.system, pcpu);
    if !priorities::are_open(open, &here) {
        return None;
    }
    let places = priorities::exchanges(&from.system, &here);
    let place = match random.below(2) {
        0 => *places.first()?,
        _ => *random.of(&places)?,
    };
    here.swap(place, place + 1);
    let (mut system, mut weights) = (from.system.clone(), from.weights.clone());
    priorities::set(&mut system, pcpu, &here);
    let needs = bases::weights(&system);
    for (vm, index) in here {
        let need = needs.of((vm, index));
        weights.vcpus[vm][index] = if need > 0 { need + PLUS } else { 0 };
    }
    weights.caps[pcpu] = WHOLE;
    fill(&mut system, open, &weights, pcpu);
    Some((system, weights))
}

/// A task of the VCPU to another VCPU of its VM.
fn move_task(
    open: &Open,
    from: &Candidate,
    it: &Share,
    random: &mut Random,
) -> Option<(System, Weights)> {
    let (vm, here) = it.at;
    let of_vm = &from.system.vms[vm];
    let own = open.tasks.iter().filter(|at| at.0 == vm && of_vm.tasks[at.1].vcpu == here);
    let own: Vec<At> = own.copied().collect();
    let task = *random.of(&own)?;
    let others: Vec<usize> = (0..of_vm.vcpus.len())
        .filter(|&other| {
            let server = of_vm.vcpus[other].server.as_ref();
            other != here && server.is_none_or(|server| server.class.value.budget().is_some())
        })
        .collect();
    let to = *random.of(&others)?;
    let (mut system, mut weights) = (from.system.clone(), from.weights.clone());
    system.vms[vm].tasks[task.1].vcpu = to;
    // Colours of tasks stay apart by VCPU.
    if of_vm.vllc && of_vm.tasks[task.1].colors.is_some() && open.colors.contains(&vm) {
        let there = of_vm.tasks.iter().find(|it| it.vcpu == to)?;
        system.vms[vm].tasks[task.1].colors.clone_from(&there.colors);
    }
    let need = utilization(&system, task);
    let weight = &mut weights.vcpus[vm];
    weight[here] = match own.len() {
        1 if of_vm.tasks.iter().filter(|task| task.vcpu == here).count() == 1 => 0,
        _ => weight[here].saturating_sub(need).max(1),
    };
    weight[to] += need;
    let pcpus = [(vm, here), (vm, to)].map(|at| given(&system, at));
    for pcpu in pcpus.into_iter().flatten() {
        fill(&mut system, open, &weights, pcpu);
    }
    Some((system, weights))
}

/// Another period for the VCPU, if that is open: half as long, two thirds or half more.
fn period(
    open: &Open,
    from: &Candidate,
    it: &Share,
    random: &mut Random,
) -> Option<(System, Weights)> {
    let at = *open.periods.iter().find(|at| **at == it.at)?;
    let budget = vcpu(&from.system, at).server.as_ref()?.class.value.budget()?;
    let (part, of) = *random.of(&[(1, 2), (2, 3), (3, 2), (2, 1)])?;
    let period = super::super::periods::whole(&from.system, budget.period.0 / of * part);
    if period < Budget::SHORTEST || period > Budget::LONGEST_PERIOD {
        return None;
    }
    let mut system = from.system.clone();
    let budget = Budget { budget: budget.budget.min(period), period };
    set_class(&mut system, at, |class| class.with_budget(budget));
    let pcpu = given(&system, at)?;
    fits(&system, pcpu).then_some(())?;
    fill(&mut system, open, &from.weights, pcpu);
    Some((system, from.weights.clone()))
}
