//! `bulkhead prove` and `bulkhead reproduce` with real machines.

mod real;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use real::project;
use serde_json::Value;
use testing::{Result, signal};

/// Two VMs that share the cache: with colours nobody evicts anything of the other.
fn pair(folder: &Path, wcet: &str) -> PathBuf {
    let vm = |name: &str, colors: &str, kernel: &str, more: &str| {
        let kernel = project().join("build/guests").join(kernel);
        format!(
            "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = \"16MiB\"\ncolors = {colors:?}\n\
             kernel = {kernel:?}\non_reset = \"stop\"\n{more}"
        )
    };
    let task = |name: &str, ms: u64, wcet: &str| {
        format!(
            "[[vm.task]]\nname = {name:?}\nperiod = \"{ms}ms\"\nwcet = {wcet:?}\naccesses = 4000\n"
        )
    };
    let tasks = task("fast", 5, "0.15ms") + &task("medium", 10, "0.4ms") + &task("slow", 20, wcet);
    let rt = vm(
        "rt",
        "0-6",
        "rt-demo.bin",
        &format!("critical = true\nbootargs = \"rt.seconds=1 rt.kib=128 rt.warm=1\"\n{tasks}"),
    );
    let noise = "bootargs = \"leech.take=copy:2MiB\"\nbandwidth = \"64MB/s\"\n";
    let noise = vm("noise", "7-14", "rt-leech.bin", noise);
    let file = folder.join("pair.toml");
    let head = "[platform]\nboard = \"qemu-virt\"\nhypervisor_colors = \"15\"\n";
    fs::write(&file, format!("{head}{rt}{noise}")).expect("a description");
    file
}

/// A cache that lasts from one test run to the next, in which proofs are that Coq has compiled.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

fn prove(file: &Path, out: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.env("XDG_CACHE_HOME", cache());
    command.current_dir(project()).arg("prove").arg(file).arg("-o").arg(out).arg("--json");
    let output = command.args(more).output().expect("bulkhead starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let document = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{errors}"));
    (output.status.code(), document)
}

/// Stands behind P11 of the safety manual.
#[test]
fn a_system_that_is_isolated_is_proven() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let file = pair(folder.path(), "1.4ms");
    let (status, document) = prove(&file, &out, &["--simulate", "1s"]);
    assert_eq!((status, &document["ok"]), (Some(0), &Value::Bool(true)), "{document:#}");
    assert_eq!(document["with"]["cross_vm_evictions"], 0);
    let across = document["without"]["cross_vm_evictions"].as_u64().expect("a number");
    assert!(across > 1000, "{across} evictions without isolation");
    for task in document["tasks"].as_array().expect("tasks") {
        let number = |of: &Value| of.as_u64().expect("a number");
        let bound = number(&task["bound_with_ns"]);
        for how in ["simulated", "with"] {
            assert!(number(&task[how]["response_max_ns"]) <= bound, "{task:#}");
            assert_eq!(task[how]["missed_deadlines"], 0, "{task:#}");
            assert!(number(&task[how]["jobs"]) >= 50, "{task:#}");
        }
    }
    let budget = &document["budgets"][0];
    assert_eq!((&budget["vm"], &budget["budget_accesses"]), (&"noise".into(), &1000.into()));
    assert!(budget["without_accesses_max"].as_u64() > budget["with_accesses_max"].as_u64());
    let page = fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("slow"));
    let kept: Value = serde_json::from_slice(&fs::read(out.join("results.json")).expect("results"))
        .expect("JSON");
    assert_eq!(kept, document);
    for name in ["with.plan.dts", "without.plan.dts", "with/run.trace", "without/run.trace"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    // Nothing else is left.
    assert_eq!(fs::read_dir(&out).expect("the folder").count(), 6);
}

/// A site shows two proofs of a system, with the bound that its changed description makes longer.
#[test]
fn proofs_over_time_are_shown_beside_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path().join("site");
    let mut bounds = Vec::new();
    for wcet in ["1.4ms", "1.6ms"] {
        let out = folder.path().join("out");
        let file = pair(folder.path(), wcet);
        let text = fs::read_to_string(&file).expect("a description");
        let chain =
            "[[chain]]\nname = \"through\"\nsteps = [\"rt.fast\", \"rt.slow\"]\nmax_age = \"1s\"\n";
        fs::write(&file, text + chain).expect("written");
        let (status, document) = prove(&file, &out, &["--simulate", "1s"]);
        assert_eq!(status, Some(0), "{document:#}");
        let tasks = document["tasks"].as_array().expect("tasks");
        let slow = tasks.iter().find(|task| task["task"] == "slow").expect("a task");
        bounds.push(slow["bound_with_ns"].as_u64().expect("a bound"));
        assert_eq!(document["made"]["by"], "prove");
        // The next proof replaces the results of this one, but not in the site.
        let mut view = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
        let output = view.arg("view").arg(&out).arg("-o").arg(&site).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    assert!(bounds[0] < bounds[1], "{bounds:?}");
    let index = fs::read_to_string(site.join("index.html")).expect("a page");
    let links: Vec<&str> =
        index.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let is_report = |link: &&&str| link.ends_with("/report.html");
    assert_eq!(links.iter().filter(is_report).count(), 2, "{links:?}");
    assert!(links.iter().all(|link| site.join(link).is_file()), "{links:?}");
    let system = links.iter().find(|link| link.starts_with("systems/")).expect("its page");
    let page = fs::read_to_string(site.join(system)).expect("a page");
    for subject in ["rt slow", "reaction of chain through", "data age of chain through"] {
        assert!(page.contains(&format!("{subject}: bound longer by ")), "{subject}: {page}");
    }
    let (_, age) = page.split_once("<h3>data age of chain through</h3>").expect("a section");
    assert!(age.contains("<path class=\"run-line\"") && age.contains("1.000 s"), "{age}");
    assert!(
        page.contains("<path class=\"bound-line\"") && page.contains("<path class=\"run-line\"")
    );
}

/// Results of an earlier proof stay as they are when the next one is interrupted.
#[test]
fn an_interrupted_proof_leaves_what_was_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    fs::create_dir(&out).expect("a folder");
    fs::write(out.join("report.html"), "earlier").expect("a page");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.current_dir(project()).arg("prove").arg(pair(folder.path(), "1.4ms"));
    command.arg("-o").arg(&out).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("bulkhead starts");
    let names = || -> Vec<PathBuf> {
        fs::read_dir(&out).expect("the folder").map(|it| it.expect("an entry").path()).collect()
    };
    // The first run is under way when its trace is there.
    while !names().iter().any(|path| path.join("without/run.trace").exists()) {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before its first run");
        std::thread::yield_now();
    }
    signal(&child, "INT");
    let output = child.wait_with_output().expect("it ends");
    let (text, errors) = (output.stdout, String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), text.as_slice()), (Some(130), &b""[..]), "{errors}");
    assert_eq!(errors, "interrupted: nothing is proven, and no file was changed\n");
    assert_eq!(names(), [out.join("report.html")]);
    assert_eq!(fs::read_to_string(out.join("report.html")).expect("a page"), "earlier");
}

/// An execution time that is told too short is found out.
#[test]
fn a_wrong_execution_time_is_a_counterexample() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = pair(folder.path(), "0.3ms");
    let (status, document) = prove(&file, &folder.path().join("out"), &["--simulate", "1s"]);
    assert_eq!(status, Some(1));
    let failures = document["failures"].to_string();
    assert!(failures.contains("COUNTEREXAMPLE: task `slow` of VM `rt` took"), "{failures}");
}

/// A figure of the project, the real-time guest alone: that its guests, its plugin and its
/// statements fit together.
#[test]
fn a_published_figure_is_confirmed() {
    let output = tempfile::tempdir().expect("a folder");
    let command = Command::new(env!("CARGO_BIN_EXE_bulkhead"))
        .args(["reproduce", "vcache-fig8", "--quick", "--json", "--output"])
        .arg(output.path())
        .current_dir(project())
        .output()
        .expect("the command starts");
    let result = Result::of(command);
    result.assert_status(0);
    let document = result.json();
    let claims = document["experiments"][0]["claims"].as_array().expect("claims");
    assert!(claims.iter().all(|claim| claim["verdict"] == "confirmed"), "{claims:#?}");
    assert!(output.path().join("vcache-fig8/plot.svg").is_file());
}

/// Bounds are theorems, too. Where Coq is installed it checks them; otherwise the proof says that nobody did.
///
/// Stands behind P9 of the safety manual.
#[test]
fn bounds_are_theorems_that_coq_checks_where_it_is_installed() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let file = project().join("systems/channel.toml");
    let (status, document) = prove(&file, &out, &["--simulate", "1s", "--certificate"]);
    assert_eq!((status, &document["ok"]), (Some(0), &Value::Bool(true)), "{document:#}");
    let theorems = &document["theorems"];
    let bounds = theorems["bounds"].as_array().expect("theorems");
    let tasks: Vec<_> = bounds.iter().map(|it| it["task"].as_str().expect("a task")).collect();
    assert_eq!(tasks, ["route", "control"]);
    for (bound, task) in bounds.iter().zip(document["tasks"].as_array().expect("tasks")) {
        assert_eq!(bound["response_ns"], task["bound_with_ns"]);
        let text = fs::read_to_string(
            out.join("certificate").join(bound["file"].as_str().expect("a file")),
        );
        let theorem = format!("Theorem {}", bound["theorem"].as_str().expect("a name"));
        assert!(text.expect("a certificate").contains(&theorem), "{theorem}");
    }
    assert_eq!(theorems["refused"], Value::Null);
    let coq = Command::new("coqc").arg("--print-version").output();
    let has_coq = coq.is_ok_and(|it| it.status.success());
    assert_eq!(theorems["checked_by_coq"].is_string(), has_coq, "{theorems:#}");
    // What Coq compiled is kept there, and not in the folder, where `make` begins with the proofs.
    assert_eq!(cache().join("bulkhead/proofs").is_dir(), has_coq);
    let proofs = fs::read_dir(out.join("certificate/Bulkhead")).expect("proofs");
    let mut names = proofs.map(|it| it.expect("an entry").path());
    assert!(names.all(|it| it.extension().is_some_and(|it| it == "v")));
    let page = fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(page.contains(if has_coq { "Checked by Coq" } else { "nobody has checked" }));
    // They are no longer there when a proof replaces this one that has none.
    let (status, document) = prove(&file, &out, &["--simulate", "1s"]);
    assert_eq!((status, &document["theorems"]), (Some(0), &Value::Null));
    assert!(!out.join("certificate").exists());
}
