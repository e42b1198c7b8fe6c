//! The open parts of a description, in the planner's terms.

use analysis::overheads::Costs;
use analysis::{Duration, LONGEST};
use policy::color::ColorSet;
use system::description::{self, System, Wcet};
use system::diagnostic::{Diagnostic, Errors};
use system::plan::{Class, HYPERVISOR_MEMORY, PAGE, frames_needed};

use super::{cannot_plan, coarse};
use crate::search::Planned;
use crate::{Coloring, Error, Evaluator, Setting, Slot, Task, Test, Vm, mask};

/// The period of a VCPU that has a PCPU of its own: every period is equally good.
const ALONE: Duration = Duration(1_000_000);
/// Budgets are multiples of this.
const GRAIN: u64 = 1_000;
/// Budgets are multiples of ticks of the counter, too, if that needs no coarser grain than this.
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
    /// The indices of its tasks in the description: the planner has the highest priority first, and
    /// takes those of a large VM in groups.
    pub tasks: Vec<Vec<usize>>,
    /// The index of each of its VCPUs: the planner has no VCPUs of the background.
    pub slots: Vec<usize>,
    pub vm: Vm,
    /// The tasks, and those of each group by their places among them, if groups have several.
    pub fine: Option<Fine>,
}

/// The tasks behind groups.
pub(super) struct Fine {
    /// The tasks, the highest priority first.
    pub tasks: Vec<Task>,
    /// The colours of each that are given.
    pub sets: Vec<ColorSet>,
    /// Their places, group by group.
    pub groups: Vec<Vec<usize>>,
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

/// Returns the grain of budgets, and the time that is added to each for the ticks of the counter: the
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
    let fail =
        |error: Error| Box::new(cannot_plan(error.to_string()).at(&name.place, "in this VM"));
    if slots.is_empty() {
        let mistake = cannot_plan("all VCPUs of the VM are of the background")
            .at(&vm.name.place, "in this VM")
            .help("give one of its VCPUs another `server`, or say where its tasks run");
        return Err(Box::new(mistake));
    }
    let costs = verdict::costs(system, vm.lock_waits()).unwrap_or_default();
    let models: Result<Vec<Task>, Error> =
        tasks.iter().map(|&task| model(vm, &vm.tasks[task], all, costs)).collect();
    let models = models.map_err(fail)?;
    let pin = |task: &usize| {
        let task = &vm.tasks[*task];
        slots.iter().position(|vcpu| !task.vcpu_open && task.vcpu == *vcpu)
    };
    let pins: Vec<Option<usize>> = tasks.iter().map(pin).collect();
    let groups = coarse::groups(&models, &pins);
    let slot = |(at, &vcpu): (usize, &usize)| {
        let pinned = (0..groups.len()).filter(|group| pins[groups[*group][0]] == Some(at));
        let pinned = mask(&pinned.collect::<Vec<_>>());
        match vm.vcpus[vcpu].server.as_ref().and_then(|it| Some((it, it.class.value.budget()?))) {
            None => Slot { period: ALONE, budget: Some(ALONE), pinned },
            Some((server, given)) => Slot {
                period: given.period,
                budget: (!server.open).then_some(given.budget),
                pinned,
            },
        }
    };
    let slots_planned: Vec<Slot> = slots.iter().enumerate().map(slot).collect();
    let grouped: Result<Vec<Task>, Error> =
        groups.iter().map(|group| coarse::together(&models, group, costs)).collect();
    let coloring = coloring(vm, &tasks, all);
    let of_groups = match &coloring {
        Coloring::Fixed(sets) => {
            let set = |group: &Vec<usize>| {
                group.iter().fold(ColorSet::EMPTY, |union, &task| union | sets[task])
            };
            Coloring::Fixed(groups.iter().map(set).collect())
        }
        other => other.clone(),
    };
    let mut planned = grouped
        .and_then(|grouped| Vm::new(grouped, slots_planned))
        .and_then(|planned| planned.with_coloring(of_groups))
        .map_err(fail)?;
    if vm.colors_open.is_some() {
        planned.least_colors = colors_for_memory(system, vm, all);
        planned.power_of_two = vm.vllc;
    }
    let described = |group: &Vec<usize>| group.iter().map(|&task| tasks[task]).collect();
    let described = groups.iter().map(described).collect();
    let sets = match coloring {
        Coloring::Fixed(sets) => sets,
        _ => Vec::new(),
    };
    let fine = (groups.len() < tasks.len()).then_some(Fine { tasks: models, sets, groups });
    Ok(Subject { index, tasks: described, slots, vm: planned, fine })
}

impl Subject {
    /// Returns the budget of a planned VCPU. For groups it is the least with which their tasks are
    /// in time, or that of the groups if none is.
    pub fn budget(&self, slot: usize, planned: &Planned, setting: &Setting) -> Duration {
        let point = &planned.point;
        let Some(fine) = &self.fine else { return point.budget };
        let mut members: Vec<(usize, ColorSet)> = Vec::new();
        for (group, set) in planned.tasks.iter().zip(&point.sets) {
            let own = |&task: &usize| (task, fine.sets.get(task).copied().unwrap_or(*set));
            members.extend(fine.groups[*group].iter().map(own));
        }
        members.sort_unstable_by_key(|(task, _)| *task);
        let (tasks, sets): (Vec<&Task>, Vec<ColorSet>) =
            members.into_iter().map(|(task, set)| (&fine.tasks[task], set)).unzip();
        let period = self.vm.vcpus()[slot].period;
        let range = [Duration(1), period];
        let found = Evaluator::new(*setting).least_budget(&tasks, &sets, period, range);
        found.unwrap_or(point.budget)
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
    let calls = task.all_exits().saturating_mul(costs.exit.0);
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
        .with_blocking(blocking)?;
    let base = match &task.triggered_by {
        None => base.with_jitter(jitter)?,
        Some(_) => base.with_events(jitter)?,
    };
    let base = base.with_suspension(suspension)?;
    Task::new(base, &wcet)
}

/// Returns the least number of planned colours of a VM.
pub(super) fn least_colors(system: &System, vm: usize) -> usize {
    colors_for_memory(system, &system.vms[vm], all_colors(system).len() as usize)
}

/// Returns the least number of colours whose frames can hold the RAM of a VM.
fn colors_for_memory(system: &System, vm: &description::Vm, all: usize) -> usize {
    let hypervisor = system.hypervisor_memory.as_ref().map_or(HYPERVISOR_MEMORY, |it| it.value);
    let banks = system.platform.value.memory.iter().map(|bank| bank.size.get());
    let largest = banks.max().unwrap_or(0).saturating_sub(hypervisor.get());
    let of_each = (largest / PAGE.0 / all.max(1) as u64).max(1);
    let pool = vm.extra.as_ref().map_or(0, |extra| extra.memory.value.get() / PAGE.0);
    let needed = frames_needed(vm.memory.value, u32::try_from(pool).unwrap_or(u32::MAX));
    usize::try_from(needed.div_ceil(of_each)).unwrap_or(usize::MAX).max(1)
}
