//! Tasks that ask for colours under KVM.

use std::fs;

use serde_json::Value;

use crate::{ATTEMPTS, ROOT, alone, bulkhead, example, has_colors, json, task};

const EXAMPLE: &str = "kvm-vcoloring";

/// Platform and cache of the example.
fn platform() -> String {
    let text = fs::read_to_string(format!("{ROOT}/systems/{EXAMPLE}.toml")).expect("the example");
    text.split("[[vm]]").next().unwrap_or_default().to_owned()
}

/// A VM with `rt-color` in colours 0 to 3, whose extra colours are 4 to 7.
fn vm(vcpus: usize, memory: &str, arguments: &str, budget_ms: usize) -> String {
    let vcpus = (0..vcpus).map(|number| {
        let priority = 9 - number;
        format!(
            "[[vm.vcpu]]\npcpu = 0\nserver = \"periodic\"\nbudget = \"{budget_ms}ms\"\nperiod = \"10ms\"\n\
             priority = {priority}\n"
        )
    });
    format!(
        "[[vm]]\nname = \"asks\"\nboot = \"raw\"\nmemory = \"4MiB\"\ncolors = \"0-3\"\nextra_colors = \"4-7\"\n\
         extra_memory = \"{memory}\"\nkernel = \"{ROOT}/build/guests/x86-64/rt-color.bin\"\n\
         bootargs = \"extra=4-7 {arguments}\"\n{}",
        vcpus.collect::<String>()
    )
}

/// Runs a system until all VMs are off. Returns the results, and the log.
fn ran(text: &str) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, log] = ["s.toml", "log"].map(|name| folder.path().join(name));
    fs::write(&file, text).expect("a file");
    let [file, name] = [&file, &log].map(|it| it.to_str().expect("a path in UTF-8"));
    let run = json(&["run", "--on", "kvm", file, "--log", name, "--until-off", "--timeout", "60s"]);
    let log = fs::read_to_string(&log).unwrap_or_default();
    (run, log)
}

/// Runs a case of `rt-color`, all checks of which have to pass. Returns the log.
fn passed(vcpus: usize, memory: &str, arguments: &str) -> String {
    let (run, log) = ran(&(platform() + &vm(vcpus, memory, arguments, 3)));
    assert!(log.contains(" passed, 0 failed") && !log.contains("FAILED"), "{log}{run:#}");
    let vms = run["colors"]["vms"].as_array().unwrap_or_else(|| panic!("{run:#}"));
    assert!(vms.iter().all(|vm| vm["lost"] == 0), "{run:#}");
    log
}

#[test]
fn pages_of_tasks_move_to_colours_for_which_they_ask() {
    let _alone = alone();
    if !has_colors() {
        return;
    }
    // All pages of the VM find a frame, and then too few.
    passed(1, "4MiB", "case=basic");
    passed(1, "1MiB", "case=basic");
}

#[test]
fn errors_move_nothing() {
    let _alone = alone();
    if !has_colors() {
        return;
    }
    passed(1, "1MiB", "case=invalid");
    // 16 frames of each colour, for 128 pages.
    passed(1, "256KiB", "case=small");
}

#[test]
fn another_vcpu_writes_while_pages_move_and_loses_nothing() {
    let _alone = alone();
    if !has_colors() {
        return;
    }
    let log = passed(2, "1MiB", "case=writer rounds=60");
    let written = log.split_once("written=").and_then(|it| it.1.split_whitespace().next());
    assert!(written.and_then(|it| it.parse::<u64>().ok()) > Some(100), "{log}");
}

#[test]
fn requests_without_end_take_the_time_of_their_vcpu_only() {
    let _alone = alone();
    if !has_colors() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let others = fs::read_to_string(example(folder.path(), EXAMPLE, &[])).expect("the example");
    // `control` without its extra colours, beside a VM with a higher priority in place of `burn`.
    let control = others.rsplit("[[vm]]\nname = \"control\"").next().expect("the last VM");
    let control = format!("[[vm]]\nname = \"control\"{control}")
        .replace("colors = \"0-7\"", "colors = \"16-23\"")
        .replace("extra_colors = \"8-15\"", "extra_colors = \"24-31\"")
        .replace("8-11", "24-27")
        .replace("12-15", "28-31");
    let text = platform() + &vm(1, "1MiB", "case=flood ms=2000", 4) + &control;
    let mut runs = (0..ATTEMPTS).map(|_| ran(&text));
    let good = runs.find(|(run, log)| {
        assert!(log.contains("passed, 0 failed"), "{log}{run:#}");
        run["ok"] == true
    });
    let (run, log) = good.unwrap_or_else(|| panic!("no run of {ATTEMPTS} was well"));
    let found = log.split_once("found=").and_then(|it| it.1.split_whitespace().next());
    assert!(found.and_then(|it| it.parse::<u64>().ok()) > Some(1_000), "{log}");
    for name in ["fast", "slow"] {
        assert_eq!(task(&run, name)["misses"], 0, "{run:#}");
    }
}

#[test]
fn the_example_runs_and_the_documentation_says_how() {
    let page = fs::read_to_string(format!("{ROOT}/docs/how-to/run-on-kvm.md")).expect("a page");
    let file = format!("systems/{EXAMPLE}.toml");
    assert!(page.contains(&format!("bulkhead run --on kvm {file}\n")), "{page}");
    assert_eq!(json(&["check", &file])["ok"], true);
    let _alone = alone();
    if !has_colors() {
        return;
    }
    let mut runs = (0..ATTEMPTS).map(|_| json(&["run", "--on", "kvm", &file]));
    let run = runs.find(|run| run["ok"] == true).unwrap_or_else(|| panic!("no run was well"));
    let vms = run["colors"]["vms"].as_array().expect("VMs with colours");
    let control = vms.iter().find(|vm| vm["name"] == "control").expect("it has colours");
    assert_eq!(control["colors"], "0-7 and 8-15 for tasks");
    assert_eq!(control["pages"], (4 << 20) / 4096 + 16 + (1 << 20) / 4096);
}

#[test]
fn colours_that_a_task_cannot_ask_for_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |replaced: &[(&str, &str)]| {
        let output = bulkhead(&["run", "--on", "kvm", &example(folder.path(), EXAMPLE, replaced)]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused(&[("\ncolors = \"12-15\"", "\ncolors = \"3\"")]);
    assert!(said.contains("no colours for tasks other than `extra_colors` yet"), "{said}");
    let said =
        refused(&[("extra_memory = \"1MiB\"", "extra_memory = \"1MiB\"\ncolor_serial = true")]);
    assert!(said.contains("no serial ports for requests for colours yet"), "{said}");
}
