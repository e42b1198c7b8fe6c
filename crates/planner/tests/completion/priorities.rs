//! The order of VCPUs on a PCPU is decided, too, where the shorter period first leads to no plan.

use planner::completion::{Options, complete_from, complete_with, reasons};
use system::description::System;
use system::plan::{self, Plan};
use verdict::Verdict;

use crate::{planned, refused, system, task, vcpu, vm};

const SERVER: &str = "server = \"periodic\"\nperiod = \"10ms\"\npcpu = 1";

/// Two VMs of one PCPU: the second has a task with an early deadline, and can wait for nobody.
fn tied(lines: [&str; 2], chain: &str) -> String {
    let early = task("early", "20ms", "\"0.5ms\"") + "deadline = \"5ms\"\n";
    let open = |lines: &str| vcpu(&format!("{SERVER}\n{lines}"));
    format!(
        "platform = \"zcu102\"\n{chain}{}{}",
        vm("work", &(open(lines[0]) + &task("late", "100ms", "\"30ms\""))),
        vm("stop", &(open(lines[1]) + &early)),
    )
}

/// A chain makes that PCPUs affect each other.
const CHAIN: &str = "[[chain]]\nname = \"way\"\nsteps = [\"work.late\", \"stop.early\"]\nmax_reaction = \"300ms\"\n";

fn priorities(plan: &Plan) -> Vec<u32> {
    plan.vms.iter().flat_map(|vm| &vm.vcpus).map(|it| it.server.unwrap().priority).collect()
}

#[test]
fn of_equal_periods_the_one_that_can_wait_is_behind() {
    for chain in ["", CHAIN] {
        let (system, plan) = planned(&tied(["", ""], chain));
        assert_eq!(priorities(&plan), [1, 2], "{chain}");
        // The description says so, too, without any plan.
        let made = plan::make(&system).expect("a plan");
        assert!(Verdict::of_plan(&made, Some(&system)).schedulable);
        assert_eq!(priorities(&made), [1, 2]);
    }
}

#[test]
fn a_longer_period_goes_first_where_that_is_the_only_way() {
    let text = tied(["", ""], "").replacen("10ms", "8ms", 1).replace("30ms", "27ms");
    let (_, plan) = planned(&text);
    assert_eq!(priorities(&plan), [1, 2]);
}

#[test]
fn given_priorities_stay() {
    let errors = refused(&tied(["priority = 2", "priority = 1"], ""));
    assert!(errors.contains("no "), "{errors}");
    let (_, plan) = planned(&tied(["priority = 3", "priority = 7"], ""));
    assert_eq!(priorities(&plan), [3, 7]);
}

/// The shorter period first is enough: no priority is decided.
#[test]
fn without_need_the_shorter_period_is_first() {
    let text = tied(["", ""], "").replace("deadline = \"5ms\"", "deadline = \"18ms\"");
    let (system, plan) = planned(&text);
    assert_eq!(priorities(&plan), [2, 1]);
    let given = |vm: usize| system.vms[vm].vcpus[0].server.as_ref().unwrap().priority.is_some();
    assert!(!given(0) && !given(1));
}

#[test]
fn what_is_decided_for_the_background_is_last() {
    let background = "server = \"background\"\npcpu = 1";
    let text = tied(["", ""], "") + &vm("rest", &vcpu(background));
    let (system, plan) = planned(&text);
    assert_eq!(priorities(&plan), [2, 3, 1]);
    assert!(!system.is_open());
}

#[test]
fn an_order_is_explained_and_kept_by_a_plan_from_an_old_one() {
    let open = system(&tied(["", ""], ""));
    let mut first = open.clone();
    complete_with(&mut first, &Options::default()).expect("a plan");
    let reasons = reasons(&open, &first);
    let order = reasons.iter().find(|it| it.decision == "the order of VCPUs on PCPU 1");
    let order = order.expect("a reason");
    assert_eq!(order.value, "VCPU 0 of `stop`, VCPU 0 of `work`");
    assert_eq!(order.trials.len(), 1);
    assert_eq!(order.trials[0].tried, "by period");
    assert!(!order.trials[0].holds);

    let old = plan::make(&first).expect("a plan");
    let mut next = open.clone();
    let improved = complete_from(&mut next, &old, Some(0), &Options::default()).expect("a plan");
    assert!(improved.changes.is_empty(), "{:?}", improved.changes);
    assert_eq!(plan::make(&next).expect("a plan"), old);

    // An old plan in the other order is one change of order, and changes of budgets, away.
    let mut other: System = open.clone();
    let mut swapped = old.clone();
    for (vm, priority) in swapped.vms.iter_mut().zip([2, 1]) {
        vm.vcpus[0].server.as_mut().unwrap().priority = priority;
    }
    let improved = complete_from(&mut other, &swapped, None, &Options::default()).expect("a plan");
    assert!(improved.changes.iter().any(|it| it.decision == "the order of VCPUs on PCPU 1"));
    let plan = plan::make(&other).expect("a plan");
    assert!(Verdict::of_plan(&plan, Some(&other)).schedulable);
}
