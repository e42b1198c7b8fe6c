//! `bulkhead run --on kvm` in the x86 host that QEMU emulates, where each instruction takes 1 ns: `make test-host-x86`.
//!
//! Other than on the KVM of a machine (`kvm`) runs repeat byte for byte, and times have bounds. Nothing here is skipped:
//! without QEMU or without the host the tests fail and say what is missing.

#[path = "host_x86/storm.rs"]
mod storm;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const SYSTEM: &str = "systems/kvm-first.toml";
/// What a VCPU may take beyond its budget in a period, in instructions: one switch.
const SWITCH_MAX_NS: u64 = 12_000;
/// By how much the mean response time of a task may differ from the simulation, which knows no costs.
const DIFFERENCE_MAX_NS: f64 = 20_000.0;

fn host_x86(arguments: &[&str]) -> Command {
    // An xtask that was built already, so that cargo does not compile it with other features.
    let mut command = match std::env::var_os("BULKHEAD_XTASK") {
        Some(xtask) => {
            let mut command = Command::new(xtask);
            command.env("CARGO_MANIFEST_DIR", format!("{ROOT}/xtask"));
            command
        }
        None => {
            let mut command = Command::new(env!("CARGO"));
            command.args(["--quiet", "xtask"]);
            command
        }
    };
    command.current_dir(ROOT).arg("host-x86").args(arguments);
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("the command starts")
}

fn bulkhead(arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let output = output(command.current_dir(ROOT).arg("--json").args(arguments));
    document(&output)
}

fn document(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The element of a list with this value of a key.
fn find<'a>(list: &'a Value, key: &str, value: &str) -> &'a Value {
    let mut list = list.as_array().expect("a list").iter();
    list.find(|it| it[key] == value).unwrap_or_else(|| panic!("no {value}"))
}

/// Runs the example and leaves its trace in this file; what was printed, and the records.
fn run(trace: &str) -> (Vec<u8>, Vec<u8>) {
    let output = output(&mut host_x86(&[SYSTEM, "--json", "--trace", trace, "--", "--until-off"]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    (output.stdout, fs::read(trace).expect("a trace"))
}

#[test]
#[ignore = "needs an x86 host: make test-host-x86"]
fn runs_are_the_same_and_as_they_were_judged_and_simulated() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name| folder.path().join(name).to_str().expect("a path in UTF-8").to_owned();
    let trace = path("it.trace");
    let [first, second] = [(); 2].map(|()| run(&trace));
    assert!(first.0 == second.0, "the outputs of two runs differ");
    assert!(first.1 == second.1, "the traces of two runs differ");

    let run: Value = serde_json::from_slice(&first.0).expect("a document");
    assert_eq!((&run["ok"], &run["power_off"]), (&true.into(), &true.into()), "{run:#}");
    let check = bulkhead(&["check", SYSTEM]);
    assert_eq!(check["ok"], run["ok"], "the analysis says what the run shows: {check:#}");
    let tasks = &find(&run["vms"], "name", "control")["tasks"];
    for (name, jobs) in [("fast", 125), ("slow", 25)] {
        let task = find(tasks, "name", name);
        assert_eq!((&task["jobs"], &task["misses"]), (&jobs.into(), &0.into()), "{task:#}");
        let [longest, bound] = ["response_max_ns", "bound_ns"].map(|key| task[key].as_u64());
        assert!(longest.is_some() && longest <= bound, "within the bound: {task:#}");
    }

    let replayed = bulkhead(&["trace", "replay", &trace, "--plan", SYSTEM]);
    assert_eq!(replayed["ok"], true, "all decisions are those of the scheduler: {replayed:#}");
    let simulated = path("sim.trace");
    bulkhead(&["sim", SYSTEM, "--like", &trace, "--trace", &simulated]);
    let compared = bulkhead(&["trace", "compare", &simulated, &trace]);
    for name in ["fast", "slow"] {
        let mean = &find(&compared["tasks"], "task", name)["response_mean_ns"];
        let [sim, run] = [0, 1].map(|side| mean[side].as_f64().expect("a time"));
        assert!((sim - run).abs() < DIFFERENCE_MAX_NS, "{name}: {sim} and {run} ns");
    }
    for name in ["burn/0", "control/0"] {
        let vcpu = find(&compared["vcpus"], "vcpu", name);
        let budget = vcpu["budget_ns"].as_u64().expect("a budget");
        let used = vcpu["used_in_period_max_ns"][1].as_u64().expect("a time");
        assert!(used <= budget + SWITCH_MAX_NS, "{name} took {used} ns of {budget}");
    }
}

const LINUX: &str = "systems/kvm-linux.toml";

/// A stock Linux boots and works under its budget, and the tasks beside it meet their deadlines.
#[test]
#[ignore = "needs an x86 host: make test-host-x86"]
fn a_linux_boots_beside_tasks_that_meet_their_deadlines() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("it.trace").to_str().expect("a path in UTF-8").to_owned();
    let run = || {
        let output = output(&mut host_x86(&[LINUX, "--trace", &trace, "--", "--until-off"]));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let shown = String::from_utf8(output.stdout).expect("text");
        (shown, fs::read(&trace).expect("a trace"))
    };
    let [first, second] = [(); 2].map(|()| run());
    assert_eq!(first.0, second.0, "the outputs of two runs differ");
    assert!(first.1 == second.1, "the traces of two runs differ");

    let shown = first.0;
    for line in [
        "[linux  ] guest: round 10: the sum is 500500\n",
        "reboot: System halted\n[bulkhead] linux: off (power-off)\n",
        "\nall is well\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    for task in ["fast", "slow"] {
        let row = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            (words.len() == 16 && words[..2] == ["control", task]).then_some(words)
        };
        let row = shown.lines().find_map(row).unwrap_or_else(|| panic!("no {task}: {shown}"));
        let [misses, longest, bound] =
            [5, 10, 14].map(|column| row[column].parse::<f64>().expect("a number"));
        assert!(misses == 0.0 && longest <= bound, "within the bound: {row:?}");
    }

    let replayed = bulkhead(&["trace", "replay", &trace, "--plan", LINUX]);
    assert_eq!(replayed["ok"], true, "all decisions are those of the scheduler: {replayed:#}");
    let simulated = folder.path().join("sim.trace");
    let simulated = simulated.to_str().expect("a path in UTF-8");
    bulkhead(&["sim", LINUX, "--like", &trace, "--trace", simulated]);
    let compared = bulkhead(&["trace", "compare", simulated, &trace]);
    let vcpu = find(&compared["vcpus"], "vcpu", "linux/0");
    let number = |value: &Value| value.as_u64().expect("a number");
    let (budget, used) = (number(&vcpu["budget_ns"]), number(&vcpu["used_in_period_max_ns"][1]));
    assert!((budget..=budget + SWITCH_MAX_NS).contains(&used), "it used its budget: {vcpu:#}");
    // While it boots it needs all of its budget, and less than a quarter of it while it waits between its rounds.
    assert!(
        number(&vcpu["supply_ppm"][1]) < 350_000,
        "it waits when it has nothing to do: {vcpu:#}"
    );
}

/// What a Linux cannot do, and how it ends when it fails.
#[test]
#[ignore = "needs an x86 host: make test-host-x86"]
fn a_linux_that_does_not_fit_is_refused_and_one_that_panics_fails_the_run() {
    let text = fs::read_to_string(format!("{ROOT}/{LINUX}")).expect("the example");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("system.toml");
    let name = file.to_str().expect("a path in UTF-8");
    let run = |changes: &[(&str, &str)], message: &str, status| {
        let mut text = text.replace("../build", &format!("{ROOT}/build"));
        for (before, after) in changes {
            assert!(text.contains(before), "{text}");
            text = text.replace(before, after);
        }
        fs::write(&file, text).expect("a file");
        let output = output(&mut host_x86(&[name, "--", "--timeout", "20s"]));
        let said =
            [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        assert_eq!(output.status.code(), Some(status), "{said:?}");
        assert!(said.iter().any(|it| it.contains(message)), "{said:?}");
    };
    let little = ("\"128MiB\"", "\"48MiB\"");
    run(
        &[little],
        "VM `linux`: the kernel and its initial RAM disk do not fit the RAM of the VM",
        2,
    );
    let no_init = ("rounds=10", "rdinit=/none");
    run(&[no_init], "[bulkhead] linux: reset, restart 1 of 3", 1);
    let stops = ("name = \"linux\"\n", "name = \"linux\"\non_reset = \"stop\"\n");
    run(&[no_init, stops], "[bulkhead] linux: stopped (reset)", 1);
}

const COLORS: &str = "systems/kvm-colors.toml";

/// VMs with colours evict no lines of each other, and without they do. Linux evicts lines of both.
#[test]
#[ignore = "needs an x86 host and cachescope: make test-host-x86"]
fn colours_keep_vms_from_evicting_lines_of_each_other() {
    let text = fs::read_to_string(format!("{ROOT}/{COLORS}")).expect("the example");
    let text = text.replace("../build", &format!("{ROOT}/build")).replace("ms=2500", "ms=300");
    let plain = text.lines().filter(|line| !line.starts_with("colors = "));
    let plain = plain.map(|line| format!("{line}\n")).collect::<String>();
    let count = |text: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name| folder.path().join(name).to_str().expect("a path in UTF-8").to_owned();
        let (file, scope) = (path("system.toml"), path("scope"));
        fs::write(&file, text).expect("a file");
        // The guests need little memory: in a small cache, which has as many colours, they meet.
        let scope = ["--cachescope", &scope, "--cachescope-option", "llc=512KiB:4"];
        let arguments = [&[&*file, "--json"], &scope[..], &["--", "--until-off"]].concat();
        let output = output(&mut host_x86(&arguments));
        let run = document(&output);
        assert_eq!(output.status.code(), Some(0), "{run:#}");
        run["cachescope"].clone()
    };
    let [colored, plain] = [text, plain].map(|text| count(&text));
    let number = |counts: &Value, key: &str| counts[key].as_u64().expect("a number");
    assert_eq!(number(&colored, "cross_vm_evictions"), 0, "{colored:#}");
    // As many as the frames are alike that Linux gave: 102 and 33 in two builds.
    assert!(number(&plain, "cross_vm_evictions") > 10, "{plain:#}");
    for counts in [&colored, &plain] {
        let rest = number(counts, "vm_evictions_by_rest");
        assert!((200..5_000).contains(&rest), "{counts:#}");
        for (vm, accesses) in [("burn", 250_000_000), ("control", 10_000_000)] {
            let owner = find(&counts["owners"], "name", vm);
            assert!(number(owner, "accesses") > accesses, "{owner:#}");
        }
    }
}

/// The command that the page for a PC has for those without `/dev/kvm`, with servers and without.
#[test]
#[ignore = "needs an x86 host: make test-host-x86"]
fn the_example_for_a_pc_misses_deadlines_without_servers_only() {
    let page = include_str!("../../../docs/how-to/bulkhead-on-your-pc.md");
    let command = "cargo xtask host-x86 systems/kvm-demo.toml --trace build/exact.trace\n";
    assert!(page.contains(command), "{command}");
    let kept = fs::read_to_string(format!("{ROOT}/systems/kvm-demo.toml")).expect("the example");
    let server = |line: &str| match line.split_once("server = ") {
        Some((rest, _)) => format!("{rest}server = \"background\" }}]"),
        None => line.into(),
    };
    let plain = kept.lines().map(|line| format!("{}\n", server(line))).collect::<String>();
    let guests = format!("{ROOT}/build/guests");
    let folder = tempfile::tempdir().expect("a folder");
    for (text, misses) in [(kept, false), (plain, true)] {
        let file = folder.path().join("system.toml");
        fs::write(&file, text.replace("../build/guests", &guests)).expect("a file");
        let name = file.to_str().expect("a path in UTF-8");
        let trace = format!("{name}.trace");
        let output = output(&mut host_x86(&[name, "--trace", &trace, "--json"]));
        let run = document(&output);
        assert_eq!(output.status.code(), Some(i32::from(misses)), "{run:#}");
        let task = |vm, task| find(&find(&run["vms"], "name", vm)["tasks"], "name", task).clone();
        assert_eq!(task("video", "frame")["misses"], 0, "{run:#}");
        let missed = task("control", "balance")["misses"].as_u64();
        assert_eq!(missed > Some(0), misses, "{run:#}");
    }
}

#[test]
#[ignore = "needs an x86 host: make test-host-x86"]
fn the_exit_status_is_that_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let board = fs::read_to_string(format!("{ROOT}/{SYSTEM}")).expect("the example");
    let board = board.replace("\"linux-kvm\"", "\"qemu-virt\"");
    let board = board.replace("../build", &format!("{ROOT}/build"));
    let file = folder.path().join("board.toml");
    fs::write(&file, board).expect("a file");
    let refused = output(&mut host_x86(&[file.to_str().expect("a path in UTF-8")]));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("is no Linux host with KVM"), "{said}");
    let trace = folder.path().join("it.trace");
    let name = trace.to_str().expect("a path in UTF-8");
    let late = output(&mut host_x86(&[SYSTEM, "--trace", name, "--", "--timeout", "200ms"]));
    assert_eq!(late.status.code(), Some(1), "{late:?}");
}

/// Runs that end without results: what they say, and that they leave no trace.
#[test]
#[ignore = "needs an x86 host: make test-host-x86"]
fn without_results_there_is_one_message_and_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("it.trace");
    let name = trace.to_str().expect("a path in UTF-8");
    let failed = |command: &mut Command, message: &str| {
        let output = output(command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(message), "{said}");
        assert!(output.stdout.is_empty() && !Path::new(name).exists());
    };
    let usual = [SYSTEM, "--trace", name];
    let no_qemu = "cannot start `/nowhere/qemu`";
    failed(host_x86(&usual).env("BULKHEAD_QEMU_X86", "/nowhere/qemu"), no_qemu);
    failed(&mut host_x86(&["--limit", "1", SYSTEM, "--trace", name]), "took longer than 1 s");
    failed(&mut host_x86(&["systems/none.toml", "--trace", name]), "cannot read systems/none.toml");
    failed(&mut host_x86(&[SYSTEM, "--trace", "/nowhere/it"]), "there is no such folder");
    let scope = folder.path().join("scope");
    let scope = scope.to_str().expect("a path in UTF-8");
    // Its platform states no cache.
    failed(&mut host_x86(&[SYSTEM, "--cachescope", scope]), "states no cache that CPUs share");
    let no_plugin = "the plugin cachescope is missing";
    let mut command = host_x86(&[COLORS, "--cachescope", scope]);
    failed(command.env("BULKHEAD_CACHESCOPE", "/nowhere/it.so"), no_plugin);
}

#[test]
#[ignore = "needs an x86 host: make test-host-x86"]
fn ctrl_c_ends_a_run_and_leaves_no_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("it.trace");
    let name = trace.to_str().expect("a path in UTF-8");
    let mut command = host_x86(&[SYSTEM, "--trace", name]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // Cargo has become the program by then, and QEMU boots.
    thread::sleep(Duration::from_secs(4));
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("ended by a signal") && output.stdout.is_empty(), "{said}");
    assert!(!trace.exists());
}
