//! The optimum is the optimum, and the planner is close to it.

mod systems;

use analysis::Duration;
use analysis::utilization::Share;
use planner::exact::{cache_to_task, system};
use planner::search::Planner;
use planner::{Evaluator, Setting, Task, Test, Vm};
use policy::color::ColorSet;
use systems::vms;
use taskgen::vcache::{Parameters, TABLE_3};

/// Systems to try: debug builds, which compare each bound of the analysis with a brute-force
/// search, try fewer.
const SETS: u64 = if cfg!(debug_assertions) { 4 } else { 12 };

/// Systems that are small enough for a proof.
fn small(tasks: u64, colors: usize) -> Parameters {
    let utilization = 0.22 * tasks as f64;
    Parameters { tasks: [tasks, tasks], utilization, colors, ..TABLE_3 }
}

/// The least budget, by trying all colours of all tasks.
fn least(
    evaluator: &mut Evaluator,
    tasks: &[&Task],
    colors: u32,
    period: Duration,
    sets: &mut Vec<ColorSet>,
) -> Option<Duration> {
    if sets.len() == tasks.len() {
        return evaluator.least_budget(tasks, sets, period, [Duration(0), period]);
    }
    let mut best: Option<Duration> = None;
    for bits in 1..1_u64 << colors {
        sets.push(ColorSet::from_bits(bits));
        let found = least(evaluator, tasks, colors, period, sets);
        best = [best, found].into_iter().flatten().min();
        sets.pop();
    }
    best
}

#[test]
fn no_colors_give_a_smaller_budget() {
    let mut compared = 0;
    for set in 0..SETS {
        for vm in vms(&small(6, 3), set, 1, 60) {
            let tasks: Vec<&Task> = vm.tasks().iter().take(3).collect();
            let period = vm.vcpus()[0].period;
            let setting = Setting::new(3, Duration(3_000_000)).unwrap();
            let mut evaluator = Evaluator::new(setting);
            let all = least(&mut evaluator, &tasks, 3, period, &mut Vec::new());
            let mut steps = 1_000_000;
            let found = cache_to_task(&mut evaluator, &tasks, 3, period, &mut steps).unwrap();
            assert_eq!(
                found.map_or(Some(Duration(0)), |point| Some(point.budget)),
                match all {
                    None => Some(Duration(0)),
                    all => all,
                }
            );
            compared += u64::from(all.is_some_and(|budget| budget > Duration(0)));
        }
    }
    assert!(compared > SETS, "{compared}");
}

/// The least sum of a VM with so many colours, by trying all VCPUs for all tasks and all ways to
/// give the VCPUs colours.
fn least_of_vm(evaluator: &mut Evaluator, vm: &Vm, colors: usize) -> Option<Share> {
    let (count, vcpus) = (vm.tasks().len() as u32, vm.vcpus().len());
    let period = vm.vcpus()[0].period;
    let mut best = None;
    for way in 0..vcpus.pow(count) {
        let on = |task: u32| way / vcpus.pow(task) % vcpus;
        let members = |vcpu: usize| -> Vec<&Task> {
            let here = (0..count).filter(|&task| on(task) == vcpu);
            here.map(|task| &vm.tasks()[task as usize]).collect()
        };
        for split in 0..(colors + 1).pow(vcpus as u32) {
            let own = |vcpu: usize| split / (colors + 1).pow(vcpu as u32) % (colors + 1);
            if (0..vcpus).map(own).sum::<usize>() > colors {
                continue;
            }
            let total: Option<Share> = (0..vcpus)
                .map(|vcpu| {
                    let tasks = members(vcpu);
                    if tasks.is_empty() {
                        return Some(Share(0));
                    }
                    let own = own(vcpu) as u32;
                    let budget = least(evaluator, &tasks, own, period, &mut Vec::new())?;
                    Some(Share::up(budget, period))
                })
                .sum();
            best = [best, total].into_iter().flatten().min();
        }
    }
    best
}

#[test]
fn no_tasks_of_vcpus_need_less() {
    const COLORS: usize = 3;
    let mut compared = 0;
    for set in 0..SETS / 2 {
        let parameters = Parameters { tasks: [4, 4], utilization: 1.1, ..small(4, COLORS) };
        let vms = vms(&parameters, set, 2, 60);
        let setting = Setting::new(COLORS, Duration(3_000_000)).unwrap();
        let mut evaluator = Evaluator::new(setting);
        let mut of_vm = |vm: &Vm, colors| match vm.tasks().is_empty() {
            true => Some(Share(0)),
            false => least_of_vm(&mut evaluator, vm, colors),
        };
        let splits =
            (0..=COLORS).map(|own| Some(of_vm(&vms[0], own)? + of_vm(&vms[1], COLORS - own)?));
        let least = splits.flatten().min();
        let found = system::least_total(&vms, &setting, COLORS, 10_000_000).unwrap();
        assert_eq!(found, least, "set {set}");
        compared += u64::from(least.is_some());
    }
    assert!(compared >= SETS / 4, "{compared}");
}

#[test]
fn a_search_that_is_too_long_says_so() {
    let vms = vms(&small(6, 6), 1, 2, 100);
    let setting = Setting::new(6, Duration(207_000)).unwrap();
    let error = system::least_total(&vms, &setting, 6, 5).unwrap_err();
    assert!(error.to_string().starts_with("no optimum was proven"));
}

/// Within 2 % of the optimum, and never below it; with deadlines as long as the periods
/// and shorter ones, and for colours that are cheap and dear to load again.
#[test]
fn plans_are_close_to_the_optimum() {
    for (deadline, reload) in [(100, 207), (100, 5_000), (50, 2_000)] {
        let setting = Setting::new(6, Duration(reload * 1_000)).unwrap();
        let (mut ours, mut optimum) = (0.0, 0.0);
        for set in 0..SETS {
            let vms = vms(&small(6, 6), set, 2, deadline);
            let exact = system::least_total(&vms, &setting, 6, 10_000_000).unwrap();
            let plan = Planner::new(&vms, &setting).plan(6);
            let (Some(exact), Some(plan)) = (exact, plan) else { continue };
            assert!(plan.total >= exact, "set {set}: {plan:?} is below {exact:?}");
            ours += plan.total.0 as f64;
            optimum += exact.0 as f64;
        }
        assert!(optimum > 0.0 && ours <= 1.02 * optimum, "{deadline} {reload}: {}", ours / optimum);
    }
}

/// What a plan says holds: all deadlines, each task once, and no more colours than there are.
#[test]
fn plans_hold() {
    for (set, test) in [(0, Test::Published), (1, Test::Supply), (2, Test::Published)] {
        let vms = vms(&TABLE_3, set, 4, 70);
        let mut setting = Setting::new(32, Duration(207_000)).unwrap();
        setting.test = test;
        let mut evaluator = Evaluator::new(setting);
        let plan = Planner::new(&vms, &setting).plan(24).unwrap();
        let mut colors = 0;
        for (vm, vm_plan) in vms.iter().zip(&plan.vms) {
            let mut planned: Vec<usize> = Vec::new();
            for vcpu in vm_plan.vcpus.iter().flatten() {
                let tasks: Vec<&Task> = vcpu.tasks.iter().map(|&i| &vm.tasks()[i]).collect();
                let (budget, period) = (vcpu.point.budget, vm.vcpus()[0].period);
                assert!(evaluator.fits(&tasks, &vcpu.point.sets, budget, period));
                let all = ColorSet::first(vcpu.colors as u32);
                assert!(vcpu.point.sets.iter().all(|set| !set.is_empty() && set.is_subset(all)));
                planned.extend(&vcpu.tasks);
                colors += vcpu.colors;
            }
            planned.sort_unstable();
            assert!(planned.into_iter().eq(0..vm.tasks().len()));
        }
        assert!(colors <= 24);
    }
}
