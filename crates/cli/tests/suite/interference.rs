//! What `bulkhead check` says of memory interference.

use policy::bandwidth::overshoot::CONSOLE;
use serde_json::{Value, json};
use testing::{Sandbox, sandbox};

/// A task, and Linux on another PCPU.
fn system(task: &str, rt: &str, linux: &str) -> String {
    format!(
        r#"
[platform]
board = "qemu-virt"

[platform.bandwidth]
access_latency = "100ns"

[[vm]]
name = "rt"
boot = "raw"
memory = "1MiB"
kernel = "k"
{rt}

[[vm.task]]
name = "control"
period = "20ms"
deadline = "5ms"
wcet = "4ms"
{task}

[[vm]]
name = "linux"
boot = "raw"
memory = "1MiB"
kernel = "k"
{linux}
"#
    )
}

/// Its bound, and the terms of that in their order.
fn bound(sandbox: &Sandbox, system: &str) -> (Value, Vec<(String, u64)>) {
    sandbox.write("s.toml", system);
    let document = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    let task = &document["analysis"]["pcpus"][0]["vcpus"][0]["tasks"][0];
    let term =
        |term: &Value| (term["term"].as_str().unwrap().into(), term["time_ns"].as_u64().unwrap());
    let terms = task["terms"].as_array().unwrap().iter().map(term).collect();
    (task["wcrt_ns"].clone(), terms)
}

/// What the hypervisor takes of each task here: a chunk of long work before it is released, and the interrupt by
/// which it is, in whole ticks of the counter.
const HYPERVISOR: [(&str, u64); 2] = [("overhead-late", 30_000), ("overhead-release", 912)];
const TAKEN: u64 = HYPERVISOR[0].1 + HYPERVISOR[1].1;

/// The time for which accesses for the console delay others, of which a window meets so many milliseconds.
fn console(periods: u64) -> u64 {
    (3 * periods + 1) * CONSOLE * 100
}

/// These terms, and those of the hypervisor.
fn terms<const COUNT: usize>(terms: [(&str, u64); COUNT]) -> Vec<(String, u64)> {
    terms.into_iter().chain(HYPERVISOR).map(|(term, time)| (term.into(), time)).collect()
}

#[test]
fn accesses_wait_for_neighbours_without_limit() {
    let sandbox = sandbox!();
    // 10,000 accesses and one on its way, of 100 ns, beside Linux; and what the hypervisor accesses for the console.
    let found = bound(&sandbox, &system("accesses = 10_000", "", ""));
    let expected = terms([("execution", 4_000_000), ("memory", 1_000_100 + console(7))]);
    assert_eq!(found, (json!(5_000_100 + console(7) + TAKEN), expected));
    let shown = sandbox.bulkhead(&["check", "s.toml"]);
    shown.assert_status(1);
    let why = "task `control` on VCPU 0 of VM `rt` can be late by 735.012 us: 5735.012 us\n";
    assert!(shown.stdout.contains(why), "{}", shown.stdout);
    let part = "  1704.1 us  waiting for memory accesses of other PCPUs\n";
    assert!(shown.stdout.contains(part), "{}", shown.stdout);
}

#[test]
fn neighbours_with_a_limit_cost_what_it_lets_through() {
    let sandbox = sandbox!();
    let limited = "bandwidth = { accesses = 1_000, period = \"1ms\" }";
    // 100 us in each of seven periods, and 1,760 accesses that come too many.
    let found = bound(&sandbox, &system("", "", limited));
    let expected = terms([("execution", 4_000_000), ("memory", 876_000 + console(7))]);
    assert_eq!(found, (json!(4_876_000 + console(7) + TAKEN), expected.clone()));
    // A VM that stays off, alone on its PCPU, makes 1,120 too many.
    let stays_off = format!("on_crash = \"stop\"\non_reset = \"stop\"\n{limited}");
    assert_eq!(
        bound(&sandbox, &system("", "", &stays_off)).0,
        json!(4_812_000 + console(7) + TAKEN)
    );
    // Where those are counted that come in, and none that goes, half of them.
    let refills = system("", "", &stays_off)
        .replace("access_latency", "counter = \"pmu\"\nevent = \"llc-refill\"\naccess_latency");
    assert_eq!(bound(&sandbox, &refills).0, json!(4_756_000 + console(7) + TAKEN));
    // With credits for two periods another 1000 accesses and one that is on its way.
    let compensated = format!("{limited}\ncompensation = 2");
    let found = bound(&sandbox, &system("", "critical = true", &compensated));
    assert_eq!(found.0, json!(4_876_000 + 100_100 + console(7) + TAKEN));
    // Few accesses of the task are better: each waits for one of Linux, and for one for the console.
    let found = bound(&sandbox, &system("accesses = 5_000", "", limited));
    assert_eq!(found.0, json!(5_000_200 + TAKEN));
}

#[test]
fn without_accesses_and_limits_there_is_no_bound() {
    let sandbox = sandbox!();
    // Linux has no limit; that the other VM is critical says that accesses count.
    sandbox.write("s.toml", &system("", "critical = true", ""));
    let shown = sandbox.bulkhead(&["check", "s.toml"]);
    shown.assert_status(1);
    let why = "task `control` on VCPU 0 of VM `rt` has no bound: nothing limits its memory \
               interference: give `accesses` of this task and those above it, or a `bandwidth` \
               that counts accesses to VM `linux`\n";
    assert!(shown.stdout.contains(why), "{}", shown.stdout);
    let document = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    let vcpu = &document["analysis"]["pcpus"][0]["vcpus"][0];
    assert_eq!(vcpu["unlimited_neighbours"], json!(["linux"]));
    assert_eq!(vcpu["tasks"][0]["failure"], "memory");
    // Where nothing is said of accesses they are in execution times.
    let found = bound(&sandbox, &system("", "", ""));
    assert_eq!(found, (json!(4_000_000 + TAKEN), terms([("execution", 4_000_000)])));
}

#[test]
fn a_vcpu_waits_for_its_own_limit() {
    let sandbox = sandbox!();
    // 10,001 accesses and 1,760 use up five budgets, and before somebody else may have used one up:
    // six periods, the ends of which are noticed 50 us and six accesses late.
    let limited = "bandwidth = { accesses = 2_000, period = \"200us\" }";
    let both = |task: &str| system(task, limited, "bandwidth = { accesses = 1, period = \"1ms\" }");
    let found = bound(&sandbox, &both("accesses = 10_000"));
    let budget = ("memory-budget".to_string(), 6 * (200_000 + 50_600));
    assert!(found.1.contains(&budget), "{found:?}");
    sandbox.write("s.toml", &both(""));
    let shown = sandbox.bulkhead(&["check", "s.toml"]);
    shown.assert_status(1);
    let why = "has no bound: nothing limits how often its VCPU waits for its memory budget";
    assert!(shown.stdout.contains(why), "{}", shown.stdout);
}
