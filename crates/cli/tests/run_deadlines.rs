//! What `bulkhead run` says of deadlines: by the marks of real guests and the description, not by what guests print. The
//! guests must have been built (`make build`).

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Name, execution time, deadline and period of a task; the first one goes first.
type Described = (&'static str, &'static str, &'static str, &'static str);

/// `rt-demo`, which runs tasks for 100, 301 and 1,002 us every 5, 10 and 20 ms, and says that it misses no deadline.
fn system(tasks: &[Described]) -> String {
    let mut text = format!(
        "platform = \"qemu-virt\"\n[[vm]]\nname = \"rt\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
         kernel = \"{ROOT}/build/guests/rt-demo.bin\"\nbootargs = \"rt.seconds=1\"\n"
    );
    for ((name, wcet, deadline, period), below) in tasks.iter().zip(1..) {
        let priority = 9 - below;
        text.push_str(&format!(
            "[[vm.task]]\nname = \"{name}\"\nperiod = \"{period}\"\nwcet = \"{wcet}\"\n\
             deadline = \"{deadline}\"\npriority = {priority}\n"
        ));
    }
    text
}

fn run(system: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.current_dir(ROOT).arg("run").arg(system).args(["--deterministic", "--until-off"]);
    command.args(["--timeout", "180s"]).args(more).output().expect("it starts")
}

/// The exit status, and what is printed of a system.
fn shown(tasks: &[Described], more: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rt.toml");
    std::fs::write(&file, system(tasks)).expect("it can be written");
    let output = run(&file, more);
    (output.status.code(), String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn a_guest_that_says_it_is_in_time_can_be_late() {
    let (status, text) = shown(&[("fast", "40us", "50us", "5ms")], &["--json"]);
    let document: Value = serde_json::from_str(&text).expect("a document");
    let task = &document["vms"][0]["tasks"][0];
    assert_eq!((status, &document["ok"]), (Some(1), &json!(false)));
    assert_eq!(
        [&task["name"], &task["jobs"], &task["misses"], &task["deadline_ns"], &task["ok"]],
        [&json!("fast"), &json!(200), &json!(200), &json!(50_000), &json!(false)]
    );
    assert_eq!(document["problems"], json!(["task `fast` of VM `rt` missed 200 of 200 deadlines"]));
    assert_eq!(document["times"], "turns");
}

/// The first job of `short` waits for 25 ms, so that its next two releases are dropped. All other jobs are in time.
#[test]
fn releases_that_are_dropped_make_no_other_job_late() {
    let task = |name: &str, period: &str, wcet: &str, priority: u8| {
        format!(
            "[[vm.task]]\nname = \"{name}\"\nperiod = \"{period}\"\nwcet = \"{wcet}\"\npriority = {priority}\n"
        )
    };
    let text = format!(
        "platform = \"qemu-virt\"\n[[vm]]\nname = \"rt\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
         kernel = \"{ROOT}/build/guests/rt-tasks.bin\"\n\
         bootargs = \"tasks.start_ms=100 tasks.ms=400 task0=long/0/1000000/0/25000 task1=short/0/10000/0/1000\"\n{}{}",
        task("long", "1s", "25ms", 2),
        task("short", "10ms", "1ms", 1),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rt.toml");
    std::fs::write(&file, text).expect("it can be written");
    let output = run(&file, &["--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let short = &document["vms"][0]["tasks"][1];
    let [jobs, misses] = ["jobs", "misses"].map(|key| short[key].as_u64().expect("a number"));
    assert_eq!((&short["name"], output.status.code()), (&json!("short"), Some(1)), "{document}");
    assert!((37..=40).contains(&jobs) && (1..=3).contains(&misses), "{short}");
}

/// Stands behind P5 of the safety manual.
#[test]
fn times_above_bounds_are_said_and_why_they_can_be() {
    let tasks = [("fast", "50us", "5ms", "5ms")];
    let (status, text) = shown(&tasks, &[]);
    assert_eq!(status, Some(0), "{text}");
    let note = text.lines().find(|line| line.starts_with("note: task `fast` of VM `rt` took 10"));
    let note = note.unwrap_or_else(|| panic!("{text}"));
    assert!(
        note.contains("longer than its bound of ") && note.contains("`--short-turns`"),
        "{note}"
    );
    assert!(text.ends_with("all is well\n"), "{text}");
    // Where times are exact, that is no note.
    let (status, text) = shown(&tasks, &["--short-turns"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("not well: task `fast` of VM `rt` took 10"), "{text}");
}

/// While another PCPU executes, QEMU's clock runs on for this one, too: that refutes no bound.
#[test]
fn times_are_no_proof_while_other_cpus_of_qemu_are_busy() {
    let busy = format!(
        "[[vm]]\nname = \"busy\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"{ROOT}/build/guests/rt-tasks.bin\"\n\
         bootargs = \"tasks.start_ms=20 tasks.ms=1000 task0=spin/0/10000/0/9000\"\n"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rt.toml");
    let text = system(&[("fast", "120us", "5ms", "5ms")]);
    std::fs::write(&file, text + &busy).expect("it can be written");
    let output = run(&file, &["--short-turns", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let told = [&document["times"], &document["problems"]];
    assert_eq!((output.status.code(), told), (Some(0), [&json!("shared"), &json!([])]));
    let note = document["notes"][0].as_str().unwrap_or_default();
    let parts = ["`fast` of VM `rt` took", "longer than its bound of", "share a clock"];
    assert!(parts.iter().all(|part| note.contains(part)), "{document:#}");
}

/// Stands behind P19 of the safety manual.
#[test]
fn all_is_not_well_where_nobody_looked() {
    let tasks = [
        ("fast", "120us", "5ms", "5ms"),
        ("medium", "320us", "10ms", "10ms"),
        ("slow", "1.1ms", "20ms", "20ms"),
        ("ghost", "10us", "20ms", "20ms"),
    ];
    let (status, text) = shown(&tasks, &["--short-turns"]);
    assert_eq!(status, Some(0), "{text}");
    let end = "nothing went wrong, but no complete job was seen of `ghost` of `rt`\n";
    assert!(text.ends_with(end), "{text}");
    let (_, text) = shown(&tasks, &["--short-turns", "--json"]);
    let document: Value = serde_json::from_str(&text).expect("a document");
    let verdicts = [0, 1, 2, 3].map(|task| document["vms"][0]["tasks"][task]["ok"].clone());
    assert_eq!(verdicts, [json!(true), json!(true), json!(true), json!(null)]);
    let (_, text) = shown(&tasks[..3], &["--short-turns"]);
    assert!(text.ends_with("all is well\n"), "{text}");
}

#[test]
fn a_job_that_fails_fails_the_run() {
    let output = run(Path::new("systems/demo.toml"), &["--append", "linux=bulkhead.job=nonsense"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(1), "{text}");
    let why = "not well: VM `linux` says: job FAILED: none is called 'nonsense'";
    assert!(text.contains(why), "{text}");
}

/// QEMU goes straight to the deadline of the next timer. With one at the end of time it did not come back: it could not be
/// asked to end, and what plugins count was lost.
#[test]
fn a_guest_that_sleeps_for_ever_can_be_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    // wfi; b -4
    let guest = [0xd503_207f_u32, 0x17ff_ffff].map(u32::to_le_bytes).concat();
    std::fs::write(folder.path().join("sleeper.bin"), guest).expect("it can be written");
    let file = folder.path().join("sleeper.toml");
    let text = "platform = \"qemu-virt\"\n[[vm]]\nname = \"sleeper\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
                kernel = \"sleeper.bin\"\n[[vm.vcpu]]\npcpu = 0\nserver = \"sporadic\"\nbudget = \"3ms\"\n\
                period = \"10ms\"\n";
    std::fs::write(&file, text).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.current_dir(ROOT).arg("run").arg(&file).args([
        "--deterministic",
        "--timeout",
        "3s",
        "--json",
    ]);
    let output = command.output().expect("it starts");
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!((output.status.code(), &document["result"]), (Some(1), &json!("timed-out")));
    let elapsed = document["elapsed_ms"].as_u64().expect("a time");
    // One that has to be killed takes 5 s longer.
    assert!((3_000..7_500).contains(&elapsed), "{elapsed} ms");
    let problem = document["problems"][0].as_str().expect("a sentence");
    assert!(
        problem.ends_with("all VCPUs waited, and no timer was set that would wake one"),
        "{problem}"
    );
    assert_eq!(document["qemu_messages"], "");
}

/// Data from a task of one VM to a task of another one: as old as the bound allows where the reader
/// starts just before the writer is done, and never older. The guests measure it, and so does the run.
///
/// Stands behind P10 of the safety manual.
#[test]
fn data_of_a_chain_is_no_older_than_its_bound() {
    let root = Path::new(ROOT);
    let text = std::fs::read_to_string(root.join("systems/channel.toml")).expect("a system");
    let text = text.replace("\"../build/", &format!("\"{ROOT}/build/"));
    assert!(text.contains("control/0/10000/3000/"));
    let text = text.replace("control/0/10000/3000/", "control/0/10000/1900/");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("channel.toml");
    std::fs::write(&path, text).expect("the folder is writable");
    let mut check = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let output = check.arg("check").arg(&path).arg("--json").output().expect("it starts");
    let checked: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let bound = checked["analysis"]["chains"][0]["age_ns"].as_u64().expect("a bound");
    let output = run(&path, &["--short-turns"]);
    let out = String::from_utf8(output.stdout).expect("text");
    let line = out.lines().find(|line| line.contains("tasks: data task=control"));
    let line = line.unwrap_or_else(|| panic!("{out}"));
    let of = |key: &str| -> u64 {
        let mut words = line.split_whitespace();
        let value = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        value.and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    // The data that is held longest: of the last job before the writer's, until the next one is done.
    let held = 1000 * of("held_max_us");
    assert!(held <= bound, "{held} {bound}\n{out}");
    assert!(held + 1_000_000 >= bound, "the bound is nearly reached: {held} {bound}\n{out}");
    assert!(out.contains("follow"), "the run shows the chain\n{out}");
}

/// A task of one VM rings when it is done, and each ring releases a job of another VM: on PCPUs of their own, and where
/// both share one. By the marks of the guests the chain takes no longer than its bound.
#[test]
fn rings_release_jobs_within_the_bound_of_their_chain() {
    let alone = ["", ""];
    let server = |budget: u64| {
        format!(
            "[[vm.vcpu]]\npcpu = 1\nserver = \"periodic\"\nbudget = \"{budget}ms\"\nperiod = \"5ms\"\n"
        )
    };
    let (first, second) = (server(2), server(1));
    for (vcpus, least) in [(alone, 12_900_000), ([first.as_str(), &second], 12_900_000)] {
        let vm = |name: &str, vcpu: &str, arguments: &str, task: &str| {
            format!(
                "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
                 kernel = \"{ROOT}/build/guests/rt-tasks.bin\"\nbootargs = \"tasks.ms=2000 task0={arguments}\"\n\
                 {vcpu}[[vm.task]]\n{task}\n"
            )
        };
        let writer = "name = \"route\"\nperiod = \"10ms\"\nwcet = \"2.2ms\"\nrings = \"pose\"";
        let reader =
            "name = \"control\"\ntriggered_by = \"pose\"\nwcet = \"1.2ms\"\ndeadline = \"40ms\"";
        let text = format!(
            "platform = \"qemu-virt\"\n[[channel]]\nname = \"pose\"\nfrom = \"plan\"\nto = [\"drive\"]\n\
             ring_every = \"10ms\"\n[[chain]]\nname = \"follow\"\nsteps = [\"plan.route\", \"drive.control\"]\n\
             {}{}",
            vm("plan", vcpus[0], "route/0/10000/0/2000+>pose!", writer),
            vm("drive", vcpus[1], "control/0/bell/0/<pose+1000", reader),
        );
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rings.toml");
        std::fs::write(&path, text).expect("the folder is writable");
        let output = run(&path, &["--json"]);
        let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
        assert_eq!(document["ok"], json!(true), "{document:#}");
        let chain = &document["chains"][0];
        let of = |key: &str| chain[key].as_u64().unwrap_or_else(|| panic!("{key}: {document:#}"));
        for (found, bound) in [("reaction_max_ns", "reaction_ns"), ("age_max_ns", "age_ns")] {
            assert!(of(found) <= of(bound), "{found}: {chain:#}");
            assert!(of(found) >= least, "a period, and both tasks: {chain:#}");
        }
        // One job for each of 200 rings, but for those before the reader starts.
        assert!(of("outputs") >= 190, "{chain:#}");
        let task = &document["vms"][1]["tasks"][0];
        assert_eq!((&task["name"], &task["misses"]), (&json!("control"), &json!(0)), "{task:#}");
        assert!((190..=200).contains(&task["jobs"].as_u64().unwrap_or(0)), "{task:#}");
    }
}

/// A VM rings from two PCPUs without a pause, one of them that of the reader: neither the task that its rings release nor the
/// one below takes longer than its bound, which knows the limit on rings only.
///
/// Stands behind P15 of the safety manual.
#[test]
fn a_writer_that_rings_without_a_pause_makes_no_task_late() {
    let guest = |name: &str| format!("kernel = \"{ROOT}/build/guests/{name}.bin\"");
    let (storm, tasks) = (guest("rt-storm"), guest("rt-tasks"));
    let text = format!(
        r#"
platform = "qemu-virt"
[[channel]]
name = "bell"
from = "attacker"
to = ["drive"]
ring_every = "2ms"
ring_burst = 4
[[vm]]
name = "attacker"
boot = "raw"
memory = "4MiB"
{storm}
bootargs = "storm.start_ms=20 storm.mode=ring storm.attackers=1 storm.ms=160"
[[vm.vcpu]]
pcpu = 0
[[vm.vcpu]]
pcpu = 1
server = "deferrable"
budget = "1ms"
period = "10ms"
priority = 9
[[vm]]
name = "drive"
boot = "raw"
memory = "16MiB"
{tasks}
bootargs = """
tasks.start_ms=20 tasks.ms=120 tasks.order=0,1,2,3
task0=control/0/bell/0/<bell+500 task1=below/0/20000/0/3000"""
[[vm.vcpu]]
pcpu = 1
server = "periodic"
budget = "7ms"
period = "10ms"
priority = 5
[[vm.task]]
name = "control"
triggered_by = "bell"
wcet = "0.6ms"
deadline = "40ms"
priority = 2
[[vm.task]]
name = "below"
period = "20ms"
wcet = "3.1ms"
priority = 1
"#
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flood.toml");
    std::fs::write(&path, text).expect("the folder is writable");
    let output = run(&path, &["--short-turns", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(document["ok"], json!(true), "{document:#}");
    let tasks = document["vms"][1]["tasks"].as_array().expect("tasks");
    for (task, jobs) in tasks.iter().zip([40, 6]) {
        let of = |key: &str| task[key].as_u64().unwrap_or_else(|| panic!("{key}: {task:#}"));
        assert!(of("jobs") >= jobs && of("response_max_ns") <= of("bound_ns"), "{task:#}");
    }
    // At the other end, jobs of `control` delay `below`.
    assert!(tasks[1]["response_max_ns"].as_u64() > Some(4_000_000), "{tasks:#?}");
}
