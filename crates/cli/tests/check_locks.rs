//! What `bulkhead check` says of tasks that share resources.

#[allow(dead_code)]
mod common;

use common::Sandbox;
use serde_json::{Value, json};

/// Two VMs on PCPUs of their own, 4 of 10 ms each; `upper` goes first in queues.
const SYSTEM: &str = r#"
[platform]
board = "qemu-virt"

[[resource]]
name = "bus"
vms = ["upper", "lower"]

[[vm]]
name = "upper"
boot = "raw"
memory = "1MiB"
kernel = "k"

[[vm.vcpu]]
pcpu = 0
server = "deferrable"
budget = "4ms"
period = "10ms"
priority = 2

[[vm.task]]
name = "control"
period = "100ms"
wcet = "2ms"
sections = [{ resource = "bus", after = "1ms", length = "0.5ms" }]

[[vm]]
name = "lower"
boot = "raw"
memory = "1MiB"
kernel = "k"

[[vm.vcpu]]
pcpu = 1
server = "deferrable"
budget = "4ms"
period = "10ms"
priority = 1

[[vm.task]]
name = "logger"
period = "200ms"
wcet = "4ms"
sections = [{ resource = "bus", length = "3ms" }]
"#;

fn check(sandbox: &Sandbox, system: &str) -> [Value; 2] {
    sandbox.write("s.toml", system);
    let document = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    let pcpus = &document["analysis"]["pcpus"];
    [0, 1].map(|pcpu| pcpus[pcpu]["vcpus"][0]["tasks"][0].clone())
}

/// The terms of a bound, in their order.
fn terms(task: &Value) -> Vec<(&str, u64)> {
    let term = |term: &'_ Value| term["time_ns"].as_u64().unwrap();
    let terms = task["terms"].as_array().unwrap();
    terms.iter().map(|it| (it["term"].as_str().unwrap(), term(it))).collect()
}

#[test]
fn tasks_wait_for_who_holds_a_resource() {
    let sandbox = Sandbox::new();
    let [control, logger] = check(&sandbox, SYSTEM);
    // vMPCP, Eq. 16: 3 ms, which the hypervisor ends after 50 us more, and a gap of 6 ms. Both VCPUs have
    // their budgets at once, so that 2 + 9 ms have 3 gaps.
    let expected = [("supply", 18_000_000), ("remote", 9_050_000), ("execution", 2_000_000)];
    assert_eq!((terms(&control), &control["wcrt_ns"]), (expected.into(), &json!(29_050_000)));
    // Nobody is below it. Two jobs of `control` can be ahead, for 6 + 0.55 ms each; 5 gaps.
    let expected = [("supply", 30_000_000), ("remote", 13_100_000), ("execution", 4_000_000)];
    assert_eq!((terms(&logger), &logger["wcrt_ns"]), (expected.into(), &json!(47_100_000)));
    // With overrun sections wait for no budget: 3.05 ms, and 1.1 ms. The budget now comes later by the
    // limit of the overrun.
    let overrun = SYSTEM.replace("priority =", "overrun = true\npriority =");
    let [control, logger] = check(&sandbox, &overrun);
    assert_eq!(terms(&control)[1], ("remote", 3_050_000));
    assert_eq!(control["wcrt_ns"], json!(2_000_000 + 3_050_000 + 2 * 6_000_000 + 500_000));
    assert_eq!(terms(&logger)[2], ("remote", 1_100_000));
    // Under MPCP a section is execution like any other.
    let unaware = SYSTEM.replace("[platform]", "locks = \"mpcp\"\n[platform]");
    assert_eq!(check(&sandbox, &unaware)[0]["wcrt_ns"], json!(29_050_000));
}

#[test]
fn who_is_late_takes_the_bounds_of_others_away() {
    let sandbox = Sandbox::new();
    let late = SYSTEM.replace("period = \"200ms\"", "period = \"200ms\"\ndeadline = \"30ms\"");
    let [control, logger] = check(&sandbox, &late);
    assert_eq!((&control["failure"], &control["wcrt_ns"]), (&json!("others"), &Value::Null));
    assert_eq!(logger["failure"], json!("unschedulable"));
    let shown = sandbox.bulkhead(&["check", "s.toml"]);
    shown.assert_status(1);
    for text in [
        "task `control` on VCPU 0 of VM `upper` has no bound: tasks on other VCPUs that share",
        "task `logger` on VCPU 0 of VM `lower` has no bound: it is above the deadline",
    ] {
        assert!(shown.stdout.contains(text), "{}", shown.stdout);
    }
}

#[test]
fn what_is_not_analysed_together_is_said() {
    let sandbox = Sandbox::new();
    for (from, to) in [
        ("server = \"deferrable\"", "server = \"sporadic\""),
        ("priority = 1", "priority = 1\nbandwidth = { accesses = 1000, period = \"1ms\" }"),
        (
            "server = \"deferrable\"\nbudget = \"4ms\"\nperiod = \"10ms\"\npriority = 1",
            "server = \"background\"",
        ),
    ] {
        assert!(SYSTEM.contains(from));
        let counted =
            "[platform]\nboard = \"qemu-virt\"\n[platform.bandwidth]\naccess_latency = \"100ns\"";
        let system = SYSTEM.replace(from, to).replace("[platform]\nboard = \"qemu-virt\"", counted);
        let [control, _] = check(&sandbox, &system);
        assert_eq!(control["failure"], json!("combined"), "{system}");
    }
}
