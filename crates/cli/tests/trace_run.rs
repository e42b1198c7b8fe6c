//! Traces of the real thing: hypervisor and guests must have been built (`make build`).

mod real;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use real::{project, record, succeeds};
use serde_json::Value;

/// Runs a system for as long as its guests run, and returns its trace as lines of CSV.
fn recorded(system: &str, arguments: &[&str], trace: &Path) -> Vec<String> {
    record(system, arguments, trace);
    let trace = trace.to_str().expect("a path in UTF-8");
    let csv = succeeds(&["trace", "export", trace, "--to", "csv", "-o", "-"]);
    csv.lines().map(String::from).collect()
}

/// The simulation of a recorded run beside it, for machines: `trace compare`.
fn beside_its_simulation(system: &str, run: &Path) -> Value {
    let sim = run.with_extension("sim");
    let [run, sim] = [run, &sim].map(|path| path.to_str().expect("a path in UTF-8"));
    succeeds(&["sim", system, "--like", run, "--trace", sim]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.args(["--json", "trace", "compare", sim, run]);
    let output = command.output().expect("bulkhead starts");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Fails unless tasks take as long as they are simulated to, up to this many microseconds, and no VCPU gets more than its budget by more than 5 us, which is how late timers are.
///
/// `gaps`: a longest response may be longer by a gap between budgets, which a job waits for that misses the
/// end of one by microseconds.
fn assert_alike(document: &Value, tasks: usize, microseconds: u64, gaps: bool) {
    let pair = |of: &Value| {
        let both: [u64; 2] = serde_json::from_value(of.clone()).expect("two numbers");
        both
    };
    let rows = |of: &str| document[of].as_array().expect("rows").clone();
    assert_eq!(document["sides"], serde_json::json!(["sim", "run"]));
    let mut gap_of = BTreeMap::new();
    for vcpu in rows("vcpus") {
        if let (Some(budget), Some(period)) =
            (vcpu["budget_ns"].as_u64(), vcpu["period_ns"].as_u64())
        {
            let used = pair(&vcpu["used_in_period_max_ns"]);
            assert!(used.iter().all(|&used| used > 0 && used <= budget + 5_000), "{vcpu}");
            gap_of.insert(vcpu["vcpu"].to_string(), period - budget);
        }
    }
    assert_eq!(rows("tasks").len(), tasks, "{document:#}");
    for task in rows("tasks") {
        assert_eq!(pair(&task["missed_deadlines"]), [0, 0], "{task}");
        let [simulated, executed] = pair(&task["jobs"]);
        assert!(executed > 20 && simulated.abs_diff(executed) <= 1, "{task}");
        let [simulated, executed] = pair(&task["response_mean_ns"]);
        assert!(simulated.abs_diff(executed) <= microseconds * 1000, "{task}");
        let [simulated, executed] = pair(&task["response_max_ns"]);
        let gap = gap_of.get(&task["vcpu"].to_string()).filter(|_| gaps).unwrap_or(&0);
        assert!(simulated.abs_diff(executed) <= microseconds * 1000 + gap, "{task}");
    }
}

/// One PCPU is busy at a time, so that QEMU's timers are exact.
#[test]
fn a_run_and_its_simulation_are_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trace, system) = (folder.path().join("servers.trace"), folder.path().join("servers.toml"));
    std::fs::write(&system, servers()).expect("a folder");
    let system = system.to_str().expect("a path in UTF-8");
    recorded(system, &[], &trace);
    let document = beside_its_simulation(system, &trace);
    assert_alike(&document, 12, 10, false);
}

/// All PCPUs are busy, Linux too.
#[test]
#[ignore = "half a minute; needs `make cachescope`: `make campaign`"]
fn the_example_runs_as_it_is_simulated() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("servers.trace");
    let arguments = ["--append", "linux=bulkhead.job=smp", "--short-turns"];
    recorded("systems/servers.toml", &arguments, &trace);
    let document = beside_its_simulation("systems/servers.toml", &trace);
    assert_alike(&document, 10, 50, true);
    for pcpu in document["pcpus"].as_array().expect("PCPUs") {
        assert!(pcpu["longest_ns"].as_u64() <= Some(100_000), "{pcpu}");
    }
}

/// Four VMs that share a PCPU, one with each kind of server.
fn servers() -> String {
    let kernel = project().join("build/guests/rt-demo.bin");
    let task = |(name, period, priority): (&str, u32, u32)| {
        format!(
            "[[vm.task]]\nname = \"{name}\"\nvcpu = 0\nperiod = \"{period}ms\"\nwcet = \"1ms\"\n\
             priority = {priority}\n"
        )
    };
    let tasks = [("fast", 5, 3), ("medium", 10, 2), ("slow", 20, 1)].map(task).concat();
    let vm = |(name, server): (&str, &str)| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = {kernel:?}\n\
             bootargs = \"rt.seconds=1\"\n[[vm.vcpu]]\npcpu = 1\nserver = {server}\n{tasks}"
        )
    };
    let vms = [
        ("a", "\"sporadic\"\nbudget = \"1ms\"\nperiod = \"4ms\""),
        ("b", "\"deferrable\"\nbudget = \"1.5ms\"\nperiod = \"5ms\""),
        ("c", "\"periodic\"\nbudget = \"2ms\"\nperiod = \"10ms\""),
        ("d", "\"background\""),
    ];
    format!("platform = \"qemu-virt\"\n{}", vms.map(vm).concat())
}

/// What the hypervisor was told, told to the same code on this machine.
#[test]
fn all_decisions_about_vcpus_that_share_pcpus_come_out_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trace, system) = (folder.path().join("servers.trace"), folder.path().join("servers.toml"));
    std::fs::write(&system, servers()).expect("a folder");
    let system = system.to_str().expect("a path in UTF-8");
    let lines = recorded(system, &[], &trace);
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert_eq!(count(",lost,"), 0);
    let trace = trace.to_str().expect("a path in UTF-8");
    let replayed = succeeds(&["trace", "replay", trace, "--plan", system]);
    assert!(replayed.ends_with("\nall decisions are the same\n"), "{replayed}");
    let decisions: usize = replayed
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2)?.parse::<usize>().ok())
        .sum();
    assert_eq!(decisions, count(",run,") + count(",idle,"), "{replayed}");
    assert!(decisions > 1_000, "{replayed}");
}

#[test]
fn the_demonstration_is_recorded_while_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--append", "linux=bulkhead.job=demo"];
    let lines = recorded("systems/demo.toml", &arguments, &folder.path().join("demo.trace"));
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    // 2 s, every 5 ms, each job released, started and complete.
    assert_eq!(count(",mark,rt,0,fast,"), 3 * 400);
    assert_eq!(count(",mark,rt,0,slow,"), 3 * 100);
    assert_eq!((count(",run,rt,0,"), count(",run,linux,1,"), count(",lost,")), (1, 1, 0));
    assert!(count(",interrupt,linux,0,") > 100);
}
