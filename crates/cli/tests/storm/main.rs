//! A VM that makes the hypervisor work, as often as it can and from all PCPUs that it has, takes nothing from a
//! neighbour with a guaranteed server: `rt-storm` in each of its modes, beside a victim and compared with a quiet run.
//!
//! CPUs have clocks of their own here (the cache model's, in which an instruction takes a nanosecond and nothing else takes
//! time), so that what a PCPU executes takes no time from others. Hypervisor, guests and cachescope must have been built.

#[path = "../real/mod.rs"]
mod real;
mod system;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use real::{Recorded, succeeds};
use serde_json::Value;
use system::{Needs, Place, STORMS, Storm, Victim, named};
use trace::Event;

/// How much less, in millionths, the victim may work than in a quiet run: the console and turns of the emulator take some.
const LOSS_MAX_PPM: u64 = 10_000;
/// How much more: the attacker pays for the longest time that a switch or a kick takes, and at most with its whole budget, of
/// 1 ms in the 8 ms of the victim.
const GAIN_MAX_PPM: u64 = 125_000;
/// The same where it goes before the VCPU of the attacker.
const LOSS_FIRST_MAX_PPM: u64 = 1_000;
/// How late the scheduler's timer is served at most, in nanoseconds, one for each instruction: the
/// limit of "latest tick of the scheduler without chunks" in docs/figures.md.
const LATE_MAX_NS: u64 = 5_000 + 3 * 5_000;
/// The same where VMs request colours or send frames: a chunk of that (the limit in docs/figures.md) comes before.
const LATE_CHUNK_MAX_NS: u64 = LATE_MAX_NS + 30_000;

/// The one that counts for a storm.
fn late_max_ns(storm: Storm) -> u64 {
    let has_chunks = storm.needs.colors() || storm.needs.links();
    if has_chunks { LATE_CHUNK_MAX_NS } else { LATE_MAX_NS }
}

/// CPUs have clocks of their own, and take short turns.
const PARALLEL: [&str; 7] = [
    "fetch=off",
    "l1-hit=0cy",
    "llc-hit=0cy",
    "memory=0ns",
    "bus=0",
    "time=model",
    "quantum=200cy",
];

/// What came out of a run.
struct Outcome {
    recorded: Recorded,
    late_ns: u64,
}

fn run(system: &str) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let scope = folder.path().to_str().expect("a path in UTF-8");
    let mut arguments = vec!["--cachescope", scope];
    arguments.extend(PARALLEL.iter().flat_map(|option| ["--cachescope-option", option]));
    let recorded = Recorded::with(system, &arguments);
    let late_ns = recorded.latest_timer_ns();
    Outcome { recorded, late_ns }
}

/// Quiet runs, which many storms are compared with.
#[derive(Default)]
struct Quiet(HashMap<(Place, Needs), u64>);

impl Quiet {
    /// The victim's work.
    fn work(&mut self, place: Place, storm: Storm) -> u64 {
        let needs = match storm.needs {
            Needs::GicV3 | Needs::Aborts => Needs::Nothing,
            Needs::ColorsAndGicV3 => Needs::Colors,
            needs => needs,
        };
        let work = || {
            let outcome = run(&place.system(storm, true));
            // A VM sends frames and restarts there, too.
            let late_max = if needs.links() { LATE_CHUNK_MAX_NS } else { LATE_MAX_NS };
            assert!(outcome.late_ns <= late_max, "{place:?}: {} ns late", outcome.late_ns);
            work(&outcome)
        };
        *self.0.entry((place, needs)).or_insert_with(work)
    }
}

fn work(outcome: &Outcome) -> u64 {
    outcome.recorded.value("victim", "storm: victim ", "chunks") as u64
}

/// What is wrong, if anything.
fn wrong(place: Place, storm: Storm, quiet: &mut Quiet) -> Vec<String> {
    let system = place.system(storm, false);
    let outcome = run(&system);
    let mut wrong = Vec::new();

    // The storm took place, all the time.
    let attacker = |key| outcome.recorded.value("attacker", "storm: mode=", key);
    let (times, begin, end) = (attacker("times"), attacker("begin_us"), attacker("end_us"));
    let (from, until) = place.window_us();
    if times == 0 || begin > from || end < until {
        wrong.push(format!("{times} times from {begin} to {end} us is no storm"));
    }

    if outcome.late_ns > late_max_ns(storm) {
        wrong.push(format!("a tick is {} ns late", outcome.late_ns));
    }

    let mut told = String::new();
    match place.victim {
        Victim::Works(_) => {
            let (quiet, found) = (quiet.work(place, storm), work(&outcome));
            let off = found.abs_diff(quiet) * 1_000_000 / quiet;
            // Those to whom others ring or tell something pay for what passes, the victim among them.
            let pays = [Needs::Rings, Needs::Lines].contains(&storm.needs) || storm.needs.links();
            let off_max = match (place.victim_first && !pays, found < quiet) {
                (true, _) => LOSS_FIRST_MAX_PPM,
                (false, true) => LOSS_MAX_PPM,
                (false, false) => GAIN_MAX_PPM,
            };
            if off > off_max {
                wrong.push(format!("the victim did {found} chunks of {quiet}: {off} ppm off"));
            }
            told += &format!("{found} chunks of {quiet}");
            if [Needs::NoRight, Needs::Right].contains(&storm.needs) {
                let victim = |key| outcome.recorded.value("victim", "storm: victim ", key);
                if victim("sections") == 0 || victim("refusals") > 0 {
                    wrong.push("the victim did not get its resource".into());
                }
            }
        }
        Victim::HasTasks => {
            for (task, bound) in bounds(&system) {
                let found = |key| {
                    let start = format!("storm: task {task} ");
                    outcome.recorded.value("victim", &start, key) as u64
                };
                let (response, overruns) = (found("response_max_ns"), found("overruns"));
                if response > bound || overruns > 0 || found("jobs") == 0 {
                    wrong.push(format!(
                        "{task}: a response of {response} ns, bound {bound}, {overruns} overruns"
                    ));
                }
                told += &format!("{task} {response} of {bound} ns, ");
            }
        }
    }
    println!(
        "{} pause={} {place:?}: {times} times, {told}, latest tick {} ns{}{}",
        storm.mode,
        storm.pause,
        outcome.late_ns,
        if wrong.is_empty() { "" } else { " WRONG: " },
        wrong.join("; ")
    );
    wrong
}

/// The bounds of the victim's tasks.
fn bounds(system: &str) -> Vec<(String, u64)> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("system.toml");
    std::fs::write(&path, system).expect("the folder is writable");
    let out = succeeds(&["--json", "check", path.to_str().expect("a path in UTF-8")]);
    let document: Value = serde_json::from_str(&out).expect("JSON");
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let bounds: Vec<_> = list(&document["analysis"], "pcpus")
        .iter()
        .flat_map(|pcpu| list(pcpu, "vcpus"))
        .filter(|vcpu| vcpu["vm"] == "victim")
        .flat_map(|vcpu| list(&vcpu, "tasks"))
        .map(|task| {
            let name = task["task"].as_str().expect("a name").to_owned();
            (name, task["wcrt_ns"].as_u64().expect("a bound"))
        })
        .collect();
    assert_eq!(bounds.len(), 3, "{document}");
    bounds
}

/// All of these storms in these places.
#[track_caller]
fn hold(cases: impl IntoIterator<Item = (Place, Storm)>) {
    let mut quiet = Quiet::default();
    let cases = cases.into_iter().filter(|(place, storm)| place.allows(*storm));
    let (mut all, mut broken) = (0, Vec::new());
    for (place, storm) in cases {
        all += 1;
        // A run that fails is told with the others, not in place of them.
        let run = AssertUnwindSafe(|| wrong(place, storm, &mut quiet));
        let wrong = catch_unwind(run).unwrap_or_else(|_| vec!["the run failed, see above".into()]);
        if !wrong.is_empty() {
            let Storm { mode, pause, .. } = storm;
            broken.push(format!("{mode} pause={pause} {place:?}: {}", wrong.join("; ")));
        }
    }
    assert!(broken.is_empty(), "{} of {all}:\n{}", broken.len(), broken.join("\n"));
}

fn place(gic: u32, attackers: usize, victim_first: bool, victim: Victim) -> Place {
    Place { gic, attackers, victim_first, victim }
}

/// One of each kind, in turns on both controllers, from one to three PCPUs, before and behind the victim.
///
/// Stands behind P4 of the safety manual.
#[test]
fn a_storm_takes_nothing_from_a_neighbour() {
    let works = Victim::Works(1);
    // Places are few: each needs quiet runs of its own.
    let [behind, before] = [false, true].map(|first| place(3, 1, first, works));
    let from_three = place(3, 3, false, works);
    let old = place(2, 2, false, works);
    hold([
        (behind, named("sgi-waiting", 0)),
        (behind, named("pend-dozing", 3_000)),
        (behind, named("absent", 0)),
        (before, named("ctlr", 0)),
        (from_three, named("many", 0)),
        (from_three, named("device", 0)),
        (from_three, named("device-nowhere", 0)),
        (from_three, named("console-call", 0)),
        (from_three, named("console-uart", 0)),
        (old, named("timer", 0)),
        (old, named("cpu-on-off", 0)),
        (place(3, 3, true, works), named("ring", 0)),
        (from_three, named("serial", 0)),
    ]);
}

/// The bounds of `bulkhead check` hold.
///
/// Stands behind P4 of the safety manual.
#[test]
fn a_storm_delays_no_task_beyond_its_bound() {
    hold([(place(3, 1, false, Victim::HasTasks), named("sgi-waiting", 0))]);
}

#[test]
fn more_storms_delay_no_task_beyond_its_bound() {
    hold([
        (place(2, 1, false, Victim::HasTasks), named("timer", 0)),
        (place(3, 2, false, Victim::HasTasks), named("ring", 0)),
        (place(3, 2, false, Victim::HasTasks), named("serial", 0)),
    ]);
}

/// Those of links, in which VMs send and restart that are no attackers, too: `make campaign`.
#[test]
#[ignore = "takes minutes"]
fn storms_of_links() {
    let places = [
        place(3, 2, false, Victim::Works(1)),
        place(2, 1, true, Victim::Works(1)),
        place(3, 2, false, Victim::HasTasks),
    ];
    let storms = STORMS.into_iter().filter(|storm| storm.needs.links());
    hold(storms.flat_map(|storm| places.map(|place| (place, storm))));
}

/// Events of the shared PCPU where a device interrupts VCPU 1 of a VM, and VCPU 2, which goes before, is off.
fn events_with_device(mode: &str) -> Vec<Event> {
    // In turns of milliseconds few interrupts would come.
    let recorded = Recorded::with(&system::device_of_siblings(mode), &["--short-turns"]);
    recorded.trace().tracks[system::SHARED].iter().map(|entry| entry.event).collect()
}

/// How often the VCPU is kicked, and how often something makes it run.
fn charged(events: &[Event], vcpu: u8) -> [usize; 2] {
    let count = |is: fn(&Event) -> bool| {
        let own = events.iter().filter(|event| event.vcpu().is_some_and(|it| it.vcpu == vcpu));
        own.filter(|event| is(event)).count()
    };
    [
        count(|event| matches!(event, Event::Kick(_))),
        count(|event| matches!(event, Event::Wake(_) | Event::Run { .. })),
    ]
}

/// Not one that goes before it.
#[test]
fn a_device_costs_the_vcpu_that_gets_its_interrupt() {
    let events = events_with_device("device-taking");
    assert!(charged(&events, 1)[1] > 10, "the device wakes VCPU 1: {:?}", charged(&events, 1));
    assert_eq!(charged(&events, 2), [0; 2]);
}

/// It interrupts the PCPU once, for which the VCPU pays.
#[test]
fn a_device_does_not_run_a_vcpu_that_is_off() {
    let events = events_with_device("device-off");
    let stop = |event: &Event| matches!(event, Event::Stop(it) if it.vcpu == 1);
    let since = events.iter().position(stop).expect("VCPU 1 goes off");
    assert_eq!(charged(&events[since..], 1), [1, 0]);
    assert_eq!(charged(&events, 2), [0; 2]);
}

/// All storms everywhere: `make torture`. `BULKHEAD_STORMS=sgi-waiting,timer` chooses some.
#[test]
#[ignore = "takes an hour"]
fn campaign() {
    let chosen = std::env::var("BULKHEAD_STORMS").ok();
    let is_chosen = |storm: &Storm| {
        chosen.as_deref().is_none_or(|it| it.split(',').any(|mode| mode == storm.mode))
    };
    let mut cases = Vec::new();
    for gic in [3, 2] {
        for attackers in 1..=3 {
            for victim_first in [false, true] {
                for victim in [Victim::Works(5), Victim::HasTasks] {
                    let place = place(gic, attackers, victim_first, victim);
                    let storms = STORMS.into_iter().filter(is_chosen);
                    cases.extend(storms.map(|storm| (place, storm)));
                }
            }
        }
    }
    // What needs resources has tasks of its own.
    let has_room = |(place, storm): &(Place, Storm)| {
        place.victim != Victim::HasTasks || ![Needs::NoRight, Needs::Right].contains(&storm.needs)
    };
    hold(cases.into_iter().filter(has_room));
}
