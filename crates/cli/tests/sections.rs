//! Tasks with critical sections on the real hypervisor, beside their simulation: the case study of vMPCP
//! (`systems/locks.toml`), and the resources of one VM. A run takes a second.

mod real;

use std::collections::BTreeMap;

use real::{Recorded, project, succeeds};
use trace::{Event, LockStep, Trace};

/// By how many microseconds a response may differ from a simulation in which nothing takes time but tasks.
/// Releases, switches and calls take less than 10 each; QEMU's CPUs share one clock, so that each takes up
/// to four times as long.
const RESOLUTION: u64 = 150;

/// The tasks of both VMs, with the schemes of the case study.
fn case_study(scheme: &str, budget: &str) -> String {
    let system = std::fs::read_to_string(project().join("systems/locks.toml")).expect("a system");
    let kernel = project().join("build/guests/rt-tasks.bin");
    let kernel = format!("{:?}", kernel.to_str().expect("a path in UTF-8"));
    let system = system.replace("\"../build/guests/rt-tasks.bin\"", &kernel);
    let system = system.replace("budget = \"3ms\"", &format!("budget = {budget:?}"));
    // A guest wakes a few times more often than its tasks, and pays each time for what siblings can do meanwhile.
    let platform = "[platform]\nboard = \"qemu-virt\"\n[platform.overheads]\nlock = \"1us\"";
    let system = system.replace("platform = \"qemu-virt\"", platform);
    match scheme {
        "overrun" => system,
        _ => system
            .replace("locks = \"vmpcp\"", &format!("locks = {scheme:?}"))
            .replace("overrun = true", ""),
    }
}

/// Response times of the tasks in a simulation, in nanoseconds.
fn simulated(system: &str, until: &str) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("system.toml");
    std::fs::write(&path, system).expect("the folder is writable");
    let path = path.to_str().expect("a path in UTF-8");
    let out = succeeds(&["--json", "sim", path, "--until", until]);
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let tasks = document["tasks"].as_array().expect("tasks");
    let response = |task: &serde_json::Value| {
        let name = task["task"].as_str().expect("a name").to_owned();
        (name, task["response_max_ns"].as_u64().expect("a number"))
    };
    tasks.iter().map(response).collect()
}

/// Nobody gets a shared resource that another one has; returns how often tasks got one.
#[track_caller]
fn assert_exclusive(trace: &Trace) -> usize {
    let (mut owner, mut sections) = (None, 0);
    for (_, entry) in trace.merged() {
        match entry.event {
            Event::Lock { vcpu, step: LockStep::Lock, task, .. } => {
                assert_eq!(owner.replace((vcpu, task)), None, "{entry:?}");
                sections += 1;
            }
            Event::Lock { vcpu, step: LockStep::Unlock, task, .. } => {
                assert_eq!(owner.take(), Some((vcpu, task)), "{entry:?}");
            }
            _ => {}
        }
    }
    assert_eq!(owner, None, "somebody still has it");
    sections
}

#[track_caller]
fn assert_as_simulated(recorded: &Recorded, vms: &[&str], simulated: &BTreeMap<String, u64>) {
    for (task, simulated) in simulated {
        let line = format!("tasks: task {task} ");
        let vm = vms.iter().find(|vm| recorded.out.contains(&format!("[{vm}] {line}")));
        let vm = vm.unwrap_or_else(|| panic!("no {task}: {}", recorded.out));
        let executed = recorded.value(vm, &line, "response_max_ns") as u64;
        let off = executed.abs_diff(*simulated);
        assert!(off <= RESOLUTION * 1000, "{task}: {executed} ns, simulated {simulated}");
    }
}

/// Stands behind P7 of the safety manual.
#[test]
fn the_case_study_executes_as_it_is_simulated() {
    for scheme in ["mpcp", "vmpcp", "overrun"] {
        // With a little more than the 3 ms that several VCPUs use to the last microsecond.
        let system = case_study(scheme, "3.4ms");
        let recorded = Recorded::with(&system, &["--short-turns"]);
        let simulated = simulated(&system, "200ms");
        assert_eq!(simulated.len(), 8, "{simulated:?}");
        assert_as_simulated(&recorded, &["one", "two"], &simulated);
        recorded.replay();
        assert_eq!(assert_exclusive(&recorded.trace()), 8, "{scheme}");
    }
}

#[test]
fn sections_exclude_each_other_to_the_last_microsecond_of_budgets() {
    for scheme in ["mpcp", "vmpcp", "overrun"] {
        let recorded = Recorded::with(&case_study(scheme, "3ms"), &["--short-turns"]);
        recorded.replay();
        assert_eq!(assert_exclusive(&recorded.trace()), 8, "{scheme}");
        for vm in ["one", "two"] {
            let resource = |key| recorded.value(vm, "tasks: resource shared ", key);
            assert_eq!(["sections", "lost", "together"].map(resource), [4, 0, 0], "{scheme}");
        }
    }
}

/// Two processors; resources of both and of one, tasks that wait while others run.
const ONE_VM: &str = r#"
platform = "qemu-virt"

[[resource]]
name = "both"
vm = "vm"

[[resource]]
name = "first"
vm = "vm"

[[vm]]
name = "vm"
boot = "raw"
memory = "4MiB"
kernel = "KERNEL"
vcpus = 2
bootargs = """
tasks.ms=80
task0=high/0/20000/3000/500+both:1000+500+first:500+500
task1=low/0/40000/0/500+first:1500+500+both:1000+500
task2=other/1/20000/1500/300+both:2000+200
task3=rest/1/40000/0/4000"""

[[vm.task]]
name = "high"
vcpu = 0
period = "20ms"
offset = "3ms"
wcet = "3ms"
priority = 2
sections = [{ resource = "both", after = "500us", length = "1ms" }, { resource = "first", after = "500us", length = "500us" }]

[[vm.task]]
name = "low"
vcpu = 0
period = "40ms"
wcet = "4ms"
priority = 1
sections = [{ resource = "first", after = "500us", length = "1500us" }, { resource = "both", after = "500us", length = "1ms" }]

[[vm.task]]
name = "other"
vcpu = 1
period = "20ms"
offset = "1500us"
wcet = "2500us"
priority = 2
sections = [{ resource = "both", after = "300us", length = "2ms" }]

[[vm.task]]
name = "rest"
vcpu = 1
period = "40ms"
wcet = "4ms"
priority = 1
"#;

#[test]
fn the_resources_of_a_vm_are_kept_by_its_guest() {
    let kernel = project().join("build/guests/rt-tasks.bin");
    let system = ONE_VM.replace("KERNEL", kernel.to_str().expect("a path in UTF-8"));
    let recorded = Recorded::with(&system, &["--short-turns"]);
    assert_as_simulated(&recorded, &["vm"], &simulated(&system, "80ms"));
    for (name, kind, count) in [("both", "own", 10), ("first", "local", 6)] {
        let line = format!("tasks: resource {name} kind={kind} ");
        let resource = |key| recorded.value("vm", &line, key);
        assert_eq!(["sections", "lost", "together"].map(resource), [count, 0, 0], "{name}");
    }
}
