//! The open parts of a description, in the planner's terms.

use std::cmp::Reverse;

use analysis::overheads::Costs;
use analysis::utilization::Share;
use analysis::{Duration, LONGEST};
use policy::color::ColorSet;
use system::description::{self, System, Wcet};
use system::diagnostic::{Diagnostic, Errors};
use system::plan::{Class, frames_needed};

use super::cannot_plan;
use crate::{Coloring, Error, Setting, Slot, TASKS_MAX, Task, Test, Vm, indices, mask};

/// Bytes of a page.
const PAGE: u64 = 4096;
/// RAM of the hypervisor if the description does not say.
const HYPERVISOR: u64 = 96 << 20;
/// The period of a VCPU that has a PCPU of its own: every period is equally good.
const ALONE: Duration = Duration(1_000_000);
/// Budgets are multiples of this.
const GRAIN: u64 = 1_000;
/// Most tasks of a VM whose allocation to VCPUs is searched; larger VMs get an even distribution.
const OPEN_MAX: usize = 40;
/// They are multiples of ticks of the counter, too, if that needs no coarser grain.
const COARSE: u64 = 20_000;

/// The open parts of a description.
pub(super) struct Problem {
    pub setting: Setting,
    /// Colours that no VM has.
    pub free: ColorSet,
    /// The VMs with open parts.
    pub subjects: Vec<Subject>,
}

/// A VM with open parts.
pub(super) struct Subject {
    /// Its index in the system.
    pub index: usize,
    /// The index of each of its tasks in the description: the planner has the highest
    /// priority first.
    pub tasks: Vec<usize>,
    /// The index of each of its VCPUs: the planner has no VCPUs of the background.
    pub slots: Vec<usize>,
    pub vm: Vm,
}

impl Problem {
    /// Returns the problem of all VMs with open parts.
    pub fn new(system: &System) -> Result<Self, Errors> {
        let open = (0..system.vms.len()).filter(|&vm| system.vms[vm].processor_open());
        Self::of_vms(system, &open.collect::<Vec<_>>())
    }

    /// Returns the problem of these VMs, with open parts or not.
    pub fn of_vms(system: &System, vms: &[usize]) -> Result<Self, Errors> {
        let all = all_colors(system).len() as usize;
        let free = free_colors(system);
        let setting = setting(system, free.len() as usize)?;
        let mut mistakes = Vec::new();
        let mut subjects = Vec::new();
        for &index in vms {
            match subject(system, index, &system.vms[index], all) {
                Ok(subject) => subjects.push(subject),
                Err(mistake) => mistakes.push(*mistake),
            }
        }
        Errors::unless_none(mistakes, Self { setting, free, subjects })
    }
}

fn all_colors(system: &System) -> ColorSet {
    let geometry = system.platform.value.colors().ok();
    geometry.map_or(ColorSet::EMPTY, |geometry| ColorSet::first(geometry.colors()))
}

/// Returns the colours that no VM has.
pub(super) fn free_colors(system: &System) -> ColorSet {
    let hypervisor = system.hypervisor_colors.as_ref().map_or(ColorSet::EMPTY, |it| it.value);
    let vms = system.vms.iter();
    all_colors(system) - vms.fold(hypervisor, |taken, vm| taken | vm.all_colors())
}

fn setting(system: &System, free: usize) -> Result<Setting, Errors> {
    let reload = system.color_reload.as_ref().map_or(Duration(0), |reload| reload.value);
    let grain = grain(system).0;
    let fail = |error: Error| cannot_plan(error.to_string());
    let mut setting = Setting::new(free.max(1), reload).map_err(fail)?;
    setting = setting.with_grain(grain).map_err(fail)?;
    setting.test = Test::Supply;
    setting.costs = verdict::costs(system, most_waits(system));
    Ok(setting)
}

/// [`description::Vm::lock_waits`] of the VM that has most.
pub(super) fn most_waits(system: &System) -> u64 {
    system.vms.iter().map(description::Vm::lock_waits).max().unwrap_or(0)
}

/// Returns the grain of budgets, and what is added to each for the ticks of the counter: the
/// hypervisor rounds down.
pub(super) fn grain(system: &System) -> (Duration, Duration) {
    let ticks = system.platform.value.counter.map_or(1, |counter| counter.common_period().0);
    let multiple = (GRAIN..=COARSE).step_by(GRAIN as usize).find(|it| it.is_multiple_of(ticks));
    match multiple {
        Some(multiple) => (Duration(multiple), Duration(0)),
        // A tick is shorter than that.
        None => (Duration(GRAIN), Duration(GRAIN)),
    }
}

fn subject(
    system: &System,
    index: usize,
    vm: &description::Vm,
    all: usize,
) -> Result<Subject, Box<Diagnostic>> {
    let is_background = |vcpu: usize| {
        vm.vcpus[vcpu].server.as_ref().is_some_and(|it| it.class.value == Class::Background)
    };
    let slots: Vec<usize> = (0..vm.vcpus.len()).filter(|&vcpu| !is_background(vcpu)).collect();
    let planned = |task: &description::Task| task.vcpu_open || !is_background(task.vcpu);
    let mut tasks: Vec<usize> =
        (0..vm.tasks.len()).filter(|&task| planned(&vm.tasks[task])).collect();
    // As the analysis orders them.
    tasks.sort_by_key(|&task| vm.tasks[task].order());
    let name = &vm.name;
    let fail = |error: Error| {
        let mistake = match error {
            Error::Tasks { tasks, most } => {
                let message = format!(
                    "`{}` has {tasks} tasks: of a VM of which something is left open, {most} can \
                     be planned",
                    name.value
                );
                let help = "say where its tasks run, and give its budgets and colours: `check` \
                            judges any number of tasks";
                cannot_plan(message).help(help)
            }
            other => cannot_plan(other.to_string()),
        };
        Box::new(mistake.at(&name.place, "in this VM"))
    };
    if slots.is_empty() {
        let mistake = cannot_plan("all VCPUs of the VM are of the background")
            .at(&vm.name.place, "in this VM")
            .help("give one of its VCPUs another `server`, or say where its tasks run");
        return Err(Box::new(mistake));
    }
    let slot = |&vcpu: &usize| {
        let pinned = tasks.iter().enumerate().filter(|(_, task)| {
            let task = &vm.tasks[**task];
            !task.vcpu_open && task.vcpu == vcpu
        });
        let pinned =
            pinned.fold(0, |mask, (at, _)| mask | 1u128.checked_shl(at as u32).unwrap_or(0));
        match vm.vcpus[vcpu].server.as_ref().and_then(|it| Some((it, it.class.value.budget()?))) {
            None => Slot { period: ALONE, budget: Some(ALONE), pinned },
            Some((server, given)) => Slot {
                period: given.period,
                budget: (!server.open).then_some(given.budget),
                pinned,
            },
        }
    };
    let mut slots_planned: Vec<Slot> = slots.iter().map(slot).collect();
    let costs = verdict::costs(system, vm.lock_waits()).unwrap_or_default();
    let models: Result<Vec<Task>, Error> =
        tasks.iter().map(|&task| model(vm, &vm.tasks[task], all, costs)).collect();
    let mut planned = models
        .and_then(|models| {
            if (OPEN_MAX + 1..=TASKS_MAX).contains(&models.len()) {
                spread(&models, &mut slots_planned);
            }
            Vm::new(models, slots_planned)
        })
        .and_then(|planned| planned.with_coloring(coloring(vm, &tasks, all)))
        .map_err(fail)?;
    if vm.colors_open.is_some() {
        planned.least_colors = colors_for_memory(system, vm, all);
        planned.power_of_two = vm.vllc;
    }
    Ok(Subject { index, tasks, slots, vm: planned })
}

/// Gives each open task to the VCPU that then has least to do for its size, the largest first.
fn spread(tasks: &[Task], slots: &mut [Slot]) {
    let share = |task: usize| Share::up(tasks[task].wcet(1), tasks[task].period()).0;
    let pinned = slots.iter().fold(0, |all, slot| all | slot.pinned);
    let mut open: Vec<usize> = (0..tasks.len()).filter(|task| pinned >> task & 1 == 0).collect();
    open.sort_by_key(|&task| Reverse(share(task)));
    let mut loads: Vec<u128> =
        slots.iter().map(|slot| indices(slot.pinned).into_iter().map(share).sum()).collect();
    for task in open {
        // A VCPU with a small budget counts as if it had more to do.
        let full = |slot: &Slot, load: u128| {
            let budget = slot.budget.unwrap_or(slot.period).0.max(1);
            load.saturating_add(share(task)) / u128::from(budget) * u128::from(slot.period.0)
        };
        let least = (0..slots.len()).min_by_key(|&at| full(&slots[at], loads[at]));
        if let Some(least) = least {
            slots[least].pinned |= mask(&[task]);
            loads[least] = loads[least].saturating_add(share(task));
        }
    }
}

fn coloring(vm: &description::Vm, tasks: &[usize], all: usize) -> Coloring {
    match &vm.colors_open {
        Some(_) if vm.vllc => Coloring::Own,
        Some(_) => Coloring::Shared,
        None => {
            let whole = ColorSet::first(all.max(1) as u32);
            let own = |&task: &usize| {
                let colors = vm.tasks[task].colors.as_ref().or(vm.colors.as_ref());
                colors.map_or(whole, |colors| colors.value)
            };
            Coloring::Fixed(tasks.iter().map(own).collect())
        }
    }
}

/// Returns a task as the analysis sees it, by number of colours. One that has all of the cache is
/// taken to have as few colours as are described. Where it has fewer, or a time that cannot be
/// counted, it can take any time: more than there is.
fn model(
    vm: &description::Vm,
    task: &description::Task,
    all: usize,
    costs: Costs,
) -> Result<Task, Error> {
    let cut = |time: Duration| time.clamp(Duration(1), Duration(LONGEST.0 - 1));
    let any = Duration(cut(task.period).0 + 1);
    let has_colors = task.colors.is_some() || vm.colors.is_some() || vm.colors_open.is_some();
    let waits = [task.jitter, task.blocking, task.self_suspension];
    // What its jobs cost the hypervisor by themselves.
    let calls = task.exits.saturating_mul(costs.exit.0);
    let calls = match task.self_suspension {
        Duration(0) => calls,
        _ => calls.saturating_add(costs.wait()),
    };
    let counted = |time: &Duration| *time <= LONGEST;
    let known = |time: Duration| match counted(&time) && waits.iter().all(counted) {
        true => Duration(time.0.max(1).saturating_add(calls)),
        false => any,
    };
    let wcet: Vec<Duration> = match &task.wcet {
        Wcet::ByColors(times) if has_colors => {
            let fewest = times.keys().next().copied().unwrap_or_default();
            let with = |k| if k < fewest { any } else { known(task.wcet.with_colors(k)) };
            (1..=all.max(1) as u64).map(with).collect()
        }
        wcet => vec![known(wcet.longest())],
    };
    let [jitter, blocking, suspension] = waits.map(|time| time.min(LONGEST));
    let base = analysis::Task::new(wcet[0], cut(task.period))?
        .with_deadline(cut(task.deadline))?
        .with_jitter(jitter)?
        .with_blocking(blocking)?
        .with_suspension(suspension)?;
    Task::new(base, &wcet)
}

/// Returns the least number of colours whose frames can hold the RAM of a VM.
fn colors_for_memory(system: &System, vm: &description::Vm, all: usize) -> usize {
    let hypervisor = system.hypervisor_memory.as_ref().map_or(HYPERVISOR, |it| it.value.get());
    let banks = system.platform.value.memory.iter().map(|bank| bank.size.get());
    let largest = banks.max().unwrap_or(0).saturating_sub(hypervisor);
    let of_each = (largest / PAGE / all.max(1) as u64).max(1);
    let pool = vm.extra.as_ref().map_or(0, |extra| extra.memory.value.get() / PAGE);
    let needed = frames_needed(vm.memory.value, u32::try_from(pool).unwrap_or(u32::MAX));
    usize::try_from(needed.div_ceil(of_each)).unwrap_or(usize::MAX).max(1)
}
