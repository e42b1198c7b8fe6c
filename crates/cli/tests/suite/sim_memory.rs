//! `bulkhead sim` where memory accesses are described.

use testing::{Result, sandbox};

/// A job with 2,000 accesses beside a VM on two PCPUs; an access takes 10 ns.
const CRITICAL: &str = r#"[platform]
board = "qemu-virt"
[platform.bandwidth]
access_latency = "10ns"
[[vm]]
name = "critical"
boot = "raw"
memory = "1MiB"
kernel = "rt.bin"
critical = true
[[vm.vcpu]]
pcpu = 0
[[vm.task]]
name = "control"
period = "10ms"
wcet = "2ms"
accesses = 2_000
[[vm]]
name = "other"
boot = "raw"
memory = "1MiB"
kernel = "rt.bin"
"#;

const VCPUS: &str = "[[vm.vcpu]]\npcpu = 1\n[[vm.vcpu]]\npcpu = 2\n";

const BUDGET: &str = "bandwidth = { accesses = 1_000, period = \"1ms\" }\n";

fn sim(text: &str, arguments: &[&str]) -> Result {
    let sandbox = sandbox!();
    sandbox.write("s.toml", text);
    sandbox.bulkhead(&[&["sim", "s.toml", "--until", "100ms"], arguments].concat())
}

fn json(text: &str, arguments: &[&str]) -> serde_json::Value {
    let result = sim(text, &[arguments, &["--json"]].concat());
    result.assert_status(0);
    serde_json::from_str(&result.stdout).expect("JSON")
}

#[test]
fn throttled_time_and_accesses_are_shown() {
    let result = sim(&[CRITICAL, BUDGET, VCPUS].concat(), &[]);
    result.assert_status(0);
    let memory = "\
PCPU  VM        VCPU  budget of  accesses  period   made  % throttled  delayed us
   0  critical     0  -                 -       -  20000         0.00       2.000
   1  other        0  VM             1000    1 ms  50000        99.49       0.000
   2  other        1  VM             1000    1 ms  50000        99.49       0.000
";
    assert!(result.stdout.contains(memory), "{}", result.stdout);
    let assumed = "assumed: busy VCPUs make one memory access after the other";
    assert!(result.stdout.contains(assumed), "{}", result.stdout);
}

#[test]
fn neighbours_delay_as_often_as_their_budgets_let_them() {
    let control = |budget, contention| {
        let text = [CRITICAL, budget, VCPUS].concat();
        json(&text, &["--contention", contention])["tasks"][0]["response_max_ns"].as_u64()
    };
    // The interrupt that releases it. Each access waits for one of each of two PCPUs.
    const RELEASE: u64 = 900;
    assert_eq!(control("", "worst"), Some(2_040_000 + RELEASE));
    assert_eq!(control("", "stream"), Some(2_040_000 + RELEASE));
    assert_eq!(control("", "none"), Some(2_000_000 + RELEASE));
    // The first two periods have 1,000 delays each; in the third one it needs a few more.
    assert_eq!(control(BUDGET, "worst"), Some(2_020_420 + RELEASE));
}

#[test]
fn results_have_fields_for_machines() {
    let own = "[[vm.vcpu]]\npcpu = 1\nbandwidth = { accesses = 500, period = \"1ms\" }\n";
    let found = json(&[CRITICAL, own].concat(), &[]);
    assert_eq!(found["contention"], "stream");
    let memory = &found["vcpus"][1]["memory"];
    let expected = serde_json::json!({
        "budget": 500,
        "period_ns": 1_000_000,
        "shared": false,
        "accesses": 50_000,
        "throttled_ns": 99_499_100,
        "throttled_ppm": 994_991,
        "delayed_ns": 0,
    });
    assert_eq!(memory, &expected);
    let without = json(&CRITICAL.replace("accesses = 2_000\n", ""), &[]);
    assert!(without["contention"].is_null() && without["vcpus"][0]["memory"].is_null());
}

/// XenThrottle, section 3.4: the critical side is silent in 4 of 5 pairs of periods.
#[test]
fn credits_are_given() {
    let budget = [BUDGET, "compensation = 2\n"].concat();
    let text = [CRITICAL, &budget, VCPUS].concat();
    let found = json(&text, &[]);
    let made = |vcpu: usize| found["vcpus"][vcpu]["memory"]["accesses"].as_u64().expect("a number");
    // 2 periods of Q in which a job runs, then 3 Q in each 2; but each job makes its last two accesses in
    // a third period, where they can wait for two PCPUs.
    assert_eq!(made(1) + made(2), 10 * ((2 + 4 * 3) * 1_000 - 4));
}

#[test]
fn what_is_no_budget_of_accesses_is_not_simulated() {
    let text = [CRITICAL, BUDGET, VCPUS].concat();
    let text = text.replace("access_latency", "counter = \"cycles\"\naccess_latency");
    let result = sim(&text, &[]);
    result.assert_status(0);
    assert!(result.stdout.contains("memory budgets are not simulated"), "{}", result.stdout);
}
