//! What `bulkhead check` says about deadlines.

use serde_json::{Value, json};
use testing::sandbox;

/// Two VMs that share PCPU 1; `extra` are more lines of the first task.
fn description(extra: &str) -> String {
    format!(
        r#"platform = "zcu102"

[[vm]]
name = "pilot"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"

[[vm.vcpu]]
pcpu = 1
server = "sporadic"
budget = "2ms"
period = "10ms"

[[vm.task]]
name = "gyro"
period = "20ms"
wcet = "1ms"
{extra}
[[vm.task]]
name = "pid"
period = "40ms"
deadline = "26ms"
wcet = "2ms"

[[vm]]
name = "other"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"

[[vm.vcpu]]
pcpu = 1
server = "deferrable"
budget = "3ms"
period = "5ms"
"#
    )
}

fn check(text: &str) -> (testing::Result, Value) {
    let sandbox = sandbox!();
    sandbox.write("s.toml", text);
    (
        sandbox.bulkhead(&["check", "s.toml"]),
        sandbox.bulkhead(&["check", "s.toml", "--json"]).json(),
    )
}

/// The analysis of VCPU 0 of `pilot`, which is below that of `other`.
fn pilot(document: &Value) -> &Value {
    &document["analysis"]["pcpus"][0]["vcpus"][1]
}

#[test]
fn bounds_are_shown_with_deadlines_and_slack() {
    let (shown, document) = check(&description(""));
    shown.assert_status(0);
    // The server: 2 and twice 3 of the other one, which is back-to-back. The tasks: gaps of 8, and
    // 8 - 2 once because the budget can be that late.
    let expected = "\
        VM     VCPU  task   WCRT  deadline  slack  in time\n\
        pilot     0  gyro  15 ms     20 ms   5 ms  yes\n\
        pilot     0  pid   26 ms     26 ms   0 ns  yes\n\
        \n\
        PCPU  VM     VCPU  tasks need     has  WCRT  period  waits up to\n   \
        1  pilot     0      10.0 %  20.0 %  8 ms   10 ms        14 ms\n";
    assert!(shown.stdout.starts_with("s.toml: ok\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    assert_eq!(document["ok"], true);
    assert_eq!(document["analysis"]["schedulable"], true);
    let vcpu = pilot(&document);
    assert_eq!((&vcpu["vm"], &vcpu["wcrt_ns"]), (&json!("pilot"), &json!(8_000_000)));
    assert_eq!(vcpu["tasks"][1]["wcrt_ns"], 26_000_000);
    assert_eq!(vcpu["tasks"][1]["deadline_ns"], 26_000_000);
    assert_eq!(vcpu["tasks"][0]["slack_ns"], 5_000_000);
    assert_eq!(vcpu["tasks"][0]["ok"], true);
}

#[test]
fn parts_of_a_bound_that_begins_with_an_earlier_job_are_counted_from_there() {
    let task = |name, period, wcet| {
        format!("[[vm.task]]\nname = \"{name}\"\nperiod = \"{period}ms\"\nwcet = \"{wcet}\"\n")
    };
    let tasks = [task("fast", 5, "500us"), task("medium", 10, "1500us"), task("slow", 20, "5ms")];
    let vm = "[[vm]]\nname = \"pilot\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n\
              [[vm.vcpu]]\npcpu = 0\nserver = \"sporadic\"\nbudget = \"3.2ms\"\nperiod = \"6ms\"\n";
    let other = "[[vm]]\nname = \"other\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n\
                 [[vm.vcpu]]\npcpu = 0\nserver = \"background\"\n";
    let text = format!("platform = \"qemu-virt\"\n{vm}{}{other}", tasks.concat());
    let (shown, document) = check(&text);
    shown.assert_status(1);
    let task = &document["analysis"]["pcpus"][0]["vcpus"][0]["tasks"][2];
    let number = |value: &Value| value.as_u64().expect("a number");
    let jobs = number(&task["jobs"]);
    assert!(jobs > 1, "{task:#}");
    let earlier = (jobs - 1) * number(&task["period_ns"]);
    let terms = task["terms"].as_array().expect("parts");
    let all: u64 = terms.iter().map(|it| number(&it["time_ns"])).sum();
    assert_eq!(all, number(&task["wcrt_ns"]) + earlier, "{task:#}");
    let from = "\n  counted from 20 ms earlier, from the job before, which is late too:\n";
    assert!(shown.stdout.contains(from), "{}", shown.stdout);
    assert!(shown.stdout.contains("\n    743.872 us  smaller parts\n"), "{}", shown.stdout);
}

#[test]
fn a_task_that_can_be_late_is_a_no_with_its_reasons() {
    let (shown, document) = check(&description("").replace("26ms", "24ms"));
    shown.assert_status(1);
    assert!(shown.stdout.starts_with("s.toml: not schedulable\n"), "{}", shown.stdout);
    let expected = "\
        \ntask `pid` on VCPU 0 of VM `pilot` can be late by 2 ms: 26 ms\n         \
        22 ms  without supply: its VCPU waits for budget or for other VCPUs\n          \
        2 ms  its own execution\n          \
        2 ms  2 jobs of `gyro` above it\n";
    assert!(!shown.stdout.contains("`gyro` on"), "{}", shown.stdout);
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    assert_eq!(document["ok"], false);
    let task = &pilot(&document)["tasks"][1];
    assert_eq!(
        (&task["failure"], &task["slack_ns"]),
        (&json!("unschedulable"), &json!(-2_000_000))
    );
    assert_eq!(
        task["terms"][0],
        json!({
            "term": "supply", "task": null, "jobs": null, "time_ns": 22_000_000
        })
    );
    assert_eq!(task["terms"][2]["task"], "gyro");
}

#[test]
fn what_jobs_wait_for_counts() {
    let extra = "jitter = \"1ms\"\nblocking = \"0.5ms\"\n";
    let (_, document) = check(&description(extra));
    // 1 ms more of jitter, and the blocking within the budget.
    assert_eq!(pilot(&document)["tasks"][0]["wcrt_ns"], 16_500_000);
    let suspended = description("self_suspension = \"0.5ms\"\n");
    let (_, document) = check(&suspended.replace("\"sporadic\"", "\"deferrable\""));
    assert_eq!(pilot(&document)["tasks"][0]["wcrt_ns"], 15_500_000);
    // Colours that both tasks have cost a load for each job of the upper one.
    let colored = description("").replace(
        "platform = \"zcu102\"",
        "[platform]\nboard = \"zcu102\"\ncolor_reload = \"0.25ms\"",
    );
    let colored = colored.replacen("kernel", "colors = \"0-3\"\nkernel", 1);
    let (_, document) = check(&colored);
    let tasks = &pilot(&document)["tasks"];
    assert_eq!(tasks[0]["wcrt_ns"], 15_000_000);
    let cache = tasks[1]["terms"].as_array().unwrap().iter().find(|it| it["term"] == "cache");
    assert_eq!(cache.expect("a term")["time_ns"], 2_000_000);
    // One of each: what they do not share is not evicted.
    let apart = colored.replacen("wcet", "colors = \"0-1\"\nwcet", 1);
    let apart = apart.replace("deadline", "colors = \"2-3\"\ndeadline");
    let (_, document) = check(&apart);
    assert_eq!(pilot(&document)["tasks"][1]["wcrt_ns"], 26_000_000);
}

#[test]
fn vcpus_whose_budget_does_not_come_in_time_fail_their_tasks_only() {
    let late = description("").replace("\"3ms\"", "\"4ms\"");
    let (shown, document) = check(&late);
    shown.assert_status(1);
    let expected =
        "task `gyro` on VCPU 0 of VM `pilot` has no bound: its VCPU may have to wait for ";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    assert_eq!(pilot(&document)["failure"], "unschedulable");
    assert_eq!(pilot(&document)["tasks"][0]["failure"], "no-supply");
    assert_eq!(pilot(&document)["tasks"][0]["wcrt_ns"], json!(null));
    // Without tasks it is worth a note.
    let tasks = late.find("[[vm.task]]").unwrap()..late.find("[[vm]]\nname = \"other\"").unwrap();
    let (before, after) = (&late[..tasks.start], &late[tasks.end..]);
    let (shown, document) = check(&format!("{before}{after}"));
    shown.assert_status(0);
    let note = "note: VCPU 0 of VM `pilot` may not get its budget in each period";
    assert!(shown.stdout.contains(note), "{}", shown.stdout);
    assert_eq!(pilot(&document)["ok"], false);
}

#[test]
fn the_first_vcpu_of_the_background_has_what_others_leave() {
    let rest = description("").replace(
        "server = \"sporadic\"\nbudget = \"2ms\"\nperiod = \"10ms\"",
        "server = \"background\"",
    );
    let (shown, document) = check(&rest);
    shown.assert_status(0);
    // 1 and twice 3; 2 and 1 and three times 3.
    assert_eq!(pilot(&document)["tasks"][0]["wcrt_ns"], 7_000_000);
    assert_eq!(pilot(&document)["tasks"][1]["wcrt_ns"], 12_000_000);
}

#[test]
fn times_that_grow_with_the_colors_are_noted() {
    let grows = description("").replacen("\"1ms\"", "{ 1 = \"0.5ms\", 2 = \"1ms\" }", 1);
    let (shown, document) = check(&grows);
    shown.assert_status(0);
    let note = "note: task `gyro` of VM `pilot` takes longer with more colours";
    assert!(shown.stdout.contains(note), "{}", shown.stdout);
    assert_eq!(pilot(&document)["tasks"][0]["wcet_ns"], 1_000_000);
}

#[test]
fn overload_and_times_beyond_all_bounds_are_told() {
    let more = "[[vm.task]]\nname = \"load\"\nperiod = \"10ms\"\nwcet = \"2ms\"\npriority = 3\n";
    let ranked =
        description("priority = 2\n").replace("wcet = \"2ms\"\n", "wcet = \"2ms\"\npriority = 1\n");
    let (shown, _) = check(&ranked.replacen("[[vm.task]]", &format!("{more}[[vm.task]]"), 1));
    shown.assert_status(1);
    let expected =
        "`pid` on VCPU 0 of VM `pilot` has no bound: it and the tasks above need more time";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    // Half a millennium: longer than can be counted.
    let long = description("").replace(
        "\"40ms\"\ndeadline = \"26ms\"\nwcet = \"2ms\"",
        "\"18000000000s\"\nwcet = \"17000000000s\"",
    );
    let (shown, _) = check(&long);
    shown.assert_status(1);
    assert!(
        shown.stdout.contains("`pid` on VCPU 0 of VM `pilot` has no bound"),
        "{}",
        shown.stdout
    );
}

#[test]
fn machines_without_a_plan_are_analysed_too() {
    let (shown, document) = check(&description("").replace("zcu102", "i7-2600"));
    shown.assert_status(0);
    assert!(shown.stdout.contains("no plan"), "{}", shown.stdout);
    assert_eq!(pilot(&document)["tasks"][1]["wcrt_ns"], 26_000_000);
}
