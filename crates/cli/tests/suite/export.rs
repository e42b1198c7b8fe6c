//! `bulkhead export`: files for other systems, and what users do wrong.

use std::fs;

use testing::sandbox;

const SHARED: &str = r#"
platform = "qemu-virt"

[[vm]]
name = "a"
boot = "raw"
memory = "1MiB"
kernel = "a.bin"
vcpu = [{ pcpu = 0, server = "periodic", budget = "1ms", period = "4ms" }]

[[vm]]
name = "b"
boot = "raw"
memory = "1MiB"
kernel = "b.bin"
vcpu = [{ pcpu = 0, server = "periodic", budget = "1ms", period = "4ms" }]
"#;

/// The example of `docs/reference/export.md`.
#[test]
fn files_go_into_a_folder_beside_the_plan() {
    let sandbox = sandbox!();
    sandbox.write("shared.toml", SHARED);
    let result = sandbox.bulkhead(&["export", "shared.toml", "--to", "xen"]);
    result.assert_status(0);
    for part in ["wrote into shared.xen", "a.cfg", "does not enforce:", "earliest deadline"] {
        assert!(result.stdout.contains(part), "`{part}` is not in: {}", result.stdout);
    }
    let domain = fs::read_to_string(sandbox.path("shared.xen/a.cfg")).expect("it is written");
    // Seen from its own folder.
    assert!(domain.contains("kernel = \"../a.bin\""), "{domain}");
    // A second time, and as a document.
    let json = sandbox.bulkhead(&["export", "shared.toml", "--to", "xen", "--json"]).json();
    assert_eq!(json["target"], "xen");
    let folder = fs::read_dir(sandbox.path("shared.xen")).expect("a folder").count();
    assert_eq!(json["files"].as_array().map(Vec::len), Some(folder));
}

#[test]
fn the_standard_output_needs_no_folder() {
    let sandbox = sandbox!();
    let result = sandbox.bulkhead(&["export", "test.dts", "--to", "resctrl", "-o", "-"]);
    result.assert_status(0);
    assert!(result.stdout.starts_with("==> resctrl.sh <==\n#!/bin/sh\n"), "{}", result.stdout);
    assert!(!sandbox.path("test.resctrl").exists());
}

/// The hypervisor boots no plan for a Linux host, and other systems have nothing of it.
#[test]
fn systems_for_kvm_become_scripts_for_linux() {
    let sandbox = sandbox!();
    sandbox.write("kvm.toml", include_str!("../../../../systems/kvm-first.toml"));
    let result = sandbox.bulkhead(&["export", "kvm.toml", "--to", "sched-deadline"]);
    result.assert_status(0);
    for part in ["fixed priorities", "PCPU 0 is CPU 1", "-name burn,debug-threads=on"] {
        assert!(result.stdout.contains(part), "`{part}` is not in: {}", result.stdout);
    }
    let script =
        fs::read_to_string(sandbox.path("kvm.sched-deadline/deadline.sh")).expect("it is written");
    assert!(script.contains("\ndefault_cpus='1'\nshares='800000'\n"), "{script}");
    let refused = sandbox.bulkhead(&["export", "kvm.toml", "--to", "resctrl"]);
    refused.assert_refused(&["a plan for `linux-kvm` cannot be booted"]);
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_written() {
    let sandbox = sandbox!();
    sandbox.write("shared.toml", SHARED);
    let result = sandbox.bulkhead(&["export", "shared.toml", "--to", "bao"]);
    result.assert_status(1);
    assert!(result.stderr.contains("PCPU 0 has several VCPUs"), "{}", result.stderr);
    assert!(!sandbox.path("shared.bao").exists());
    let json = sandbox.bulkhead(&["export", "shared.toml", "--to", "bao", "--json"]).json();
    assert_eq!(json["errors"][0]["code"], "impossible");

    let refused = |arguments: &[&str], parts: &[&str]| {
        let arguments = [&["export"], arguments].concat();
        sandbox.bulkhead(&arguments).assert_refused(parts);
    };
    refused(&["shared.toml", "--to", "zen"], &["zen", "xen"]);
    refused(&["shared.toml"], &["--to"]);
    refused(&["nowhere.toml", "--to", "xen"], &["nowhere.toml"]);
    refused(&["shared.toml", "--to", "xen", "-o", "/proc/nowhere"], &["/proc/nowhere", "-o DIR"]);
}
