//! `bulkhead measure` on this machine, whatever it finds.

use std::process::Command;

use testing::{Result, sandbox};

#[test]
fn measure_answers_with_evidence_or_says_what_is_missing() {
    let sandbox = sandbox!();
    let result = sandbox.bulkhead(&["measure", "colors", "--time", "2s", "--json"]);
    let document = result.json();
    let answer = document["observable"].as_bool();
    result.assert_status(answer.map_or(3, |observable| if observable { 0 } else { 1 }));
    let observable = answer == Some(true);
    assert_eq!(document["why"].is_string(), !observable);
    assert_eq!(document["colors"].is_u64(), observable);
    let report = &document["report"];
    assert!(!observable || report["ratio"]["low"].as_f64().expect("a ratio") > 1.0);
    if report.is_object() {
        for field in ["same_color_line_ns", "control_line_ns"] {
            let [low, median, high] = ["low", "median", "high"]
                .map(|name| report[field][name].as_f64().expect("a number"));
            assert!(0.0 < low && low <= median && median <= high, "{report}");
        }
        assert!(report["cache"]["level"].as_u64().expect("a level") > 1);
    }
}

#[test]
fn nothing_is_said_about_colors_that_cannot_be_seen() {
    // Without the right to know the numbers of frames.
    let mut command = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        command.args(["--bounding-set=-all", "--inh-caps=-all"]);
    }
    command.args([env!("CARGO_BIN_EXE_bulkhead"), "measure", "colors", "--time", "2s"]);
    let result = Result::of(command.output().expect("setpriv starts"));
    result.assert_status(3);
    assert!(result.stdout.starts_with("cannot tell: "), "{}", result.stdout);
}

#[test]
fn times_without_a_unit_are_refused() {
    let result = sandbox!().bulkhead(&["measure", "colors", "--time", "5"]);
    result.assert_status(2);
    assert!(result.stderr.contains("the unit is missing"), "{}", result.stderr);
}

#[test]
fn what_a_host_lacks_is_said_at_once_for_people_and_for_machines() {
    let sandbox = sandbox!();
    std::fs::create_dir_all(sandbox.path("host/dev")).expect("a folder");
    let arguments = ["measure", "host", "--root", "host", "--cpus", "1"];
    let result = sandbox.bulkhead(&arguments);
    result.assert_status(1);
    let words = result.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("kvm prevents runs there is no /dev/kvm"), "{}", result.stdout);
    assert!(result.stdout.ends_with("VMs cannot run under KVM here\n"), "{}", result.stdout);
    std::fs::write(sandbox.path("host/dev/kvm"), "").expect("a file");
    let document = sandbox.bulkhead(&[&["--json"][..], &arguments].concat()).json();
    assert_eq!((&document["ok"], &document["can_run"]), (&false.into(), &true.into()));
    assert_eq!(document["can_color"], false);
    let lacks = document["lacks"].as_array().expect("a list").iter();
    let lacks: Vec<_> = lacks.map(|it| [&it["name"], &it["effect"]]).collect();
    let [colors, limits] = ["prevents-colors", "prevents-limits"];
    let all = [["pagemap", colors], ["counter", limits], ["counter-rights", limits]];
    let rest = [["resctrl", "prevents-ways"], ["preempt-rt", "delays"]];
    assert_eq!(lacks, [&all[..], &rest].concat());
    assert_eq!(document["can_divide"], false);
    let result = sandbox.bulkhead(&arguments);
    let without = "but not with colours, limits of memory accesses or ways of the cache\n";
    assert!(result.stdout.ends_with(without), "{}", result.stdout);
    assert_eq!(document["can_limit"], false);
    std::fs::create_dir_all(sandbox.path("host/proc/self")).expect("a folder");
    std::fs::write(sandbox.path("host/proc/self/pagemap"), "").expect("a file");
    let document = sandbox.bulkhead(&[&["--json"][..], &arguments].concat()).json();
    assert_eq!(document["can_color"], true);
    let result = sandbox.bulkhead(&arguments);
    assert!(
        result.stdout.ends_with("but not with limits of memory accesses or ways of the cache\n"),
        "{}",
        result.stdout
    );
    for (file, text) in [
        ("proc/sys/kernel/perf_event_paranoid", "1"),
        ("sys/bus/event_source/devices/cpu/type", "4"),
        ("sys/fs/resctrl/info/L3/cbm_mask", "fff"),
        ("sys/fs/resctrl/schemata", "L3:0=fff"),
    ] {
        let file = sandbox.path(&format!("host/{file}"));
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }
    let document = sandbox.bulkhead(&[&["--json"][..], &arguments].concat()).json();
    assert_eq!((&document["can_limit"], &document["can_divide"]), (&true.into(), &true.into()));
}
