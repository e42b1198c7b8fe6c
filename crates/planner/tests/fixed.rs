//! What is fixed stays as it is.

use analysis::Duration;
use planner::search::Planner;
use planner::{Error, Setting, Slot, Task, Vm};

fn ms(ms: u64) -> Duration {
    Duration(ms * 1_000_000)
}

fn task(period: u64, wcet: &[u64]) -> Task {
    let wcet: Vec<_> = wcet.iter().map(|&wcet| ms(wcet)).collect();
    Task::new(analysis::Task::new(ms(1), ms(period)).unwrap(), &wcet).unwrap()
}

fn setting() -> Setting {
    Setting::new(4, Duration(10_000)).unwrap()
}

#[test]
fn pinned_tasks_stay_where_they_are() {
    let tasks = vec![task(40, &[8, 4]), task(50, &[8, 5]), task(80, &[9, 3]), task(90, &[9, 3])];
    let pin = |pinned| Slot { pinned, ..Slot::new(ms(5)) };
    let vms = [Vm::new(tasks, vec![pin(0b0001), pin(0b0010), pin(0b0100)]).unwrap()];
    let plan = Planner::new(&vms, &setting()).plan(4).unwrap();
    for (vcpu, planned) in plan.vms[0].vcpus.iter().enumerate() {
        assert!(planned.as_ref().unwrap().tasks.contains(&vcpu), "{plan:?}");
    }
}

#[test]
fn a_budget_that_is_given_is_kept() {
    let tasks = vec![task(40, &[8]), task(50, &[8])];
    let fixed = Slot { budget: Some(ms(2)), ..Slot::new(ms(5)) };
    let vms = [Vm::new(tasks.clone(), vec![fixed, Slot::new(ms(10))]).unwrap()];
    let plan = Planner::new(&vms, &setting()).plan(4).unwrap();
    // The first VCPU costs the same with and without tasks: it has at least one.
    let first = plan.vms[0].vcpus[0].as_ref().unwrap();
    assert_eq!(first.point.budget, ms(2));
    // Both tasks are too much for it.
    let vms = [Vm::new(tasks, vec![Slot { budget: Some(ms(1)), ..fixed }]).unwrap()];
    assert_eq!(Planner::new(&vms, &setting()).plan(4), None);
}

#[test]
fn more_than_there_is_has_no_plan() {
    // Utilisation 2.4, two VCPUs.
    let tasks = vec![task(10, &[8]), task(10, &[8]), task(10, &[8])];
    let vms = [Vm::new(tasks, vec![Slot::new(ms(1)); 2]).unwrap()];
    assert_eq!(Planner::new(&vms, &setting()).plan(4), None);
    // Two tasks with a colour each: one colour is not enough for two VCPUs.
    let tasks = vec![task(10, &[8]), task(10, &[8])];
    let vms = [Vm::new(tasks, vec![Slot::new(ms(1)); 2]).unwrap()];
    assert_eq!(Planner::new(&vms, &setting()).plan(1), None);
    assert!(Planner::new(&vms, &setting()).plan(2).is_some());
}

#[test]
fn problems_that_make_no_sense_are_refused() {
    let tasks = || vec![task(10, &[1]); 2];
    let slot = Slot::new(ms(1));
    let refused = |vcpus: Vec<Slot>| Vm::new(tasks(), vcpus).unwrap_err();
    assert_eq!(refused(vec![]), Error::NoVcpu);
    assert_eq!(refused(vec![Slot::new(ms(0))]), Error::Server { vcpu: 0 });
    let budget = Some(ms(2));
    assert_eq!(refused(vec![slot, Slot { budget, ..slot }]), Error::Server { vcpu: 1 });
    let pin = |pinned| Slot { pinned, ..slot };
    assert_eq!(refused(vec![pin(0b100)]), Error::Pinned { vcpu: 0 });
    assert_eq!(refused(vec![pin(0b1), pin(0b11)]), Error::Pinned { vcpu: 1 });
    let many = Vm::new(vec![task(10, &[1]); 129], vec![slot]).unwrap_err();
    assert_eq!(many.to_string(), "a VM can have 128 tasks here, not 129");
    assert!(Setting::new(65, ms(1)).is_err() && Setting::new(0, ms(1)).is_err());
}

#[test]
fn a_vm_without_tasks_needs_nothing() {
    let vms = [Vm::new(Vec::new(), vec![Slot::new(ms(1)); 2]).unwrap()];
    let plan = Planner::new(&vms, &setting()).plan(4).unwrap();
    assert_eq!((plan.total.0, &plan.vms[0].vcpus[..]), (0, &[None, None][..]));
}
