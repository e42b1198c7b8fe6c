//! Copies what CPUs of the hypervisor do at the same time, with the atomics and locks of model checkers in place of
//! the real ones, and once more with each mutation: a mistake that a test has to find.

#[path = "build/mutants.rs"]
mod mutants;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use mutants::{ATTENTION, CHANNEL, CPUS, LINKS, Mutant, NOTES, TICKET, WIRE};

fn mutate(source: &str, mutant: &Mutant) -> String {
    let mut source = source.to_owned();
    for (from, to) in mutant.replaced {
        let count = source.matches(from).count();
        assert_eq!(count, 1, "mutant {}: the source has {count} times: {from}", mutant.name);
        source = source.replace(from, to);
    }
    source
}

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let hypervisor = own.join("../../hypervisor/src");
    println!("cargo::rerun-if-changed=build.rs");
    attention(&own, &hypervisor, &out);
    ticket(&own, &out);
    channel(&own, &out);
    wire(&own, &hypervisor, &out);
    notes(&own, &hypervisor, &out);
    cpus(&own, &hypervisor, &out);
    links(&own, &hypervisor, &out);
}

/// Ends of links, for shuttle.
fn links(own: &Path, hypervisor: &Path, out: &Path) {
    let read = |file: &str| {
        let path = hypervisor.join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        fs::read_to_string(path).expect("the hypervisor's source")
    };
    let (link, notes) = (read("vm/link.rs"), read("vm/port/notes.rs"));
    let model = own.join("src/links");
    println!("cargo::rerun-if-changed={}", model.display());
    let mut modules = String::new();
    for mutant in &LINKS {
        let name = mutant.name;
        let prefix = format!("crate::links::{name}::");
        let place = |file: &str, source: &str| {
            let source = source.replace("crate::", &prefix);
            let source = source.replace(&format!("{prefix}with_shuttle"), "crate::with_shuttle");
            let source = source.replace("core::sync::atomic", "shuttle::sync::atomic");
            // Models call all of it, and its atomics are no constants.
            let source = source.replace("pub(super) fn", "pub fn").replace("const fn", "fn");
            let path = out.join(format!("links_{name}")).join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, source).expect("written");
        };
        // Its documentation names what is not here.
        place("vm/link.rs", &mutate(&link, mutant).replace("//!", "//"));
        place("vm/port/notes.rs", &notes);
        for file in ["mod.rs", "guest.rs", "scenes.rs"] {
            place(file, &fs::read_to_string(model.join(file)).expect("a model"));
        }
        let root = out.join(format!("links_{name}/mod.rs"));
        writeln!(modules, "#[path = {root:?}] pub mod {name};").expect("a string");
    }
    fs::write(out.join("links.rs"), modules).expect("written");
}

/// Several CPUs, for shuttle.
fn cpus(own: &Path, hypervisor: &Path, out: &Path) {
    let mut copied = Vec::new();
    for folder in ["vdev/gic", "locks"] {
        println!("cargo::rerun-if-changed={}", hypervisor.join(folder).display());
        let files = fs::read_dir(hypervisor.join(folder)).expect("the hypervisor's sources");
        let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("ASCII");
        let names = files.map(|entry| name(entry.expect("a file")));
        let sources = names.filter(|name| name.ends_with(".rs"));
        copied.extend(sources.map(|name| format!("{folder}/{name}")));
    }
    for name in [
        "locks.rs",
        "pcpu/sharing.rs",
        "exits/interrupt.rs",
        "vm/gic_env.rs",
        "vm/virtual_timer.rs",
    ] {
        copied.push(name.to_owned());
    }
    let model = own.join("src/cpus");
    let stubs = fs::read_dir(&model).expect("the models");
    let stubs: Vec<_> = stubs.map(|entry| entry.expect("a file").path()).collect();
    println!("cargo::rerun-if-changed={}", model.display());
    let mut modules = String::new();
    for (mutated, mutant) in &CPUS {
        let name = mutant.name;
        let folder = out.join(format!("cpus_{name}"));
        let prefix = format!("crate::cpus::{name}::");
        let place = |source: &str| {
            // Their own tests are the hypervisor's.
            let source = source.replace("#[cfg(test)]", "#[cfg(any())]");
            let source = source.replace("crate::", &prefix);
            let source = source.replace("core::sync::atomic", "shuttle::sync::atomic");
            source
                .replace(&format!("{prefix}with_shuttle"), "crate::with_shuttle")
                .replace(&format!("{prefix}Act"), "crate::Act")
        };
        for file in &copied {
            let path = hypervisor.join(file);
            println!("cargo::rerun-if-changed={}", path.display());
            let mut source = fs::read_to_string(path).expect("the hypervisor's source");
            if file == mutated {
                source = mutate(&source, mutant);
            }
            let to = folder.join(file);
            fs::create_dir_all(to.parent().expect("a folder")).expect("made");
            fs::write(to, place(&source)).expect("written");
        }
        for stub in &stubs {
            let source = fs::read_to_string(stub).expect("a model");
            let file = stub.file_name().expect("a name");
            fs::write(folder.join(file), place(&source)).expect("written");
        }
        let root = folder.join("mod.rs");
        writeln!(modules, "#[path = {root:?}] pub mod {name};").expect("a string");
    }
    fs::write(out.join("cpus.rs"), modules).expect("written");
}

/// The lock of `spin`, for loom.
fn ticket(own: &Path, out: &Path) {
    let path = spin(own).join("src/mutex/ticket.rs");
    println!("cargo::rerun-if-changed={}", path.display());
    let source = fs::read_to_string(path).expect("the source of spin");
    let own_tests = source.find("#[cfg(test)]").expect("tests at the end");
    let source = &source[..own_tests];
    const IMPORTS: &str = "use crate::{
    atomic::{AtomicUsize, Ordering},
    RelaxStrategy, Spin,
};";
    let adapt = Mutant {
        name: "for loom",
        replaced: &[
            (IMPORTS, "use crate::with_loom::spin::{AtomicUsize, Ordering, RelaxStrategy, Spin};"),
            ("pub const fn new(data: T)", "pub fn new(data: T)"),
            ("    ticket: usize,", "    pub ticket: usize,"),
        ],
    };
    let model = own.join("src/turns.rs");
    let mut modules = String::new();
    for mutant in &TICKET {
        let name = mutant.name;
        let path = out.join(format!("ticket_{name}.rs"));
        fs::write(&path, mutate(&mutate(source, mutant), &adapt)).expect("written");
        let sources = format!(
            "#[allow(warnings, clippy::all, clippy::undocumented_unsafe_blocks)] \
             #[path = {path:?}] mod ticket; #[path = {model:?}] mod turns;"
        );
        writeln!(modules, "pub mod {name} {{ {sources} pub use turns::*; }}").expect("a string");
    }
    fs::write(out.join("ticket.rs"), modules).expect("written");
}

/// Messages through channels, for loom.
fn channel(own: &Path, out: &Path) {
    let path = own.join("../../guests/rt/src/channel.rs");
    println!("cargo::rerun-if-changed={}", path.display());
    let source = fs::read_to_string(path).expect("the library for guests");
    let adapt = Mutant {
        name: "for loom",
        replaced: &[
            (
                "use core::sync::atomic::{AtomicU64, Ordering, fence};",
                "use std::sync::atomic::Ordering;\n\nuse loom::sync::atomic::{AtomicU64, fence};",
            ),
            ("#[cfg(test)]\nmod tests;\n", ""),
        ],
    };
    let model = own.join("src/messages.rs");
    let mut modules = String::new();
    for mutant in &CHANNEL {
        let name = mutant.name;
        let path = out.join(format!("channel_{name}.rs"));
        let adapted = mutate(&mutate(&source, mutant), &adapt);
        fs::write(&path, adapted.replace("//!", "//")).expect("written");
        let sources = format!("#[path = {path:?}] mod channel; #[path = {model:?}] mod messages;");
        writeln!(modules, "pub mod {name} {{ {sources} pub use messages::*; }}").expect("a string");
    }
    fs::write(out.join("channel.rs"), modules).expect("written");
}

/// One direction of a serial line as it is in the hypervisor, of two bytes, for loom.
fn wire_source(hypervisor: &Path) -> String {
    let path = hypervisor.join("vdev/wire.rs");
    println!("cargo::rerun-if-changed={}", path.display());
    let source = fs::read_to_string(path).expect("the hypervisor's source");
    let source = &source[..source.find("#[cfg(test)]").expect("tests at the end")];
    let adapt = Mutant {
        name: "for loom",
        replaced: &[
            ("use core::sync::atomic::{AtomicBool,", "use loom::sync::atomic::{AtomicBool,"),
            ("pub const WIRE_SIZE: u32 = 1024;", "pub const WIRE_SIZE: u32 = 2;"),
        ],
    };
    mutate(source, &adapt).replace("//!", "//")
}

/// One direction of a serial line.
fn wire(own: &Path, hypervisor: &Path, out: &Path) {
    let source = wire_source(hypervisor);
    let model = own.join("src/serial.rs");
    let mut modules = String::new();
    for mutant in &WIRE {
        let name = mutant.name;
        let path = out.join(format!("wire_{name}.rs"));
        fs::write(&path, mutate(&source, mutant)).expect("written");
        let sources = format!("#[path = {path:?}] mod wire; #[path = {model:?}] mod serial;");
        writeln!(modules, "pub mod {name} {{ {sources} pub use serial::*; }}").expect("a string");
    }
    fs::write(out.join("wire.rs"), modules).expect("written");
}

/// Notes about the ports of a VM, with one direction of a line.
fn notes(own: &Path, hypervisor: &Path, out: &Path) {
    let path = hypervisor.join("vm/port/notes.rs");
    println!("cargo::rerun-if-changed={}", path.display());
    let source = fs::read_to_string(path).expect("the hypervisor's source");
    let adapt = Mutant {
        name: "for loom",
        replaced: &[
            ("use core::sync::atomic::{AtomicU8,", "use loom::sync::atomic::{AtomicU8,"),
            ("pub const fn new()", "pub fn new()"),
        ],
    };
    let (model, wire) = (own.join("src/called.rs"), out.join("wire_of_notes.rs"));
    fs::write(&wire, wire_source(hypervisor)).expect("written");
    let mut modules = String::new();
    for mutant in &NOTES {
        let name = mutant.name;
        let path = out.join(format!("notes_{name}.rs"));
        let adapted = mutate(&mutate(&source, mutant), &adapt);
        fs::write(&path, adapted.replace("//!", "//")).expect("written");
        let sources = format!(
            "#[path = {path:?}] mod notes; #[path = {wire:?}] mod wire; #[path = {model:?}] mod called;"
        );
        writeln!(modules, "pub mod {name} {{ {sources} pub use called::*; }}").expect("a string");
    }
    fs::write(out.join("notes.rs"), modules).expect("written");
}

/// The folder of the crate `spin` that the hypervisor is built with.
fn spin(own: &Path) -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").expect("set by cargo"));
    let target = env::var("TARGET").expect("set by cargo");
    cargo.args(["metadata", "--format-version", "1", "--offline", "--filter-platform", &target]);
    cargo.current_dir(own);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = String::from_utf8(output.stdout).expect("JSON");
    let manifests = metadata.split("\"manifest_path\":\"").skip(1);
    let mut manifests = manifests.filter_map(|rest| rest.split('"').next());
    let manifest = manifests.find(|path| path.contains("/spin-0.10")).expect("spin 0.10");
    Path::new(manifest).parent().expect("a folder").to_owned()
}

/// The protocol of kicks, for both model checkers.
fn attention(own: &Path, hypervisor: &Path, out: &Path) {
    let path = hypervisor.join("vdev/gic/attention.rs");
    println!("cargo::rerun-if-changed={}", path.display());
    let source = fs::read_to_string(path).expect("the hypervisor's source");
    let model = own.join("src/protocol.rs");
    let mut modules = String::new();
    for tool in ["with_loom", "with_shuttle"] {
        writeln!(modules, "pub mod {tool} {{").expect("a string");
        for mutant in &ATTENTION {
            let mutated = mutate(&source, mutant)
                .replace(
                    "core::sync::atomic::{AtomicU8, Ordering::SeqCst}",
                    &format!("crate::{tool}::{{AtomicU8, SeqCst}}"),
                )
                .replace("pub const fn new()", "pub fn new()")
                .replace("super::KICKS", "KICKS");
            let name = mutant.name;
            let path = out.join(format!("{tool}_{name}.rs"));
            fs::write(&path, mutated).expect("written");
            let sources =
                format!("#[path = {path:?}] mod attention; #[path = {model:?}] mod protocol;");
            writeln!(
                modules,
                "pub mod {name} {{ use crate::{tool} as tool; {sources} pub use protocol::*; }}"
            )
            .expect("a string");
        }
        modules.push_str("}\n");
    }
    fs::write(out.join("attention.rs"), modules).expect("written");
}
