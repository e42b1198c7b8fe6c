//! From an old plan by few changes.

use planner::completion::{Objective, Options, Refusal, complete_from};
use system::plan::{self, Plan};
use verdict::Verdict;

use super::{OPEN, least, system, task, vcpu, vm};

/// Three VMs with these execution times, in milliseconds.
fn text(wcets: [&str; 3]) -> String {
    let of = |name: &str, wcet: &str| {
        vm(name, &(vcpu(OPEN) + &task("t", "40ms", &format!("\"{wcet}ms\""))))
    };
    let [a, b, c] = wcets;
    format!("platform = \"qemu-virt\"\n{}{}{}", of("a", a), of("b", b), of("c", c))
}

fn old(text: &str) -> Plan {
    let mut system = system(text);
    least(&mut system).unwrap();
    plan::make(&system).unwrap()
}

fn options(objective: Objective) -> Options<'static> {
    Options { objective, ..Options::default() }
}

#[test]
fn a_plan_that_holds_and_is_best_stays() {
    let text = text(["12", "13", "11"]);
    let old = old(&text);
    let mut again = system(&text);
    let improved = complete_from(&mut again, &old, None, &options(Objective::LeastTime)).unwrap();
    assert_eq!(improved.changes, []);
    assert_eq!(plan::make(&again).unwrap(), old);
}

#[test]
fn one_longer_task_changes_one_budget() {
    let old = old(&text(["12", "13", "11"]));
    let longer = text(["12", "15", "11"]);
    for changes in [Some(1), Some(3), None] {
        let mut repaired = system(&longer);
        let improved =
            complete_from(&mut repaired, &old, changes, &options(Objective::Described)).unwrap();
        let plan = plan::make(&repaired).unwrap();
        assert!(Verdict::of_plan(&plan, Some(&repaired)).schedulable);
        let changed: Vec<&str> = improved.changes.iter().map(|it| it.decision.as_str()).collect();
        assert_eq!(changed, ["the budget of VCPU 0 of `b`"], "{changes:?}");
        let [change] = &improved.changes[..] else { panic!("one") };
        assert!(change.old != change.new && change.old.ends_with(" in 10 ms"), "{change:?}");
        // The others are as they were.
        assert_eq!(
            (plan.vms[0].vcpus[0], plan.vms[2].vcpus[0]),
            (old.vms[0].vcpus[0], old.vms[2].vcpus[0])
        );
        // The same every time.
        let mut again = system(&longer);
        let second = complete_from(&mut again, &old, changes, &options(Objective::Described));
        assert_eq!((second.unwrap().changes, again), (improved.changes, repaired));
    }
}

#[test]
fn there_are_no_more_changes_than_are_allowed() {
    let old = old(&text(["12", "13", "11"]));
    let longer = text(["15", "16", "11"]);
    let mut two = system(&longer);
    let improved = complete_from(&mut two, &old, Some(2), &options(Objective::Described)).unwrap();
    assert_eq!(improved.changes.len(), 2);
    for few in [0, 1] {
        let mut one = system(&longer);
        let Err(Refusal::NoPlan(errors)) =
            complete_from(&mut one, &old, Some(few), &options(Objective::Described))
        else {
            panic!("two tasks take longer")
        };
        let shown = errors.to_string();
        assert!(shown.contains("of the old plan no plan was found"), "{shown}");
        assert!(shown.contains("in the best one task `t` of VM "), "{shown}");
        assert!(system(&longer) == one, "nothing is changed");
    }
}

#[test]
fn slack_grows_with_the_number_of_changes() {
    let text = text(["12", "13", "11"]);
    let old = old(&text);
    let share = |changes: usize| {
        let mut system = system(&text);
        let improved =
            complete_from(&mut system, &old, Some(changes), &options(Objective::MostSlack))
                .unwrap();
        assert!(improved.changes.len() <= changes, "{:?}", improved.changes);
        let plan = plan::make(&system).unwrap();
        let sensitivity = verdict::Sensitivity::new(&system, Some(&plan));
        sensitivity.all_ppm.unwrap_or(0)
    };
    let slack = [0, 3, 6].map(share);
    assert!(slack[0] <= slack[1] && slack[1] <= slack[2], "{slack:?}");
    assert!(slack[2] > slack[0] + 100_000, "{slack:?}");
}

#[test]
fn a_plan_of_another_system_is_refused() {
    let first = text(["12", "13", "11"]);
    let old = old(&first);
    let refused = |text: &str| {
        let mut other = system(text);
        match complete_from(&mut other, &old, None, &options(Objective::Described)) {
            Err(Refusal::Input(errors)) => errors.to_string(),
            other => panic!("{other:?}"),
        }
    };
    for (text, part) in [
        (first.replace("name = \"b\"", "name = \"z\""), "no VM `z`"),
        (first.replacen(&vcpu(OPEN), &vcpu(OPEN).repeat(2), 1), "has 1 VCPUs of VM `a`, not 2"),
        (
            first.replacen("\"sporadic\"", "\"deferrable\"", 1),
            "is sporadic in the old plan, not deferrable",
        ),
        (first.replace("qemu-virt", "zcu102"), "for the board `qemu-virt`"),
    ] {
        let shown = refused(&text);
        assert!(shown.contains("another-system") && shown.contains(part), "{part}: {shown}");
        assert!(shown.contains("needs a plan of the same system"), "{shown}");
    }
}
