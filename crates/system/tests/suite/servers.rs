//! VCPUs that share a PCPU: how they are described, planned, and refused.

use std::path::Path;

use system::address::Pcpu;
use system::description::System;
use system::diagnostic::Errors;
use system::plan::{self, Class, Plan};
use system::report::Report;
use units::Duration;

/// Three VCPUs on PCPU 1, one on its own.
const SHARED: &str = r#"platform = "qemu-virt"

[[vm]]
name = "a"
boot = "raw"
memory = "1MiB"
kernel = "k"

[[vm.vcpu]]
pcpu = 1
server = "background"

[[vm.vcpu]]
pcpu = 1
server = "periodic"
budget = "2ms"
period = "10ms"

[[vm.task]]
name = "t"
vcpu = 1
period = "20ms"
wcet = "4ms"

[[vm]]
name = "b"
boot = "raw"
memory = "1MiB"
kernel = "k"

[[vm.vcpu]]
pcpu = 1
server = "sporadic"
budget = "4ms"
period = "5ms"

[[vm.vcpu]]
"#;

fn read(text: &str) -> Result<System, Errors> {
    System::from_toml("s.toml", text, Path::new(""))
}

fn make(text: &str) -> Result<Plan, Errors> {
    read(text).and_then(|system| plan::make(&system))
}

/// The text with one part replaced.
fn with(from: &str, to: &str) -> String {
    assert!(SHARED.contains(from), "{from}");
    SHARED.replacen(from, to, 1)
}

/// The description with these priorities for its three servers.
fn prioritized(background: &str, periodic: &str, sporadic: &str) -> String {
    let text = with("\"background\"\n", &format!("\"background\"\n{background}\n"));
    let text = text.replacen("\"10ms\"\n", &format!("\"10ms\"\n{periodic}\n"), 1);
    text.replacen("\"5ms\"\n", &format!("\"5ms\"\n{sporadic}\n"), 1)
}

/// Index of VM and VCPU of those on PCPU 1, the highest priority first.
fn order(plan: &Plan) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (vm, it) in plan.vms.iter().enumerate() {
        for (index, vcpu) in it.vcpus.iter().enumerate().filter(|(_, it)| it.pcpu == Pcpu(1)) {
            found.push((vcpu.server.unwrap().priority, (vm, index)));
        }
    }
    found.sort_unstable();
    found.into_iter().rev().map(|(_, vcpu)| vcpu).collect()
}

#[test]
fn the_shorter_period_goes_first_and_the_background_last() {
    let plan = make(SHARED).unwrap();
    assert_eq!(order(&plan), [(1, 0), (0, 1), (0, 0)]);
    assert_eq!(plan.vms[1].vcpus[1].pcpu, Pcpu(0), "it has no server and gets its own PCPU");
    assert_eq!(plan.vms[1].vcpus[1].server, None);
    assert_eq!(plan.platform.serial.pcpu, Pcpu(3));
    // Equal periods: the order of the file.
    let plan = make(&with("\"5ms\"", "\"10ms\"")).unwrap();
    assert_eq!(order(&plan), [(0, 1), (1, 0), (0, 0)]);
}

#[test]
fn priorities_that_are_given_are_kept() {
    let plan = make(&prioritized("priority = 0", "priority = 7", "priority = 6")).unwrap();
    assert_eq!(order(&plan), [(0, 1), (1, 0), (0, 0)]);
    assert_eq!(plan.vms[0].vcpus[1].server.unwrap().priority, 7);
    // The same twice: the order of the file, and numbers that say so. The background is last.
    let plan = make(&prioritized("priority = 6", "priority = 6", "priority = 6")).unwrap();
    assert_eq!(order(&plan), [(0, 1), (1, 0), (0, 0)]);
    assert_eq!(plan.vms[0].vcpus[1].server.unwrap().priority, 3);
}

/// Line and code of each mistake.
fn mistakes(text: &str) -> Vec<String> {
    let Err(errors) = make(text) else { return Vec::new() };
    let entries = errors.entries();
    let entry = entries.iter().map(|entry| {
        assert!(entry.help.is_some(), "{entry:?} says what to do");
        let line = entry.line.and_then(|line| text.lines().nth(line - 1)).unwrap();
        format!("{line}: {}", entry.code)
    });
    entry.collect()
}

#[test]
fn servers_that_cannot_be_are_reported_where_they_are_described() {
    for (text, expected) in [
        (with("\"background\"", "\"idle\""), "server = \"idle\": wrong-value"),
        (
            with("\"background\"\n", "\"background\"\nbudget = \"1ms\"\n"),
            "budget = \"1ms\": useless-key",
        ),
        (with("\"background\"\n", "\"periodic\"\nbudget = \"1ms\"\n"), "[[vm.vcpu]]: missing-key"),
        (with("server = \"background\"\n", "priority = 3\n"), "priority = 3: useless-key"),
        (with("\"2ms\"", "\"11ms\""), "budget = \"11ms\": out-of-range"),
        (with("\"2ms\"", "\"999ns\""), "budget = \"999ns\": out-of-range"),
        (with("\"10ms\"", "\"61s\""), "period = \"61s\": out-of-range"),
        (with("\"2ms\"", "\"2001us\""), "budget = \"4ms\": out-of-range"),
        (prioritized("priority = 1", "", "priority = 2"), "budget = \"2ms\": missing-key"),
        (prioritized("priority = 2", "priority = 3", "priority = 1"), "priority = 2: wrong-value"),
    ] {
        let found = mistakes(&text);
        assert!(
            found.iter().any(|found| found == expected),
            "expected {expected}, found {found:?}"
        );
    }
    let alone = with("server = \"background\"\n", "");
    assert_eq!(mistakes(&alone), ["pcpu = 1: pcpu-taken", "pcpu = 1: pcpu-taken"]);
    let many = with("[[vm.task]]", "[[vm.vcpu]]\n[[vm.vcpu]]\n[[vm.vcpu]]\n[[vm.task]]");
    assert_eq!(mistakes(&many), ["name = \"b\": too-few-pcpus"]);
}

#[test]
fn periods_are_whole_numbers_of_ticks_of_the_machine() {
    let text = with("\"10ms\"", "\"10000009ns\"");
    assert_eq!(mistakes(&text), ["period = \"10000009ns\": out-of-range"]);
    let help = make(&text).unwrap_err().entries()[0].help.clone().unwrap();
    assert!(
        help.contains("multiple of 16 ns") && help.contains("nearest is 10000016 ns"),
        "{help}"
    );
    // What is not known is not judged.
    assert_eq!(mistakes(&text.replacen("qemu-virt", "zcu102", 1)), [""; 0]);
}

#[test]
fn all_of_the_time_may_be_given_away() {
    assert_eq!(mistakes(&with("\"2ms\"", "\"2000000ns\"")), [""; 0]);
    assert!(!mistakes(&with("\"2ms\"", "\"2000001ns\"")).is_empty());
}

/// The nodes that are reported after a change to the plan.
fn broken(change: impl FnOnce(&mut Plan)) -> Vec<String> {
    let mut plan = make(SHARED).unwrap();
    change(&mut plan);
    let Err(errors) = plan::check(&plan) else { return Vec::new() };
    errors.iter().map(|error| error.node.clone().unwrap()).collect()
}

fn budget(plan: &mut Plan, nanoseconds: u64, period: Option<u64>) {
    let Class::Reserved(_, budget) = &mut plan.vms[1].vcpus[0].server.as_mut().unwrap().class
    else {
        panic!("it is sporadic");
    };
    budget.budget = Duration(nanoseconds);
    budget.period = period.map_or(budget.period, Duration);
}

#[test]
fn each_broken_rule_of_the_plan_names_node_and_property() {
    let sporadic = "/vms/vm@1/vcpus/vcpu@0";
    assert_eq!(broken(|p| p.vms[1].vcpus[0].server = None), [format!("{sporadic}: pcpu")]);
    assert_eq!(broken(|p| p.vms[1].vcpus[1].pcpu = Pcpu(1)), ["/vms/vm@1/vcpus/vcpu@1: pcpu"]);
    let priority = |value| broken(|p| p.vms[1].vcpus[0].server.as_mut().unwrap().priority = value);
    assert_eq!(priority(2), [format!("{sporadic}: priority")], "that of the periodic one");
    assert_eq!(priority(0), [format!("{sporadic}: priority")], "below the background");
    assert_eq!(broken(|p| budget(p, 4_000_001, None)), [format!("{sporadic}: budget-ns")]);
    assert_eq!(broken(|p| budget(p, 999, None)), [format!("{sporadic}: budget-ns")]);
    assert_eq!(
        broken(|p| budget(p, 4_000_000, Some(60_000_000_001))),
        [format!("{sporadic}: period-ns")]
    );
    // Also shown for itself: it does not fit beside the others either.
    assert!(broken(|p| budget(p, 2, Some(0))).contains(&format!("{sporadic}: budget-ns")));
}

#[test]
fn properties_without_meaning_are_refused_in_the_text_of_a_plan() {
    let text = make(SHARED).unwrap().to_dts();
    for (from, to, node) in [
        ("server = \"background\";", "", "vm@0/vcpus/vcpu@0: priority"),
        ("\"background\";", "\"background\"; period-ns = <0 1>;", "vm@0/vcpus/vcpu@0: period-ns"),
        ("\"sporadic\";", "\"sporadically\";", "vm@1/vcpus/vcpu@0: server"),
        ("priority = <1>;", "", "vm@0/vcpus/vcpu@0: priority"),
    ] {
        assert!(text.contains(from), "{from}");
        let errors = Plan::from_dts("plan.dts", &text.replacen(from, to, 1)).unwrap_err();
        let nodes: Vec<_> = errors.iter().filter_map(|error| error.node.as_deref()).collect();
        assert_eq!(nodes, [format!("/vms/{node}")], "{to}");
    }
}

#[test]
fn tasks_are_held_against_the_budget_of_their_vcpu() {
    let report = |text: &str| Report::new(&read(text).unwrap(), Some(&make(text).unwrap()));
    let exact = report(SHARED);
    assert!(!exact.overloaded, "4 of 20 ms are 2 of 10 ms");
    let vcpu = &exact.vms[0].vcpus[1];
    assert_eq!((vcpu.budget_ppm, vcpu.utilization_ppm), (Some(200_000), 200_000));
    let server = vcpu.server.as_ref().unwrap();
    assert_eq!(
        (server.class, server.budget_ns, server.priority),
        ("periodic", Some(2_000_000), Some(2))
    );
    assert!(report(&with("wcet = \"4ms\"", "wcet = \"4.001ms\"")).overloaded);
}

#[test]
fn best_cases_are_not_above_worst_cases() {
    let task = |bcet: &str| {
        with("wcet = \"4ms\"", &format!("wcet = {{ 1 = \"4ms\", 2 = \"3ms\" }}\nbcet = \"{bcet}\""))
    };
    assert_eq!(mistakes(&task("3ms")), [""; 0]);
    assert_eq!(mistakes(&task("4ms")), ["bcet = \"4ms\": out-of-range"]);
    assert_eq!(mistakes(&task("0ms")), ["bcet = \"0ms\": out-of-range"]);
}
