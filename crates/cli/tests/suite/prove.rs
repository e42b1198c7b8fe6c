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
