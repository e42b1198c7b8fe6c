//! Why a plan is as it is: each sentence was tried.

use planner::completion::{Objective, Options, Reason, complete_with, reasons};
use system::description::System;
use system::plan;
use verdict::Verdict;

use super::{OPEN, system, task, vcpu, vm};

fn two() -> String {
    let tasks = task("fast", "20ms", "\"2ms\"") + &task("slow", "100ms", "\"19ms\"");
    let own = "server = \"deferrable\"";
    format!(
        "platform = \"qemu-virt\"\n{}{}{}",
        vm("a", &(vcpu(OPEN).repeat(2) + &tasks)),
        vm("b", &(vcpu(own) + &task("only", "40ms", "\"14ms\""))),
        vm("c", "")
    )
}

fn explained(text: &str, objective: Objective) -> (System, Vec<Reason>) {
    let open = system(text);
    let mut planned = open.clone();
    complete_with(&mut planned, &Options { objective, ..Options::default() }).unwrap();
    let reasons = reasons(&open, &planned);
    (planned, reasons)
}

fn reason<'a>(reasons: &'a [Reason], decision: &str) -> &'a Reason {
    let found = reasons.iter().find(|it| it.decision == decision);
    found.unwrap_or_else(|| panic!("{decision}: {reasons:#?}"))
}

#[test]
fn each_decision_has_a_reason() {
    let (_, all) = explained(&two(), Objective::LeastTime);
    let names: Vec<&str> = all.iter().map(|it| it.decision.as_str()).collect();
    assert_eq!(
        names,
        [
            "the budget of VCPU 0 of `a`",
            "the PCPU of VCPU 0 of `a`",
            "the budget of VCPU 1 of `a`",
            "the PCPU of VCPU 1 of `a`",
            "the budget of VCPU 0 of `b`",
            "the PCPU of VCPU 0 of `b`",
            "the PCPU of VCPU 0 of `c`",
            "the VCPU of task `fast` of `a`",
            "the VCPU of task `slow` of `a`",
        ]
    );
    assert!(all.iter().all(|it| !it.trials.is_empty()), "{all:#?}");
}

/// What a sentence says of a smaller budget is what `check` says.
#[test]
fn the_judge_says_the_same() {
    let (planned, all) = explained(&two(), Objective::LeastTime);
    let budget = reason(&all, "the budget of VCPU 0 of `b`");
    let trial = &budget.trials[0];
    assert!(!trial.holds && trial.tried == "with 2 us less", "{budget:#?}");
    let mut less = planned.clone();
    let server = less.vms[1].vcpus[0].server.as_mut().unwrap();
    let given = server.class.value.budget().unwrap();
    let smaller =
        system::plan::Budget { budget: analysis::Duration(given.budget.0 - 2_000), ..given };
    server.class.value = server.class.value.with_budget(smaller);
    let verdict = Verdict::of_plan(&plan::make(&less).unwrap(), Some(&less));
    let (_, task) = verdict.tasks().find(|(_, task)| !task.ok).expect("a late task");
    assert_eq!(task.task, "only");
    match task.wcrt_ns {
        Some(wcrt) => {
            let late = wcrt - task.deadline_ns;
            assert!(trial.effect.starts_with("task `only` of `b` is late by "), "{trial}");
            let digits = trial.effect.replace(|c: char| !c.is_ascii_digit(), "");
            assert!(late.to_string().starts_with(&digits), "{trial} {late}");
        }
        None => assert!(trial.effect.starts_with("task `only` of `b` has no bound: "), "{trial}"),
    }
}

/// A budget with slack: less is enough for deadlines, and costs slack.
#[test]
fn slack_is_a_reason() {
    let (_, all) = explained(&two(), Objective::MostSlack);
    let budget = reason(&all, "the budget of VCPU 0 of `b`");
    let [enough, below, ..] = &budget.trials[..] else { panic!("{budget:#?}") };
    assert!(enough.holds && enough.effect.contains("execution times can grow by "), "{enough}");
    assert!(!below.holds, "{below}");
}

#[test]
fn a_plan_that_holds_not_has_no_reasons() {
    let open = system(&two());
    let mut late = open.clone();
    super::least(&mut late).unwrap();
    late.vms[1].tasks[0].wcet = system::description::Wcet::Fixed(analysis::Duration(39_000_000));
    assert_eq!(reasons(&open, &late), []);
}

/// Numbers, kinds, overrun and protocol are decisions, too, each beside its other choices; an old
/// plan keeps them.
#[test]
fn choices_have_reasons_and_stay_those_of_an_old_plan() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems/choices.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let folder = file.parent().unwrap();
    let open = System::from_toml("choices.toml", &text, folder).unwrap();
    let options = Options { objective: Objective::LeastTime, ..Options::default() };
    let mut planned = open.clone();
    complete_with(&mut planned, &options).unwrap();
    let all = reasons(&open, &planned);
    let number = reason(&all, "the number of VCPUs of `drive`");
    assert_eq!(number.value, planned.vms[0].vcpus.len().to_string());
    let protocol = reason(&all, "the protocol of locks");
    assert_eq!(protocol.value, planned.locks.as_str());
    assert_eq!(protocol.trials.len(), 1, "{protocol:?}");
    assert_eq!(reason(&all, "the server of VCPU 0 of `drive`").trials.len(), 2);
    assert_eq!(reason(&all, "the overrun of VCPU 0 of `radio`").trials.len(), 1);

    let old = plan::make(&planned).unwrap();
    let mut again = open.clone();
    planner::completion::complete_from(&mut again, &old, Some(0), &options).unwrap();
    let made = plan::make(&again).unwrap();
    assert_eq!(made.locks, old.locks);
    for (vm, before) in made.vms.iter().zip(&old.vms) {
        let of = |vm: &plan::Vm| -> Vec<_> {
            vm.vcpus.iter().map(|vcpu| vcpu.server.map(|it| (it.class, it.overrun))).collect()
        };
        assert_eq!(of(vm), of(before));
    }
}
