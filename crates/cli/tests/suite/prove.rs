//! What `bulkhead prove` refuses, with nothing written.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

use testing::{Result, sandbox};

const SYSTEM: &str = "platform = \"qemu-virt\"\n[[vm]]\nname = \"rt\"\nboot = \"raw\"\n\
    memory = \"1MiB\"\nkernel = \"k\"\n";
const TASK: &str = "[[vm.task]]\nname = \"t\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n";

#[test]
fn what_cannot_be_proven_is_refused_with_nothing_written() {
    let sandbox = sandbox!();
    sandbox.write("none.toml", SYSTEM);
    sandbox.write("s.toml", &format!("{SYSTEM}{TASK}"));
    sandbox.write("k", "guest");
    sandbox.write("file", "no folder");
    let refused = |arguments: &[&str], parts: &[&str]| {
        let command = [&["prove", "--hypervisor", "hypervisor.elf"], arguments].concat();
        sandbox.bulkhead(&command).assert_refused(parts);
        assert!(!sandbox.path("out").exists(), "{arguments:?}");
    };
    refused(&["missing.toml", "-o", "out"], &["cannot read missing.toml"]);
    refused(&["test.dts", "-o", "out"], &["test.dts is a plan", "help: name the description"]);
    refused(&["none.toml", "-o", "out"], &["no tasks in none.toml", "[[vm.task]]"]);
    refused(&["s.toml", "-o", "out", "--append", "x=y"], &["no VM `x`"]);
    refused(&["s.toml", "-o", "file"], &["cannot write file"]);
    refused(&["s.toml", "-o", "out"], &["plugin cachescope is missing", "make cachescope"]);
    refused(&["s.toml", "-o", "out", "--timeout", "5"], &["the unit is missing"]);
}

/// The folder of a run that failed goes away: no message names a file in it.
#[test]
fn a_machine_that_does_not_start_is_bad_input_and_no_file_is_named_that_has_gone() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", &format!("{SYSTEM}{TASK}"));
    sandbox.write("k", "guest");
    sandbox.write("scope.so", "a plugin");
    let version = "if [ \"$1\" = --version ]; then echo 'QEMU emulator version 10.0.2'; exit; fi";
    sandbox.write("qemu", &format!("#!/bin/sh\n{version}\necho 'no option foo' >&2; exit 3\n"));
    set_permissions(sandbox.path("qemu"), Permissions::from_mode(0o755)).expect("a program");
    let mut command =
        sandbox.command(&["prove", "s.toml", "--hypervisor", "hypervisor.elf", "-o", "out"]);
    let scope = sandbox.path("scope.so");
    command.env("BULKHEAD_QEMU", sandbox.path("qemu")).env("BULKHEAD_CACHESCOPE", scope);
    let result = Result::of(command.output().expect("it starts"));
    result.assert_refused(&["QEMU ended with exit status 3", "no option foo"]);
    assert!(!result.stderr.contains("console.log"), "{}", result.stderr);
    assert!(!sandbox.path("out").exists());
}

#[test]
fn results_of_something_else_are_not_replaced() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", &format!("{SYSTEM}{TASK}"));
    sandbox.write("k", "guest");
    std::fs::create_dir(sandbox.path("out")).expect("a folder");
    let measured = r#"{"verdict": "isolated", "complete": true, "tolerance": 0, "contexts": []}"#;
    let proven = r#"{"format": "bulkhead-proof-v1", "ok": true, "name": "rover", "failures": [], "tasks": []}"#;
    for (text, why) in [
        (measured, "out has results of `bulkhead measure`"),
        (proven, "out has results of the system `rover`"),
        ("[]", "out has a results.json that is no result of bulkhead"),
    ] {
        sandbox.write("out/results.json", text);
        let prove = ["prove", "--hypervisor", "hypervisor.elf", "s.toml", "-o", "out"];
        sandbox.bulkhead(&prove).assert_refused(&[why, "help: name another folder"]);
        let kept = std::fs::read_to_string(sandbox.path("out/results.json")).expect("a file");
        assert_eq!(kept, text);
    }
    sandbox.write("out/results.json", proven);
    let measure = ["measure", "--quick", "-o", "out"];
    sandbox.bulkhead(&measure).assert_refused(&["out has results of `bulkhead prove`"]);
}
