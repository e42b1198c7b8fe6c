//! `bulkhead measure`: isolation of this machine, measured for real and shortly. The
//! verdict is the machine's and is not asserted.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use testing::{Result, Sandbox, eventually, sandbox, signal};

/// Attempts at what noise of the machine can spoil: an interval of 95 % misses one time
/// in twenty even on a quiet one.
const ATTEMPTS: usize = 4;

/// Only one measurement at a time is possible here.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processes whose command line has this text.
fn processes(text: &str) -> usize {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(text))
        .count()
}

fn rows(document: &Value) -> &Vec<Value> {
    document["contexts"][0]["tests"][0]["rows"].as_array().expect("rows")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn assert_answers(result: &Result, document: &Value) {
    let status = match document["verdict"].as_str() {
        Some("isolated") => 0,
        Some("not-isolated") => 1,
        Some("cannot-tell") => 3,
        other => panic!("{other:?} is no verdict: {}", result.stderr),
    };
    result.assert_status(status);
}

#[test]
fn a_leech_on_the_same_cpu_is_seen_and_nothing_is_not() {
    let _alone = alone();
    let sandbox = sandbox!();
    let arguments = "measure --victim matrix:96 --leech cpu@25ms --runs 8 --json --output results";
    let plausible = |document: &Value| {
        let [nothing, taken] = &rows(document)[..] else { panic!("two rows: {document}") };
        let [low, high] = ["low", "high"].map(|end| number(&nothing["coefficient"][end]));
        low <= 0.0 && 0.0 <= high && number(&taken["coefficient"]["low"]) > 0.3
    };
    let found = (0..ATTEMPTS).any(|_| {
        let result = sandbox.bulkhead(&arguments.split(' ').collect::<Vec<_>>());
        let document = result.json();
        assert_answers(&result, &document);
        plausible(&document)
    });
    assert!(found, "A/A contains 0, and a leech on the victim's CPU slows it");

    let read = |name: &str| fs::read_to_string(sandbox.path(name)).expect(name);
    let document: Value = serde_json::from_str(&read("results/results.json")).expect("JSON");
    for row in rows(&document) {
        let samples = row["samples"].as_array().expect("samples");
        assert!(samples.len() >= 2 * 8 && samples.len().is_multiple_of(2));
        let loaded = |at: usize| samples[at]["loaded"].as_bool().expect("loaded or not");
        assert_eq!([0, 1, 2, 3].map(loaded), [false, true, true, false], "AB, BA");
        for sample in samples {
            assert!(number(&sample["time_ns"]) > 0.0);
        }
    }
    assert!(document["machine"]["kernel"].is_string());
    let table = read("results/results.csv");
    assert!(table.starts_with("context,test,workload,leech,leeches,"), "{table}");
    assert!(table.lines().count() == 3 && table.contains("cpu@25ms"), "{table}");
    let page = read("results/report.html");
    assert!(page.contains("<svg") && page.contains("cpu@25ms") && page.ends_with("</html>\n"));
    assert!(!page.contains("<script"));
}

#[test]
fn contexts_are_compared() {
    let _alone = alone();
    let sandbox = sandbox!();
    let other = format!("again=env LANG=C '{}'", env!("CARGO_BIN_EXE_bulkhead"));
    let arguments =
        ["measure", "--victim", "matrix:32", "--leech", "cpu@25ms", "--runs", "5", "--context"];
    let more = ["native=", "--context", &other, "--victim", "read:64KiB"];
    let arguments = [&arguments[..], &more].concat();
    let result = sandbox.bulkhead(&arguments);
    assert!([Some(0), Some(1), Some(3)].contains(&result.status), "{}", result.stderr);
    let comparison = result.stdout.split("I in each context:").nth(1).expect("a comparison");
    assert!(comparison.contains("native") && comparison.contains("again"), "{comparison}");
    for test in ["matrix:32", "read:64KiB"] {
        let row = comparison.lines().find(|line| line.starts_with(test)).expect(test);
        assert!(row.contains("cpu@25ms"), "{comparison}");
    }
}

#[test]
fn a_context_that_cannot_start_is_named() {
    let _alone = alone();
    let context = "cell=/nowhere/bulkhead";
    sandbox!().bulkhead(&["measure", "--quick", "--context", context]).assert_refused(&[
        "context cell",
        "/nowhere/bulkhead",
        "not found",
    ]);
    sandbox!().bulkhead(&["measure", "--quick", "--context", "cell=echo hello"]).assert_refused(&[
        "context cell",
        "hello",
        "not an answer",
    ]);
}

#[test]
fn an_end_before_the_first_interval_leaves_the_answer_open() {
    let _alone = alone();
    let sandbox = sandbox!();
    let arguments = "measure --victim matrix:32 --leech cpu@25ms --runs 900";
    let mut command = sandbox.command(&arguments.split(' ').collect::<Vec<_>>());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // The first row, which has no leech, takes half a minute.
    std::thread::sleep(Duration::from_secs(2));
    signal(&child, "INT");
    let result = Result::of(child.wait_with_output().expect("it ends"));
    result.assert_status(130);
    let answer = "cannot tell: no victim was measured beside a leech before the end\n";
    assert!(result.stdout.starts_with(answer), "{}", result.stdout);
}

#[test]
fn bad_input_is_refused_before_anything_runs() {
    let _alone = alone();
    let refused = |arguments: &str, parts: &[&str]| {
        let sandbox = sandbox!();
        let arguments: Vec<&str> = arguments.split(' ').collect();
        sandbox.bulkhead(&[&["measure"], &arguments[..]].concat()).assert_refused(parts);
    };
    refused("--victim matrx:5 --leech cpu", &["matrx:5", "expected matrix:512"]);
    refused("--victim matrix:64 --leech coppy:8m", &["coppy:8m", "expected none, cpu"]);
    refused("--victim matrix:64 --leech copy:8", &["copy", "expected one such as 64KiB"]);
    refused("--victim matrix:64 --leech copy:8m..1m", &["begins with its least value"]);
    refused("--victim read:8m..1m --leech cpu", &["begins with its least value"]);
    refused("--victim matrix:64", &["--leech"]);
    refused("--leech cpu", &["--victim"]);
    refused("--victim matrix:64 --leech cpu --runs 2", &["no interval"]);
    refused("--victim matrix:64 --leech cpu --count 3..1", &["range such as 1..3"]);
    refused("--victim matrix:64 --leech cpu --cpu 4000", &["CPU 4000 cannot be used"]);
    refused("--victim matrix:64 --leech copy:8000g", &["half of what is free"]);
    refused("--quick --tolerance much", &["percent"]);
    refused("--quick --context cell", &["cell='ssh board bulkhead'"]);
    refused("--quick --context a= --context a=", &["two contexts are called `a`"]);
    refused("--quick --output /proc/nowhere", &["cannot create /proc/nowhere"]);
    refused("--victim command:false --leech cpu", &["`false` failed (exit status: 1)"]);
}

#[test]
fn one_cpu_has_no_room_for_leeches_of_its_own() {
    let _alone = alone();
    let sandbox = sandbox!();
    let command = |arguments: &str| {
        let program = env!("CARGO_BIN_EXE_bulkhead");
        let mut command = std::process::Command::new("taskset");
        command.args(["-c", "0", program, "measure"]).args(arguments.split(' '));
        Result::of(command.current_dir(sandbox.path("")).output().expect("taskset starts"))
    };
    command("--victim matrix:64 --leech copy:1MiB").assert_refused(&["another CPU", "timers"]);
    let alone = command("--victim matrix:32 --leech cpu@25ms --runs 5 --json");
    assert_answers(&alone, &alone.json());
}

/// The command as somebody who may neither raise priorities nor lock memory.
fn unprivileged(sandbox: &Sandbox, arguments: &str) -> Result {
    let mut command = std::process::Command::new("prlimit");
    command.args(["--rtprio=0", "--memlock=65536"]);
    if rustix::process::geteuid().is_root() {
        command.args(["setpriv", "--bounding-set=-all", "--inh-caps=-all"]);
    }
    command.args([env!("CARGO_BIN_EXE_bulkhead"), "measure"]).args(arguments.split(' '));
    Result::of(command.current_dir(sandbox.path("")).output().expect("prlimit starts"))
}

#[test]
fn without_privileges_it_measures_and_says_what_that_costs() {
    let _alone = alone();
    let sandbox = sandbox!();
    let result = unprivileged(&sandbox, "--victim matrix:32 --leech cpu@25ms --runs 5");
    assert!([Some(0), Some(1), Some(3)].contains(&result.status), "{}", result.stderr);
    for cost in [
        "victim: no real-time priority: Operation not permitted",
        "other programs can slow it",
        "victim: memory is not locked",
        "leech: memory is not locked",
    ] {
        let lines = result.stdout.lines().filter(|line| line.contains(cost)).count();
        assert!(lines >= 1, "`{cost}` is not in: {}", result.stdout);
    }
    let once = result.stdout.matches("note: victim: no real-time priority").count();
    assert_eq!(once, 1, "{}", result.stdout);
}

#[test]
fn buffers_that_this_process_may_not_have_are_refused() {
    let _alone = alone();
    let sandbox = sandbox!();
    let limited = |arguments: &str| {
        let mut command = std::process::Command::new("prlimit");
        command.args(["--as=600000000", env!("CARGO_BIN_EXE_bulkhead"), "measure"]);
        command.args(arguments.split(' '));
        Result::of(command.current_dir(sandbox.path("")).output().expect("prlimit starts"))
    };
    limited("--victim matrix:64 --leech non-temporal:700m --cpu 0 --leech-cpus 1 --runs 5")
        .assert_refused(&["leech non-temporal:700MiB", "no memory for 700MiB", "ulimit"]);
    limited("--victim chase:700m --leech cpu@25ms --runs 5")
        .assert_refused(&["victim chase:700MiB", "no memory for 700MiB"]);
}

#[test]
fn a_command_that_never_ends_is_ended() {
    let _alone = alone();
    let sandbox = sandbox!();
    let arguments = ["--victim", "command:sleep 4711", "--leech", "cpu@25ms", "--timeout", "1s"];
    let result = sandbox.bulkhead(&[&["measure"], &arguments[..]].concat());
    result.assert_refused(&["no answer within 1 s", "--timeout"]);
    eventually("the command is gone", || processes("sleep 4711") == 0);
}

#[test]
fn ctrl_c_keeps_what_is_measured_and_leaves_no_process() {
    let _alone = alone();
    let sandbox = sandbox!();
    let arguments = "measure --victim matrix:97 --leech cpu@26ms --leech cpu@27ms --runs 100000";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let mut command = sandbox.command(&arguments);
    let child = command.process_group(0).spawn().expect("the command starts");
    eventually("a victim runs", || processes("worker victim matrix:97") > 0);
    let second = sandbox.bulkhead(&["measure", "--quick"]);
    second.assert_refused(&["another measurement runs"]);
    // As a terminal does: to all of them.
    kill_process_group(Pid::from_child(&child), Signal::INT).expect("it runs");
    let result = Result::of(child.wait_with_output().expect("it ends"));
    result.assert_status(130);
    eventually("all processes are gone", || processes("matrix:97") == 0);
}

#[test]
fn processes_end_with_the_one_that_started_them_however_it_ends() {
    let _alone = alone();
    let sandbox = sandbox!();
    let arguments = "measure --victim matrix:98 --leech cpu@28ms --runs 100000";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let mut child = sandbox.command(&arguments).spawn().expect("the command starts");
    eventually("a victim runs", || processes("worker victim matrix:98") > 0);
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::KILL).expect("it runs");
    child.wait().expect("it ends");
    let left = || processes("worker victim matrix:98") + processes("worker leech cpu@28ms");
    eventually("all processes are gone", || left() == 0);
}
