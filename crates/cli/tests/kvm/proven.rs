//! `bulkhead prove --on kvm`: bound, simulation and run side by side, measured and not promised.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lab::Watch;
use lab::proof::{On, Options, prove};
use serde_json::{Value, json};

use crate::{ATTEMPTS, TAKEN, alone, bulkhead, example, has_colors, is_host, json as document};

fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").into()
}

#[test]
fn runs_without_and_with_servers_stand_beside_bounds_and_simulation() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (example(folder.path(), "kvm-demo", &[]), folder.path().join("out"));
    let prove = || document(&["prove", &file, "--on", "kvm", "-o", &text(&out)]);
    let mut proofs = (0..ATTEMPTS).map(|_| prove());
    let proof = proofs.find(|it| it["ok"] == true).expect("a proof of some holds");
    let verdicts = ["times", "schedulable_without", "schedulable_with"].map(|key| &proof[key]);
    assert_eq!(verdicts, [&json!("measured"), &json!(false), &json!(true)], "{proof:#}");
    let tasks = proof["tasks"].as_array().expect("tasks");
    assert_eq!(tasks.len(), 4, "{proof:#}");
    for task in tasks {
        let number =
            |of: &Value, key: &str| of[key].as_u64().unwrap_or_else(|| panic!("{key}: {task:#}"));
        let [simulated, bound] =
            [number(&task["simulated"], "response_max_ns"), number(task, "bound_with_ns")];
        assert!(simulated <= bound && bound <= number(task, "deadline_ns"), "{task:#}");
        assert_eq!(number(&task["with"], "missed_deadlines"), 0, "{task:#}");
        let without = number(&task["without"], "missed_deadlines");
        assert!((task["task"] == "balance") == (without > 0), "{task:#}");
    }
    let page = std::fs::read_to_string(out.join("report.html")).expect("the page");
    assert!(page.contains(">Measured, not promised</p>") && !page.contains("Proof of timing"));
    for name in ["with", "without"] {
        let trace = text(&out.join(name).join("run.trace"));
        let replayed = bulkhead(&["trace", "export", &trace, "--to", "csv", "-o", "-"]);
        assert!(replayed.status.success() && replayed.stdout.len() > 10_000, "{name}");
    }
    assert!(!out.join("with.plan.dts").exists(), "there is no plan as a file");
}

/// With a budget that is too small nothing is kept, and the analysis says so before.
#[test]
fn deadlines_that_are_missed_with_servers_are_the_answer_no() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let small = [("budget = \"3.5ms\"", "budget = \"0.5ms\"")];
    let file = example(folder.path(), "kvm-demo", &small);
    let out = text(&folder.path().join("out"));
    let output = bulkhead(&["prove", &file, "--on", "kvm", "-o", &out]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "measured, not promised: ",
        "with the plan: not schedulable\n",
        "does not hold: task `balance` of VM `control` missed ",
        "report: ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Stops a proof when all that is left is to write it.
#[derive(Default)]
struct AtTheEnd(AtomicBool);

impl Watch for AtTheEnd {
    fn stops(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn step(&self, what: &str) {
        self.0.store(what == "write the report", Ordering::Relaxed);
    }
}

#[test]
fn a_proof_that_is_interrupted_when_it_is_written_changes_no_file() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (example(folder.path(), "kvm-first", &[]), folder.path().join("out"));
    std::fs::create_dir(&out).expect("a folder");
    std::fs::write(out.join("report.html"), "earlier").expect("a page");
    let options = Options {
        file: file.into(),
        on: On::Kvm,
        output: Some(out.clone()),
        append: Vec::new(),
        timeout: Duration::from_millis(300),
        simulate: units::Duration(1_000_000_000),
        cachescope_options: Vec::new(),
        hypervisor: None,
        certificate: false,
        compile_proofs: false,
    };
    let proofs = (0..600).map(|_| prove(&options, &AtTheEnd::default()));
    let is_taken =
        |it: &Result<_, lab::Failure>| it.as_ref().is_err_and(|it| it.to_string().contains(TAKEN));
    let mut proofs = proofs.inspect(|it| {
        if is_taken(it) {
            thread::sleep(Duration::from_millis(200))
        }
    });
    let proof = proofs.find(|it| !is_taken(it)).expect("others use the CPU for minutes");
    assert!(proof.expect("no failure").is_none());
    assert_eq!(std::fs::read_to_string(out.join("report.html")).expect("a page"), "earlier");
    assert_eq!(std::fs::read_dir(&out).expect("the folder").count(), 1);
}

/// What checks of pull requests show says that times are measured, too.
#[test]
fn documents_of_verdicts_say_that_times_are_measured() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let small = [("budget = \"3.5ms\"", "budget = \"0.5ms\"")];
    let [good, late] = ["good", "late"].map(|name| {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        example(&folder, "kvm-demo", if name == "good" { &[] } else { &small })
    });
    let prove = |file: &str, form: &str| {
        let output = bulkhead(&["prove", file, "--on", "kvm", "--format", form]);
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let mut proofs = (0..ATTEMPTS).map(|_| prove(&good, "markdown"));
    let (_, text) = proofs.find(|it| it.0 == Some(0)).expect("a proof of some holds");
    for part in [
        "all deadlines were kept with the plan, as measured",
        "measured, not promised",
        "`task control.balance`",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("everything holds") && !text.contains("fails"), "{text}");
    let (status, text) = prove(&late, "markdown");
    assert_eq!(status, Some(1), "{text}");
    for part in ["not everything holds with the plan", "task `balance` of VM `control` missed"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (status, text) = prove(&late, "junit");
    assert_eq!(status, Some(1), "{text}");
    for part in ["<testsuites", "task control.balance", "<failure", "missed"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The frames of VMs with colours have a verdict of their own.
#[test]
fn a_proof_with_colours_says_whether_vms_kept_them() {
    let _alone = alone();
    if !has_colors() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = example(folder.path(), "kvm-colors", &[]);
    let prove = || bulkhead(&["prove", &file, "--on", "kvm", "--format", "junit"]).stdout;
    let said = String::from_utf8(prove()).expect("text");
    for vm in ["burn", "control"] {
        let case = format!("name=\"VM {vm}\" classname=\"prove.colors\"");
        assert!(said.contains(&case), "{said}");
    }
    let document = std::fs::read(folder.path().join("kvm-colors.proof/results.json"));
    let document: Value = serde_json::from_slice(&document.expect("results")).expect("JSON");
    let notes = document["notes"].as_array().expect("notes").iter().filter_map(Value::as_str);
    let kept =
        notes.clone().any(|it| it.starts_with("all frames of VMs with colours were looked at"));
    let failed = said.contains("to frames of other colours than");
    assert!(kept != failed, "{document:#}");
}

/// A proof that was stopped says nothing, and takes the place of no other one.
#[test]
fn a_proof_that_is_stopped_keeps_earlier_results() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (example(folder.path(), "kvm-first", &[]), folder.path().join("out"));
    let read = |name: &str| std::fs::read(out.join(name)).expect("a result");
    let prove = |timeout| {
        bulkhead(&["prove", &file, "--on", "kvm", "-o", &text(&out), "--timeout", timeout])
    };
    // With nothing there, it is better than nothing.
    let output = prove("300ms");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("report: ") && !said.contains("are kept"), "{said}");
    prove("60s");
    let whole = ["report.html", "results.json", "with/run.trace"].map(read);
    let page = String::from_utf8_lossy(&whole[0]);
    let options = format!("--on kvm --output {} --timeout 60s --simulate 10s", text(&out));
    assert!(page.contains(&options), "how to get it again: {options}");
    let output = prove("300ms");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("report.html and all that is beside it are kept as they were"), "{said}");
    assert!(
        said.contains("the run was stopped after 0.3 s") && !said.contains("report: "),
        "{said}"
    );
    assert!(whole == ["report.html", "results.json", "with/run.trace"].map(read));
    let names = std::fs::read_dir(&out).expect("the folder").count();
    assert_eq!(names, 4, "nothing else is left");
}

#[test]
fn what_cannot_be_measured_is_refused_with_nothing_written() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let refused = |arguments: &[&str], message: &str| {
        let output = bulkhead(&[&["prove", "-o", &text(&out)], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(message) && said.contains("help: "), "{said}");
        assert!(!out.exists(), "{arguments:?}");
    };
    let file = "systems/kvm-demo.toml";
    refused(&[file], "help: `bulkhead prove systems/kvm-demo.toml --on kvm` measures");
    refused(&[file, "--on", "kvm", "--certificate"], "`--certificate` has a meaning on QEMU only");
    let option = ["--cachescope-option", "bus=20ns"];
    refused(&[&[file, "--on", "kvm"], &option[..]].concat(), "has a meaning on QEMU only");
    refused(&["systems/servers.toml", "--on", "kvm"], "is no Linux host with KVM");
}
