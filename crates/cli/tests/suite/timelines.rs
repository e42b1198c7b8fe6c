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

/// What the analysis says of both tasks, in a variant.
fn bound(series: &str, x: &str, variant: &str) -> String {
    format!(
        "[[run]]\nseries = \"{series}\"\nsystem = \"../../system.toml\"\nx = [{x}]\n\
         variant = {{ scheme = \"no-overrun\", {variant} }}\n\
         measure.promised = {{ task = \"{{x}}\", time = \"bound\", in_ms = true }}\n"
    )
}

#[test]
fn a_task_without_a_bound_has_no_value_and_the_pages_say_why() {
    let none = bound("bound", "\"low\"", "period_ms = 5");
    let some = bound("bound", "\"high\"", "period_ms = 100");
    let sandbox = sandbox(&[EXPERIMENT, &none, &some].concat());
    let claim = "[[claim]]\ntext = \"no response exceeds its bound\"\nsource = \"\"\npublished = \"\"\n\
                 at = [\"low\", \"high\"]\n\
                 check.above = { series = \"bound\", of = [\"without\"], least = 0.0 }\n";
    sandbox.write("experiments/two/published.toml", &format!("{PUBLISHED}{claim}"));
    let result = reproduce(&sandbox);
    result.assert_status(0);
    let why = "nothing limits how long it waits for a resource: a task that is served first has no bound, or requests it too often";
    let verdict = format!("no `bound` at low: {why}; elsewhere above by 15");
    for part in [&format!("\nno `bound` at low: {why}\n"), &verdict, "  none"] {
        assert!(result.stdout.contains(part), "{part} is not in {}", result.stdout);
    }
    let file = |name| fs::read_to_string(sandbox.path("build/reproduce/two").join(name));
    let (data, page) = (file("data.csv").expect("data"), file("table.md").expect("a page"));
    assert!(data.contains(&format!("\nbound,low,,,,,,,,,\"{why}\"\n")), "{data}");
    for part in
        [" none |\n", &format!("\n- no `bound` at low: {why}\n"), &verdict, "| not checkable |"]
    {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let judge = sandbox.command(&["reproduce", "two", "--judge"]).output();
    Result::of(judge.expect("the command starts")).assert_status(0);
    assert_eq!(file("data.csv").expect("data"), data);
    let neither = data.replace(why, "");
    sandbox.write("build/reproduce/two/data.csv", &neither);
    let judge = sandbox.command(&["reproduce", "two", "--judge"]).output();
    Result::of(judge.expect("the command starts"))
        .assert_refused(&["data.csv", "`bound` at low needs either a value or a reason"]);
}

#[test]
fn bounds_of_a_variant_count_no_overheads() {
    let counted = bound("counted", "\"low\"", "period_ms = 100");
    let free = bound("free", "\"low\"", "period_ms = 100, no_overheads = true");
    let sandbox = sandbox(&[EXPERIMENT, &counted, &free].concat());
    sandbox.write("system.toml", &SYSTEM.replace("zcu102", "qemu-virt"));
    reproduce(&sandbox).assert_status(0);
    let data = fs::read_to_string(sandbox.path("build/reproduce/two/data.csv")).expect("data");
    let value = |series: &str| {
        let row = data.lines().find_map(|line| line.strip_prefix(&format!("{series},low,")));
        row.and_then(|row| row.split(',').next()?.parse::<f64>().ok())
    };
    let [free, counted] = ["free", "counted"].map(|it| value(it).expect(&data));
    assert!(free < counted && counted < free + 1.0, "{free} and {counted}");
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
