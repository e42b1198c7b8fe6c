//! Limits of memory accesses under KVM. No CPU has to count: the example counts time.

use std::path::Path;

use serde_json::Value;

use crate::{alone, bulkhead, example, is_host, json, recorded, system, task};

const LIMITS: [(&str, &str); 2] = [
    ("bandwidth = { accesses = 2_000_000, period = \"10ms\" }\n", ""),
    ("bandwidth = { accesses = 3_000_000, period = \"20ms\" }\n", ""),
];

/// Runs the example until it goes as planned. Returns the run, and the lines of the trace.
fn run(folder: &Path, replaced: &[(&str, &str)]) -> (Value, Vec<String>) {
    let file = example(folder, "kvm-limits", replaced);
    let (run, trace) = recorded(folder, &file);
    let csv = bulkhead(&["trace", "export", &trace, "--to", "csv", "-o", "-"]).stdout;
    let csv = String::from_utf8(csv).expect("text");
    (run, csv.lines().map(String::from).collect())
}

fn response_ms(run: &Value, name: &str) -> u64 {
    task(run, name)["response_max_ns"].as_u64().expect("a time") / 1_000_000
}

fn count(trace: &[String], act: &str, vm: &str) -> usize {
    let has = |line: &&String| {
        let fields: Vec<&str> = line.split(',').collect();
        fields[3] == act && fields[4] == vm
    };
    trace.iter().filter(has).count()
}

#[test]
fn vms_do_no_more_in_a_period_than_their_limits_let_them() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (limited, trace) = run(folder.path(), &[]);
    // A job takes 100 ms: 2 ms of each 10 ms, and 3 ms of each 20 ms, of which a part is that of Linux.
    assert!(response_ms(&limited, "copy") >= 480, "{limited:#}");
    assert!(response_ms(&limited, "filter") >= 640, "{limited:#}");
    for (vm, overflows) in [("stream", 40), ("filter", 25)] {
        assert!(count(&trace, "overflow", vm) >= overflows, "{vm}: {trace:#?}");
        assert!(count(&trace, "recharge", vm) >= overflows, "{vm}: {trace:#?}");
    }
    assert!(count(&trace, "grant", "stream") >= 40 && count(&trace, "grant", "filter") == 0);
    // The third VM has to wait for all of that, and is late unless its period is longer.
    let patient = ("write/0/50000/", "write/0/500000/");
    let (free, trace) = run(folder.path(), &[LIMITS[0], LIMITS[1], patient]);
    assert!(response_ms(&free, "copy") < response_ms(&limited, "copy"), "{free:#}");
    assert!(response_ms(&free, "filter") < response_ms(&limited, "filter"), "{free:#}");
    assert_eq!(count(&trace, "overflow", "stream") + count(&trace, "account", "stream"), 0);
}

#[test]
fn credits_make_a_limited_vm_faster() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let critical = ("name = \"log\"\n", "name = \"log\"\ncritical = true\n");
    let limit = LIMITS[0].0;
    let credits = format!("{limit}compensation = 2\nflush = [\"vcpu-switch\", \"task-switch\"]\n");
    let (without, _) = run(folder.path(), &[critical, LIMITS[1]]);
    let (with, _) = run(folder.path(), &[critical, LIMITS[1], (limit, &credits)]);
    let [without, with] = [without, with].map(|run| response_ms(&run, "copy"));
    assert!(with < without * 9 / 10, "{with} and {without} ms");
}

/// A CPU with performance monitors counts: then the run is as good as others.
#[test]
fn without_a_counter_limits_are_refused() {
    let _alone = alone();
    if !is_host() || json(&["measure", "host", "--cpus", "1"])["can_limit"] == true {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let vm = "name = \"burn\"\n";
    for (added, lacks) in [("bandwidth = \"80MB/s\"\n", true), ("", false)] {
        let file = system(folder.path(), &[(vm, &format!("{vm}{added}"))]);
        let output = bulkhead(&["run", "--on", "kvm", &file, "--timeout", "100ms"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code() == Some(2), lacks, "{text}");
        let message = "VMs with limits of memory accesses cannot run on this host: nothing counts";
        assert_eq!(text.contains(message), lacks, "{text}");
    }
}
