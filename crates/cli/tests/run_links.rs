//! Tasks of VMs with a link in a real run, where both VMs send as much as the link lets them: by the marks of real guests. The guests must
//! have been built (`make build`).

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// `plan` has all of the PCPU, and `drive` what is left.
///
/// `plan` sends 63 frames with one store, as many as the burst lets it, and `control` is released while EL2 copies them. `drive` sends
/// without a pause, more than it may.
fn system() -> String {
    let vm = |name: &str, arguments: &str, server: &str, tasks: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
             kernel = \"{ROOT}/build/guests/rt-network.bin\"\nbootargs = \"{arguments}\"\n\
             [[vm.vcpu]]\npcpu = 0\n{server}{tasks}"
        )
    };
    // What an interrupt of the card takes is part of both; the store counts as five exits, and the interrupt has two.
    let tasks = "[[vm.task]]\nname = \"control\"\nperiod = \"2ms\"\nwcet = \"140us\"\npriority = 2\n\
                 exits = 2\nblocking = \"5us\"\n\
                 [[vm.task]]\nname = \"net\"\nperiod = \"10ms\"\nwcet = \"150us\"\npriority = 1\nexits = 9\n";
    let server = "server = \"deferrable\"\nbudget = \"10ms\"\nperiod = \"10ms\"\n";
    let plan = "network.tasks=400000 network.batch=63 network.bytes=24";
    let drive = "network.flood=1 network.bytes=1000 network.us=300000";
    format!(
        "platform = \"qemu-virt\"\n[[link]]\nname = \"lan\"\nbetween = [\"plan\", \"drive\"]\n\
         rate = \"450kB/s\"\nburst = \"4032B\"\ninterrupt_every = \"10ms\"\ninterrupt_burst = 1\n{}{}",
        vm("plan", plan, server, tasks),
        vm("drive", drive, "server = \"background\"\n", "")
    )
}

fn bulkhead(command: &str, file: &Path, more: &[&str]) -> Value {
    let mut bulkhead = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let output =
        bulkhead.current_dir(ROOT).arg(command).arg(file).args(more).arg("--json").output();
    let output = output.expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// Stands behind P6 of the safety manual.
#[test]
fn no_job_takes_longer_than_its_bound_beside_floods_of_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("flood.toml");
    std::fs::write(&file, system()).expect("it can be written");
    let run = bulkhead(
        "run",
        &file,
        &["--deterministic", "--until-off", "--timeout", "180s", "--short-turns"],
    );
    assert_eq!(run["times"], "exact", "{run:#}");
    assert_eq!(run["problems"], serde_json::json!([]), "{run:#}");
    let task = |name: &str, key: &str| {
        let tasks = run["vms"][0]["tasks"].as_array().expect("tasks");
        let task = tasks.iter().find(|it| it["name"] == name).expect("the task");
        task[key].as_u64().unwrap_or_else(|| panic!("no {key}: {run:#}"))
    };
    for name in ["control", "net"] {
        assert!(task(name, "jobs") >= 39, "{run:#}");
        assert!(task(name, "response_max_ns") <= task(name, "bound_ns"), "{run:#}");
    }
    // The bound would not hold without the time for frames.
    let checked = bulkhead("check", &file, &[]);
    let terms = &checked["analysis"]["pcpus"][0]["vcpus"][0]["tasks"][0]["terms"];
    let terms = terms.as_array().unwrap_or_else(|| panic!("{checked:#}"));
    let frames =
        terms.iter().find(|it| it["term"] == "overhead-frame").expect("frames are counted");
    let without = task("control", "bound_ns") - frames["time_ns"].as_u64().expect("a time");
    assert!(task("control", "response_max_ns") > without, "{without}: {run:#}");
}
