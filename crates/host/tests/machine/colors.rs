//! Frames of VMs with colours, which this test looks up for itself.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use abi::kvm::Call;
use host::colors::{Colored, Geometry};
use host::machine::{Error, Guest, Id, Prepared, Seats, Sharing};
use policy::color::{Cache, Color, IndexBits};
use policy::cpu::{Cpu, Slot};
use policy::server::Policy;

use crate::code::{call, wait_until};
use crate::vms::{MS, NO_CPU, alone, guest, last_cpu, news, prepared, started};

const PAGE: u64 = 4096;
/// Pages of RAM and of tables of each guest here.
const PAGES: u64 = (2 << 20) / PAGE + 16;

/// These colours, of as many as a cache with ways of this size has.
fn colored(way_pages: u64, colors: &str) -> Colored {
    let cache = Cache::new(16 * way_pages * PAGE, 16, 64).expect("a cache");
    let geometry = Geometry::new(cache, PAGE, IndexBits::AbovePage).expect("colours");
    Colored { geometry, colors: colors.parse().expect("colours"), shown: false, extra: None }
}

fn seats(vms: u8) -> Vec<Seats> {
    let vcpus = (0..vms).map(|vm| Id { vm, vcpu: 0 }).collect();
    vec![Seats { cpu: last_cpu(), vcpus }]
}

fn is_memory_of_vms(line: &&str) -> bool {
    line.contains("memfd:bulkhead-colors")
}

/// The colour of each page of VMs with colours in this process, in the order of their addresses; empty: Linux hides them.
fn colors_here(geometry: Geometry) -> Vec<Color> {
    let maps = fs::read_to_string("/proc/self/maps").expect("Linux has it");
    let pagemap = File::open("/proc/self/pagemap").expect("Linux has it");
    let number = |text: &str| u64::from_str_radix(text, 16).expect("an address");
    let mut colors = Vec::new();
    for line in maps.lines().filter(is_memory_of_vms) {
        let (first, end) =
            line.split(' ').next().and_then(|it| it.split_once('-')).expect("a range");
        for page in number(first) / PAGE..number(end) / PAGE {
            let mut entry = [0; 8];
            pagemap.read_exact_at(&mut entry, page * 8).expect("an entry");
            let entry = u64::from_le_bytes(entry);
            assert!(entry >> 63 == 1, "each page has a frame");
            match entry & ((1 << 55) - 1) {
                0 => return Vec::new(),
                frame => colors.push(geometry.color_of(frame * PAGE)),
            }
        }
    }
    colors
}

fn background(vms: usize) -> impl FnOnce(u64) -> Vec<Cpu<Vec<Slot>>> {
    move |_| {
        let slot = |_| Slot::new(Policy::Background).expect("a server");
        vec![Cpu::new((0..vms).map(slot).collect())]
    }
}

#[test]
fn each_page_has_a_colour_of_its_vm_while_it_runs() {
    let _alone = alone();
    let code = [wait_until(1_200 * MS as u32), call(Call::Off)].concat();
    let sets = ["0-3", "4,9,15"];
    let mut guests: Vec<Guest> = sets
        .iter()
        .map(|colors| Guest { colors: Some(colored(16, colors)), ..guest(&code) })
        .collect();
    guests.push(guest(&code));
    let prepared = match prepared(guests, seats(3), Sharing::default()) {
        Err(error @ Error::HiddenFrames) => return eprintln!("skipped: {error}"),
        result => result,
    };
    let running = prepared.and_then(|it| it.start(background(3)));
    let Some(mut running) = started(running) else { return };
    let geometry = colored(16, "0").geometry;
    let colors = colors_here(geometry);
    assert_eq!(colors.len() as u64, 2 * PAGES, "two VMs have colours, and nothing else is left");
    for (set, pages) in sets.map(|it| colored(16, it).colors).into_iter().zip([PAGES, PAGES]) {
        // Pages go round the colours, so that each has its part.
        for color in set.iter() {
            let here = colors.iter().filter(|it| **it == color).count() as u64;
            let part = pages / u64::from(set.len());
            assert!((part - 2..=part + 2).contains(&here), "{here} pages of colour {color}");
        }
    }
    news(&mut running);
    let findings = running.take_findings().expect("VMs have colours");
    let found: Vec<_> = findings.vms.iter().map(|it| (it.vm, it.pages, it.lost)).collect();
    // Linux may move pages, and then this says so, as it should.
    assert_eq!(found.iter().map(|it| (it.0, it.1)).collect::<Vec<_>>(), [(0, PAGES), (1, PAGES)]);
    assert!(findings.looks >= 2 && findings.failure.is_none(), "{findings:?}");
    assert!(running.take_findings().is_none());
    drop(running);
    assert!(colors_here(geometry).is_empty(), "all is given back");
}

#[test]
fn too_few_frames_of_a_colour_are_told_before_memory_is_taken() {
    let _alone = alone();
    // Each needs 512 MiB of one colour of 64: 64 GiB and more have so many.
    let guests = ["0", "1"].map(|colors| Guest {
        ram_bytes: 2 << 30,
        colors: Some(colored(64, colors)),
        ..guest(&call(Call::Off))
    });
    let error = prepared(guests.into(), seats(2), Sharing::default()).expect_err("too few frames");
    match error {
        Error::Colors(text) => {
            let needed = format!("of {}", (2 << 30) / PAGE + 16);
            assert!(text.contains(&needed) && text.contains("\nhelp: "), "{text}");
        }
        Error::HiddenFrames | Error::NoKvm | Error::Denied(_) => eprintln!("skipped: {error}"),
        error => panic!("{error}"),
    }
    assert!(colors_here(colored(64, "0").geometry).is_empty());
}

#[test]
fn a_search_that_is_stopped_leaves_nothing() {
    let _alone = alone();
    let asked = AtomicUsize::new(0);
    // 256 MiB of candidates, in steps.
    let guest =
        Guest { ram_bytes: 16 << 20, colors: Some(colored(16, "7")), ..guest(&call(Call::Off)) };
    let seats = vec![Seats { cpu: NO_CPU, vcpus: vec![Id { vm: 0, vcpu: 0 }] }];
    let stops = || asked.fetch_add(1, Ordering::SeqCst) == 3;
    let stopped = Prepared::new(vec![guest], seats, Sharing::default(), &stops);
    match stopped.expect_err("it was stopped") {
        Error::Colors(text) => assert!(text.contains("stopped"), "{text}"),
        error @ (Error::HiddenFrames | Error::NoKvm | Error::Denied(_)) => {
            return eprintln!("skipped: {error}");
        }
        error => panic!("{error}"),
    }
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    assert!(colors_here(colored(16, "7").geometry).is_empty());
}
