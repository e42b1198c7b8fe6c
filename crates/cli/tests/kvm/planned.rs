//! Colours that the planner chooses, under KVM.

use std::path::Path;

use policy::color::ColorSet;
use serde_json::Value;

use crate::{ATTEMPTS, alone, bulkhead, example, has_colors, json};

/// What the second example has in the place of its colours.
const PLANNED: [(&str, &str); 2] =
    [("colors = \"0-15\"", "colors = \"planned\""), ("colors = \"16-31\"", "colors = \"planned\"")];

fn planned(folder: &Path, replaced: &[(&str, &str)]) -> String {
    example(folder, "kvm-colors", &[&PLANNED, replaced].concat())
}

fn colors(of: &Value) -> ColorSet {
    of.as_str().and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("no colours: {of}"))
}

#[test]
fn colours_are_planned_and_vms_have_frames_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = planned(folder.path(), &[]);
    let check = json(&["check", &file]);
    assert_eq!(check["ok"], true, "{check:#}");
    let decided = folder.path().join("decided.toml");
    let decided = decided.to_str().expect("a path in UTF-8");
    let plan = json(&["plan", &file, "-o", decided]);
    assert_eq!(plan["ok"], true, "{plan:#}");
    let text = std::fs::read_to_string(decided).expect("it was written");
    let written: toml::Table = text.parse().expect("TOML");
    let vms = written["vm"].as_array().expect("VMs").iter();
    let written: Vec<ColorSet> = vms
        .map(|vm| vm["colors"].as_str().and_then(|it| it.parse().ok()).expect("colours"))
        .collect();
    let [burn, control] = written[..] else { panic!("{text}") };
    assert!(!burn.is_empty() && !control.is_empty(), "{text}");
    assert!((burn & control).is_empty(), "nobody shares a colour: {text}");
    assert_eq!(burn.len() + control.len(), 32, "no colour is left over: {text}");

    let _alone = alone();
    if !has_colors() {
        return;
    }
    for file in [&*file, decided] {
        let mut runs = (0..ATTEMPTS).map(|_| json(&["run", "--on", "kvm", file]));
        let good = runs.find(|run| run["ok"] == true);
        let run = good.unwrap_or_else(|| panic!("no run of {ATTEMPTS} was well"));
        let vms = run["colors"]["vms"].as_array().expect("VMs with colours");
        let taken: Vec<ColorSet> = vms.iter().map(|vm| colors(&vm["colors"])).collect();
        assert_eq!(taken, [burn, control], "the plan's colours: {run:#}");
        assert!(vms.iter().all(|vm| vm["lost"] == 0 && vm["pages"] == 1_040), "{run:#}");
    }
}

/// A VM has as many colours as its RAM needs, by the memory that the platform states.
#[test]
fn a_vm_with_much_memory_has_colours_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let large = [(
        "name = \"control\"\nboot = \"raw\"\nmemory = \"4MiB\"",
        "name = \"control\"\nboot = \"raw\"\nmemory = \"2GiB\"",
    )];
    let decided = folder.path().join("decided.toml");
    let decided = decided.to_str().expect("a path in UTF-8");
    let plan = json(&["plan", &planned(folder.path(), &large), "-o", decided]);
    assert_eq!(plan["ok"], true, "{plan:#}");
    let colors = plan["report"]["tasks"][0]["colors"].as_array().expect("colours");
    // A colour has 512 MiB of 16 GiB.
    assert!((4..32).contains(&colors.len()), "{colors:?}");
}

#[test]
fn colours_that_cannot_be_planned_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |file: &str, messages: &[&str]| {
        for command in [&["check", file][..], &["run", "--on", "kvm", file]] {
            let output = bulkhead(command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(1 | 2)), "{command:?}: {said}");
            assert!(messages.iter().all(|it| said.contains(it)), "{command:?}: {said}");
        }
    };
    // A cache of two colours, and one VM more.
    let third = "[[vm]]\nname = \"third\"\nboot = \"raw\"\nmemory = \"4MiB\"\ncolors = \"planned\"\n\
                 kernel = \"../build/guests/x86-64/rt-tasks.bin\"\n\n[[vm]]\nname = \"burn\"";
    let small = [
        ("size = \"8MiB\"", "size = \"128KiB\""),
        ("slices = 4\n", ""),
        ("[[vm]]\nname = \"burn\"", third),
    ];
    refused(&planned(folder.path(), &small), &["with all 2 colours that are free", "`third`"]);
    let none = "[[platform.cache]]\nlevel = 3\nkind = \"unified\"\nsize = \"8MiB\"\nways = 16\nline = \"64B\"\nslices = 4\nshared_by = 4\n";
    let message = "has no colours: its CPUs share no cache";
    refused(&planned(folder.path(), &[(none, "")]), &[message, "asks for colours", "help: "]);
}
