//! `bulkhead run --on kvm` on the KVM of this machine, with guests that must have been built (`make build`). Where VMs cannot
//! run, the tests say so and pass.
//!
//! Nothing here relies on a longest time: the machine may itself be a virtual one, from which CPUs are taken for milliseconds.

mod killed;
mod limits;
mod linux;
mod page;
mod planned;
mod proven;
mod restarts;
mod vcoloring;
mod virtual_cache;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Runs of which one must go as planned.
const ATTEMPTS: usize = 5;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.current_dir(ROOT).args(arguments);
    command
}

/// The output of the command, which waits while another process has VCPUs on the CPU.
fn bulkhead(arguments: &[&str]) -> Output {
    untaken(|| command(arguments).output().expect("bulkhead starts"))
}

/// The output of something that runs VMs, when no other process has VCPUs on the CPU.
fn untaken(output: impl Fn() -> Output) -> Output {
    let is_taken = |output: &Output| {
        let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
        out.contains(TAKEN) || err.contains(TAKEN)
    };
    let waits = || thread::sleep(Duration::from_millis(200));
    let mut attempts = (0..600).map(|_| output()).inspect(|it| {
        if is_taken(it) {
            waits()
        }
    });
    attempts.find(|it| !is_taken(it)).expect("the CPU is used by others for minutes")
}

/// What is said of a CPU with VCPUs of others.
const TAKEN: &str = "of this host is used by another run";

/// Waits until no other test here runs VMs.
fn alone() -> MutexGuard<'static, ()> {
    static RUNS: Mutex<()> = Mutex::new(());
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn json(arguments: &[&str]) -> Value {
    let output = bulkhead(&[&["--json"], arguments].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns true if VMs can run here.
fn is_host() -> bool {
    let lacks = json(&["measure", "host", "--cpus", "1"]);
    if lacks["can_run"] != true {
        eprintln!("skipped, because this host cannot run VMs: {lacks:#}");
    }
    lacks["can_run"] == true
}

/// The first example, with some lines replaced.
fn system(folder: &Path, replaced: &[(&str, &str)]) -> String {
    example(folder, "kvm-first", replaced)
}

fn example(folder: &Path, name: &str, replaced: &[(&str, &str)]) -> String {
    let text = std::fs::read_to_string(format!("{ROOT}/systems/{name}.toml"));
    let mut text = text.expect("the example").replace("../build", &format!("{ROOT}/build"));
    for (old, new) in replaced {
        assert!(text.contains(old), "{text}");
        text = text.replace(old, new);
    }
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).expect("a file");
    file.to_str().expect("a path in UTF-8").into()
}

fn task<'a>(run: &'a Value, name: &str) -> &'a Value {
    let vms = run["vms"].as_array().expect("VMs");
    let mut tasks = vms.iter().flat_map(|vm| vm["tasks"].as_array().expect("tasks"));
    tasks.find(|task| task["name"] == name).expect("the task")
}

#[test]
fn servers_keep_deadlines_that_are_missed_without() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let kept = system(folder.path(), &[]);
    let trace = folder.path().join("kvm.trace");
    let trace = trace.to_str().expect("a path in UTF-8");
    let mut runs = (0..ATTEMPTS).map(|_| json(&["run", "--on", "kvm", &kept, "--trace", trace]));
    let good = runs.find(|run| run["ok"] == true);
    let run = good.unwrap_or_else(|| panic!("no run of {ATTEMPTS} was well"));
    assert_eq!((&run["times"], &run["power_off"]), (&"measured".into(), &true.into()));
    assert!(["fast", "slow"].iter().all(|name| task(&run, name)["misses"] == 0), "{run:#}");

    let replayed = json(&["trace", "replay", trace, "--plan", &kept]);
    assert_eq!(replayed["ok"], true, "all decisions are those of the scheduler: {replayed:#}");
    is_within_budgets(trace);
    let simulated = format!("{trace}.sim");
    let simulation = ["sim", &kept, "--like", trace, "--trace", &simulated];
    assert!(bulkhead(&simulation).status.success());
    let compared = json(&["trace", "compare", &simulated, trace]);
    for name in ["fast", "slow"] {
        let mut tasks = compared["tasks"].as_array().expect("tasks").iter();
        let mean = &tasks.find(|it| it["task"] == name).expect("the task")["response_mean_ns"];
        let [sim, run] = [0, 1].map(|side| mean[side].as_f64().expect("a time"));
        assert!((sim - run).abs() < 5e6, "{compared:#}");
    }

    let server = |kind| format!("server = \"{kind}\"\nbudget = \"4ms\"\nperiod = \"10ms\"\n");
    let none = "server = \"background\"\n";
    let replaced = [(&*server("periodic"), none), (&*server("deferrable"), none)];
    let run = json(&["run", "--on", "kvm", &system(folder.path(), &replaced)]);
    let fast = task(&run, "fast");
    assert!(fast["misses"].as_u64() > Some(0), "nothing holds `burn` back: {run:#}");
    assert!(fast["response_max_ns"].as_u64() > Some(500_000_000), "{run:#}");
}

/// Acts of tasks with resources, in the order of a trace: what, and the VM.
fn sections(trace: &str) -> Vec<(String, String)> {
    let csv = bulkhead(&["trace", "export", trace, "--to", "csv", "-o", "-"]).stdout;
    let csv = String::from_utf8(csv).expect("text");
    let acts = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let acts = acts.filter(|it| ["lock", "lock-wait", "unlock", "end-gcs"].contains(&it[3]));
    acts.map(|it| (it[3].into(), it[4].into())).collect()
}

/// Runs a system until it goes as planned. All its decisions are those of the scheduler. Returns the run, and the name of its
/// trace.
fn recorded(folder: &Path, file: &str) -> (Value, String) {
    let trace = folder.join("run.trace");
    let trace = trace.to_str().expect("a path in UTF-8");
    let mut runs = (0..ATTEMPTS).map(|_| json(&["run", "--on", "kvm", file, "--trace", trace]));
    let good = runs.find(|run| run["ok"] == true);
    let run = good.unwrap_or_else(|| panic!("no run of {ATTEMPTS} was well"));
    let replayed = json(&["trace", "replay", trace, "--plan", file]);
    assert_eq!(replayed["ok"], true, "all decisions are those of the scheduler: {replayed:#}");
    (run, trace.into())
}

/// Runs the system with resources until it goes as planned. Returns the run and its sections, of which no two are at the same
/// time.
fn shared(folder: &Path, replaced: &[(&str, &str)]) -> (Value, Vec<(String, String)>) {
    // A second instead of 2.5, so that the test takes the CPU from others for less time.
    let short = [("tasks.ms=2500", "tasks.ms=1000"), ("/700000\"", "/200000\"")];
    let file = example(folder, "kvm-locks", &[&short, replaced].concat());
    let (run, trace) = recorded(folder, &file);
    let sections = sections(&trace);
    let mut owner = None;
    for (act, vm) in &sections {
        match &**act {
            "lock" => assert_eq!(owner.replace(vm), None, "{sections:?}"),
            "unlock" | "end-gcs" => assert_eq!(owner.take(), Some(vm), "{sections:?}"),
            _ => {}
        }
    }
    (run, sections)
}

#[test]
fn vms_share_resources_and_their_priorities_follow_the_protocol() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let count = |sections: &[(String, String)], act: &str, vm: &str| {
        sections.iter().filter(|it| it.0 == act && it.1 == vm).count()
    };
    let (run, sections) = shared(folder.path(), &[]);
    for (vm, name, jobs) in
        [("control", "loop", 23), ("control", "show", 4), ("sensor", "write", 16)]
    {
        assert_eq!(task(&run, name)["misses"], 0, "{run:#}");
        assert!(count(&sections, "lock", vm) >= jobs, "{sections:?}");
    }
    let kept = count(&sections, "lock-wait", "sensor");

    let mpcp = [("platform =", "locks = \"mpcp\"\nplatform ="), ("overrun = true\n", "")];
    let (_, sections) = shared(folder.path(), &mpcp);
    let waits = count(&sections, "lock-wait", "sensor");
    // With vMPCP the VCPU in a section comes first, so that the other one cannot ask meanwhile, unless the host takes the CPU.
    assert!(waits > kept, "{kept} and {waits}: {sections:?}");
}

#[test]
fn a_section_that_takes_too_long_ends_and_others_keep_their_deadlines() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (run, sections) = shared(folder.path(), &[("buffer:1000", "buffer:9000")]);
    let ended = sections.iter().filter(|it| it.0 == "end-gcs").map(|it| &*it.1);
    let ended: Vec<_> = ended.collect();
    assert!(ended.len() > 4 && ended.iter().all(|vm| *vm == "sensor"), "{sections:?}");
    for name in ["loop", "show"] {
        assert_eq!(task(&run, name)["misses"], 0, "{run:#}");
    }
}

/// Most executions are no longer than the budget that was left, by more than a switch takes.
fn is_within_budgets(trace: &str) {
    let csv = bulkhead(&["trace", "export", trace, "--to", "csv", "-o", "-"]).stdout;
    let csv = String::from_utf8(csv).expect("text");
    let acts: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let acts: Vec<_> = acts.iter().filter(|it| it[3] == "run" || it[3] == "idle").collect();
    let number = |text: &str| text.parse::<i64>().expect("a number");
    let beyond = acts.windows(2).filter(|pair| pair[0][3] == "run" && !pair[0][9].is_empty());
    let beyond = beyond.map(|pair| number(pair[1][0]) - number(pair[0][0]) - number(pair[0][9]));
    let mut beyond: Vec<i64> = beyond.collect();
    beyond.sort_unstable();
    assert!(beyond.len() > 200, "{} executions", beyond.len());
    let [median, most] = [500, 950].map(|part| beyond[beyond.len() * part / 1000]);
    assert!(median < 100_000 && most < 1_000_000, "beyond budgets: {median} and {most} ns");
}

#[test]
fn runs_that_take_too_long_are_stopped() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let run = json(&["run", "--on", "kvm", "systems/kvm-first.toml", "--timeout", "500ms"]);
    assert_eq!((&run["result"], &run["ok"]), (&"timed-out".into(), &false.into()));
    let states = run["vms"].as_array().expect("VMs").iter().map(|vm| &vm["state"]);
    assert!(states.eq(&["running", "running", "running"]), "{run:#}");
    assert!(run["elapsed_ms"].as_u64() < Some(5_000), "{run:#}");
}

#[test]
fn a_log_that_is_cut_off_is_told_once() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let arguments = ["--timeout", "300ms", "--log", "/dev/full"];
    let run = json(&[&["run", "--on", "kvm", "systems/kvm-first.toml"], &arguments[..]].concat());
    let problems = run["problems"].as_array().expect("problems").iter();
    let told = problems.filter_map(Value::as_str).filter(|it| it.contains("is cut off"));
    let told: Vec<_> = told.collect();
    let [told] = told[..] else { panic!("{run:#}") };
    assert!(told.starts_with("the log /dev/full is cut off: No space left"), "{told}");
}

#[test]
fn what_is_not_there_under_kvm_is_refused() {
    let _alone = alone();
    let refused = |arguments: &[&str], message: &str| {
        let output = bulkhead(&[&["run", "--on", "kvm"], arguments].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(message), "{text}");
    };
    refused(&["systems/servers.toml"], "the platform `qemu-virt` is no Linux host with KVM");
    refused(
        &["systems/kvm-first.toml", "--deterministic"],
        "`--deterministic` has a meaning on QEMU only",
    );
    for command in ["run", "top", "prove"] {
        let file = "systems/kvm-first.toml";
        let output = bulkhead(&[command, file, "--on", "kvm", "--hypervisor", "h.elf"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("`--hypervisor` has a meaning on QEMU only\nhelp: "), "{text}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let small = system(folder.path(), &[("\"4MiB\"", "\"512KiB\"")]);
    if is_host() {
        refused(&[&small], "does not fit its RAM");
        // Before anything starts, which would make the log.
        let log = folder.path().join("log");
        let path = log.to_str().expect("a path in UTF-8");
        let nowhere = ["systems/kvm-first.toml", "--log", path, "--trace", "/nowhere/it.trace"];
        refused(&nowhere, "cannot write /nowhere/it.trace");
        assert!(!log.exists());
    }
    let checkout = tempfile::tempdir().expect("a folder");
    let guests = checkout.path().join("guests/programs");
    std::fs::create_dir_all(&guests).expect("a folder");
    for file in [checkout.path().join("Makefile"), guests.join("Cargo.toml")] {
        std::fs::write(file, "").expect("a file");
    }
    let missing = checkout.path().join("build/guests/x86-64/rt-tasks.bin");
    let missing = missing.to_str().expect("a path in UTF-8");
    let path = format!("{ROOT}/build/guests/x86-64/rt-tasks.bin");
    let file = system(folder.path(), &[(&path, missing)]);
    if is_host() {
        refused(&[&file], "help: `cargo xtask build guests-x86` makes it");
    }
    let board = "[platform]\nboard = \"linux-kvm\"\nhypervisor_memory = \"64MiB\"";
    let file = system(folder.path(), &[("platform = \"linux-kvm\"", board)]);
    refused(&[&file], "under KVM there is no hypervisor that could have this");
    let place = "memory = \"4MiB\"\nmemory_at = 0x1000_0000";
    let file = system(folder.path(), &[("memory = \"4MiB\"", place)]);
    refused(&[&file], "under KVM there are no places of RAM in the machine yet");
    let aborts = "memory = \"4MiB\"\non_bad_address = \"abort\"";
    let file = system(folder.path(), &[("memory = \"4MiB\"", aborts)]);
    refused(&[&file], "under KVM there are no aborts of accesses where a VM has nothing yet");
    let ways = "name = \"burn\"\nways = \"0-1\"";
    let file = system(folder.path(), &[("name = \"burn\"\nboot", &format!("{ways}\nboot"))]);
    refused(&[&file], "VMs `burn` and `control` both have VCPUs on PCPU 0, and different `ways`");
    if json(&["measure", "host", "--cpus", "1"])["can_divide"] == false {
        let same = "memory = \"4MiB\"\nways = \"0-1\"\nbandwidth_percent = 50";
        let file = system(folder.path(), &[("memory = \"4MiB\"", same)]);
        refused(&[&file], "VMs with `ways` or `bandwidth_percent` cannot run on this host");
    }
}

#[test]
fn a_note_says_what_changes_nothing() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let replaced = ("name = \"burn\"\n", "name = \"burn\"\nconsole = false\n");
    let silent = system(folder.path(), &[replaced]);
    for (file, noted) in [(&*silent, true), ("systems/kvm-first.toml", false)] {
        let run = json(&["run", "--on", "kvm", file, "--timeout", "100ms"]);
        let notes = run["notes"].as_array().expect("notes").iter();
        let notes: Vec<_> = notes.filter_map(Value::as_str).collect();
        let note = "`console = false` (VM `burn`) changes nothing";
        assert_eq!(notes.iter().any(|it| it.contains(note)), noted, "{notes:?}");
    }
}

#[test]
fn each_lack_of_rights_is_an_error_with_a_help_of_its_own() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can run a command without rights");
    }
    let arguments = ["--json", "run", "--on", "kvm", "systems/kvm-first.toml"];
    let mut command = command(&arguments);
    // Where others may not read what was built, nothing can be tried.
    let Ok(output) = command.uid(NOBODY).gid(NOBODY).output() else { return };
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(output.status.code(), Some(2), "{document:#}");
    let errors = document["errors"].as_array().expect("errors");
    let is_there = |code: &str| errors.iter().any(|it| it["code"] == code);
    assert!(is_there("real-time-rights") || is_there("cannot-read"), "{document:#}");
    for error in errors.iter().filter(|it| it["code"] != "cannot-read") {
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with("VMs cannot run on this host: "), "{document:#}");
        assert!(!message.contains("help") && error["help"].is_string(), "{document:#}");
    }
}

#[test]
fn a_second_run_on_the_same_cpu_is_refused_until_the_first_one_has_ended() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let arguments = ["run", "--on", "kvm", "systems/kvm-first.toml"];
    let short = [&arguments[..], &["--timeout", "100ms"]].concat();
    // Others are waited for.
    assert_eq!(bulkhead(&short).status.code(), Some(1));
    let mut first = command(&arguments).stdout(Stdio::piped()).spawn().expect("bulkhead starts");
    let mut lines = BufReader::new(first.stdout.take().expect("its output")).lines();
    assert!(lines.any(|line| line.expect("text").contains("ready")), "it runs");
    let second = command(&short).output().expect("bulkhead starts");
    let text = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{text}");
    let process = format!("CPU 1 {TAKEN} (process {})", first.id());
    assert!(text.contains(&process) && text.contains("help: "), "{text}");
    first.kill().expect("it runs");
    first.wait().expect("it has ended");
}

/// What this process has of files in memory for VMs with colours, in pages.
fn pages_of(process: u32) -> Option<usize> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let maps = maps.lines().filter(|line| line.contains("memfd:bulkhead-colors"));
    let bytes = maps.filter_map(|line| {
        let (first, end) = line.split(' ').next()?.split_once('-')?;
        Some(usize::from_str_radix(end, 16).ok()? - usize::from_str_radix(first, 16).ok()?)
    });
    Some(bytes.sum::<usize>() / 4096)
}

/// Returns true if VMs can have colours here.
fn has_colors() -> bool {
    let lacks = json(&["measure", "host", "--cpus", "1"]);
    if lacks["can_color"] != true {
        eprintln!("skipped, because VMs cannot have colours on this host: {lacks:#}");
    }
    lacks["can_color"] == true
}

const COLORS: &str = "systems/kvm-colors.toml";
/// Part of the message of a run whose frames were moved before its VMs started.
const MOVED: &str = "Linux has moved";

#[test]
fn vms_have_frames_of_their_colours_and_the_documentation_says_how() {
    let page =
        std::fs::read_to_string(format!("{ROOT}/docs/how-to/run-on-kvm.md")).expect("a page");
    let section = page.split("\n## ").find(|it| it.starts_with("Cache colours")).expect("it");
    for command in ["check", "run --on kvm"] {
        assert!(section.contains(&format!("bulkhead {command} {COLORS}\n")), "{section}");
    }
    let check = json(&["check", COLORS]);
    assert_eq!(check["ok"], true, "{check:#}");
    let _alone = alone();
    if !has_colors() {
        return;
    }
    let mut runs = (0..ATTEMPTS).map(|_| json(&["run", "--on", "kvm", COLORS]));
    let good = runs.find(|run| run["ok"] == true);
    let run = good.unwrap_or_else(|| panic!("no run of {ATTEMPTS} was well"));
    let vms = run["colors"]["vms"].as_array().expect("VMs with colours").iter();
    let vms = vms.map(|vm| (vm["name"].as_str(), vm["colors"].as_str(), vm["pages"].as_u64()));
    let pages = Some((4 << 20) / 4096 + 16);
    let expected = [(Some("burn"), Some("16-31"), pages), (Some("control"), Some("0-15"), pages)];
    assert!(vms.eq(expected), "{run:#}");
    assert!(run["colors"]["looks"].as_u64() >= Some(3), "{run:#}");
    // The example has the cache of another machine than most.
    let size = std::fs::read_to_string("/sys/devices/system/cpu/cpu1/cache/index3/size");
    let differs = size.map_or(true, |size| size.trim() != "8192K");
    let notes = || run["notes"].as_array().expect("notes").iter().filter_map(Value::as_str);
    let told =
        notes().any(|note| note.starts_with("colours divide a last-level cache of 8 MiB in"));
    assert!(told || !differs, "{run:#}");
    // What the page shows is what the run says, but for the number of looks.
    for (note, start) in [(0, "only RAM and"), (1, "all frames of VMs")] {
        let notes = run["notes"].as_array().expect("notes").iter().filter_map(Value::as_str);
        let said =
            notes.clone().find(|it| it.starts_with(start)).unwrap_or_else(|| panic!("{run:#}"));
        let (said, shown) = match said.split_once(" times, ") {
            Some((_, rest)) if note == 1 => (rest, section.split_once(" times, ").map(|it| it.1)),
            _ => (said, Some(section)),
        };
        assert!(shown.is_some_and(|it| it.contains(said)), "{said}");
    }
}

#[test]
fn colours_that_cannot_be_had_are_refused_and_nothing_is_left() {
    let _alone = alone();
    if !has_colors() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [log, trace] = ["log", "trace"].map(|name| folder.path().join(name));
    let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    // One colour of 32 for 2 GiB: 64 GiB of RAM have so many frames of it.
    let large = [("\"16-31\"", "\"16\""), ("\"4MiB\"", "\"2GiB\"")];
    let file = example(folder.path(), "kvm-colors", &large);
    let output =
        bulkhead(&["run", "--on", "kvm", &file, "--log", &text(&log), "--trace", &text(&trace)]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let needed = format!("of {}", (2u64 << 30) / 4096 + 16);
    assert!(said.contains("of colour 16 about ") && said.contains(&needed), "{said}");
    assert!(!said.contains("of colour 0 "), "there are enough of the others: {said}");
    assert!(said.contains("help: ") && !log.exists() && !trace.exists(), "{said}");

    let own = [("wcet = \"8ms\"\n", "wcet = \"8ms\"\ncolors = \"3\"\n")];
    let refused = bulkhead(&["run", "--on", "kvm", &example(folder.path(), "kvm-colors", &own)]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("under KVM there are no colours for tasks other than"), "{said}");
}

#[test]
fn without_the_right_to_see_frames_only_vms_with_colours_are_refused() {
    let _alone = alone();
    if !has_colors() {
        return;
    }
    let run = |file| {
        let mut command = Command::new("setpriv");
        command.current_dir(ROOT).args(["--bounding-set", "-sys_admin", "--"]);
        command.arg(env!("CARGO_BIN_EXE_bulkhead")).args(["run", "--on", "kvm", file]);
        command.args(["--timeout", "100ms"]).output()
    };
    let Ok(refused) = run(COLORS) else { return eprintln!("skipped: there is no setpriv") };
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("VMs with colours cannot run on this host: Linux hides"), "{said}");
    assert!(said.contains("CAP_SYS_ADMIN"), "{said}");
    let others = run("systems/kvm-first.toml").expect("setpriv is there");
    let said = String::from_utf8_lossy(&others.stderr);
    assert!(
        !said.contains("colours") && (others.status.code() == Some(1) || said.contains(TAKEN)),
        "{said}"
    );
}

/// Linux moves locked memory when it makes huge pages, but no memory that is pinned.
#[test]
fn frames_of_vms_are_not_moved_by_compaction() {
    let _alone = alone();
    let pins = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    if !has_colors() || pins.is_ok_and(|it| it.trim() == "2") {
        return eprintln!("skipped: no memory can be pinned here");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = example(folder.path(), "kvm-colors", &[("\"4MiB\"", "\"64MiB\"")]);
    let arguments = ["--json", "run", "--on", "kvm", &file];
    let output = untaken(|| {
        let run = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let run = run.expect("bulkhead starts");
        for _ in 0..6 {
            thread::sleep(Duration::from_millis(400));
            // Linux does by itself what root asks for here.
            let _ = std::fs::write("/proc/sys/vm/compact_memory", "1");
        }
        run.wait_with_output().expect("it ends")
    });
    let run: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let vms = run["colors"]["vms"].as_array().unwrap_or_else(|| panic!("no colours: {run:#}"));
    assert!(vms.iter().all(|vm| vm["pages"] == 16_400 && vm["lost"] == 0), "{run:#}");
}

#[test]
fn ctrl_c_ends_a_run_with_colours_in_each_phase_and_the_next_one_works() {
    let _alone = alone();
    if !has_colors() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // Some of these searches take a second.
    let large = [("\"4MiB\"", "\"64MiB\""), ("\"16-31\"", "\"16-17\"")];
    let file = example(folder.path(), "kvm-colors", &large);
    let trace = folder.path().join("it.trace");
    let mut searched = 0;
    for wait in [20, 60, 150, 300, 600, 1_200, 2_400] {
        let name = trace.to_str().expect("a path in UTF-8");
        let child = command(&["run", "--on", "kvm", &file, "--trace", name])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("bulkhead starts");
        thread::sleep(Duration::from_millis(wait));
        let pages = pages_of(child.id()).unwrap_or(0);
        searched += usize::from(pages > 2 * (16_384 + 16));
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        // Before it catches signals, the signal kills it; another test may have the CPU; and Linux moves pages when it likes.
        let status = output.status.code();
        assert!([None, Some(130), Some(2)].contains(&status), "{status:?} after {wait} ms: {said}");
        assert!(status != Some(2) || said.contains(TAKEN) || said.contains(MOVED), "{said}");
    }
    assert!(searched > 0, "no search was interrupted");
    let mut runs =
        (0..ATTEMPTS).map(|_| json(&["run", "--on", "kvm", COLORS, "--timeout", "200ms"]));
    let last = runs.find(|run| run["result"] == "timed-out");
    assert!(last.is_some(), "no run of {ATTEMPTS} works after those that were interrupted");
}
