//! Limits of a system are told at the line that exceeds them.

use testing::{Large, Open, sandbox};

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

#[test]
fn the_ninth_vcpu_is_named() {
    let vcpus =
        "[[vm.vcpu]]\npcpu = 0\nserver = \"deferrable\"\nperiod = \"5ms\"\nbudget = \"0.1ms\"\n";
    let text = [HEAD, &vm("a"), &vcpus.repeat(9)].concat();
    refused(&text, 6 + 8 * 5 + 1, "a VM can have 8 VCPUs");
    // Where the number is too large, other mistakes come after it.
    let text = [HEAD, &vm("a"), "vcpus = 9\nshare_colors = 1\n"].concat();
    refused(&text, 7, "a VM can have 8 VCPUs");
}

/// The text with another board: one that is only analysed, with this number of CPUs.
fn analyzed(cpus: u64, text: &str) -> String {
    let large = Large { pcpus: cpus, ..Large::default() }.to_toml();
    match cpus {
        0..=8 => large.replace("architecture", "analysis_only = \"no\"\narchitecture"),
        _ => large,
    }
    .split("[platform.gic]")
    .next()
    .expect("a platform")
    .to_owned()
        + text
}

#[test]
fn machines_that_are_only_analysed_are_larger() {
    let sandbox = sandbox!();
    let platform = analyzed(64, "");
    let lines = platform.lines().count();
    let vcpu =
        "[[vm.vcpu]]\npcpu = 0\nserver = \"deferrable\"\nperiod = \"50ms\"\nbudget = \"0.1ms\"\n";
    let few = |vms: usize, vcpus: usize| {
        let one = |number| [vm(&format!("v{number}")), vcpu.repeat(vcpus)].concat();
        [platform.clone(), (0..vms).map(one).collect()].concat()
    };
    sandbox.write("s.toml", &few(2, 64));
    sandbox.bulkhead(&["check", "s.toml"]).assert_status(0);
    refused(&few(1, 65), lines + 5 + 64 * 5 + 1, "a VM can have 64 VCPUs");
    sandbox.write("s.toml", &few(256, 1));
    sandbox.bulkhead(&["check", "s.toml"]).assert_status(0);
    refused(&few(257, 1), lines + 256 * 10 + 1, "a system can have 256 VMs");
    let shared = |count| {
        let vms = [vm("a"), vm("b")].concat();
        [platform.clone(), vms, resources("vms = [\"a\", \"b\"]", count)].concat()
    };
    sandbox.write("s.toml", &shared(64));
    sandbox.bulkhead(&["check", "s.toml"]).assert_status(0);
    refused(&shared(65), lines + 10 + 64 * 3 + 1, "a system can have 64 resources");
    let line = 1 + platform.lines().position(|line| line == "count = 64").expect("a count");
    let more = platform.replacen("count = 64", "count = 257", 1) + &vm("a");
    refused(&more, line, "257 is out of range");
    let group = "[[platform.cpu]]\nmodel = \"Cortex-A53\"\ncount = 250\n[[platform.memory]]";
    let more = platform.replacen("[[platform.memory]]", group, 1) + &vm("a");
    refused(&more, line + 3, "a machine can have 256 CPUs");
}

/// 64 PCPUs, 32 VMs, 128 VCPUs, 512 tasks, and 64 resources: planned into a copy of the description,
/// which is judged and simulated.
#[test]
fn a_large_machine_is_planned_judged_and_simulated() {
    let large = Large {
        pcpus: 64,
        vms: 32,
        vcpus: 4,
        tasks: 512,
        resources: 64,
        load: 1_200,
        open: Open::Budgets,
        ..Large::default()
    };
    let sandbox = sandbox!();
    sandbox.write("large.toml", &Large { resources: 0, ..large }.to_toml());
    let planned = sandbox.bulkhead(&["plan", "large.toml"]);
    planned.assert_status(0);
    assert!(planned.stdout.contains("wrote large.planned.toml"), "{}", planned.stdout);
    let check = |file: &str| sandbox.bulkhead(&["check", file, "--json"]).json();
    let (before, after) = (check("large.toml"), check("large.planned.toml"));
    assert_eq!(after["ok"], true);
    assert_eq!(before["analysis"], after["analysis"]);
    let simulated = sandbox.bulkhead(&["sim", "large.planned.toml", "--until", "1s", "--json"]);
    simulated.assert_status(0);
    let json = sandbox.bulkhead(&["plan", "large.toml", "-o", "other.toml", "--json"]).json();
    assert_eq!(json["plan_file"], "other.toml");
    assert!(json["plan_dts"].is_null() && json["plan_toml"].is_string(), "{json}");
    let refused = sandbox.bulkhead(&["plan", "large.toml", "-o", "large.dts"]);
    refused.assert_refused(&["large.dts cannot be a plan", "ends in .toml"]);
    // With resources, of which the simulator has tables for 64 VCPUs.
    sandbox.write("locks.toml", &Large { open: Open::Nothing, vcpus: 2, ..large }.to_toml());
    let simulated = sandbox.bulkhead(&["sim", "locks.toml", "--until", "0.1s", "--trace", "t"]);
    assert!(matches!(simulated.status, Some(0 | 1)), "{}", simulated.stderr);
    sandbox.write("locks.toml", &Large { open: Open::Nothing, ..large }.to_toml());
    let refused = sandbox.bulkhead(&["sim", "locks.toml"]);
    refused.assert_refused(&["64 VCPUs with critical sections", "one more has this task"]);
}
