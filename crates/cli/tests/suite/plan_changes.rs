//! `bulkhead plan` from an old plan, with reasons, and with a front.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::{Result, Sandbox, sandbox};

use crate::planning::{LONG, described, interrupted, planned};

/// Two VMs on four PCPUs.
const OPEN: &str = r#"
[platform]
board = "qemu-virt"

[[vm]]
name = "pilot"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
[[vm.vcpu]]
server = "sporadic"
period = "5ms"
[[vm.task]]
name = "pid"
period = "20ms"
wcet = "PID"

[[vm]]
name = "radio"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
[[vm.vcpu]]
server = "deferrable"
[[vm.task]]
name = "send"
period = "25ms"
wcet = "4ms"
"#;

fn with(pid: &str) -> Sandbox {
    described(&OPEN.replace("PID", pid))
}

fn least(sandbox: &Sandbox) -> Value {
    planned(sandbox, &["-o", "old.plan.dts", "--objective", "least-time"])
}

#[test]
fn a_plan_is_repaired_by_one_change() {
    let sandbox = with("3ms");
    least(&sandbox);
    sandbox.write("s.toml", &OPEN.replace("PID", "4ms"));
    let from = ["plan", "s.toml", "--from", "old.plan.dts", "--changes", "1"];
    let result = sandbox.bulkhead(&from);
    result.assert_status(0);
    for part in ["changed in old.plan.dts", "the budget of VCPU 0 of `pilot`", " in 5 ms  ->  "] {
        assert!(result.stdout.contains(part), "{part}: {}", result.stdout);
    }
    sandbox.bulkhead(&["check", "s.plan.dts"]).assert_status(0);
    let document = sandbox.bulkhead(&[&from[..], &["--json"]].concat()).json();
    let changes = document["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert!(changes[0]["old"] != changes[0]["new"] && document["ok"] == true);
    // None is not enough.
    let result = sandbox.bulkhead(&["plan", "s.toml", "--from", "old.plan.dts", "--changes", "0"]);
    result.assert_status(1);
    assert!(result.stderr.contains("with 0 changes of the old plan"), "{}", result.stderr);
}

/// One change gives the task that takes longer what it needs, which makes another one late: that it
/// is the cause is not to be understood from the other one.
#[test]
fn what_the_old_plan_misses_comes_first() {
    let shared = OPEN.replace("[[vm.vcpu]]\n", "[[vm.vcpu]]\npcpu = 0\n").replace("PID", "3ms");
    let sandbox = described(&shared);
    least(&sandbox);
    sandbox.write("s.toml", &shared.replace("\"4ms\"", "\"9ms\""));
    let plan = |changes| {
        sandbox.bulkhead(&["plan", "s.toml", "--from", "old.plan.dts", "--changes", changes])
    };
    let cause = "with the old decisions task `send` of VM `radio` has no bound";
    let other = "in the best one task `pid` of VM `pilot` misses its deadline";
    let place = "name = \"send\"\n   |        ^^^^^^ late with the old decisions";
    plan("1").assert_no_plan(&[cause, other, place]);
    // The same task is named once.
    let result = plan("0");
    result.assert_no_plan(&["in the best one task `send` of VM `radio` has no bound", "this task"]);
    assert!(!result.stderr.contains("old decisions"), "{}", result.stderr);
    plan("2").assert_status(0);
}

#[test]
fn what_is_no_old_plan_is_refused() {
    let sandbox = with("3ms");
    least(&sandbox);
    sandbox.write("text.dts", "hello");
    sandbox.write("empty.dts", "");
    sandbox.write("other.toml", &OPEN.replace("PID", "3ms").replace("radio", "other"));
    let from = |file: &str, old: &str| sandbox.bulkhead(&["plan", file, "--from", old]);
    for (file, old, part) in [
        ("s.toml", "none.dts", "cannot read none.dts"),
        ("s.toml", "text.dts", "text.dts"),
        ("s.toml", "empty.dts", "empty.dts"),
        ("s.toml", "s.toml", "s.toml is no plan"),
        ("old.plan.dts", "old.plan.dts", "is a plan, in which nothing is open"),
        ("other.toml", "old.plan.dts", "the old plan has no VM `other`"),
    ] {
        let result = from(file, old);
        assert_eq!(result.status, Some(2), "{old}: {}{}", result.stdout, result.stderr);
        assert!(result.stderr.contains(part), "{old}: {}", result.stderr);
    }
    let result = sandbox.bulkhead(&["plan", "s.toml", "--from", "old.plan.dts", "--changes", "-1"]);
    assert_eq!(result.status, Some(2), "{}", result.stderr);
    for unwritten in ["s.plan.dts", "other.plan.dts"] {
        assert!(!sandbox.path(unwritten).exists());
    }
}

#[test]
fn decisions_are_explained() {
    let sandbox = with("3ms");
    let options = ["plan", "s.toml", "--objective", "least-time", "--explain"];
    let result = sandbox.bulkhead(&options);
    result.assert_status(0);
    for part in [
        "\nwhy:\n",
        "the budget of VCPU 0 of `pilot`: ",
        "  with 2 us less: task `pid` of `pilot` ",
        "the PCPU of VCPU 0 of `radio`: PCPU ",
        "  with a period of ",
    ] {
        assert!(result.stdout.contains(part), "{part}: {}", result.stdout);
    }
    let document = sandbox.bulkhead(&[&options[..], &["--json"]].concat()).json();
    let reasons = document["reasons"].as_array().expect("reasons");
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert!(reasons.iter().all(|it| it["trials"][0]["holds"].is_boolean()), "{reasons:?}");
}

/// In a plan nothing is open: options of the search would be ignored.
#[test]
fn a_finished_plan_has_nothing_to_search() {
    let sandbox = with("3ms");
    least(&sandbox);
    for options in [
        &["--explain"][..],
        &["--objective", "least-time"],
        &["--time", "1s"],
        &["--from", "old.plan.dts"],
        &["--front"],
    ] {
        let plan = ["plan", "old.plan.dts", "-o", "again.dts"];
        let result = sandbox.bulkhead(&[&plan[..], options].concat());
        let word = format!("in which nothing is open: `{}`", options[0]);
        result.assert_refused(&["old.plan.dts is a plan", &word, "help: name the description"]);
        assert!(!sandbox.path("again.dts").exists());
    }
    sandbox.bulkhead(&["plan", "old.plan.dts", "-o", "again.dts"]).assert_status(0);
}

#[test]
fn a_front_is_a_table_a_chart_and_plans() {
    let sandbox = with("3ms");
    let result = sandbox.bulkhead(&["plan", "s.toml", "--front=front.svg", "-o", "front"]);
    result.assert_status(0);
    for part in ["plan  processor time", "front/s.1.plan.dts", "chart: front.svg"] {
        assert!(result.stdout.contains(part), "{part}: {}", result.stdout);
    }
    let svg = std::fs::read_to_string(sandbox.path("front.svg")).expect("a chart");
    assert!(svg.starts_with("<svg") && svg.contains("Plans of s"), "{svg}");
    let document = sandbox.bulkhead(&["plan", "s.toml", "--front", "--json"]).json();
    let points = document["points"].as_array().expect("points");
    assert!(points.len() > 2, "{}", points.len());
    let number = |point: &Value, key: &str| point[key].as_u64().expect("a number");
    for (index, pair) in points.windows(2).enumerate() {
        assert!(number(&pair[0], "total_ppm") < number(&pair[1], "total_ppm"));
        assert!(number(&pair[0], "slack_ppm") < number(&pair[1], "slack_ppm"));
        let file = format!("front/s.{}.plan.dts", index + 1);
        sandbox.bulkhead(&["check", &file]).assert_status(0);
        assert!(!pair[0]["plan_dts"].as_str().expect("a plan").is_empty());
    }
    let refused = sandbox.bulkhead(&["plan", "s.toml", "--front", "-o", "-"]);
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    let refused = sandbox.bulkhead(&["plan", "s.toml", "--front", "--vm", "pilot"]);
    assert!(refused.stderr.contains("no limit of memory accesses"), "{}", refused.stderr);
    let refused = sandbox.bulkhead(&["plan", "s.toml", "--front", "--vm", "none"]);
    assert!(refused.stderr.contains("there is no VM `none`"), "{}", refused.stderr);
}

/// The first signal ends the search, the second one the command.
#[test]
fn signals_end_a_search() {
    for signals in [1, 2] {
        let sandbox = with("3ms");
        let start = Instant::now();
        let result = interrupted(&sandbox, &LONG, Duration::from_secs(2), signals);
        assert!(start.elapsed() < Duration::from_secs(60), "{signals}");
        // After two at once either may have won, but no plan is half-written.
        match result.status {
            Some(0) => sandbox.bulkhead(&["check", "s.plan.dts"]).assert_status(0),
            Some(130) if signals == 2 => assert!(!sandbox.path("s.plan.dts").exists()),
            other => panic!("{other:?}: {}{}", result.stdout, result.stderr),
        };
    }
}

/// A reader that goes away is no mistake, and gets no yes.
#[test]
fn a_pipe_may_close() {
    let sandbox = with("3ms");
    for options in [&["plan", "s.toml", "-o", "-"][..], &["plan", "s.toml", "--front"]] {
        let mut command = sandbox.command(options);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command");
        drop(child.stdout.take());
        let result = Result::of(child.wait_with_output().expect("an end"));
        assert_eq!(result.status, Some(141), "{}", result.stderr);
        assert!(result.stderr.is_empty(), "{}", result.stderr);
    }
}

/// What cannot be planned at all.
#[test]
fn nothing_to_decide_and_wishes_that_contradict_each_other() {
    let sandbox = sandbox!();
    let given = "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
                 kernel = \"rt.bin\"\n[[vm.task]]\nname = \"t\"\nperiod = \"20ms\"\nwcet = \"6ms\"\n";
    let plan = |text: &str, options: &[&str]| {
        sandbox.write("s.toml", text);
        sandbox.bulkhead(&[&["plan", "s.toml", "-o", "s.dts"], options].concat())
    };
    // Nothing is open but the PCPU.
    let result = plan(given, &["--explain", "--time", "1s"]);
    result.assert_status(0);
    let result = sandbox.bulkhead(&["plan", "s.toml", "--front"]);
    result.assert_status(0);
    // Everything is given, and late.
    let late = given.replace("[[vm.task]]", "[[vm.vcpu]]\npcpu = 0\nserver = \"sporadic\"\nbudget = \"1ms\"\nperiod = \"5ms\"\n[[vm.task]]");
    for options in [&["--explain"][..], &["--objective", "least-time=1,most-slack=1"]] {
        let result = plan(&late, options);
        result.assert_status(1);
        assert!(result.stdout.contains("help: VCPU 0 of VM `a`"), "{}", result.stdout);
    }
    let result = sandbox.bulkhead(&["plan", "s.toml", "--front"]);
    assert_eq!(result.status, Some(1), "{}{}", result.stdout, result.stderr);
    // The objective of a VM that is not there.
    let wish = format!("objective = \"most-bandwidth=linux\"\n{given}");
    let result = plan(&wish, &[]);
    result.assert_refused(&["there is no VM `linux`", "s.toml:1:13", "the VMs are `a`"]);
    let wish = format!("objective = \"quick\"\n{given}");
    let result = plan(&wish, &[]);
    assert!(result.stderr.contains("`quick` is no objective"), "{}", result.stderr);
    // No colour is free.
    let colored = given.replace("kernel", "colors = \"planned\"\nkernel")
        + "[[vm]]\nname = \"b\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\ncolors = \"0-15\"\n";
    let result = plan(&colored, &[]);
    assert_eq!(result.status, Some(1), "{}{}", result.stdout, result.stderr);
    for words in ["but 0 are free", "it fits with 1 colour (1 fewer for `b`)"] {
        assert!(result.stderr.contains(words), "{}", result.stderr);
    }
}

/// A limit that is given, and below what the tasks behind it make.
#[test]
fn a_limit_below_the_need_of_its_tasks_is_named() {
    let sandbox = sandbox!();
    let limited = OPEN.replace("PID", "3ms").replace(
        "kernel = \"rt.bin\"\n[[vm.vcpu]]\nserver = \"sporadic\"",
        "kernel = \"rt.bin\"\nbandwidth = { accesses = 10, period = \"1ms\" }\n[[vm.vcpu]]\nserver = \"sporadic\"",
    );
    let limited = limited.replace("wcet = \"3ms\"", "wcet = \"3ms\"\naccesses = 10_000");
    sandbox.write("s.toml", &limited);
    sandbox.bulkhead(&["plan", "s.toml"]).assert_no_plan(&[
        "VM `pilot` make 500000 memory accesses in a second",
        "allows 10000",
        "this limit",
        "500 accesses in 1 ms",
    ]);
}

/// A resource of a VM that is planned and one that is not.
#[test]
fn a_resource_may_be_shared_with_a_vm_that_is_not_planned() {
    let sandbox = sandbox!();
    let section = "\nsections = [{ resource = \"bus\", after = \"1ms\", length = \"100us\" }]";
    let text = OPEN
        .replace("PID", "3ms")
        .replace("wcet = \"3ms\"", &format!("wcet = \"3ms\"{section}"))
        .replace("wcet = \"4ms\"", &format!("wcet = \"4ms\"{section}"))
        .replace("server = \"deferrable\"", "pcpu = 2")
        .replace("server = \"sporadic\"\nperiod = \"5ms\"", "server = \"periodic\"");
    let resource = "[[resource]]\nname = \"bus\"\nvms = [\"pilot\", \"radio\"]\n";
    sandbox.write("s.toml", &format!("{text}{resource}"));
    let result = sandbox.bulkhead(&["plan", "s.toml", "--explain"]);
    result.assert_status(0);
    assert!(
        result.stdout.contains("VCPU 0 of `radio` has that PCPU for itself"),
        "{}",
        result.stdout
    );
    sandbox.bulkhead(&["check", "s.plan.dts"]).assert_status(0);
}
