//! Limits of memory accesses that a description leaves open are the largest with which tasks are
//! in time.

use std::path::Path;

use planner::completion::{Objective, Options, Refusal, complete_with};
use system::description::System;
use system::plan::{self, MemoryBudget, Plan};
use verdict::Verdict;

/// Completes it with as little processor time as possible.
fn least(system: &mut System) -> Result<(), Refusal> {
    let options = Options { objective: Objective::LeastTime, ..Options::default() };
    complete_with(system, &options).map(drop)
}

fn system(text: &str) -> System {
    System::from_toml("s.toml", text, Path::new("")).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A raw VM with these lines.
fn vm(name: &str, lines: &str) -> String {
    let start = "boot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"";
    format!("[[vm]]\nname = \"{name}\"\n{start}\n{lines}\n")
}

fn platform(latency: &str) -> String {
    format!(
        "[platform]\nboard = \"qemu-virt\"\n[platform.bandwidth]\naccess_latency = \"{latency}\"\n"
    )
}

/// A critical VM with a task on a PCPU of its own.
fn critical(deadline: &str, wcet: &str, accesses: u64) -> String {
    let task = format!(
        "critical = true\n[[vm.task]]\nname = \"control\"\nperiod = \"40ms\"\n\
         deadline = \"{deadline}\"\nwcet = \"{wcet}\"\naccesses = {accesses}"
    );
    vm("rt", &task)
}

fn verdict(system: &System) -> Verdict {
    Verdict::of_plan(&plan::make(system).unwrap(), Some(system))
}

/// Completed and planned; all deadlines are met.
#[track_caller]
fn planned(text: &str) -> (System, Plan) {
    let mut system = system(text);
    assert!(system.is_open() && plan::make(&system).is_err(), "nothing is open");
    least(&mut system).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    assert!(!system.is_open());
    let plan = plan::make(&system).unwrap_or_else(|errors| panic!("{errors}"));
    let verdict = verdict(&system);
    assert!(verdict.schedulable, "{verdict:#?}");
    // The plan that is written is the same.
    assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()).as_ref(), Ok(&plan));
    (system, plan)
}

#[track_caller]
fn refused(text: &str) -> String {
    let Refusal::NoPlan(errors) = least(&mut system(text)).unwrap_err() else {
        panic!("it is the input that is refused")
    };
    errors.to_string()
}

fn limit(plan: &Plan, vm: usize) -> MemoryBudget {
    plan.vms[vm].memory_budget.unwrap()
}

/// The description with a limit in place of the first one that is open.
fn given(text: &str, accesses: u64, period: &str) -> System {
    let limit = format!("bandwidth = {{ accesses = {accesses}, period = \"{period}\" }}");
    system(&text.replacen("bandwidth = \"planned\"", &limit, 1))
}

#[test]
fn a_limit_is_the_largest_with_which_tasks_are_in_time() {
    for (deadline, accesses) in [("12ms", 1_000_000), ("11ms", 1_000_000), ("20ms", 1_000_000)] {
        let rt = critical(deadline, "10ms", accesses);
        let text = platform("64ns") + &rt + &vm("linux", "bandwidth = \"planned\"");
        let (_, plan) = planned(&text);
        let MemoryBudget { accesses, period } = limit(&plan, 1);
        assert_eq!(period.0, 1_000_000);
        assert!((2..15_625).contains(&accesses), "{accesses}");
        assert!(verdict(&given(&text, accesses, "1ms")).schedulable);
        assert!(!verdict(&given(&text, accesses + 1, "1ms")).schedulable, "{deadline}: {accesses}");
    }
}

#[test]
fn a_limit_that_nobody_needs_is_what_the_memory_serves() {
    let text = platform("64ns")
        + &critical("40ms", "1ms", 10)
        + &vm("linux", "bandwidth = { period = \"10ms\" }");
    let (_, plan) = planned(&text);
    assert_eq!(limit(&plan, 1).accesses, 156_250);
}

#[test]
fn limits_share_what_is_left_alike() {
    // Where it is given, because accesses for the console delay no task of the console's PCPU: a move there leaves more.
    let rt = critical("13ms", "10ms", 1_000_000)
        .replace("critical = true\n", "critical = true\n[[vm.vcpu]]\npcpu = 0\n");
    let text = platform("64ns")
        + &rt
        + &vm("one", "bandwidth = \"planned\"")
        + &vm("two", "vcpus = 2\nbandwidth = { period = \"10ms\" }");
    let (_, plan) = planned(&text);
    let (one, two) = (limit(&plan, 1), limit(&plan, 2));
    // The same rate, but for what is left over.
    assert!(one.accesses * 10 + 20 >= two.accesses, "{one:?} {two:?}");
    assert!(two.accesses + 10 >= one.accesses * 10 * 9 / 10, "{one:?} {two:?}");
    // Neither can have more.
    let more = |vm: usize| {
        let mut more = system(&text);
        least(&mut more).unwrap();
        let limit = more.vms[vm].bandwidth.as_mut().unwrap();
        let accesses = limit.budget(more.platform.value.bandwidth.as_ref().unwrap()).unwrap();
        limit.amount.value = system::description::Amount::Accesses(accesses.accesses + 1);
        verdict(&more).schedulable
    };
    assert!(!more(1) && !more(2));
}

#[test]
fn processor_time_is_planned_for_what_limits_cost() {
    let rt = "critical = true\n[[vm.vcpu]]\nserver = \"deferrable\"\nperiod = \"5ms\"\n\
              [[vm.task]]\nname = \"control\"\nperiod = \"40ms\"\nwcet = \"8ms\"\n\
              accesses = 1_000_000";
    let text = |limit: &str| {
        platform("64ns") + &vm("rt", rt) + &vm("linux", &format!("bandwidth = {limit}"))
    };
    let budget = |plan: &Plan| {
        let server = plan.vms[0].vcpus[0].server.unwrap();
        server.class.budget().unwrap().budget.0
    };
    let (_, open) = planned(&text("\"planned\""));
    let accesses = limit(&open, 1).accesses;
    assert!(accesses > 1);
    // With less to wait for, less processor time is enough; with no more than that, more is not.
    let (_, low) = planned(&text("\"1MB/s\""));
    assert!(budget(&low) < budget(&open), "{} {}", budget(&low), budget(&open));
    let (_, high) = planned(&text(&format!("{{ accesses = {accesses}, period = \"1ms\" }}")));
    assert_eq!(budget(&high), budget(&open));
}

#[test]
fn limits_of_vcpus_and_credits_are_planned_too() {
    let rt = critical("14ms", "10ms", 1_000_000);
    let vcpus = "[[vm.vcpu]]\nbandwidth = \"planned\"\n[[vm.vcpu]]\nbandwidth = \"4MB/s\"";
    let text = platform("64ns") + &rt + &vm("linux", vcpus);
    let (_, plan) = planned(&text);
    let own = plan.vms[1].vcpus[0].memory_budget.unwrap();
    assert!(own.accesses > 62);
    assert_eq!(plan.vms[1].vcpus[1].memory_budget.unwrap().accesses, 62);
    // Credits cost what they may come to.
    let with = |credits: &str| {
        let lines = format!("bandwidth = \"planned\"\n{credits}");
        let text = platform("64ns") + &rt + &vm("linux", &lines);
        limit(&planned(&text).1, 1).accesses
    };
    assert!(with("compensation = 4") <= with(""));
}

#[test]
fn no_limit_is_low_enough_says_for_which_task() {
    let text = |rt: &str, more: &str| {
        platform("64ns") + rt + &vm("linux", "bandwidth = \"planned\"") + more
    };
    // Without slack nothing may delay it.
    let said = refused(&text(&critical("10ms", "10ms", 1_000_000), ""));
    assert!(said.contains("cannot-plan"), "{said}");
    assert!(said.contains("is low enough for task `control` of VM `rt`"), "{said}");
    assert!(said.contains("it fits with a deadline of"), "{said}");
    assert!(said.contains("bandwidth = \"planned\""), "{said}");
    // Others have no limit at all.
    let said = refused(&text(&critical("11ms", "10ms", 1_000_000), &vm("other", "")));
    assert!(said.contains("`other` on other PCPUs has no limit"), "{said}");
    // What the deadline of the advice says holds.
    let said = refused(&text(&critical("10ms", "10ms", 1_000_000), ""));
    let deadline = said.split("a deadline of ").nth(1).unwrap().trim();
    planned(&text(&critical(&deadline.replace(' ', ""), "10ms", 1_000_000), ""));
}

#[test]
fn what_has_no_plan_with_any_limit_is_said_first() {
    let linux = vm("linux", "bandwidth = \"planned\"").replace("16MiB", "16GiB");
    let text = platform("64ns") + &critical("12ms", "10ms", 1_000) + &linux;
    let Refusal::Input(errors) = least(&mut system(&text)).unwrap_err() else {
        panic!("limits are no matter of memory that does not exist")
    };
    assert!(errors.to_string().contains("no-memory"), "{errors}");
}
