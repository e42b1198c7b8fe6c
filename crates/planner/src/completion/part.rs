//! The parts of a system that have to fit by themselves before all of them can fit together: a VCPU
//! with the tasks that are pinned to it, and a task that can be on any VCPU of its VM.

use analysis::Duration;
use system::address::Pcpu;
use system::description::{self, Located, System};
use system::plan::{self, Budget};
use verdict::PcpuVerdict;

use super::periods;
use super::problem::{Problem, Subject, free_colors};
use crate::search::Planner;
use crate::{Coloring, Setting, Slot, Task, Test, Vm, indices, mask};

/// A part of a VM, by indices in the description.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// A VCPU with the tasks that are given to it.
    Vcpu(usize),
    /// A task whose VCPU is to be planned.
    Task(usize),
}

/// Returns the parts that do not fit even if everything else is not there. Of tasks in groups
/// nothing is certain.
pub(super) fn misfits(problem: &Problem, subject: &Subject) -> Vec<Part> {
    if subject.fine.is_some() {
        return Vec::new();
    }
    let with_tasks = subject.vm.vcpus().iter().zip(&subject.slots).filter(|it| it.0.pinned != 0);
    let vcpus = with_tasks.map(|(_, &vcpu)| Part::Vcpu(vcpu));
    let open = (0..subject.tasks.len()).filter(|task| subject.vm.pinned() >> task & 1 == 0);
    let tasks = open.map(|task| Part::Task(subject.tasks[task][0]));
    let mut misfits: Vec<Part> = vcpus.filter(|&part| !part_fits(problem, subject, part)).collect();
    if misfits.is_empty() {
        misfits.extend(tasks.filter(|&part| !part_fits(problem, subject, part)));
    }
    misfits
}

/// Returns true if a part of a VM fits by itself.
pub(super) fn fits(system: &System, vm: usize, part: Part) -> bool {
    let Ok(system) = periods::choose_for(system, &[vm]) else { return false };
    let problem = Problem::of_vms(&system, &[vm]);
    problem.is_ok_and(|problem| {
        problem.subjects.first().is_some_and(|subject| part_fits(&problem, subject, part))
    })
}

fn part_fits(problem: &Problem, subject: &Subject, part: Part) -> bool {
    let free = problem.free.len() as usize;
    slots(subject, part)
        .iter()
        .any(|slot| least_budget(&subject.vm, *slot, &problem.setting, free).is_some())
}

/// Returns true if the analysis, which knows more than the planner's model of it, finds tasks late,
/// too: each VCPU that the part can be has all of a PCPU or its given budget, and all free colours.
pub(super) fn is_late(system: &System, vm: usize, part: Part) -> bool {
    let vcpus = match part {
        Part::Vcpu(vcpu) => vcpu..vcpu + 1,
        Part::Task(_) => 0..system.vms[vm].vcpus.len(),
    };
    vcpus.into_iter().all(|vcpu| is_late_on(system, vm, part, vcpu))
}

fn is_late_on(system: &System, vm: usize, part: Part, vcpu: usize) -> bool {
    let class = match &system.vms[vm].vcpus[vcpu].server {
        None => None,
        Some(server) => match server.class.value.budget() {
            // In the background there is no promise.
            None => return true,
            Some(given) if !server.open => Some(server.class.value.with_budget(given)),
            Some(given) => {
                let longest = periods::candidates(system, vm).first().copied();
                let open = server.period_open.then_some(longest).flatten();
                let period = open.unwrap_or(given.period);
                Some(server.class.value.with_budget(Budget { budget: period, period }))
            }
        },
    };
    let mut only = system.clone();
    let free = free_colors(system);
    for (index, other) in only.vms.iter_mut().enumerate() {
        if index != vm {
            other.tasks.clear();
        }
    }
    let own = &mut only.vms[vm];
    if let Some(place) = own.colors_open.take() {
        own.colors = Some(Located::new(free, &place));
    }
    let is_in = |index: usize, task: &description::Task| match part {
        Part::Task(own) if own == index => true,
        _ => !task.vcpu_open && task.vcpu == vcpu,
    };
    let tasks = std::mem::take(&mut own.tasks).into_iter().enumerate();
    own.tasks = tasks
        .filter(|(index, task)| is_in(*index, task))
        .map(|(_, task)| description::Task { vcpu, vcpu_open: false, ..task })
        .collect();
    let server = class.map(|class| plan::Server { class, priority: 1, overrun: Duration(0) });
    let (hold, entries) = (Duration(0), plan::Entries::default());
    let alone = plan::Vcpu { pcpu: Pcpu(0), server, memory_budget: None, hold, entries };
    let verdict = PcpuVerdict::of(&only, &[(vm, vcpu, alone)], false);
    verdict.vcpus.iter().any(|vcpu| vcpu.tasks.iter().any(|task| !task.ok))
}

/// Returns the VCPUs that the part can be, with the tasks that it then has.
pub(super) fn slots(subject: &Subject, part: Part) -> Vec<Slot> {
    let all = subject.vm.vcpus().iter().copied().zip(&subject.slots);
    match part {
        Part::Vcpu(vcpu) => {
            all.filter(|(_, index)| **index == vcpu).map(|(slot, _)| slot).collect()
        }
        Part::Task(task) => {
            let own = subject.tasks.iter().position(|group| group.contains(&task));
            let own = own.map_or(0, |own| mask(&[own]));
            all.map(|(slot, _)| Slot { pinned: slot.pinned | own, ..slot }).collect()
        }
    }
}

/// Returns the least budget of a VCPU that has exactly the tasks that are pinned to it.
fn least_budget(vm: &Vm, slot: Slot, setting: &Setting, colors: usize) -> Option<Duration> {
    let alone = alone(vm, slot)?;
    let mut setting = super::setting(setting, colors);
    setting.test = Test::Alone;
    let plan = Planner::new(&[alone], &setting).plan(colors)?;
    Some(plan.vms.first()?.vcpus.first()?.as_ref().map_or(Duration(0), |it| it.point.budget))
}

/// Returns a VM that has only this VCPU and the tasks that are pinned to it.
pub(super) fn alone(vm: &Vm, slot: Slot) -> Option<Vm> {
    let own = indices(slot.pinned);
    let tasks: Vec<Task> = own.iter().map(|&task| vm.tasks()[task].clone()).collect();
    let pinned = mask(&(0..tasks.len()).collect::<Vec<_>>());
    let coloring = match vm.coloring() {
        Coloring::Fixed(sets) => Coloring::Fixed(own.iter().map(|&task| sets[task]).collect()),
        other => other.clone(),
    };
    let mut alone =
        Vm::new(tasks, vec![Slot { pinned, ..slot }]).ok()?.with_coloring(coloring).ok()?;
    (alone.least_colors, alone.power_of_two) = (vm.least_colors, vm.power_of_two);
    Some(alone)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use verdict::Verdict;

    use super::*;

    /// A VM whose VCPU has a task that takes `wcet` us, and another one with these lines.
    fn described(vcpu: &str, wcet: u64, lines: &str) -> System {
        let text = format!(
            "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"1MiB\"\n\
             kernel = \"k\"\n[[vm.vcpu]]\n{vcpu}\n[[vm.task]]\nname = \"t\"\nperiod = \"2ms\"\n\
             wcet = \"{wcet}us\"\nvcpu = 0\n[[vm.task]]\nname = \"s\"\nperiod = \"1ms\"\n\
             wcet = \"0.2ms\"\nvcpu = 0\n{lines}\n"
        );
        System::from_toml("s.toml", &text, Path::new("")).unwrap_or_else(|it| panic!("{it}"))
    }

    /// That a whole PCPU is too little is said only where `check` says so of a VCPU that has one.
    #[test]
    fn what_is_late_on_a_whole_pcpu_is_late_by_check() {
        let open = "server = \"deferrable\"\nperiod = \"1ms\"";
        let whole = format!("{open}\nbudget = \"1ms\"\npcpu = 0");
        for lines in [
            "",
            "exits = 3",
            "self_suspension = \"50us\"\nexits = 1",
            "jitter = \"100us\"\ndeadline = \"0.8ms\"",
        ] {
            let (mut in_time, mut late) = (0, 0);
            for wcet in (1_000..1_640).step_by(5) {
                let given = described(&whole, wcet, lines);
                let plan = plan::make(&given).unwrap_or_else(|it| panic!("{it}"));
                let is_enough = Verdict::of_plan(&plan, Some(&given)).schedulable;
                let system = described(open, wcet, lines);
                let part = Part::Vcpu(0);
                assert_eq!(is_late(&system, 0, part), !is_enough, "{lines}: {wcet} us");
                *(if is_enough { &mut in_time } else { &mut late }) += 1;
            }
            assert!(in_time > 0 && late > 0, "{lines}");
        }
    }
}
