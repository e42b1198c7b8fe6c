//! VCPUs that share a PCPU.

use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};

use crate::{compile, load, read_at, reference};

/// The reference with both VCPUs on one PCPU: 3 of 10 ms, and what is left.
fn shared_pcpu() -> String {
    let first = "pcpu = <0>; server = \"deferrable\"; budget-ns = <0 3000007>; \
                 period-ns = <0 10000000>; priority = <5>;";
    let second = "pcpu = <0>; server = \"background\"; priority = <1>;";
    let mut text = reference();
    for (from, to) in [("pcpu = <0>;", first), ("pcpu = <1>;", second)] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

#[test]
fn servers_count_in_ticks_of_the_machine() {
    let blob = compile(&shared_pcpu());
    for (frequency, budget, period) in
        [(62_500_000, 187_500, 625_000), (1_000_000_000, 3_000_007, 10_000_000)]
    {
        let plan = read_at(&blob, frequency).unwrap();
        let server = plan.vms[0].vcpus[0].server.expect("it has one");
        let start = Instant(77);
        assert_eq!(
            server.policy(start),
            Policy::Deferrable(Parameters {
                budget: Duration(budget),
                period: Duration(period),
                start,
                overrun: Duration::ZERO,
            })
        );
        let background = plan.vms[0].vcpus[1].server.expect("it has one");
        assert_eq!(background.policy(start), Policy::Background);
    }
}

#[test]
fn budgets_may_fill_a_pcpu() {
    let three = "vcpu@2 { reg = <2>; pcpu = <0>; server = \"sporadic\"; budget-ns = <0 7000000>; \
                 period-ns = <0 10000000>; priority = <9>; };\n\t\t\t};\n\n\t\t\tmemory@";
    let text = shared_pcpu().replacen("};\n\n\t\t\tmemory@", three, 1);
    // 3 ms and less than a tick, and 7 ms: more than there is, but not in ticks.
    let blob = compile(&text.replacen("0x00040000>", "0x00060000>", 1));
    assert_eq!(load(&blob).unwrap().vms[0].vcpus.len(), 3);
}

#[test]
fn servers_that_cannot_be_are_refused() {
    const BUDGET: &str = "/vms/vm@0/vcpus/vcpu@0";
    const BACKGROUND: &str = "/vms/vm@0/vcpus/vcpu@1";
    const SECOND: &str = "server = \"background\";";
    for (from, to, node, problem) in [
        ("\"deferrable\"", "\"polling\"", BUDGET, "server: is \"polling\", expected \"periodic\""),
        ("server = \"deferrable\";", "", BUDGET, "budget-ns: needs server"),
        ("budget-ns = <0 3000007>;", "", BUDGET, "budget-ns: is missing"),
        ("<0 3000007>", "<0 999>", BUDGET, "budget-ns: must be 1 us"),
        ("<0 3000007>", "<0 10000001>", BUDGET, "budget-ns: must be 1 us to the whole period"),
        (
            "<0 10000000>",
            "<0 10000009>",
            BUDGET,
            "period-ns: 10000009 ns are no whole number of ticks of the counter (62500000 Hz), \
             10000016 are",
        ),
        ("<0 10000000>", "<14 10000000>", BUDGET, "period-ns: is longer than one minute"),
        ("priority = <5>;", "", BUDGET, "priority: is missing"),
        (
            "priority = <1>",
            "priority = <5>",
            BACKGROUND,
            "priority: is 5, as that of a VCPU of linux",
        ),
        ("priority = <1>", "priority = <6>", BACKGROUND, "priority: puts a background VCPU"),
        (SECOND, "server = \"background\"; budget-ns = <0 1000>;", BACKGROUND, "budget-ns: has no"),
        (
            SECOND,
            "server = \"periodic\"; budget-ns = <0 7001000>; period-ns = <0 10000000>;",
            BACKGROUND,
            "budget-ns: is more than the VCPUs before leave",
        ),
        ("server = \"background\"; priority = <1>;", "", BACKGROUND, "pcpu: PCPU 0 runs a VCPU of"),
    ] {
        let text = shared_pcpu();
        assert!(text.contains(from), "{from}");
        let blob = compile(&text.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        let expected = format!("plan: {node}: {problem}");
        assert!(error.starts_with(&expected), "{to}: expected {expected}, found {error}");
    }
    let blob = compile(&shared_pcpu());
    let slow = read_at(&blob, 300).unwrap_err().to_string();
    assert!(slow.contains("budget-ns: is less than a tick of the counter"), "{slow}");
}
