//! A VCPU of a described system in the analysis.

use analysis::overheads::{Costs, Overheads};
use analysis::response::Workload;
use analysis::supply::Supply;
use analysis::vmpcp::{Enforced, Section};
use analysis::{Caches, Duration, LONGEST, Server, TOO_LONG, Task};
use policy::color::ColorSet;
use system::description::{self, Resource, System, Wcet};
use system::plan::{self, Class, Entries};
use units::Frequency;

use crate::costs::{self, Calls};
use crate::memory::{Accesses, OfVcpu};

/// A time in global critical sections that is longer than allowed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Excess {
    /// The time that the hypervisor may take.
    pub taken: u64,
    /// [`System::section_overhead`].
    pub allowed: u64,
}

/// A VCPU with its tasks.
#[derive(Clone, Eq, Hash, PartialEq)]
pub(crate) struct Member<'a> {
    /// Name of its VM.
    pub vm: &'a str,
    /// The index of its VM.
    pub vm_index: usize,
    /// Its index in the VM.
    pub index: usize,
    /// Its PCPU and server.
    pub vcpu: plan::Vcpu,
    /// Names of its tasks, the highest priority first.
    pub names: Vec<&'a str>,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// For each task: the channel whose rings release its jobs, if they do.
    pub triggers: Vec<Option<&'a str>>,
    /// For each task: true if its execution time is known.
    pub known: Vec<bool>,
    /// Priorities of the tasks, if they are given.
    pub priorities: Vec<Option<u64>>,
    /// Costs of the hypervisor, if known.
    pub costs: Option<Costs>,
    /// Requests of the jobs of each task to the hypervisor.
    pub calls: Vec<Calls>,
    /// Time of these requests for a job of each task, which is part of its execution time.
    pub job_overheads: Vec<u64>,
    /// Time by which the hypervisor makes a global critical section longer, or the time that it
    /// takes in one if that is more than [`System::section_overhead`].
    pub in_section: Result<u64, Excess>,
    /// Other times of the hypervisor.
    pub overheads: Option<Overheads>,
    /// The critical sections of the tasks, with their longest times including memory accesses of
    /// others.
    pub sections: Vec<Vec<Section>>,
    /// The time for which a job of each task waits for memory accesses of others, however many these are
    /// ([`System::memory_delay`]).
    pub(crate) delays: Vec<Duration>,
    /// The colours of the tasks.
    pub colors: Vec<ColorSet>,
    /// Colours of the lines that this VCPU loads: those of its tasks, or if none is known those of
    /// its VM.
    uses: ColorSet,
    /// Longest time to load a colour again, if that is known.
    pub reload: Option<Duration>,
    /// Memory accesses that delay the tasks.
    pub memory: OfVcpu,
    /// Frequency of the system counter, if it is known.
    counter: Option<Frequency>,
}

impl<'a> Member<'a> {
    /// Returns the VCPU with this index of the VM with this index; without tasks if there is no
    /// description.
    pub fn new(
        vm: &'a str,
        described: Option<&'a System>,
        accesses: Option<&Accesses<'_>>,
        (vm_index, index): (usize, usize),
        vcpu: plan::Vcpu,
    ) -> Self {
        let described = described.and_then(|system| Some((system, system.vms.get(vm_index)?)));
        let described_tasks = described.map(|(_, vm)| vm.tasks_of(index)).unwrap_or_default();
        let described_tasks: Vec<_> = described_tasks.into_iter().map(|(_, task)| task).collect();
        let counter = described.and_then(|(system, _)| system.platform.value.counter);
        let all = described.and_then(|(system, _)| system.platform.value.colors().ok());
        let all = all.map_or(ColorSet::EMPTY, |geometry| ColorSet::first(geometry.colors()));
        let colors = described_tasks.iter().map(|task| task_colors(described?.1, task));
        let colors: Vec<_> = colors.collect();
        let tasks = || described_tasks.iter().zip(&colors);
        let union = |union, colors: &Option<ColorSet>| union | colors.unwrap_or(all);
        let uses = match described {
            Some((_, vm)) if colors.is_empty() => match vm.all_colors() {
                ColorSet::EMPTY => all,
                colors => colors,
            },
            _ => colors.iter().fold(ColorSet::EMPTY, union),
        };
        Self {
            vm,
            vm_index,
            index,
            vcpu,
            names: described_tasks.iter().map(|task| task.name.value.as_str()).collect(),
            tasks: tasks().map(|(task, colors)| model(task, *colors, counter)).collect(),
            triggers: match described {
                Some((system, _)) => {
                    described_tasks.iter().map(|task| trigger(system, task)).collect()
                }
                None => Vec::new(),
            },
            known: tasks().map(|(task, colors)| is_known(task, *colors)).collect(),
            priorities: described_tasks
                .iter()
                .map(|task| task.priority.as_ref().map(|priority| priority.value))
                .collect(),
            costs: described.and_then(|(system, vm)| costs::costs(system, vm.lock_waits())),
            calls: match described {
                Some((system, _)) => described_tasks.iter().map(|it| calls(system, it)).collect(),
                None => Vec::new(),
            },
            job_overheads: Vec::new(),
            in_section: Ok(0),
            overheads: None,
            sections: match described {
                Some((system, _)) => {
                    described_tasks.iter().map(|it| sections(system, it)).collect()
                }
                None => Vec::new(),
            },
            delays: match described {
                Some((system, _)) => {
                    described_tasks.iter().map(|task| system.memory_delay(task)).collect()
                }
                None => Vec::new(),
            },
            colors: colors.into_iter().map(|colors| colors.unwrap_or(all)).collect(),
            uses,
            reload: described.and_then(|(system, _)| Some(system.color_reload.as_ref()?.value)),
            memory: accesses
                .map(|accesses| accesses.of(vm_index, &described_tasks, &vcpu))
                .unwrap_or_default(),
            counter,
        }
    }

    /// Returns the time that memory accesses of others add to the execution time of a task in
    /// critical sections. Each section can contain all of its accesses, and the execution time
    /// contains all sections.
    pub fn memory_delay(&self, index: usize) -> Duration {
        let delay = self.delays.get(index).map_or(0, |delay| delay.0);
        let times = self.sections.get(index).map_or(1, |sections| sections.len().max(1)) as u64;
        Duration(delay.saturating_mul(times).min(TOO_LONG))
    }

    /// Returns the time that the hypervisor takes once in a busy period.
    pub fn overhead(&self) -> u64 {
        self.overheads.as_ref().map_or(0, Overheads::constant)
    }

    /// Returns the critical sections of a task; global ones include the time of the hypervisor in
    /// them.
    pub fn sections_with_overheads(&self, system: &System, index: usize) -> Vec<Section> {
        let more = |section: &Section| match system.is_global(section.resource) {
            true => self.in_section.unwrap_or(TOO_LONG),
            false => 0,
        };
        let longer = |it: &Section| {
            let length = Duration(it.length.0.saturating_add(more(it)).min(TOO_LONG));
            Section { length, ..*it }
        };
        self.sections[index].iter().map(longer).collect()
    }

    /// Returns the colours of its tasks, if cache delays are counted.
    pub fn caches(&self) -> Option<Caches<'_>> {
        self.reload.map(|reload| Caches::new(&self.colors, reload))
    }

    /// Returns the workload of its tasks with this supply, without other VCPUs.
    pub fn workload<'s>(&'s self, supply: Supply<'s>) -> Workload<'s> {
        let workload = Workload::new(&self.tasks).with_supply(supply);
        let workload = match &self.overheads {
            Some(overheads) => workload.with_overheads(overheads),
            None => workload,
        };
        self.caches().map_or(workload, |caches| workload.with_caches(caches))
    }

    /// Returns true if another VCPU of its PCPU can evict lines of its tasks, although times to
    /// load lines again are counted separately.
    pub fn is_evicted_by(&self, other: &Self) -> bool {
        let own = !self.tasks.is_empty() && self.reload.is_some_and(|reload| reload.0 > 0);
        own && !(self.uses & other.uses).is_empty()
    }

    /// Returns its server for those below: with all of its budget; `None` in the background, and
    /// for a VCPU with a PCPU of its own.
    pub fn server(&self) -> Option<Server> {
        self.server_with(|budget| budget)
    }

    /// Returns its server for its tasks: with the budget in whole ticks.
    pub fn server_in_ticks(&self) -> Option<Server> {
        let counter = self.counter;
        self.server_with(|budget| counter.map_or(budget, |counter| whole_ticks(budget, counter)))
    }

    /// Returns the limits of the hypervisor on its critical sections. The hypervisor counts in
    /// ticks: it allows entries more often than planned, by less than a tick in each interval and
    /// by two ticks once.
    pub fn enforced(&self, resources: &[Resource]) -> Enforced {
        let Entries { interval, early } = self.vcpu.entries;
        let (interval, early) = (Duration(interval.0), Duration(early.0));
        let (interval, early) = match self.counter {
            None => (interval, early),
            Some(counter) => {
                let tick = 1_000_000_000u64.div_ceil(counter.0.max(1));
                let late = early.0.saturating_add(2 * tick);
                (whole_ticks(interval, counter), Duration(late))
            }
        };
        let vm = self.vm_index;
        let may_open = |it: &(usize, &Resource)| it.1.inter_vm && it.1.vms.contains(&vm);
        let resources = resources.iter().enumerate().filter(may_open).map(|it| it.0).collect();
        // The hypervisor counts the time that the VCPU executes. Once, the end is noticed late, and
        // a debt is paid.
        let late = self.costs.map_or(0, |costs| 2 * costs.late.0);
        let hold = match self.vcpu.hold {
            Duration(0) => Duration(0),
            Duration(hold) => Duration(hold.saturating_add(late)),
        };
        Enforced { vm, hold, interval, early, resources }
    }

    fn server_with(&self, budget: impl Fn(Duration) -> Duration) -> Option<Server> {
        let Class::Reserved(kind, given) = self.vcpu.server?.class else { return None };
        Server::new(kind, budget(given.budget), given.period).ok()
    }
}

/// Returns the colours of a task: its own, or those of its VM; `None` if the VM has all of the
/// cache.
fn task_colors(vm: &description::Vm, task: &description::Task) -> Option<ColorSet> {
    let own = task.colors.as_ref().or(vm.colors.as_ref());
    own.map(|colors| colors.value)
}

/// Returns true if the execution time of a task with these colours is described: with fewer colours
/// than the fewest that are described, the time is unknown.
fn is_known(task: &description::Task, colors: Option<ColorSet>) -> bool {
    let colors = colors.map_or(u64::MAX, |colors| u64::from(colors.len()));
    match &task.wcet {
        Wcet::Fixed(_) => true,
        Wcet::ByColors(times) => times.keys().next().is_some_and(|&fewest| fewest <= colors),
    }
}

/// Returns a described task for the analysis. Periods and deadlines above the maximum are reduced
/// to it, which makes no bound too short. If another time is too long or unknown, so is the
/// execution time, and the task has no bound.
fn model(task: &description::Task, set: Option<ColorSet>, counter: Option<Frequency>) -> Task {
    let cut = |time: Duration| time.min(LONGEST);
    let at_least_one = |time: Duration| cut(time).max(Duration(1));
    let colors = set.map(|colors| u64::from(colors.len()));
    let wcet = colors.map_or(task.wcet.longest(), |colors| task.wcet.with_colors(colors));
    let longest = [wcet, task.jitter, task.blocking, task.self_suspension].into_iter().max();
    let too_long = longest.is_some_and(|longest| longest > LONGEST) || !is_known(task, set);
    let model = Task::new(at_least_one(wcet), at_least_one(task.period))
        .and_then(|model| model.with_deadline(at_least_one(task.deadline)))
        .and_then(|model| match &task.triggered_by {
            None => model.with_jitter(cut(task.jitter)),
            Some(_) => model.with_events(cut(early(task, counter))),
        })
        .and_then(|model| model.with_blocking(cut(task.blocking)))
        .and_then(|model| model.with_suspension(cut(task.self_suspension)))
        .expect("no time is 0 or too long");
    if too_long { model.with_more_wcet(LONGEST) } else { model }
}

/// Returns the name of the channel whose rings release jobs of a task, if they do.
fn trigger<'a>(system: &'a System, task: &description::Task) -> Option<&'a str> {
    let channel = system.channels.get(task.triggered_by.as_ref()?.value)?;
    Some(channel.name.value.as_str())
}

/// Returns how much earlier than one in each period rings can release jobs. The hypervisor compares
/// times in whole ticks: two rings can be closer by less than a tick.
fn early(task: &description::Task, counter: Option<Frequency>) -> Duration {
    let tick = counter.map_or(0, |counter| 1_000_000_000u64.div_ceil(counter.0.max(1)));
    Duration(task.jitter.0.saturating_add(tick))
}

/// Returns the requests of its jobs to the hypervisor.
fn calls(system: &System, task: &description::Task) -> Calls {
    let global = task.sections.iter().filter(|section| system.is_global(section.resource));
    Calls { exits: task.all_exits(), sections: global.count() as u64 }
}

/// Returns its critical sections. Lengths are limited like execution times.
fn sections(system: &System, task: &description::Task) -> Vec<Section> {
    let section = |it: &description::Section| Section {
        resource: it.resource,
        length: it.longest().min(LONGEST),
        inter_vm: system.resources.get(it.resource).is_some_and(|it| it.inter_vm),
    };
    task.sections.iter().map(section).collect()
}

/// Returns the longest time of whole ticks that is not longer, in nanoseconds rounded down.
fn whole_ticks(time: Duration, Frequency(counter): Frequency) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    let ticks = u128::from(time.0) * u128::from(counter) / SECOND;
    let whole = (ticks * SECOND).checked_div(counter.into());
    whole.map_or(time, |whole| Duration(whole as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_whole_ticks() {
        for (counter, time, whole) in [
            (62_500_000, 3_000_000, 3_000_000),
            (62_500_000, 1_000_015, 1_000_000),
            (54_000_000, 1_000_000, 1_000_000),
            (54_000_000, 1_000_001, 1_000_000),
            (99_990_005, 1_000_000, 999_999),
            (0, 5, 5),
        ] {
            assert_eq!(whole_ticks(Duration(time), Frequency(counter)), Duration(whole));
        }
    }
}
