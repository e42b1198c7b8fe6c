//! Reads the top level of a description.

use std::path::Path;

use policy::color::ColorSet;
use units::{Bytes, Duration};

use super::names::refuse_twice;
use super::{
    Located, Objective, System, Vm, bandwidth, chain, channel, colors, limits, link, locks,
    read_text, serial_line, servers, shares, trigger, vm,
};
use crate::diagnostic::{Diagnostic, Errors, Source};
use crate::document::{Document, Fields};
use crate::platform::{self, Platform};

pub(super) fn system(file: &str, text: &str, folder: &Path) -> Result<System, Errors> {
    let source = Source::new(file, text);
    let document = Document::parse(&source);
    let system = root(&document.root(), file, folder);
    document.finish(system)
}

/// The name of a description that says no more than that it is one.
const GENERIC: &str = "system";

/// Returns the name of the system in a file that does not say it: that of the file; of its folder if it is called
/// `system.toml`, as many are.
pub fn default_name(file: &Path, folder: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    match stem {
        Some(stem) if stem != GENERIC => stem,
        _ => folder_name(folder).unwrap_or_else(|| GENERIC.into()),
    }
}

/// Returns the name of a folder, which may be given as `.`.
pub fn folder_name(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    Some(folder.file_name()?.to_string_lossy().into_owned())
}

fn root(at: &Fields<'_>, file: &str, folder: &Path) -> Option<System> {
    let name = at.string("name").map(|name| name.value);
    let platform = self::platform(at, folder);
    let tables = at.tables("vm", "[[vm]]");
    at.required_tables(
        "vm",
        "`[[vm]]`, and below it `name = \"linux\"`, `memory = \"512MiB\"` and `kernel = \"path/to/kernel\"`",
    );
    let margin = margin(at);
    let objective = objective(at);
    let section_overhead = at.quantity("section_overhead");
    let section_overhead = section_overhead.map_or(locks::SECTION_OVERHEAD, |it| it.value);
    let protocol = locks::protocol(at);
    limits::check(at, platform.as_ref().map(|(platform, _)| &platform.value), &tables);
    let resources = locks::read(at, &tables);
    let channels = channel::read(at, &tables);
    let serial_lines = serial_line::read(at, &tables);
    let links = link::read(at, &tables);
    let read = |(vm, table)| {
        let ends = trigger::Ends { channels: channels.as_deref(), vm };
        vm::read(table, ends, &resources)
    };
    let mut vms: Vec<_> = tables.iter().enumerate().map(read).collect();
    if let Some((platform, _)) = &platform {
        locks::count_delays(&platform.value, vms.iter_mut().flatten());
    }
    refuse_twice(at, "VMs", &tables);
    let written = chain::read(at);
    at.finish();
    let read: Vec<_> = vms.iter().flatten().collect();
    servers::check(&read).into_iter().for_each(|mistake| at.add(mistake));
    if read.len() == tables.len() {
        objective.iter().filter_map(|it| unknown_vm(it, &read)).for_each(|it| at.add(it));
        let known = resources.readable();
        locks::check(protocol.as_ref(), (&read, section_overhead), &known)
            .into_iter()
            .for_each(|it| at.add(it));
    }
    let is_known = read.len() == tables.len() && !at.misspells("vm");
    let ends = channels.as_deref().unwrap_or_default();
    let resolve = || chain::resolve(at, written, &read, &tables, ends);
    let chains = is_known.then(resolve).flatten();
    if let Some((platform, hypervisor)) = &platform {
        colors::check(&platform.value, hypervisor.colors.as_ref(), &read)
            .into_iter()
            .chain(servers::check_ticks(&platform.value, &read))
            .chain(shares::check(&platform.value, &read))
            .chain(bandwidth::check(&platform.value, &read, read.len() == tables.len()))
            .for_each(|mistake| at.add(mistake));
        if let (Some(reload), Err(reason)) = (&hypervisor.color_reload, platform.value.colors()) {
            at.add(colors::none(&platform.value, reason, &reload.place));
        }
    }
    if let (true, Some(lines)) = (is_known, &serial_lines) {
        serial_line::check(lines, &read).into_iter().for_each(|mistake| at.add(mistake));
    }
    if let (true, Some(links)) = (is_known, &links) {
        let reload = platform.as_ref().and_then(|(_, hypervisor)| hypervisor.color_reload.as_ref());
        link::check(links, &read, reload).into_iter().for_each(|mistake| at.add(mistake));
    }
    let vms: Vec<_> = vms.into_iter().collect::<Option<_>>()?;
    let (platform, hypervisor) = platform?;
    Some(System {
        name: name.unwrap_or_else(|| default_name(Path::new(file), folder)),
        folder: folder.to_owned(),
        platform,
        hypervisor_memory: hypervisor.memory,
        hypervisor_colors: hypervisor.colors,
        color_reload: hypervisor.color_reload,
        margin_ppm: margin,
        objective,
        locks: protocol.as_ref().and_then(|protocol| protocol.value).unwrap_or_default(),
        locks_open: protocol.filter(|protocol| protocol.value.is_none()).map(|it| it.place),
        section_overhead,
        resources: resources.all()?,
        channels: channels?,
        serial_lines: serial_lines?,
        links: links?,
        chains: chains?,
        vms,
    })
}

/// `margin = "10%"`, in millionths; none is 0.
fn margin(at: &Fields<'_>) -> u64 {
    let Some(text) = at.string("margin") else { return 0 };
    let ppm = text.value.strip_suffix('%').and_then(|number| percent_ppm(number.trim_end()));
    if let Some(ppm) = ppm.filter(|ppm| *ppm <= 1_000_000) {
        return ppm;
    }
    let message = format!("`{}` is no margin", text.value.escape_debug());
    let help =
        "write a percentage from 0 to 100, with at most four decimals, as in `margin = \"10%\"`";
    at.add(Diagnostic::new("wrong-value", message).at(&text.place, "here").help(help));
    0
}

/// `objective = "least-time"`.
fn objective(at: &Fields<'_>) -> Option<Located<Objective>> {
    let text = at.string("objective")?;
    match text.value.parse() {
        Ok(objective) => Some(Located::new(objective, &text.place)),
        Err(expected) => {
            let message = format!("`{}` is no objective", text.value.escape_debug());
            let mistake = Diagnostic::new("wrong-value", message);
            at.add(mistake.at(&text.place, "here").help(expected));
            None
        }
    }
}

/// An objective for a VM that there is not.
fn unknown_vm(objective: &Located<Objective>, vms: &[&Vm]) -> Option<Diagnostic> {
    let wanted = objective.value.vm()?;
    let names: Vec<&str> = vms.iter().map(|vm| vm.name.value.as_str()).collect();
    let message = format!("there is no VM `{}`", wanted.escape_debug());
    let help = format!("the VMs are `{}`", names.join("`, `"));
    let mistake = Diagnostic::new("unknown-vm", message).at(&objective.place, "in this objective");
    (!names.contains(&wanted)).then(|| mistake.help(help))
}

/// Returns a percentage in millionths, if it is a number with at most four decimals.
fn percent_ppm(number: &str) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || whole.len() > 3 || decimals.len() > 4 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let decimals: u64 = format!("{decimals:0<4}").parse().ok()?;
    Some(whole * 10_000 + decimals)
}

/// Memory and colours of the hypervisor, and the time to load a colour, where they were given.
#[derive(Default)]
struct Hypervisor {
    memory: Option<Located<Bytes>>,
    colors: Option<Located<ColorSet>>,
    color_reload: Option<Located<Duration>>,
}

/// `platform = "board"`, `[platform]` with `board`, or a whole `[platform]`.
fn platform(at: &Fields<'_>, folder: &Path) -> Option<(Located<Platform>, Hypervisor)> {
    if at.is_string("platform") {
        return Some((board(at, at.string("platform")?, folder)?, Hypervisor::default()));
    }
    let table = at.required("platform", at.table("platform"), "\"qemu-virt\"")?;
    let hypervisor = Hypervisor {
        memory: table.quantity("hypervisor_memory"),
        colors: table.colors("hypervisor_colors"),
        color_reload: table.quantity("color_reload"),
    };
    let platform = match table.has("board") || table.misspells("board") {
        true => {
            let named = table.string("board").and_then(|name| board(at, name, folder));
            overheads(&table, counter(&table, named))
        }
        false => platform::read(&table).map(|read| Located::new(read, table.place())),
    };
    table.finish();
    Some((platform?, hypervisor))
}

/// Returns the platform, with the values of `[platform.bandwidth]` in place of its own.
fn counter(table: &Fields<'_>, platform: Option<Located<Platform>>) -> Option<Located<Platform>> {
    let Some(own) = table.table("bandwidth") else { return platform };
    let Located { value: mut platform, place } = platform?;
    let base = platform.bandwidth.as_ref();
    let machine = (platform.cpus.len(), platform.kvm);
    let bandwidth = platform::read_bandwidth(&own, base, machine, &platform.caches)?;
    platform.bandwidth = Some(bandwidth);
    Some(Located { value: platform, place })
}

/// Returns the platform, with the values of `[platform.overheads]` in place of its own.
fn overheads(table: &Fields<'_>, platform: Option<Located<Platform>>) -> Option<Located<Platform>> {
    let Some(own) = table.table("overheads") else { return platform };
    let Located { value: mut platform, place } = platform?;
    platform.overheads = Some(platform::read_overheads(&own, platform.overheads.as_ref())?);
    Some(Located { value: platform, place })
}

/// Returns the board of this name, or in the file of this path.
fn board(at: &Fields<'_>, name: Located<String>, folder: &Path) -> Option<Located<Platform>> {
    let found = if name.value.ends_with(".toml") {
        let path = folder.join(&name.value);
        let text =
            read_text(&path).map_err(|mistake| Errors::from(mistake.at(&name.place, "this file")));
        text.and_then(|text| Platform::from_toml(&path.display().to_string(), &text))
    } else {
        Platform::named(&name.value)
    };
    match found {
        Ok(platform) => Some(name.map(|_| platform)),
        Err(errors) => {
            for mistake in errors.into_vec() {
                at.add(match &mistake.place {
                    Some(_) => mistake.also(&name.place, "the platform is named here"),
                    None => mistake.at(&name.place, "here"),
                });
            }
            None
        }
    }
}
