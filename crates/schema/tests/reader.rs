//! The keys of the schemas are those that the readers know: each table is asked with a key that nobody knows.

use std::collections::BTreeSet;
use std::path::Path;

use schema::Kind;
use serde_json::Value;
use system::description::System;
use system::diagnostic::Errors;
use system::platform::Platform;

/// A key that is like no other one.
const UNKNOWN: &str = "zqzqzq";

/// The keys that are known where the unknown one stands, as the help of the mistake lists them.
fn known(errors: &Errors) -> BTreeSet<String> {
    let entries = errors.entries();
    let entry = entries.iter().find(|it| it.message.contains(UNKNOWN));
    let entry = entry.unwrap_or_else(|| panic!("no unknown key: {errors}"));
    let help = entry.help.as_deref().expect("a help");
    let list = help.strip_prefix("known are ").expect("a list");
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The keys of the table at `path` in a schema.
fn keys(kind: Kind, path: &str) -> BTreeSet<String> {
    let schema = schema::schema(kind);
    let mut at = &schema;
    for name in path.split('.').filter(|it| !it.is_empty()) {
        at = table(&at["properties"][name]).expect("a table");
    }
    at["properties"].as_object().expect("properties").keys().cloned().collect()
}

/// A schema with properties: itself, of its items, or of one of several.
fn table(schema: &Value) -> Option<&Value> {
    let several = || schema["anyOf"].as_array().into_iter().flatten();
    match schema.get("properties") {
        Some(_) => Some(schema),
        None => schema.get("items").into_iter().chain(several()).find_map(table),
    }
}

#[test]
fn descriptions_have_the_keys_of_the_schema() {
    let start = "platform = \"qemu-virt\"\n";
    let vm = "[[vm]]\nname = \"a\"\nmemory = \"4MiB\"\nkernel = \"k\"\n";
    let cases = [
        ("", format!("{UNKNOWN} = 1\n{start}{vm}")),
        ("resource", format!("{start}{vm}[[resource]]\n{UNKNOWN} = 1")),
        ("channel", format!("{start}{vm}[[channel]]\n{UNKNOWN} = 1")),
        ("chain", format!("{start}{vm}[[chain]]\n{UNKNOWN} = 1")),
        ("vm", format!("{start}{vm}{UNKNOWN} = 1")),
        ("vm.task", format!("{start}{vm}[[vm.task]]\n{UNKNOWN} = 1")),
        ("vm.task.sections", format!("{start}{vm}[[vm.task]]\nsections = [{{ {UNKNOWN} = 1 }}]")),
        ("vm.device", format!("{start}{vm}[[vm.device]]\n{UNKNOWN} = 1")),
        ("vm.bandwidth", format!("{start}{vm}bandwidth = {{ {UNKNOWN} = 1 }}")),
    ];
    for (path, text) in cases {
        let errors = System::from_toml("a.toml", &text, Path::new(".")).expect_err(path);
        assert_eq!(known(&errors), keys(Kind::Description, path), "{path}");
    }
    // Keys that the reader knows to refuse them, because they belong to the VM.
    let text = format!("{start}{vm}[[vm.vcpu]]\n{UNKNOWN} = 1");
    let errors = System::from_toml("a.toml", &text, Path::new(".")).expect_err("a VCPU");
    let mut expected = keys(Kind::Description, "vm.vcpu");
    expected.extend(["compensation", "critical", "flush"].map(String::from));
    assert_eq!(known(&errors), expected);
    let text = format!("[platform]\n{UNKNOWN} = 1\n{vm}");
    let errors = System::from_toml("a.toml", &text, Path::new(".")).expect_err("a platform");
    assert_eq!(known(&errors), keys(Kind::Description, "platform"));
}

#[test]
fn platforms_have_the_keys_of_the_schema() {
    let cache =
        "[[cache]]\nlevel = 2\nkind = \"unified\"\nsize = \"1MiB\"\nways = 16\nline = \"64B\"\n";
    let cpu = "[[cpu]]\nmodel = \"A\"\ncount = 1\n";
    let start = "name = \"a\"\nabout = \"b\"\narchitecture = \"aarch64\"\n";
    let cases = [
        ("", format!("{UNKNOWN} = 1\n")),
        ("cpu", format!("[[cpu]]\n{UNKNOWN} = 1")),
        ("memory", format!("[[memory]]\n{UNKNOWN} = 1")),
        ("console", format!("{start}[console]\n{UNKNOWN} = 1")),
        ("overheads", format!("[overheads]\n{UNKNOWN} = 1")),
        ("power_off", format!("{start}[power_off]\n{UNKNOWN} = 1")),
        ("qemu", format!("[qemu]\n{UNKNOWN} = 1")),
        ("cache", format!("[[cache]]\n{UNKNOWN} = 1")),
        ("bandwidth", format!("{start}{cpu}{cache}[bandwidth]\ncounter = \"pmu\"\n{UNKNOWN} = 1")),
        ("gic.gicd", format!("{start}[gic]\nversion = 3\ngicd = {{ {UNKNOWN} = 1 }}")),
    ];
    for (path, text) in cases {
        let errors = Platform::from_toml("a.toml", &text).expect_err(path);
        assert_eq!(known(&errors), keys(Kind::Platform, path), "{path}");
    }
    // Each version has keys of its own.
    let of = |version: u32, frames: &[&str]| {
        let frame = |name| format!("{name} = {{ start = 0, size = \"4KiB\" }}\n");
        let frames: String = frames.iter().map(frame).collect();
        let text = format!("{start}[gic]\nversion = {version}\n{UNKNOWN} = 1\n{frames}");
        known(&Platform::from_toml("a.toml", &text).expect_err("a GIC"))
    };
    let (second, third) = (of(2, &["gicd", "gicc", "gich", "gicv"]), of(3, &["gicd", "gicr"]));
    assert_eq!(&second | &third, keys(Kind::Platform, "gic"));
}
