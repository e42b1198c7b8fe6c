//! Numbers of VCPUs that are open.
//!
//! More VCPUs let tasks run at the same time, or with budgets of their own, but each has a period
//! in which its tasks wait. Each combination of numbers is a description of its own, which is planned
//! like any other. The search begins with the least numbers, and with all one larger, and changes
//! the best ones one by one.

use std::cell::Cell;
use std::collections::HashMap;

use system::description::{System, Vm};
use system::plan::COUNT_MAX;

use super::whole::certificate::Certificate;
use super::whole::worth::worth;
use super::whole::{Missed, Request, TO_PLAN, kinds};
use super::{Objective, Obstacle, attempt, staged, verdict};

/// Combinations that are planned step by step, for up to 100 tasks; fewer for more.
const STAGED_MAX: usize = 48;
/// Least number of combinations that are planned step by step.
const STAGED_MIN: usize = 5;
/// Combinations that are searched, if none of the others holds.
const SEARCHED_MAX: usize = 6;

/// Millionths.
const WHOLE: u128 = 1_000_000;

/// A number of VCPUs for each VM.
type Numbers = Vec<usize>;

/// Returns the description with all numbers of VCPUs, and its plan.
pub(super) fn attempt_all(
    system: System,
    objective: Objective,
    request: &Request<'_>,
) -> (System, Result<System, Obstacle>) {
    if system.vms.iter().all(|vm| vm.vcpus_open.is_none()) {
        let planned = attempt(&system, request);
        return (system, planned);
    }
    let mut search = Search { system: &system, objective, request, known: HashMap::new() };
    let starts = search.starts();
    if let Some(best) = search.climb(&starts) {
        let fixed = with(&system, &best);
        let planned = attempt(&fixed, request);
        return (fixed, planned);
    }
    search.everything(&starts)
}

/// Returns the description with the numbers of VCPUs of a plan, and with its kinds of servers,
/// overrun and protocol of locks.
pub(super) fn as_planned(system: &System, planned: &System) -> System {
    kinds::fixed(&with_those_of(system, planned), planned)
}

/// Returns the description with the numbers of VCPUs of a plan.
pub(super) fn with_those_of(system: &System, planned: &System) -> System {
    let numbers: Numbers = planned.vms.iter().map(|vm| vm.vcpus.len()).collect();
    with(system, &numbers)
}

/// Returns the description with these numbers.
fn with(system: &System, numbers: &[usize]) -> System {
    let mut system = system.clone();
    for (vm, &number) in system.vms.iter_mut().zip(numbers) {
        if vm.vcpus_open.take().is_none() {
            continue;
        }
        if let Some(first) = vm.vcpus.first().cloned() {
            vm.vcpus.resize(number, first);
        }
    }
    system
}

/// Returns the least and the largest number of VCPUs of a VM: each VCPU that tasks name; no more
/// than can have tasks, and than PCPUs, unless tasks name them.
fn range(system: &System, vm: &Vm) -> (usize, usize) {
    let least = vm.vcpus.len();
    if vm.vcpus_open.is_none() {
        return (least, least);
    }
    let named = |vcpu: &usize| vm.tasks.iter().any(|task| !task.vcpu_open && task.vcpu == *vcpu);
    let with_tasks = (0..least).filter(named).count();
    let open = vm.tasks.iter().filter(|task| task.vcpu_open).count();
    let most = (with_tasks + open).min(system.platform.value.cpus.len()).min(COUNT_MAX);
    (least, most.max(least))
}

struct Search<'a> {
    system: &'a System,
    objective: Objective,
    request: &'a Request<'a>,
    /// The value of each combination that was planned: less is better. `None`: it has no plan that
    /// holds.
    known: HashMap<Numbers, Option<(u128, u128)>>,
}

impl Search<'_> {
    fn ranges(&self) -> Vec<(usize, usize)> {
        self.system.vms.iter().map(|vm| range(self.system, vm)).collect()
    }

    /// Returns the least numbers, those that tasks need to execute, one and two more, and the most.
    fn starts(&self) -> Vec<Numbers> {
        let ranges = self.ranges();
        let busy = |vm: &Vm| {
            let share = |(wcet, period): (u64, u64)| u128::from(wcet) * WHOLE / u128::from(period);
            let tasks = vm.tasks.iter().map(|task| (task.wcet.shortest().0, task.period.0.max(1)));
            let vcpus = tasks.map(share).sum::<u128>().div_ceil(WHOLE);
            usize::try_from(vcpus).unwrap_or(COUNT_MAX).min(COUNT_MAX)
        };
        let more = |more: usize| -> Numbers {
            let vms = self.system.vms.iter().zip(&ranges);
            vms.map(|(vm, (least, most))| (busy(vm) + more).clamp(*least, *most)).collect()
        };
        let mut starts = vec![more(0), more(1), more(2)];
        starts.push(ranges.iter().map(|(_, most)| *most).collect());
        starts.push(ranges.iter().map(|(least, _)| *least).collect());
        let mut all: Vec<Numbers> = Vec::new();
        for start in starts {
            if !all.contains(&start) {
                all.push(start);
            }
        }
        all
    }

    /// Returns the best of the combinations that hold when they are planned step by step, near
    /// these.
    fn climb(&mut self, starts: &[Numbers]) -> Option<Numbers> {
        let mut best: Option<((u128, u128), Numbers)> = None;
        let mut near: Vec<Numbers> = starts.to_vec();
        while !near.is_empty() {
            let mut is_better = false;
            for numbers in &near {
                let Some(value) = self.value(numbers) else { continue };
                if best.as_ref().is_none_or(|(least, _)| value < *least) {
                    best = Some((value, numbers.clone()));
                    is_better = true;
                }
            }
            let from = match &best {
                Some((_, best)) if is_better => std::slice::from_ref(best),
                Some(_) => &[],
                // As long as none holds, in all directions.
                None => &near[..],
            };
            let mut next: Vec<Numbers> = from.iter().flat_map(|it| self.neighbours(it)).collect();
            next.sort();
            next.dedup();
            next.retain(|numbers| !self.known.contains_key(numbers));
            if self.known.len() >= self.staged_max() || (self.request.stops)() {
                break;
            }
            near = next;
        }
        best.map(|(_, numbers)| numbers)
    }

    /// Returns the numbers with one VCPU more or less in one VM.
    fn neighbours(&self, numbers: &[usize]) -> Vec<Numbers> {
        let mut all = Vec::new();
        for (vm, (least, most)) in self.ranges().into_iter().enumerate() {
            for number in [numbers[vm].wrapping_sub(1), numbers[vm] + 1] {
                if (least..=most).contains(&number) {
                    let mut changed = numbers.to_vec();
                    changed[vm] = number;
                    all.push(changed);
                }
            }
        }
        all
    }

    fn staged_max(&self) -> usize {
        let tasks: usize = self.system.vms.iter().map(|vm| vm.tasks.len()).sum();
        (100 * STAGED_MAX / tasks.max(100)).max(STAGED_MIN)
    }

    /// Returns the value of a combination that holds when it is planned step by step.
    fn value(&mut self, numbers: &Numbers) -> Option<(u128, u128)> {
        if let Some(known) = self.known.get(numbers) {
            return *known;
        }
        if self.known.len() >= self.staged_max() || (self.request.stops)() {
            return None;
        }
        let fixed = with(self.system, numbers);
        let planned = staged(&fixed, &Default::default()).ok().filter(holds);
        let value = planned.map(|planned| {
            let part = Request { effort: self.request.at_most(TO_PLAN) / 8, ..*self.request };
            let planned = kinds::improved(&fixed, planned, &part);
            worth(&fixed, &planned, self.objective, self.request)
        });
        self.known.insert(numbers.clone(), value);
        value
    }

    /// Searches some combinations with everything else together, until one holds: all with a part of
    /// the effort at first, which is enough for most, and then with more and more.
    fn everything(&self, starts: &[Numbers]) -> (System, Result<System, Obstacle>) {
        let mut tried: Vec<Numbers> = starts.to_vec();
        for start in starts {
            for near in self.neighbours(start) {
                if !tried.contains(&near) {
                    tried.push(near);
                }
            }
        }
        tried.truncate(SEARCHED_MAX);
        let whole = self.request.at_most(TO_PLAN);
        let mut effort = whole / tried.len().max(1) as u64;
        let mut first = None;
        loop {
            let is_last = effort >= whole || (self.request.stops)();
            let mut left = Vec::new();
            for numbers in tried {
                let ran_out = Cell::new(false);
                let part = Request { effort, ran_out: Some(&ran_out), ..*self.request };
                let fixed = with(self.system, &numbers);
                match attempt(&fixed, &part) {
                    Ok(planned) if holds(&planned) => return (fixed, Ok(planned)),
                    other => _ = first.get_or_insert((fixed, other)),
                }
                // With the others there is nothing that more effort could try.
                if ran_out.get() {
                    left.push(numbers);
                }
            }
            if let Some(outer) = self.request.ran_out.filter(|_| !left.is_empty()) {
                outer.set(true);
            }
            if is_last || left.is_empty() {
                break;
            }
            tried = left;
            effort = (2 * effort).min(whole);
        }
        let all: usize = self.ranges().iter().map(|(least, most)| most - least + 1).product();
        let (fixed, result) = first.unwrap_or_else(|| {
            // There is at least one combination.
            let fixed = with(self.system, &starts[0]);
            let planned = attempt(&fixed, self.request);
            (fixed, planned)
        });
        let result = result.map_err(|obstacle| match obstacle {
            Obstacle::Certain(certificate) if !self.is_for_all(&fixed, &certificate, all) => {
                let candidates = self.request.candidates.get();
                Obstacle::Missed(Missed { candidates, best: None })
            }
            other => other,
        });
        (fixed, result)
    }

    /// Returns true if a reason why there is no plan with some numbers holds for all `count`
    /// combinations of numbers.
    fn is_for_all(&self, fixed: &System, certificate: &Certificate, count: usize) -> bool {
        let is_given = |vm: usize| self.system.vms[vm].vcpus_open.is_none();
        match *certificate {
            // Tasks have no more room on fewer VCPUs.
            Certificate::Vcpus { vm, .. } | Certificate::Tasks { vm, .. } => {
                is_given(vm)
                    || fixed.vms[vm].vcpus.len() == range(self.system, &self.system.vms[vm]).1
            }
            Certificate::Pcpus { .. } | Certificate::Packing { .. } => count == 1,
        }
    }
}

fn holds(system: &System) -> bool {
    verdict(system).is_some_and(|verdict| verdict.schedulable)
}
