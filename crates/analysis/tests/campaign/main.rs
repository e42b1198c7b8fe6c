//! No simulated response time is longer than its bound.
//!
//! Random systems ([`class`]) are followed through courses of events ([`course`]): those that lead
//! to the bound of a task where the theory knows them, and random ones. Plain systems run in the
//! simulator, the others in a machine of this test; both decide with the code of the hypervisor. A
//! violation is made small ([`shrink`]) and written as a file; put it into
//! `tests/counterexamples`, whose files are tried in each test run.
//!
//! What the long campaign does is said by these variables of the environment:
//!
//! - `BULKHEAD_SYSTEMS`: how many systems;
//! - `BULKHEAD_SEED`: which ones;
//! - `BULKHEAD_COURSES`: how many courses at random for each system and each of its tasks;
//! - `BULKHEAD_PROGRESS`: a file that keeps what was counted, from which a later run goes on.

mod class;
mod course;
mod machine;
mod mutants;
mod search;
mod shrink;
mod simulator;
mod system;
mod tightness;

use std::path::{Path, PathBuf};
use std::{env, fs};

use search::search;
use system::System;
use tightness::{Progress, thousands};

/// Systems after which a campaign keeps what it has counted.
const STEP: u64 = 10_000;

/// Goes on to this number of systems.
fn campaign(progress: &mut Progress, systems: u64, courses: u32) {
    while progress.systems < systems {
        let number = progress.systems;
        let (class, drawn, mut random) = search::drawn(progress.seed, number);
        let bounds = drawn.bounds();
        for (vcpu, bounds) in drawn.vcpu.iter().zip(&bounds) {
            assert!(
                search::published_is_not_shorter(vcpu, drawn.reload, bounds),
                "{}",
                drawn.to_toml()
            );
        }
        let found = search(drawn, &bounds, courses, &mut random);
        if let Some(violation) = found.violation {
            let holds = |it: &System| search::is_violation(it, &it.bounds());
            refuted(number, &shrink::shrink(violation, holds));
        }
        let histogram = progress.classes.entry(class).or_default();
        for (seen, bound) in found.times {
            assert!(
                seen == bound || !class.is_exact(),
                "system {number}, {class:?}: {seen} of {bound} is the longest time that was seen"
            );
            histogram.add(seen, bound);
        }
        progress.systems += 1;
        progress.courses += u64::from(found.courses);
    }
}

fn refuted(number: u64, system: &System) -> ! {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("counterexample-{number}.toml"));
    fs::write(&path, system.to_toml()).unwrap();
    panic!(
        "system {number} has a task that takes longer than its bound: {}\n\n{}",
        path.display(),
        system.to_toml()
    );
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().map_or(default, |text| text.parse().expect(name))
}

/// Stands behind P5 of the safety manual.
#[test]
fn thousands_of_systems_stay_within_their_bounds() {
    let mut progress = Progress { seed: number("BULKHEAD_SEED", 1), ..Progress::default() };
    let systems = if cfg!(debug_assertions) { 3_300 } else { 11_000 };
    campaign(&mut progress, systems, 3);
    println!("{}", progress.table());
    // Bounds that nothing comes close to would be useless, and so would be this test.
    let (reached, tasks) = (progress.reached(), progress.tasks());
    assert!(reached * 2 > tasks, "only {reached} of {tasks} bounds were reached");
}

#[test]
#[ignore = "a campaign: as long as it is told"]
fn as_many_systems_as_wanted_stay_within_their_bounds() {
    let file = env::var_os("BULKHEAD_PROGRESS").map(PathBuf::from);
    let seed = number("BULKHEAD_SEED", 1);
    let kept = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
    let kept = kept.map(|text| toml::from_str::<Progress>(&text).expect("what was counted"));
    let mut progress = kept.unwrap_or(Progress { seed, ..Progress::default() });
    assert_eq!(progress.seed, seed, "the file is about other systems: remove it");
    let systems = number("BULKHEAD_SYSTEMS", 100_000);
    let courses = number("BULKHEAD_COURSES", 6) as u32;
    while progress.systems < systems {
        let next = (progress.systems / STEP + 1) * STEP;
        campaign(&mut progress, next.min(systems), courses);
        if let Some(file) = &file {
            fs::write(file, toml::to_string(&progress).unwrap()).unwrap();
        }
        println!("{} systems: no violation", thousands(progress.systems));
    }
    println!(
        "\n{} systems, {} courses of events, {} tasks with bounds, no violation:\n\n{}",
        thousands(progress.systems),
        thousands(progress.courses),
        thousands(progress.tasks()),
        progress.table()
    );
}

/// Systems that refuted an analysis once.
#[test]
fn counterexamples_stay_within_their_bounds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/counterexamples");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let system: System = toml::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert!(system.is_possible(), "{}", file.display());
        assert!(!search::is_violation(&system, &system.bounds()), "{}", file.display());
    }
}
