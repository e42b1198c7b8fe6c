//! A Linux is held to a budget of memory accesses, in a closed loop: cachescope's counter interrupts, the
//! hypervisor stops the VCPU. Who looks is not the counter but cachescope's time series, which knows nothing of
//! budgets; only where periods begin is from the trace.

mod real;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::thread;

use policy::bandwidth::overshoot::ALONE;
use real::{project, record, succeeds};
use serde::Deserialize;
use trace::Trace;

const BUDGET: u64 = 2000;
const PERIOD_NS: u64 = 1_000_000;
/// A bin of the time series.
const BIN_NS: u64 = 10_000;
const BINS: [&str; 2] = ["--cachescope-option", "bin=10us"];
/// Accesses beyond the budget at most, for which the next one pays.
const OVERSHOOT: u64 = ALONE.most(0);

#[derive(Deserialize)]
struct Row {
    time_ns: u64,
    owner: String,
    memory_read_bytes: u64,
    memory_written_bytes: u64,
}

/// Lines that came for Linux and went, in each bin.
fn accesses(scope: &Path) -> BTreeMap<u64, u64> {
    let rows = csv::Reader::from_path(scope.join("timeseries.csv")).expect("there is a series");
    let rows = rows.into_deserialize().map(|row: Result<Row, _>| row.expect("a row"));
    rows.filter(|row| row.owner == "linux")
        .map(|row| (row.time_ns, (row.memory_read_bytes + row.memory_written_bytes) / 64))
        .collect()
}

/// Accesses in the bins that lie in a time.
fn within(bins: &BTreeMap<u64, u64>, time: Range<u64>) -> u64 {
    let (first, end) = (time.start.next_multiple_of(BIN_NS), time.end / BIN_NS * BIN_NS);
    bins.range(first..end).map(|(_, accesses)| accesses).sum()
}

/// When the second period begins, in time of the model: the first one does shortly before that time.
fn second_period(scope: &Path, trace: &Path) -> u64 {
    let summary = fs::read(scope.join("summary.json")).expect("there is a summary");
    let summary: serde_json::Value = serde_json::from_slice(&summary).expect("it is JSON");
    let origin = summary["guest_origin_ns"].as_u64().expect("guests see the model's time");
    let trace = fs::File::open(trace).expect("the trace was written");
    let trace = Trace::read(std::io::BufReader::new(trace)).expect("it is a trace");
    let epoch = trace.epoch().expect("the start is recorded");
    let time = u128::from(epoch) * 1_000_000_000 / u128::from(trace.header.frequency_hz);
    time as u64 + PERIOD_NS - origin
}

#[test]
fn linux_makes_the_accesses_of_its_budget_and_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let build = project().join("build/linux");
    let (kernel, initrd) = (build.join("vmlinuz"), build.join("initrd.cpio"));
    let system = format!(
        "name = \"linux-budget\"\nplatform = \"qemu-virt\"\n[[vm]]\nname = \"linux\"\nmemory = \"128MiB\"\n\
         on_reset = \"stop\"\nkernel = {kernel:?}\ninitrd = {initrd:?}\nbootargs = \"console=ttyAMA0 quiet bulkhead.job=cache\"\n\
         [[vm.vcpu]]\npcpu = 1\nbandwidth = {{ accesses = {BUDGET}, period = \"1ms\" }}\n"
    );
    fs::write(path("system.toml"), system).expect("the folder is writable");
    let (system, trace) = (path("system.toml"), path("trace"));
    let (scope, again) = (path("scope"), path("again"));
    thread::scope(|both| {
        both.spawn(|| {
            let run = ["run", &system, "--deterministic", "--until-off", "--timeout", "600s"];
            succeeds(&[&run[..], &["--cachescope", &again], &BINS].concat())
        });
        record(&system, &[&["--cachescope", &scope][..], &BINS].concat(), Path::new(&trace))
    });
    let series = |scope: &str| fs::read(Path::new(scope).join("timeseries.csv")).expect("a series");
    assert!(series(&scope) == series(&again), "runs repeat to the byte, recorded or not");

    let bins = accesses(Path::new(&scope));
    let start = second_period(Path::new(&scope), Path::new(&trace));
    let end = *bins.keys().next_back().expect("Linux has run");
    let periods = (end - start) / PERIOD_NS;
    assert!(periods > 1000, "{periods}");
    for parts in [1, 2, 10, 100] {
        let of = |number: u64| {
            let from = start + number * PERIOD_NS;
            within(&bins, from..from + parts * PERIOD_NS)
        };
        let most = (0..=periods - parts).map(of).max().expect("there are periods");
        println!("{most} accesses in {parts} periods");
        assert!(most <= parts * BUDGET + OVERSHOOT, "{most} in {parts} periods");
    }
    // Where a window begins in the middle of a period, it has parts of two budgets.
    for &from in bins.keys() {
        let found = within(&bins, from..from + PERIOD_NS);
        assert!(found <= 2 * BUDGET + OVERSHOOT, "{found} from {from} ns on");
    }
    // It gets its budget: in many periods it wants more.
    let of =
        |number: u64| within(&bins, start + number * PERIOD_NS..start + (number + 1) * PERIOD_NS);
    let full = (0..periods).filter(|&number| of(number) >= BUDGET * 9 / 10).count();
    println!("{full} of {periods} periods are used up");
    assert!(full > 300, "{full} of {periods} periods");
}
