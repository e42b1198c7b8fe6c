//! Runs whose process is killed, in each phase: nothing is left of them, and the next run works.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::{COLORS, ROOT, TAKEN, alone, command, has_colors, is_host, json};

/// Settings of the host that have to do with real-time threads and with memory.
const SETTINGS: [&str; 4] = [
    "kernel/sched_rt_runtime_us",
    "kernel/sched_rt_period_us",
    "vm/max_map_count",
    "vm/compact_unevictable_allowed",
];

fn settings() -> Vec<Option<String>> {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).ok();
    SETTINGS
        .iter()
        .map(|name| read(name))
        .chain([fs::read_to_string("/sys/devices/system/cpu/online").ok()])
        .collect()
}

/// What is in the folder for runs, but for logs.
fn scratch() -> Vec<String> {
    let entries = fs::read_dir(format!("{ROOT}/build/run")).into_iter().flatten();
    let names = entries.map(|it| it.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| name.starts_with("kvm-") && !name.ends_with(".log")).collect();
    names.sort();
    names
}

/// The thread of the process with VCPUs.
fn of_vcpus(process: &Child) -> Option<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", process.id())).ok()?.flatten();
    let mut threads = threads.map(|it| it.path());
    let named =
        |it: &Path| fs::read_to_string(it.join("comm")).is_ok_and(|it| it.starts_with("pcpu"));
    let thread = threads.find(|it| named(it))?;
    Pid::from_raw(thread.file_name()?.to_str()?.parse().ok()?)
}

/// When a run is killed.
#[derive(Clone, Copy, Debug)]
enum Kill {
    /// So many milliseconds after its start: while it looks for frames, and makes VMs.
    Early(u64),
    /// While its VMs run.
    Running,
    /// The same, by its thread with VCPUs.
    Vcpus,
}

/// Starts a run without a trace that anybody asked for, and kills it.
fn killed(file: &str, kill: Kill) -> u32 {
    let mut run = command(&["run", "--on", "kvm", file]);
    let mut run =
        run.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("bulkhead starts");
    let mut victim = Some(Pid::from_child(&run));
    match kill {
        Kill::Early(ms) => thread::sleep(Duration::from_millis(ms)),
        Kill::Running | Kill::Vcpus => {
            let mut lines = BufReader::new(run.stdout.as_mut().expect("its output")).lines();
            // It ends at once where another process has the CPU.
            if lines.any(|line| line.expect("text").contains("ready")) {
                thread::sleep(Duration::from_millis(300));
                if let Kill::Vcpus = kill {
                    victim = Some(of_vcpus(&run).expect("its VMs run"));
                }
            } else {
                victim = None;
            }
        }
    }
    if let Some(victim) = victim {
        kill_process(victim, Signal::KILL).expect("it is ours");
    }
    let status = run.wait().expect("it has ended");
    assert!(status.code().is_none_or(|it| it == 2), "{kill:?}: {status}");
    run.id()
}

#[test]
fn nothing_is_left_of_a_run_that_is_killed_and_the_next_one_works() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let file = if has_colors() { COLORS } else { "systems/kvm-first.toml" };
    let (settings_before, scratch_before) = (settings(), scratch());
    let short = ["--json", "run", "--on", "kvm", file, "--timeout", "100ms"];
    for kill in [Kill::Early(5), Kill::Early(25), Kill::Early(60), Kill::Running, Kill::Vcpus] {
        let process = killed(file, kill);
        assert!(!Path::new(&format!("/proc/{process}")).exists(), "{kill:?}");
        let next = command(&short).output().expect("bulkhead starts");
        let said = String::from_utf8_lossy(&next.stdout);
        assert!(!said.contains(&format!("{TAKEN} (process {process})")), "{kill:?}: {said}");
        assert_eq!(settings(), settings_before, "{kill:?}");
    }
    // One that nobody delays: it works, and has removed what the others left.
    assert_eq!(json(&short[1..])["result"], "timed-out");
    let left: Vec<_> = scratch().into_iter().filter(|it| !scratch_before.contains(it)).collect();
    assert!(left.is_empty(), "{left:?}");
}
