//! The smallest change with which the tasks of a VCPU meet their deadlines.

use std::fmt;

use analysis::Duration;
use bulkhead_system::description::System;

use super::problem::Problem;
use crate::search::Planner;
use crate::{Coloring, Setting, Slot, Task, Vm, indices};

/// What would help, each by itself.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Advice {
    /// Colours for the VCPU, if its colours are planned.
    pub colors: Option<usize>,
    /// A budget, if that is given.
    pub budget: Option<Duration>,
}

/// `fits with 6 colours, or with a budget of 3.4 ms`.
impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colors = self.colors.map(|colors| format!("with {colors} colours"));
        let budget = self.budget.map(|budget| format!("with a budget of {}", milliseconds(budget)));
        let both: Vec<String> = [colors, budget].into_iter().flatten().collect();
        match both.is_empty() {
            true => write!(f, "neither more colours nor a larger budget help"),
            false => write!(f, "it fits {}", both.join(", or ")),
        }
    }
}

/// What would help the tasks of a VCPU of which nothing is open; none for one that has its PCPU
/// for itself or no budget. The budget is enough wherever in the period it comes.
pub fn of_vcpu(system: &System, vm: usize, vcpu: usize) -> Option<Advice> {
    let problem = Problem::of_vms(system, &[vm]).ok()?;
    let subject = problem.subjects.first()?;
    let at = subject.slots.iter().position(|slot| *slot == vcpu)?;
    let slot = subject.vm.vcpus()[at];
    let budget = slot.budget.filter(|given| *given < slot.period)?;
    let open = Slot { budget: None, ..slot };
    let larger = least_budget(&subject.vm, open, &problem.setting, 0);
    // More colours for the VM, where its tasks have all of them.
    let described = &system.vms[vm];
    let own =
        described.colors.as_ref().filter(|_| described.tasks.iter().all(|it| it.colors.is_none()));
    let shared = subject.vm.clone().with_coloring(Coloring::Shared).ok()?;
    let more = own.and_then(|own| {
        let fits =
            |&colors: &usize| least_budget(&shared, slot, &problem.setting, colors).is_some();
        (own.value.len() as usize + 1..=problem.all).find(fits)
    });
    Some(Advice { colors: more, budget: larger.filter(|larger| *larger > budget) })
}

impl Advice {
    /// For tasks in one VCPU, of which there are at most `most` colours.
    pub(super) fn new(vm: &Vm, slot: Slot, problem: &Problem, most: usize) -> Self {
        let free = problem.free.len() as usize;
        let fits = |slot, colors| least_budget(vm, slot, &problem.setting, colors).is_some();
        let colors = match vm.coloring() {
            Coloring::Fixed(_) => None,
            _ => (free + 1..=most).find(|&colors| fits(slot, colors)),
        };
        let open = Slot { budget: None, ..slot };
        let budget = slot.budget.filter(|given| *given < slot.period);
        let budget = budget.and_then(|_| least_budget(vm, open, &problem.setting, free));
        Self { colors, budget }
    }
}

/// The least budget of a VCPU that has exactly the tasks that are pinned to it.
pub(super) fn least_budget(
    vm: &Vm,
    slot: Slot,
    setting: &Setting,
    colors: usize,
) -> Option<Duration> {
    let alone = alone(vm, slot)?;
    let setting = super::setting(setting, colors);
    let plan = Planner::new(&[alone], &setting).plan(colors)?;
    Some(plan.vms.first()?.vcpus.first()?.as_ref().map_or(Duration(0), |it| it.point.budget))
}

/// A VM that has only this VCPU and the tasks that are pinned to it.
pub(super) fn alone(vm: &Vm, slot: Slot) -> Option<Vm> {
    let own = indices(slot.pinned);
    let tasks: Vec<Task> = own.iter().map(|&task| vm.tasks()[task].clone()).collect();
    let pinned = crate::mask(&(0..tasks.len()).collect::<Vec<_>>());
    let coloring = match vm.coloring() {
        Coloring::Fixed(sets) => Coloring::Fixed(own.iter().map(|&task| sets[task]).collect()),
        other => other.clone(),
    };
    Vm::new(tasks, vec![Slot { pinned, ..slot }]).ok()?.with_coloring(coloring).ok()
}

/// In milliseconds, without zeros at the end.
fn milliseconds(time: Duration) -> String {
    let digits = format!("{}.{:06}", time.0 / 1_000_000, time.0 % 1_000_000);
    format!("{} ms", digits.trim_end_matches('0').trim_end_matches('.'))
}
