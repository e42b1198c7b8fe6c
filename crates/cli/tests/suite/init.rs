//! `bulkhead init`.

use std::fs;
use std::path::Path;

use testing::{Sandbox, sandbox};

const GUESTS: [&str; 6] = [
    "linux/vmlinuz",
    "linux/initrd.cpio",
    "guests/rt-demo.bin",
    "guests/rt-tasks.bin",
    "guests/rt-leech.bin",
    "guests/x86-64/rt-tasks.bin",
];

/// Writes a file, and makes its folder.
fn write(sandbox: &Sandbox, name: &str, text: &str) {
    let path = sandbox.path(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
    fs::write(path, text).expect("a file");
}

/// A folder in which everything is built, with guests that nobody can boot.
fn built() -> Sandbox {
    let sandbox = sandbox!();
    write(&sandbox, "build/hypervisor.elf", "");
    GUESTS.iter().for_each(|guest| write(&sandbox, &format!("build/{guest}"), guest));
    sandbox
}

#[test]
fn each_template_can_be_checked_and_planned_in_a_folder_of_its_own() {
    for template in ["linux-rt", "two-ecus", "rover", "kvm"] {
        let sandbox = built();
        let result = sandbox.bulkhead(&["init", "new/one", "--template", template, "--json"]);
        result.assert_status(0);
        let document = result.json();
        for file in document["files"].as_array().expect("files") {
            let file = file.as_str().expect("a path");
            assert!(file.starts_with("new/one/") && sandbox.path(file).is_file(), "{file}");
        }
        let text = fs::read_to_string(sandbox.path("new/one/system.toml")).expect("a description");
        for left in ["build/", "systems/", "make "] {
            assert!(!text.contains(left), "{template}: {left}");
        }
        // Results of two systems that began here are not taken for those of one.
        let name = text.lines().find(|line| line.starts_with("name = "));
        assert_eq!(name, Some("name = \"one\""), "{text}");
        // All that it boots is in the folder, which can be moved.
        fs::rename(sandbox.path("new/one"), sandbox.path("moved")).expect("it moves");
        let kernels = text.lines().filter_map(|line| line.strip_prefix("kernel = \""));
        for kernel in kernels.filter_map(|it| it.split('"').next()) {
            assert!(sandbox.path("moved").join(kernel).is_file(), "{kernel}");
        }
        sandbox.bulkhead(&["check", "moved/system.toml"]).assert_status(0);
        sandbox.bulkhead(&["plan", "moved/system.toml"]).assert_status(0);
        // What it says to do next are commands that there are.
        for next in document["next"].as_array().expect("commands") {
            let words: Vec<&str> = next.as_str().expect("words").split(' ').collect();
            let help = sandbox.bulkhead(&[&words[..], &["--help"]].concat());
            assert!(help.stdout.contains("Usage: bulkhead"), "{next}: {}", help.stderr);
        }
    }
}

#[test]
fn it_says_what_to_type_next() {
    let sandbox = built();
    let result = sandbox.bulkhead(&["init", "first"]);
    result.assert_status(0);
    for line in ["wrote first/system.toml\n", "  cd first\n", "  bulkhead check system.toml\n"] {
        assert!(result.stdout.contains(line), "{}", result.stdout);
    }
}

#[test]
fn no_file_is_replaced() {
    let sandbox = built();
    write(&sandbox, "mine/system.toml", "precious");
    let refused = "mine/system.toml is there already, and nothing is replaced";
    sandbox.bulkhead(&["init", "mine"]).assert_refused(&[refused, "help: name another folder"]);
    assert_eq!(fs::read_to_string(sandbox.path("mine/system.toml")).expect("text"), "precious");
    assert!(!sandbox.path("mine/guests").exists(), "nothing is written");

    // A guest of another kind, and a description that is only a link to nowhere.
    write(&sandbox, "other/guests/rt-demo.bin", "precious");
    sandbox.bulkhead(&["init", "other"]).assert_refused(&["other/guests/rt-demo.bin is there"]);
    assert!(!sandbox.path("other/system.toml").exists());
    fs::create_dir(sandbox.path("link")).expect("a folder");
    std::os::unix::fs::symlink("nowhere", sandbox.path("link/system.toml")).expect("a link");
    sandbox.bulkhead(&["init", "link"]).assert_refused(&["link/system.toml is there already"]);

    // The same once more changes nothing.
    sandbox.bulkhead(&["init", "again"]).assert_status(0);
    sandbox.bulkhead(&["init", "again"]).assert_status(0);
}

#[test]
fn wrong_names_and_places_are_refused() {
    let sandbox = built();
    let names = ["linux_rt", "linux-rt, two-ecus, rover, kvm", "a similar value exists"];
    sandbox.bulkhead(&["init", "a", "--template", "linux_rt"]).assert_refused(&names);
    sandbox.write("file", "");
    sandbox.bulkhead(&["init", "file"]).assert_refused(&["file/"]);
}

/// Installations have no Linux.
#[test]
fn where_linux_is_missing_another_template_is_chosen_or_named() {
    let sandbox = built();
    fs::remove_dir_all(sandbox.path("build/linux")).expect("it is there");
    for template in ["linux-rt", "rover"] {
        let result = sandbox.bulkhead(&["init", "b", "--template", template]);
        result.assert_refused(&[
            &format!("template `{template}` boots "),
            "build/linux/",
            "help: without it, these work here: `--template two-ecus`, `--template kvm`",
        ]);
        assert!(!result.stderr.contains("make build"), "{}", result.stderr);
        assert!(!Path::new(&sandbox.path("b")).exists(), "nothing is written");
    }
    let result = sandbox.bulkhead(&["init", "b"]);
    result.assert_status(0);
    for part in ["two-ecus: ", "`two-ecus` was chosen: the guests of `linux-rt` are not here\n"] {
        assert!(result.stdout.contains(part), "{}", result.stdout);
    }
    sandbox.bulkhead(&["check", "b/system.toml"]).assert_status(0);

    // In a checkout `make build` makes Linux.
    write(&sandbox, "Makefile", "");
    write(&sandbox, "guests/programs/Cargo.toml", "");
    let result = sandbox.bulkhead(&["init", "c", "--template", "rover"]);
    result.assert_refused(&["help: `make build` makes it; without it, these work here"]);

    // Nothing is installed where the guests of all are missing.
    fs::remove_dir_all(sandbox.path("build/guests")).expect("it is there");
    fs::remove_file(sandbox.path("Makefile")).expect("it is there");
    sandbox
        .bulkhead(&["init", "d"])
        .assert_refused(&["template `linux-rt` boots", "help: install"]);
}
