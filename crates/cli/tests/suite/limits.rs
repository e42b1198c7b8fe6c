//! Limits of a system are told at the line that exceeds them.

use testing::sandbox;

const HEAD: &str = "platform = \"qemu-virt\"\n";

fn vm(name: &str) -> String {
    format!("[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"rt.bin\"\n")
}

fn resources(keys: &str, count: usize) -> String {
    (0..count).map(|number| format!("[[resource]]\nname = \"r{number}\"\n{keys}\n")).collect()
}

/// Asserts that `check` refuses the text with a message that names the line with this number.
fn refused(text: &str, line: usize, part: &str) {
    let sandbox = sandbox!();
    sandbox.write("s.toml", text);
    let result = sandbox.bulkhead(&["check", "s.toml"]);
    result.assert_refused(&[part, &format!("s.toml:{line}:")]);
}

#[test]
fn the_ninth_vm_is_named() {
    let vms: String = (0..9).map(|number| vm(&format!("v{number}"))).collect();
    refused(&[HEAD, &vms].concat(), 1 + 8 * 5 + 1, "a system can have 8 VMs");
}

#[test]
fn a_system_has_64_resources_of_which_vms_share_16() {
    let vms = [vm("a"), vm("b")].concat();
    let of_one = |count| [HEAD, &vms, &resources("vm = \"a\"", count)].concat();
    let sandbox = sandbox!();
    sandbox.write("s.toml", &of_one(64));
    sandbox.bulkhead(&["check", "s.toml"]).assert_status(0);
    refused(&of_one(65), 11 + 64 * 3 + 1, "a system can have 64 resources");
    let shared = |count| {
        [of_one(48), resources("vms = [\"a\", \"b\"]", count).replace("\"r", "\"s")].concat()
    };
    sandbox.write("s.toml", &shared(16));
    sandbox.bulkhead(&["check", "s.toml"]).assert_status(0);
    let more = shared(17).replacen(&resources("vm = \"a\"", 1), "", 1);
    refused(&more, 11 + 47 * 3 + 16 * 3 + 1, "VMs can share 16 resources");
}

#[test]
fn the_ninth_pcpu_is_named() {
    let sandbox = sandbox!();
    let board = include_str!("../../../../systems/platforms/qemu-virt.toml");
    let more = board.replacen("count = 4", "count = 9", 1);
    let line = 1 + more.lines().position(|line| line.starts_with("count = 9")).expect("a count");
    sandbox.write("board.toml", &more);
    sandbox.write("s.toml", &["platform = \"board.toml\"\n", &vm("a")].concat());
    let result = sandbox.bulkhead(&["check", "s.toml"]);
    let place = format!("board.toml:{line}:");
    result.assert_refused(&["there are 9 CPUs, and the hypervisor runs on 8", &place]);
}
