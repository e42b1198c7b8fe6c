//! Debian's cyclictest in a Linux VM with a budget: everything must have been built (`make build`).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Wake-ups of a run.
const LOOPS: u64 = 400;
/// Longest latency in us while there is budget: hypervisor and Linux in instructions, with reserve.
const PATH_US: u64 = 40;
/// From the end of a budget to the next one: period minus budget of `systems/cyclictest.toml`.
const WITHOUT_BUDGET_US: u64 = 10_000 - 3_000;

/// A histogram and its ends in microseconds.
#[derive(Debug)]
struct Latencies {
    min: u64,
    max: u64,
    counts: BTreeMap<u64, u64>,
}

/// Runs cyclictest beside a VM that is busy for some seconds, alone with 0.
fn cyclictest(load: &str, bin: u64, until: u64, busy_seconds: u64) -> Latencies {
    let linux = format!(
        "linux=bulkhead.job=cyclictest job.loops={LOOPS} job.load={load} job.bin_us={bin} job.until_us={until}"
    );
    let neighbour = format!("neighbour=busy.seconds={busy_seconds}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let output = command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(["run", "systems/cyclictest.toml", "--deterministic", "--until-off"])
        .args(["--timeout", "300s", "--append", &linux, "--append", &neighbour])
        .output()
        .expect("bulkhead starts");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{out}\n{}", String::from_utf8_lossy(&output.stderr));
    if busy_seconds > 0 {
        let at = |line: &str| out.find(line).unwrap_or_else(|| panic!("no {line:?} in {out}"));
        assert!(at("linux: cyclictest done") < at("busy: done"), "it was busy all the time");
    }
    let number = |key: &str| -> u64 {
        let start = format!("cyclictest: {key}=");
        let found = out.lines().find_map(|line| line.split_once(&start)?.1.trim().parse().ok());
        found.unwrap_or_else(|| panic!("no {key} in {out}"))
    };
    assert_eq!((number("total"), number("beyond")), (LOOPS, 0), "{out}");
    let bins = (0..until).step_by(bin as usize);
    let counts: BTreeMap<u64, u64> = bins.map(|us| (us, number(&format!("us_{us}")))).collect();
    assert_eq!(counts.values().sum::<u64>(), LOOPS);
    Latencies { min: number("latency_min_us"), max: number("latency_max_us"), counts }
}

/// Most by which the numbers of wake-ups up to some latency differ.
fn distance(one: &Latencies, other: &Latencies) -> u64 {
    let (mut sums, mut most) = ([0_u64; 2], 0);
    for us in one.counts.keys() {
        sums[0] += one.counts[us];
        sums[1] += other.counts[us];
        most = most.max(sums[0].abs_diff(sums[1]));
    }
    most
}

#[test]
#[ignore = "takes a minute"]
fn a_neighbour_does_not_change_the_latency_of_a_task() {
    let [alone, beside] = [0, 5].map(|seconds| cyclictest("none", 1, 100, seconds));
    assert!(alone.max <= PATH_US && beside.max <= PATH_US, "{alone:?} {beside:?}");
    // The hypervisor saves and loads registers where it had nothing to do before.
    assert!(alone.max.abs_diff(beside.max) <= 2 && alone.min.abs_diff(beside.min) <= 2);
}

#[test]
#[ignore = "takes a minute"]
fn without_budget_a_task_waits_for_the_next_one_whatever_others_do() {
    let [alone, beside] = [0, 6].map(|seconds| cyclictest("busyloop", 100, 8_000, seconds));
    for latencies in [&alone, &beside] {
        let bound = WITHOUT_BUDGET_US + PATH_US;
        assert!(latencies.max <= bound, "{latencies:?}");
        assert!(
            latencies.max >= WITHOUT_BUDGET_US - 200,
            "the bound is nearly reached: {latencies:?}"
        );
    }
    assert!(distance(&alone, &beside) <= LOOPS / 100, "{alone:?}\n{beside:?}");
}
