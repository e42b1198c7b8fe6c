//! `bulkhead reproduce` for experiments about times of described tasks, as far as these are simulated.

use std::fs;

use testing::{Result, Sandbox, sandbox};

/// `low` has the resource when its budget ends; `high`, on another PCPU, waits for it.
const SYSTEM: &str = r#"
platform = "zcu102"
locks = "vmpcp"

[[resource]]
name = "bus"
vms = ["a", "b"]

[[vm]]
name = "a"
boot = "raw"
memory = "4MiB"
kernel = "a.bin"

[[vm.vcpu]]
pcpu = 0
server = "deferrable"
budget = "2ms"
period = "10ms"
priority = 1
overrun = true

[[vm.task]]
name = "low"
period = "100ms"
wcet = "3ms"
sections = [{ resource = "bus", after = "1500us", length = "1ms" }]

[[vm]]
name = "b"
boot = "raw"
memory = "4MiB"
kernel = "b.bin"

[[vm.vcpu]]
pcpu = 1
server = "deferrable"
budget = "5ms"
period = "10ms"
priority = 2
overrun = true

[[vm.task]]
name = "high"
offset = "1ms"
period = "100ms"
wcet = "2ms"
sections = [{ resource = "bus", after = "600us", length = "1ms" }]
"#;

const EXPERIMENT: &str = r#"
title = "Two tasks"
source = "a paper, Figure 11"
about = "What is done."
differences = "Why it differs."
x = "task"
y = "response time (ms)"
plain = true

[timelines]
length_ms = 20
start_ms = 1000

[[change]]
series = "with overrun"
of = "without"
published = "-29 %"

[[run]]
series = "without"
system = "../../system.toml"
variant = { scheme = "no-overrun" }
x = ["low", "high", "mean"]
measure.moment = { task = "{x}", how = "simulated" }

[[run]]
series = "with overrun"
system = "../../system.toml"
variant = { scheme = "overrun" }
x = ["low", "high", "mean"]
measure.moment = { task = "{x}", how = "simulated" }

[[run]]
series = "without"
system = "../../system.toml"
variant = { scheme = "no-overrun" }
x = ["low releases it at"]
measure.moment = { task = "low", how = "simulated", of = "releases" }

[[run]]
series = "larger budgets"
system = "../../system.toml"
variant = { scheme = "no-overrun", budget_us = 3000 }
x = ["low"]
measure.moment = { task = "{x}", how = "simulated" }

[[run]]
series = "longer"
system = "../../system.toml"
variant = { scheme = "no-overrun" }
x = ["low"]
measure.moment = { task = "{x}", how = "simulated", longer_us = 100 }
"#;

const PUBLISHED: &str = r#"
[[claim]]
text = "overrun helps who waits"
source = "a paper"
published = "-"
at = ["high"]
check.above = { series = "without", of = ["with overrun"], least = 1.0 }
"#;

fn sandbox(experiment: &str) -> Sandbox {
    let sandbox = sandbox!();
    fs::create_dir_all(sandbox.path("experiments/two")).expect("a folder");
    sandbox.write("system.toml", SYSTEM);
    sandbox.write("experiments/two/experiment.toml", experiment);
    sandbox.write("experiments/two/published.toml", PUBLISHED);
    sandbox
}

fn reproduce(sandbox: &Sandbox) -> Result {
    Result::of(sandbox.command(&["reproduce", "two"]).output().expect("the command starts"))
}

#[test]
fn times_of_variants_are_simulated_compared_and_drawn() {
    let sandbox = sandbox(EXPERIMENT);
    reproduce(&sandbox).assert_status(0);
    let folder = sandbox.path("build/reproduce/two");
    let data = fs::read_to_string(folder.join("data.csv")).expect("data");
    let expected = [
        // 2 of 3 ms, and the last one from 10 ms on.
        ("without,low", "11.0"),
        // It waits from 1.6 to 10.5 ms; 2 ms in all, of which 0.6 were before.
        ("without,high", "10.9"),
        ("without,mean", "10.95"),
        ("without,low releases it at", "10.5"),
        // The section ends at 2.5 ms, in spite of the budget.
        ("with overrun,low", "10.5"),
        ("with overrun,high", "2.9"),
        ("larger budgets,low", "3.0"),
        ("longer,low", "11.3"),
    ];
    for (place, value) in expected {
        assert!(data.contains(&format!("\n{place},{value},{value},")), "{place}: {data}");
    }
    let page = fs::read_to_string(folder.join("table.md")).expect("a page");
    // 6.7 against 10.95 ms; -4.5 % and -73.4 %.
    assert!(page.contains("| with overrun | without | -38.8 % | -39.0 % | -29 % |"), "{page}");
    for file in ["without.svg", "with-overrun.pftrace"] {
        assert!(page.contains(&format!("({file})")) && folder.join(file).exists(), "{page}");
    }
    assert!(!folder.join("larger-budgets.svg").exists());
}

#[test]
fn mistakes_name_their_place() {
    let cases = [
        (EXPERIMENT.replacen("no-overrun", "pcp", 1), "unknown variant `pcp`"),
        (EXPERIMENT.replace("of = \"without\"", "of = \"nobody\""), "the series `nobody`"),
        (EXPERIMENT.replacen("system = \"../../system.toml\"\n", "", 1), "names no `system`"),
    ];
    for (experiment, message) in cases {
        reproduce(&sandbox(&experiment)).assert_refused(&[message]);
    }
}
