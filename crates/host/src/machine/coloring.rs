//! Memory of VMs in frames of their colours.

use std::collections::BTreeMap;
use std::fs;

use policy::color::Geometry;
use vmm::{Candidates, PAGE, Pagemap, TABLES_BYTES, VmMemory};

use super::audit::{Audit, Kind, Part};
use super::requests::Requests;
use super::{Error, Guest};
use crate::colors::{Colored, Extra, Run, Shortage, Stock, Wish};

/// Most pages that are looked for at once, so that the search can be stopped.
const STEP_MAX: u64 = (16 << 20) / PAGE;
const STEP_MIN: u64 = (1 << 20) / PAGE;
/// Most searches for frames, because Linux can move pages to frames of other colours during a search.
const SEARCHES: usize = 10;
/// Searches after which memory is pinned no more if pages were in other frames each time: then pinning moves them, and not chance.
const PINNINGS: usize = 3;
/// Mappings that this process can still make beside those of VMs.
const SPARE_MAPPINGS: u64 = 4_096;

/// Memory by the index of the VM, and its extra colours.
pub type Memories = BTreeMap<usize, (VmMemory, Option<Requests>)>;

/// Returns memory for the VMs that have colours, and what looks after it. There is none if `stops` returns true meanwhile.
pub fn memories(
    guests: &[Guest],
    stops: &dyn Fn() -> bool,
) -> Result<(Memories, Option<Audit>), Error> {
    let colored = guests.iter().enumerate().filter_map(|(vm, it)| Some((vm, it.colors?, it)));
    let colored: Vec<(usize, Colored, &Guest)> = colored.collect();
    let Some((_, Colored { geometry, .. }, _)) = colored.first() else {
        return Ok((Memories::new(), None));
    };
    let mut pinnings = 0;
    for _ in 1..SEARCHES {
        let (memories, mut audit) = search(&colored, *geometry, stops)?;
        if audit.lost()? > 0 {
            continue;
        }
        if pinnings < PINNINGS {
            audit.pin();
            // Linux moves what it pins out of zones that are to stay movable, to frames of any colour. There it is not pinned.
            if audit.lost()? > 0 {
                pinnings += 1;
                continue;
            }
        }
        return Ok((memories, Some(audit)));
    }
    // Before VMs start, all frames are looked at once more.
    let (memories, audit) = search(&colored, *geometry, stops)?;
    Ok((memories, Some(audit)))
}

/// Looks for frames of the colours of these VMs, and makes memory of them.
fn search(
    colored: &[(usize, Colored, &Guest)],
    geometry: Geometry,
    stops: &dyn Fn() -> bool,
) -> Result<(Memories, Audit), Error> {
    let wishes = colored.iter().flat_map(|(_, Colored { colors, extra, .. }, guest)| {
        let own = [TABLES_BYTES, guest.ram_bytes].map(|bytes| bytes.div_ceil(PAGE));
        let own = own.map(|pages| Wish { pages, colors: *colors });
        let spare = extra.map(|Extra { colors, pages }| Wish { pages: pages.into(), colors });
        own.into_iter().chain(spare)
    });
    let wishes: Vec<Wish> = wishes.collect();
    let pagemap = Pagemap::open()?;
    let mut candidates = Candidates::new().map_err(no_memory)?;
    let mut stock = Stock::new(geometry);
    find(&mut candidates, &mut stock, &wishes, &pagemap, stops)?;
    let runs = stock.take(&wishes).map_err(|lacking| too_few(lacking, candidates.pages()))?;
    let mappings = mappings(colored, &runs);
    check_mappings(mappings, mappings_max())?;
    let mut of_vms = runs.iter();
    let (mut made, mut parts) = (Memories::new(), Vec::new());
    for &(vm, colored, _) in colored {
        let mut part = |kind, memory: &vmm::Memory| {
            parts.push(Part { vm: vm as u8, colored, kind, memory: memory.clone() });
        };
        let (Some(tables), Some(ram)) = (of_vms.next(), of_vms.next()) else { break };
        let tables = candidates.memory(tables).map_err(no_memory)?;
        part(Kind::Own, &tables);
        let Some((extra, spare)) = colored.extra.and_then(|it| Some((it, of_vms.next()?))) else {
            let ram = candidates.memory(ram).map_err(no_memory)?;
            part(Kind::Own, &ram);
            made.insert(vm, (VmMemory { tables, ram }, None));
            continue;
        };
        let movable = candidates.movable(ram, spare).map_err(no_memory)?;
        part(Kind::Own, movable.homes());
        part(Kind::Spare, movable.spare());
        part(Kind::Seen, movable.memory());
        let ram = movable.memory().clone();
        let requests = Requests::new(&colored, extra, tables.clone(), movable);
        let requests = requests.ok_or_else(|| {
            Error::Colors(
                "a VM cannot have so many frames of extra colours\nhelp: lower `extra_memory`"
                    .into(),
            )
        })?;
        made.insert(vm, (VmMemory { tables, ram }, Some(requests)));
    }
    let mut all: Vec<Run> = runs.into_iter().flatten().collect();
    all.sort_unstable();
    candidates.keep(&all).map_err(no_memory)?;
    Ok((made, Audit::new(pagemap, parts)))
}

/// The most mappings that memory in these runs takes: each page that moves may become one of its own.
fn mappings(colored: &[(usize, Colored, &Guest)], runs: &[Vec<Run>]) -> u64 {
    let moving = colored.iter().filter(|(_, colored, _)| colored.extra.is_some());
    let moving = moving.map(|(.., guest)| guest.ram_bytes.div_ceil(PAGE));
    moving.sum::<u64>() + runs.iter().map(Vec::len).sum::<usize>() as u64
}

/// Adds candidates until there are enough of each colour.
fn find(
    candidates: &mut Candidates,
    stock: &mut Stock,
    wishes: &[Wish],
    pagemap: &Pagemap,
    stops: &dyn Fn() -> bool,
) -> Result<(), Error> {
    // Linux, other programs and the rest of this one need the other half.
    let most = available_bytes() / 2 / PAGE;
    loop {
        let lacking = stock.lacking(wishes);
        let missing = lacking.iter().map(|it| it.needed - it.free).max().unwrap_or(0);
        if missing == 0 {
            return Ok(());
        }
        // Frames of all colours come about equally often.
        let expected = missing.saturating_mul(stock.colors());
        if candidates.pages().saturating_add(expected) > most {
            let more = most.saturating_sub(candidates.pages()) / stock.colors();
            let all = lacking.into_iter().map(|it| Shortage { free: it.free + more, ..it });
            let still = all.filter(|it| it.free < it.needed).collect();
            return Err(too_few(still, most));
        }
        if stops() {
            return Err(Error::Colors("the search for frames was stopped".into()));
        }
        let step = expected.clamp(STEP_MIN, STEP_MAX);
        let mut addresses = Vec::with_capacity(step as usize);
        pagemap.read(candidates.add(step).map_err(no_memory)?, &mut addresses)?;
        stock.add(addresses);
    }
}

fn no_memory(error: std::io::Error) -> Error {
    Error::Colors(format!(
        "memory in frames of certain colours cannot be had: {error}\n\
         help: free memory of this host, and let this process lock it (as root, or with a larger `ulimit -l`)"
    ))
}

/// Returns the error about colours of which there are too few frames, those first that lack most, among `pages` pages.
fn too_few(mut lacking: Vec<Shortage>, pages: u64) -> Error {
    const SHOWN: usize = 4;
    lacking.sort_by_key(|it| (std::cmp::Reverse(it.needed - it.free), it.color));
    let shown = lacking
        .iter()
        .take(SHOWN)
        .map(|it| format!(" of colour {} about {} of {},", it.color, it.free, it.needed));
    let more = match lacking.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" too few of {more} more colours,"),
    };
    Error::Colors(format!(
        "there are too few frames for VMs with colours:{}{more} in {} MiB, which are half of the free memory\n\
         help: give these VMs less `memory` or more `colors`, or free memory of this host",
        shown.collect::<String>(),
        (pages * PAGE) >> 20
    ))
}

/// Refuses more mappings than Linux allows.
fn check_mappings(runs: u64, most: Option<u64>) -> Result<(), Error> {
    let needed = runs + SPARE_MAPPINGS;
    match most {
        Some(most) if needed > most => Err(Error::Colors(format!(
            "the frames of VMs with colours lie in {runs} pieces, and Linux lets a process have {most} mappings\n\
             help: `sysctl vm.max_map_count={}`, or give the VMs less `memory`",
            needed.next_multiple_of(1 << 16)
        ))),
        _ => Ok(()),
    }
}

/// The most mappings of a process, if Linux tells.
fn mappings_max() -> Option<u64> {
    fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()
}

/// The memory that Linux can give without taking some from programs.
fn available_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use policy::color::Color;

    use super::*;

    #[test]
    fn too_few_frames_are_told_with_their_numbers() {
        let color = |index| Color::new(index).expect("a colour");
        let lacking = |count| {
            let one =
                |index| Shortage { color: color(index), needed: 900 + u64::from(index), free: 7 };
            (0..count).map(one).collect::<Vec<_>>()
        };
        let text = too_few(lacking(6), 512).to_string();
        for part in [": of colour 5 about 7 of 905, of", "2 more colours, in 2 MiB", "\nhelp: "] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!too_few(lacking(4), 512).to_string().contains("more colours"));
    }

    #[test]
    fn too_many_pieces_are_told_with_what_to_do() {
        assert!(check_mappings(61_434, Some(65_530)).is_ok() && check_mappings(9, None).is_ok());
        let text = check_mappings(61_435, Some(65_530)).expect_err("too many").to_string();
        assert!(text.contains("help: `sysctl vm.max_map_count=65536`"), "{text}");
    }
}
