//! What `bulkhead check` shows of limits of memory accesses.

use serde_json::json;
use testing::sandbox;

/// A critical VM, one that is throttled as a whole, and one with a throttled VCPU.
const THROTTLED: &str = r#"platform = "qemu-virt"

[[vm]]
name = "rt"
boot = "raw"
memory = "1MiB"
kernel = "k"
critical = true

[[vm.task]]
name = "t"
period = "20ms"
wcet = "4ms"
accesses = 10_000

[[vm]]
name = "linux"
vcpus = 2
boot = "raw"
memory = "1MiB"
kernel = "k"
bandwidth = "80MB/s"
compensation = 2

[[vm]]
name = "other"
boot = "raw"
memory = "1MiB"
kernel = "k"

[[vm.vcpu]]
bandwidth = { accesses = 1_000, period = "10ms" }
"#;

#[test]
fn limits_are_shown_with_rates() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", THROTTLED);
    let shown = sandbox.bulkhead(&["check", "s.toml"]);
    shown.assert_status(0);
    let table = "\
        VM     VCPU  accesses  in each      rate  credits\n\
        linux   all      1250     1 ms   80 MB/s  for 2 periods\n\
        other     0      1000    10 ms  6.4 MB/s  -\n\
        critical: `rt`\n";
    assert!(shown.stdout.contains(table), "{}", shown.stdout);
    assert!(shown.stdout.contains("WCET  accesses  priority\n"), "{}", shown.stdout);

    let document = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    let budget = |accesses: u64, period_ns: u64, bytes_per_second: u64| {
        json!({
            "accesses": accesses,
            "period_ns": period_ns,
            "bytes_per_second": bytes_per_second,
        })
    };
    let (all, own) = (budget(1250, 1_000_000, 80_000_000), budget(1000, 10_000_000, 6_400_000));
    // In the plan, and in the report of the description.
    for vms in [&document["vms"], &document["report"]["vms"]] {
        assert_eq!(vms[1]["memory_budget"], all);
        assert_eq!(vms[1]["compensation_periods"], 2);
        assert_eq!(vms[2]["vcpus"][0]["memory_budget"], own);
        assert_eq!(vms[0]["critical"], true);
        assert!(vms[0]["memory_budget"].is_null() && vms[2]["memory_budget"].is_null());
    }
    let machine = &document["report"]["platform"]["bandwidth"];
    assert_eq!(machine["counter"], "cachescope");
    assert_eq!((&machine["access_bytes"], &machine["access_latency_ns"]), (&json!(64), &json!(20)));
    assert_eq!(document["report"]["vms"][0]["vcpus"][0]["tasks"][0]["accesses"], 10_000);

    // The plan that is written tells the same.
    sandbox.bulkhead(&["plan", "s.toml", "-o", "plan.dts"]).assert_status(0);
    let planned = sandbox.bulkhead(&["check", "plan.dts"]);
    planned.assert_status(0);
    assert!(planned.stdout.contains(table), "{}", planned.stdout);
    let planned = sandbox.bulkhead(&["check", "plan.dts", "--json"]).json();
    assert_eq!(planned["vms"], document["vms"]);
}

#[test]
fn mistakes_in_limits_end_with_status_2_and_no_plan() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", &THROTTLED.replace("\"80MB/s\"", "\"80MB\""));
    let refused = sandbox.bulkhead(&["plan", "s.toml", "-o", "plan.dts"]);
    refused.assert_status(2);
    assert!(refused.stderr.contains("did you mean `MB/s`?"), "{}", refused.stderr);
    assert!(!sandbox.path("plan.dts").exists());
}
