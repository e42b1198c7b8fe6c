//! The text of a platform file.

use std::fmt::Write;

use crate::Imported;
use crate::amount::{region, size};
use crate::board::{Board, Cpu};
use crate::caches::Cache;
use crate::console::Console;
use crate::left::Left;
use crate::tree::Region;

/// Writes the file.
pub fn write(board: &Board) -> Imported {
    let mut out = Out { text: String::new(), open: Vec::new() };
    out.line("# Out of a device tree of Linux. What it does not state is marked with `fill in`,");
    out.line("# and what it has and this file has not, with `left out`.");
    let name = board.name.as_deref().unwrap_or("my-board");
    out.line(&format!("name = {}", quoted(name)));
    let about = board.model.as_deref().unwrap_or(name);
    out.line(&format!("about = {}", quoted(about)));
    out.line("architecture = \"aarch64\"");
    match board.counter {
        Some(frequency) => out.line(&format!("counter = \"{frequency}Hz\"")),
        None => out.open("counter = \"62.5MHz\"", "frequency of the system counter: CNTFRQ_EL0"),
    }
    cpus(&mut out, &board.cpus);
    for bank in &board.memory {
        out.line(&format!("\n[[memory]]\nstart = {:#x}\nsize = {}", bank.start, size(bank.size)));
    }
    gic(&mut out, board);
    match &board.console {
        Ok(Console { kind, registers, interrupt }) => {
            let Region { start, size: bytes } = registers;
            let bytes = size(*bytes);
            out.line(&format!(
                "\n[console]\nkind = \"{kind}\"\nstart = {start:#x}\nsize = {bytes}"
            ));
            match interrupt {
                Some(number) => out.line(&format!("interrupt = {number}")),
                None => out.open("interrupt = 33", "INTID of the UART: 32 and its SPI"),
            }
        }
        Err(why) => out.open("[console]", &comment(why)),
    }
    board.caches.iter().for_each(|it| cache(&mut out, it));
    if !board.caches.iter().any(|it| it.shared_by > 1) {
        out.open(
            "[[cache]]",
            "the shared last-level cache: level, kind, size, ways, line, shared_by",
        );
    }
    out.open(
        "[overheads]",
        "what the hypervisor takes: docs/how-to/port-a-board.md says how to measure",
    );
    out.open("[bandwidth]", "what counts memory accesses, for limits on them");
    if !board.left.is_empty() {
        out.line("");
    }
    let mut left = Vec::new();
    for Left { what, why } in &board.left {
        let (what, why) = (comment(what), comment(why));
        out.line(&format!("# left out: {what}: {why}"));
        left.push((what, why));
    }
    Imported { text: out.text, open: out.open, left }
}

struct Out {
    text: String,
    open: Vec<String>,
}

impl Out {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// A key or a table that is not known.
    fn open(&mut self, what: &str, why: &str) {
        let blank = if what.starts_with('[') { "\n" } else { "" };
        self.line(&format!("{blank}# {what}   # fill in: {why}"));
        let name = what.split(" =").next().unwrap_or(what);
        self.open.push(format!("{name}: {why}"));
    }
}

/// Groups of equal CPUs whose numbers follow each other.
fn cpus(out: &mut Out, cpus: &[Cpu]) {
    let follow = |one: &Cpu, next: &Cpu| {
        one.model == next.model
            && one.mpidr.checked_add(1) == Some(next.mpidr)
            && one.release.is_some() == next.release.is_some()
    };
    for group in cpus.chunk_by(follow) {
        let (count, first) = (group.len(), &group[0]);
        out.line(&format!("\n[[cpu]]\nmodel = {}\ncount = {count}", quoted(&first.model)));
        if first.mpidr != 0 {
            out.line(&format!("mpidr = {:#x}", first.mpidr));
        }
        let releases: Vec<String> =
            group.iter().filter_map(|it| it.release).map(|it| format!("{it:#x}")).collect();
        if !releases.is_empty() {
            out.line(&format!("spin_table = [{}]", releases.join(", ")));
        }
    }
}

fn gic(out: &mut Out, board: &Board) {
    let Some((version, frames)) = &board.gic else {
        out.open("[gic]", "the tree has no GICv3, and no GICv2 with virtual interfaces");
        return;
    };
    out.line(&format!("\n[gic]\nversion = {version}"));
    for (name, frame) in frames {
        out.line(&format!("{name} = {{ {} }}", region(frame)));
    }
    let names: &[&str] =
        if *version == 3 { &["gicd", "gicr"] } else { &["gicd", "gicc", "gich", "gicv"] };
    for name in &names[frames.len().min(names.len())..] {
        out.open(&format!("{name} = {{ start = 0x0, size = \"8KiB\" }}"), "a frame of the GIC");
    }
}

fn cache(out: &mut Out, cache: &Cache) {
    out.line(&format!("\n[[cache]]\nlevel = {}\nkind = \"{}\"", cache.level, cache.kind));
    let missing = format!("of the {} cache of level {}", cache.kind, cache.level);
    match cache.size {
        Some(bytes) => out.line(&format!("size = {}", size(bytes.into()))),
        None => out.open("size = \"1MiB\"", &missing),
    }
    match cache.ways() {
        Some(ways) => out.line(&format!("ways = {ways}")),
        None => out.open("ways = 16", &missing),
    }
    match cache.line {
        Some(bytes) => out.line(&format!("line = {}", size(bytes.into()))),
        None => out.open("line = \"64B\"", &missing),
    }
    if cache.shared_by > 1 {
        out.line(&format!("shared_by = {}", cache.shared_by));
    }
}

/// A text that stays in its line.
fn comment(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).collect()
}

/// A text of TOML, with nothing in it that would end it.
fn quoted(text: &str) -> String {
    let plain = text.chars().filter(|it| !it.is_control() && !['"', '\\'].contains(it));
    let plain: String = plain.collect();
    format!("\"{}\"", if plain.is_empty() { "unknown" } else { &plain })
}
