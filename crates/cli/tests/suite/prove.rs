//! What `bulkhead prove` refuses, with nothing written.

use testing::sandbox;

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
