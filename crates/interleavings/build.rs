//! Copies what CPUs of the hypervisor do at the same time, with the atomics and locks of model checkers in place of
//! the real ones, and once more with each mutation: a mistake that a test has to find.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A text of a source that occurs there once, and what the mutant has in its place.
struct Mutant {
    name: &'static str,
    replaced: &'static [(&'static str, &'static str)],
}

/// Those of the protocol of kicks, in `attention.rs`.
const ATTENTION: [Mutant; 9] = [
    Mutant { name: "real", replaced: &[] },
    Mutant {
        name: "place_before_note",
        replaced: &[(
            "let before = self.notes.fetch_or(LOOK, SeqCst);\n        let kicks = match self.place() {",
            "let place = self.place();\n        let before = self.notes.fetch_or(LOOK, SeqCst);\n        let kicks = match place {",
        )],
    },
    Mutant {
        name: "relaxed_run",
        replaced: &[
            ("self.notes.load(SeqCst) != 0", "self.notes.load(crate::fenced::RELAXED) != 0"),
            (
                "self.place.store(Place::Running as u8, SeqCst)",
                "self.place.store(Place::Running as u8, crate::fenced::RELAXED)",
            ),
        ],
    },
    Mutant {
        name: "relaxed_look",
        replaced: &[
            ("match self.place.load(SeqCst) {", "match self.place.load(crate::fenced::RELAXED) {"),
            (
                "let before = self.notes.fetch_or(LOOK, SeqCst);",
                "let before = self.notes.fetch_or(LOOK, crate::fenced::RELAXED);",
            ),
        ],
    },
    Mutant {
        name: "wait_without_look",
        replaced: &[(
            "self.place.store(Place::Waiting as u8, SeqCst);\n        self.is_noted()",
            "self.place.store(Place::Waiting as u8, SeqCst);\n        false",
        )],
    },
    Mutant {
        name: "notes_taken_late",
        replaced: &[(
            "let called = if noted { attend() } else { None };",
            "let called = if noted { attend() } else { None };\n        self.notes.store(0, SeqCst);",
        )],
    },
    Mutant {
        name: "quiet_call",
        replaced: &[(
            "place => can_take(place) && self.notes",
            "place => can_take(place) && before & LOOK == 0 && self.notes",
        )],
    },
    Mutant {
        name: "settled_sleeps_on",
        replaced: &[(
            "place == Place::Settled && called == Some(true)",
            "place == Place::Settled && called == None && noted",
        )],
    },
    Mutant {
        name: "later_kick_unpaid",
        replaced: &[("        if kicks {\n", "        if kicks && before == 0 {\n")],
    },
];

/// Those of the lock that CPUs get in turn, in `mutex/ticket.rs` of the crate `spin`.
const TICKET: [Mutant; 4] = [
    Mutant { name: "real", replaced: &[] },
    Mutant {
        name: "relaxed_lock",
        replaced: &[(
            "while self.next_serving.load(Ordering::Acquire)",
            "while self.next_serving.load(Ordering::Relaxed)",
        )],
    },
    Mutant {
        name: "relaxed_unlock",
        replaced: &[("(new_ticket, Ordering::Release)", "(new_ticket, Ordering::Relaxed)")],
    },
    Mutant {
        name: "one_ticket_for_two",
        replaced: &[(
            "let ticket = self.next_ticket.fetch_add(1, Ordering::Relaxed);",
            "let ticket = self.next_ticket.load(Ordering::Relaxed);
            self.next_ticket.store(ticket + 1, Ordering::Relaxed);",
        )],
    },
];

/// Those of messages through channels, in `channel.rs` of the library for guests.
const CHANNEL: [Mutant; 11] = [
    Mutant { name: "real", replaced: &[] },
    Mutant { name: "unmarked", replaced: &[("        state.store(0, Ordering::Relaxed);\n", "")] },
    Mutant {
        name: "marked_without_a_fence",
        replaced: &[(
            "        state.store(0, Ordering::Relaxed);\n        fence(Ordering::Release);\n",
            "        state.store(0, Ordering::Relaxed);\n",
        )],
    },
    Mutant {
        name: "newest_too_early",
        replaced: &[(
            "header(NEWEST).store(number, Ordering::Release)",
            "header(NEWEST).store(number, Ordering::Relaxed)",
        )],
    },
    Mutant {
        name: "newest_without_acquiring",
        replaced: &[(
            "header(NEWEST).load(Ordering::Acquire)",
            "header(NEWEST).load(Ordering::Relaxed)",
        )],
    },
    Mutant {
        name: "no_second_look",
        replaced: &[("        state.load(Ordering::Relaxed) == number\n", "        true\n")],
    },
    Mutant {
        name: "second_look_without_a_fence",
        replaced: &[(
            "        fence(Ordering::Acquire);\n        state.load",
            "        state.load",
        )],
    },
    Mutant {
        name: "opening_without_a_fence",
        replaced: &[(
            "        fence(Ordering::Release);\n        if load(MAGIC)",
            "        if load(MAGIC)",
        )],
    },
    Mutant {
        name: "opened_too_early",
        replaced: &[(
            "store(opening.wrapping_add(1), Ordering::Release)",
            "store(opening.wrapping_add(1), Ordering::Relaxed)",
        )],
    },
    Mutant {
        name: "no_look_for_openings",
        replaced: &[("if header(EPOCH).load(Ordering::Relaxed) != epoch {", "if false {")],
    },
    Mutant {
        name: "look_for_openings_without_a_fence",
        replaced: &[(
            "            fence(Ordering::Acquire);\n            if header(EPOCH)",
            "            if header(EPOCH)",
        )],
    },
];

/// Those of one direction of a serial line, in `vdev/wire.rs`.
const WIRE: [Mutant; 5] = [
    Mutant { name: "real", replaced: &[] },
    Mutant {
        name: "shown_too_early",
        replaced: &[("self.sent.load(Relaxed), Release)", "self.sent.load(Relaxed), Relaxed)")],
    },
    Mutant {
        name: "seen_without_acquiring",
        replaced: &[("self.shown.load(Acquire)", "self.shown.load(Relaxed)")],
    },
    Mutant {
        name: "no_second_look",
        replaced: &[("            room = WIRE_SIZE - self.used();\n", "            room += 0;\n")],
    },
    Mutant {
        name: "second_look_without_a_fence",
        replaced: &[(
            "            // The reader makes room before it looks for this.\n            fence(SeqCst);\n",
            "",
        )],
    },
];

/// Those of notes about ports, in `vm/port/notes.rs`.
const NOTES: [Mutant; 5] = [
    Mutant { name: "real", replaced: &[] },
    Mutant {
        name: "no_second_try",
        replaced: &[(
            "            fence(SeqCst);\n            try_lock()\n        })?;",
            "            fence(SeqCst);\n            None\n        })?;",
        )],
    },
    Mutant {
        name: "misses_late",
        replaced: &[
            ("            self.missed.fetch_or(1 << port, SeqCst);\n", ""),
            (
                "            try_lock()\n        })?;",
                "            let found = try_lock();\n            \
                 self.missed.fetch_or(1 << port, SeqCst);\n            found\n        })?;",
            ),
        ],
    },
    Mutant {
        name: "leaves_without_a_look",
        replaced: &[(
            "self.missed.load(Relaxed) & 1 << port != 0\n",
            "false && self.missed.load(Relaxed) & 1 << port != 0\n",
        )],
    },
    Mutant {
        name: "forgets_by_a_store",
        replaced: &[("self.told.swap(0, SeqCst);", "self.told.store(0, SeqCst);")],
    },
];

/// Those of ends of links, in `vm/link.rs`.
const LINKS: [Mutant; 8] = [
    Mutant { name: "real", replaced: &[] },
    Mutant {
        name: "comes_while_moving",
        replaced: &[("if link.moving.load(Relaxed) {", "if false {")],
    },
    Mutant {
        name: "stops_without_taking",
        replaced: &[("        link.receive.lock().0 = None;\n", "")],
    },
    Mutant {
        name: "stops_without_waiting",
        replaced: &[(
            "        link.receive.lock().0 = None;\n",
            "        if let Some(mut receive) = link.receive.try_lock() { receive.0 = None; }\n",
        )],
    },
    Mutant {
        name: "starts_without_forgetting",
        replaced: &[(
            "            link.broken.store(false, Relaxed);\n            let rings",
            "            let rings",
        )],
    },
    Mutant {
        name: "breaks_late",
        replaced: &[(
            "            link.broken.store(true, Relaxed);\n            drop(receive);\n",
            "            drop(receive);\n            link.broken.store(true, Relaxed);\n",
        )],
    },
    Mutant {
        name: "breaks_untold",
        replaced: &[(
            "            machine::tell_link(vm.index, number);\n            Err",
            "            Err",
        )],
    },
    Mutant {
        name: "sends_untold",
        replaced: &[("if sending.done || link.broken.load(Relaxed) {", "if sending.done {")],
    },
];

/// Those of what CPUs do, in these files of the hypervisor.
const CPUS: [(&str, Mutant); 13] = [
    ("", Mutant { name: "real", replaced: &[] }),
    (
        "pcpu/sharing.rs",
        Mutant {
            name: "goes_on_unseen",
            replaced: &[(
                "core::ptr::eq(next, at) && at.vcpu.attention.is_running()",
                "core::ptr::eq(next, at)",
            )],
        },
    ),
    (
        "pcpu/sharing.rs",
        Mutant {
            name: "enters_without_a_look",
            replaced: &[("if at.vcpu.attention.run() {", "if at.vcpu.attention.run() && false {")],
        },
    ),
    (
        "pcpu/sharing.rs",
        Mutant {
            name: "sleeps_without_a_look",
            replaced: &[(
                "if at.vcpu.attention.wait() {",
                "if at.vcpu.attention.wait() && false {",
            )],
        },
    ),
    (
        "locks.rs",
        Mutant {
            name: "waits_under_the_table",
            replaced: &[(
                "        let (_, vcpu) = self.vcpu(who)?;\n",
                "        let (vm, vcpu) = self.vcpu(who)?;\n        \
                 vm.gic.raise_private(&crate::vm::GicEnv::any(vm), vcpu.index, \
                 abi::hypercall::LOCK_INTERRUPT);\n",
            )],
        },
    ),
    (
        "locks.rs",
        Mutant {
            name: "grants_without_a_kick",
            replaced: &[(
                "    if let Some(vcpu) = granted {\n        vcpu.pcpu.kick();\n",
                "    if let Some(vcpu) = granted {\n        let _ = vcpu;\n",
            )],
        },
    ),
    (
        "locks.rs",
        Mutant {
            name: "kicks_before_the_grant",
            replaced: &[
                ("        sections.untold.store(true, Release);\n", ""),
                (
                    "    if let Some(vcpu) = granted {\n        vcpu.pcpu.kick();\n",
                    "    if let Some(vcpu) = granted {\n        vcpu.pcpu.kick();\n        vcpu.sections.untold.store(true, Release);\n",
                ),
            ],
        },
    ),
    (
        "locks/calls.rs",
        Mutant {
            name: "two_owners",
            replaced: &[(
                "let locked = locks.with(|table| match table.take(who, resource, function == LOCK) {",
                "let locked = locks.with(|table| match {
                let _ = table.leave(who.vcpu() ^ 1, resource, false);
                table.take(who, resource, function == LOCK)
            } {",
            )],
        },
    ),
    (
        "locks/calls.rs",
        Mutant {
            name: "opens_and_closes_alike",
            replaced: &[
                ("true => open.fetch_and(!bit, Relaxed)", "true => open.fetch_xor(bit, Relaxed)"),
                ("false => open.fetch_or(bit, Relaxed)", "false => open.fetch_xor(bit, Relaxed)"),
            ],
        },
    ),
    (
        "pcpu/sharing.rs",
        Mutant {
            name: "masks_without_waking",
            replaced: &[("                    self.wake(it, now);\n", "")],
        },
    ),
    (
        "vdev/gic/attention.rs",
        Mutant {
            name: "settles_without_folding",
            replaced: &[("if !wakes && called.is_some() {", "if !wakes {")],
        },
    ),
    (
        "vdev/gic/state.rs",
        Mutant {
            name: "waits_for_those_who_sleep",
            replaced: &[(
                "env.attention(vcpu).is_some_and(Attention::is_running);",
                "env.attention(vcpu).is_some_and(|it| it.place() != super::attention::Place::Settled);",
            )],
        },
    ),
    (
        "vdev/gic/state.rs",
        Mutant {
            name: "trusts_what_seems_listed",
            replaced: &[(
                "(bank.targets[vcpu] | bank.held[vcpu])",
                "bank.targets[vcpu] & !bank.listed",
            )],
        },
    ),
];

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
