//! A VCPU exceeds its memory budget by less than the analysis counts (`policy::bandwidth::overshoot`), whatever the
//! hypervisor does for it when the budget ends: guests with small budgets do what takes EL2 longest, again and again.
//!
//! Held against the numbers are what the lines that a path touches can make at most, as cachescope sees it, and what was
//! made: as the hypervisor counted it at each overflow, and as cachescope did over the whole run.

mod real;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use policy::bandwidth::overshoot::{ALONE, ANY, CONSOLE, IN_FLIGHT, Overshoot, TOGETHER};
use policy::pace::CONSOLE_PER_SECOND;
use real::{project, record, succeeds};
use serde::Deserialize;
use trace::{Event, Trace};

/// Accesses and nanoseconds: small, and not in step with anything that guests do.
const BUDGET: u64 = 331;
const PERIOD_NS: u64 = 50_000;
/// What a PCPU that wakes accesses at most until it reads its counter: a VCPU that is alone and has its own budget
/// then goes on with so many in all, and others are told apart only after that.
const WAKE: u64 = 200;
const LIMIT: &str = "bandwidth = { accesses = 331, period = \"50us\" }\n";
const COLORS: &str = "colors = \"0-7\"\nextra_colors = \"8-15\"\nextra_memory = \"16MiB\"\n";

#[derive(Deserialize)]
struct Summary {
    cpus: Vec<Cpu>,
}

#[derive(Deserialize)]
struct Cpu {
    time_ns: u64,
    memory_lines: u64,
    hypervisor_paths: Paths,
}

#[derive(Deserialize)]
struct Paths {
    serving: Lines,
    stopping: Lines,
    to_idle: Lines,
    from_idle: Lines,
    waiting: Lines,
}

#[derive(Deserialize)]
struct Lines {
    bound_lines: u64,
    moved_lines: u64,
}

/// What a run has shown of a PCPU.
struct Seen {
    cpu: Cpu,
    /// Overflows, and the most accesses beyond a limit when that was noticed.
    overflows: u64,
    beyond: u64,
    /// The most accesses with which a VCPU paid for an idle PCPU.
    idle: u64,
}

fn vm(name: &str, guest: &str, arguments: &str, more: &str) -> String {
    let kernel = project().join(format!("build/guests/{guest}.bin"));
    format!(
        "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = \"24MiB\"\nkernel = {kernel:?}\n\
         bootargs = {arguments:?}\n{more}"
    )
}

/// A VCPU with its own budget on a PCPU of its own.
fn own(pcpu: u32) -> String {
    format!("[[vm.vcpu]]\npcpu = {pcpu}\n{LIMIT}")
}

/// The same, of a VM that stays off.
fn alone(pcpu: u32, guest: &str, arguments: &str) -> String {
    let stops = format!("on_crash = \"stop\"\non_reset = \"stop\"\n{}", own(pcpu));
    vm(&format!("vm{pcpu}"), guest, arguments, &stops)
}

fn served(pcpu: u32, server: &str, budget_us: u32, limit: &str) -> String {
    format!(
        "[[vm.vcpu]]\npcpu = {pcpu}\nserver = {server:?}\nbudget = \"{budget_us}us\"\nperiod = \"1ms\"\n{limit}"
    )
}

fn run(vms: &[String]) -> Vec<Seen> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let system = format!("name = \"overshoot\"\nplatform = \"qemu-virt\"\n{}", vms.concat());
    fs::write(path("system.toml"), system).expect("the folder is writable");
    let (scope, trace) = (path("scope"), path("trace"));
    record(&path("system.toml"), &["--cachescope", &scope], Path::new(&trace));
    let replay = succeeds(&["trace", "replay", &trace, "--plan", &path("system.toml")]);
    assert!(replay.ends_with("\nall decisions are the same\n"), "{replay}");
    let summary = fs::read(Path::new(&scope).join("summary.json")).expect("there is a summary");
    let summary: Summary = serde_json::from_slice(&summary).expect("it is as expected");
    let trace = File::open(trace).expect("the trace was written");
    let trace = Trace::read(BufReader::new(trace)).expect("it is a trace");
    summary.cpus.into_iter().zip(trace.tracks).map(|(cpu, track)| seen(cpu, &track)).collect()
}

fn seen(cpu: Cpu, track: &[trace::Entry]) -> Seen {
    let mut seen = Seen { cpu, overflows: 0, beyond: 0, idle: 0 };
    let mut left = BTreeMap::new();
    for entry in track {
        match entry.event {
            Event::Recharge { vcpu, accesses } => {
                left.insert((vcpu.vm, vcpu.vcpu), accesses);
            }
            Event::Idle => left.clear(),
            Event::Account { vcpu, accesses } | Event::Overflow { vcpu, accesses } => {
                seen.overflows += u64::from(matches!(entry.event, Event::Overflow { .. }));
                match left.get_mut(&(vcpu.vm, vcpu.vcpu)) {
                    Some(left) => {
                        seen.beyond = seen.beyond.max(accesses.saturating_sub(*left));
                        *left = left.saturating_sub(accesses);
                    }
                    None => seen.idle = seen.idle.max(accesses),
                }
            }
            _ => {}
        }
    }
    seen
}

#[track_caller]
fn check(name: &str, seen: &Seen, limit: Overshoot) {
    let Paths { serving, stopping, to_idle, from_idle, waiting } = &seen.cpu.hypervisor_paths;
    println!(
        "{name}: a path {} of {}, the last {}, to idle {}, from idle {}, while idle {}; {} overflows, noticed {} beyond, idle {}",
        serving.moved_lines,
        serving.bound_lines,
        stopping.bound_lines,
        to_idle.bound_lines,
        from_idle.bound_lines,
        waiting.bound_lines,
        seen.overflows,
        seen.beyond,
        seen.idle
    );
    assert!(seen.overflows > 0, "{name}: the budget is never used up");
    assert!(serving.bound_lines <= limit.path, "{name}: a path of {}", serving.bound_lines);
    let last = limit.path + if limit == ANY { 0 } else { limit.idle };
    assert!(stopping.bound_lines <= last, "{name}: a path of {}", stopping.bound_lines);
    // Where none stopped within its budget, one may have gone off behind it.
    let idle = if stopping.bound_lines == 0 { last } else { limit.idle };
    assert!(to_idle.bound_lines + WAKE <= idle, "{name}: {}", to_idle.bound_lines);
    assert!(waiting.bound_lines <= limit.interrupt, "{name}: {} to wait", waiting.bound_lines);
    assert!(seen.beyond <= IN_FLIGHT + limit.path, "{name}: {} beyond", seen.beyond);
    assert!(seen.idle <= limit.idle, "{name}: {} while nothing ran", seen.idle);
}

/// VMs of which each has a PCPU for itself, and stays off.
#[test]
#[ignore = "takes half a minute"]
fn vcpus_alone_exceed_their_budgets_by_less_than_is_counted() {
    let chase = "chase.via=none chase.rounds=2 chase.kib=1024";
    let hostile = |case: &str| format!("case={case} count=3000 ms=20");
    let runs = [
        [("rt-chase", chase.to_owned()), ("rt-irq", "x=1".into())],
        [("rt-hostile", hostile("gic-nonsense")), ("rt-hostile", hostile("uart-flood"))],
        [("rt-hostile", hostile("mmio-odd-size")), ("rt-demo", "rt.seconds=1 rt.kib=256".into())],
    ];
    for guests in runs {
        // The last PCPU serves the console, with a VCPU or without.
        for vcpus in [4, 3] {
            let vms: Vec<_> = (0..vcpus)
                .map(|pcpu| {
                    let (guest, arguments) = &guests[pcpu as usize % 2];
                    alone(pcpu, guest, arguments)
                })
                .collect();
            let mut all = run(&vms);
            let last = all.pop().expect("four PCPUs");
            for (pcpu, seen) in all.iter().enumerate() {
                let (guest, arguments) = &guests[pcpu % 2];
                check(&format!("{guest} {arguments}"), seen, ALONE);
                assert!(seen.cpu.hypervisor_paths.from_idle.bound_lines <= WAKE, "{guest}");
                // All that the PCPU accesses is in the budgets.
                assert!(
                    seen.cpu.memory_lines <= in_budgets(&seen.cpu),
                    "{}",
                    seen.cpu.memory_lines
                );
            }
            let Cpu { time_ns, memory_lines, hypervisor_paths: paths } = &last.cpu;
            println!(
                "the console: a path {} of {}, to wake {}, while idle {}; {memory_lines} in {time_ns} ns",
                paths.serving.moved_lines,
                paths.serving.bound_lines,
                paths.from_idle.bound_lines,
                paths.waiting.bound_lines
            );
            let ms = time_ns.div_ceil(1_000_000_000 / CONSOLE_PER_SECOND) + 1;
            let most = 3 * CONSOLE * ms;
            if vcpus == 4 {
                check("the console's PCPU", &last, ALONE);
                // An interrupt of the console may come when the PCPU wakes.
                assert!(paths.from_idle.bound_lines <= WAKE + CONSOLE, "the console's PCPU");
                assert!(*memory_lines <= in_budgets(&last.cpu) + most, "{memory_lines}");
            } else {
                // Two interrupts can come at once.
                assert!((1..=2 * CONSOLE).contains(&paths.serving.bound_lines), "the console");
                assert!((1..=most).contains(memory_lines), "{memory_lines}, {most}");
            }
        }
    }
}

/// The most accesses of a PCPU with a VCPU that is alone and has its own budget.
fn in_budgets(cpu: &Cpu) -> u64 {
    (cpu.time_ns.div_ceil(PERIOD_NS) + 1) * BUDGET + ALONE.most(0)
}

/// The same with budgets of VMs, and credits.
#[test]
#[ignore = "takes a few seconds"]
fn vms_alone_exceed_their_budgets_by_less_than_is_counted() {
    let stays_off = |more: &str| format!("on_crash = \"stop\"\non_reset = \"stop\"\n{LIMIT}{more}");
    let credits = "compensation = 2\nflush = [\"vcpu-switch\", \"task-switch\"]\n";
    let place = |pcpu: u32| format!("[[vm.vcpu]]\npcpu = {pcpu}\n");
    let chase = "chase.via=none chase.rounds=2 chase.kib=1024";
    let seen = run(&[
        vm("critical", "rt-chase", chase, &("critical = true\n".to_owned() + &place(0))),
        vm("chase", "rt-chase", chase, &stays_off(&(credits.to_owned() + &place(1)))),
        vm("two", "rt-races", "races.cpus=2 races.ms=50", &stays_off(&(place(2) + &place(3)))),
    ]);
    for (name, seen) in ["chase", "races", "races"].iter().zip(&seen[1..]) {
        check(&format!("budget of a VM, {name}"), seen, TOGETHER);
    }
}

/// What is done at the ends of serial lines comes on top, for each line of a VM: where a VCPU has its PCPU for itself, and where others
/// share it, of which those that wait are told something, too.
///
/// Stands behind P12 of the safety manual.
#[test]
fn serial_lines_add_what_is_counted_for_each() {
    for lines in [1, 8] {
        let guest = |name: &str, more: &str| {
            vm(name, "rt-serial", &format!("serial.all={lines} serial.us=40000"), more)
        };
        let between = |one: &str, other: &str| {
            format!("[[serial]]\nbetween = [{one:?}, {other:?}]\ntell_every = \"20us\"\ntell_burst = 64\n")
                .repeat(lines)
        };
        let alone = |pcpu: u32| {
            guest(
                &format!("vm{pcpu}"),
                &format!("on_crash = \"stop\"\non_reset = \"stop\"\n{}", own(pcpu)),
            )
        };
        let seen = run(&[between("vm0", "vm1"), alone(0), alone(1)]);
        for (pcpu, seen) in seen[..2].iter().enumerate() {
            check(&format!("alone on {pcpu}, {lines} lines"), seen, ALONE.with_lines(lines as u64));
        }
        let seen = run(&[
            between("one", "other"),
            guest("one", &served(0, "sporadic", 250, LIMIT)),
            guest("other", "[[vm.vcpu]]\npcpu = 1\n"),
            vm(
                "beside",
                "rt-chase",
                "chase.via=none chase.rounds=2 chase.kib=1024",
                &served(0, "periodic", 250, LIMIT),
            ),
        ]);
        check(&format!("a shared PCPU, {lines} lines"), &seen[0], ANY.with_lines(lines as u64));
        // The path that wakes a PCPU reads the counter first, and what follows is in the next budget.
        let wakes = seen[0].cpu.hypervisor_paths.from_idle.bound_lines;
        assert!(wakes <= WAKE + ANY.with_lines(lines as u64).path, "{wakes} to wake");
    }
}

/// Frames for links are chunks of long work, and the ends of links come on top as those of serial lines do, for both VMs.
///
/// Stands behind P12 of the safety manual.
#[test]
fn links_add_what_is_counted_for_each() {
    let link = "[[link]]\nname = \"lan\"\nbetween = [\"vm0\", \"vm1\"]\nrate = \"1GB/s\"\nburst = \"1MiB\"\n\
                interrupt_every = \"20us\"\ninterrupt_burst = 64\n";
    let guest = |name: &str, more: &str| {
        let arguments = "network.flood=1 network.parts=8 network.bytes=1500 network.us=40000 network.abuse=5000";
        vm(name, "rt-network", arguments, more)
    };
    let alone = |pcpu: u32| {
        let stays_off = format!("on_crash = \"stop\"\non_reset = \"stop\"\n{}", own(pcpu));
        guest(&format!("vm{pcpu}"), &stays_off)
    };
    let seen = run(&[link.to_owned(), alone(0), alone(1)]);
    for (pcpu, seen) in seen[..2].iter().enumerate() {
        check(&format!("alone on {pcpu}, a link"), seen, ALONE.with_long_paths().with_lines(1));
    }
    let seen = run(&[
        link.to_owned(),
        guest("vm0", &served(0, "sporadic", 250, LIMIT)),
        guest("vm1", "[[vm.vcpu]]\npcpu = 1\n"),
        vm(
            "beside",
            "rt-chase",
            "chase.via=none chase.rounds=2 chase.kib=1024",
            &served(0, "periodic", 250, LIMIT),
        ),
    ]);
    check("a shared PCPU, a link", &seen[0], ANY.with_lines(1));
}

/// Whatever else there is: restarts, requests for colours and audits, PCPUs and budgets that are shared, credits.
#[test]
#[ignore = "takes a minute"]
fn others_exceed_their_budgets_by_less_than_is_counted() {
    // It resets itself once.
    let psci = vm("psci", "rt-psci", "x=1", &(own(1) + &own(2)));
    check("a restart", &run(&[psci])[1], ALONE.with_long_paths());
    for case in ["all", "requests", "audits", "restarts"] {
        let arguments = format!("case={case} rounds=2");
        let color = vm("color", "rt-color", &arguments, &format!("{COLORS}{}", own(1)));
        check(&format!("colours, {case}"), &run(&[color])[1], ALONE.with_long_paths());
    }
    let chase = "chase.via=none chase.rounds=2 chase.kib=1024";
    let races = |seed: u32| format!("races.cpus=2 races.ms=50 races.seed={seed}");
    let shared = run(&[
        vm("chase", "rt-chase", chase, &served(0, "sporadic", 250, LIMIT)),
        vm(
            "nonsense",
            "rt-hostile",
            "case=gic-nonsense count=3000",
            &served(0, "periodic", 200, LIMIT),
        ),
        vm(
            "flood",
            "rt-hostile",
            "case=uart-flood count=3000",
            &served(0, "deferrable", 200, LIMIT),
        ),
    ]);
    check("a shared PCPU", &shared[0], ANY);
    let both = |server: &str| served(0, server, 200, "") + &served(1, server, 200, "");
    let credits = format!("{LIMIT}compensation = 2\nflush = [\"vcpu-switch\", \"task-switch\"]\n");
    let pools = run(&[
        vm("pool", "rt-races", &races(1), &(credits.clone() + &both("sporadic"))),
        vm(
            "critical",
            "rt-races",
            &races(2),
            &("critical = true\n".to_owned() + &both("deferrable")),
        ),
        vm("chase", "rt-chase", chase, &(credits + &served(0, "periodic", 300, ""))),
    ]);
    check("budgets of VMs", &pools[0], ANY);
}

/// A VM has a VCPU wake, block, start or be interrupted as often as it can, on the PCPU of a victim, above it or below. What the hypervisor
/// accesses for that counts for that VCPU, and not for the victim.
#[test]
fn interrupts_count_for_those_for_whom_they_come() {
    let quiet = [1, 3].map(|priority| accounts("none", 0, priority));
    for (mode, pause, priority) in [
        ("sgi-taking", 100_000, 1),
        ("sgi-taking", 10_000, 3),
        ("timer", 0, 3),
        ("cpu-on-off", 0, 3),
        ("device-taking", 3_000, 3),
    ] {
        let (quiet, storm) = (&quiet[priority / 3], accounts(mode, pause, priority));
        println!("{mode} {pause}, priority {priority}: {storm:?}, quiet {quiet:?}");
        assert!(storm.charged > 50, "{mode}: {} times charged", storm.charged);
        assert!(storm.largest <= ANY.interrupt, "{mode}: {} at once", storm.largest);
        // The victim loads its own lines again, and the hypervisor those with which it stops and goes on.
        let more = storm.victim.saturating_sub(quiet.victim);
        assert!(more <= VICTIM_MAX * storm.runs, "{mode}: {more} more for the victim");
    }
}

/// Accesses that count for a victim at most, each time that it was interrupted and goes on: the hypervisor saves its registers, looks for
/// whom the interrupt comes, and restores them; with a last-level cache so small that little of that is in it.
const VICTIM_MAX: u64 = 16;

/// Accesses of a run.
#[derive(Debug, Default)]
struct Accounts {
    /// What was charged to the victim, and how often it began to run or went on after an interrupt.
    victim: u64,
    runs: u64,
    /// How often the other VCPU was charged while the victim ran or when it began to, and the most at once.
    charged: usize,
    largest: u64,
}

/// A storm beside the victim. The last-level cache is so small that the hypervisor's lines have to be loaded again and again.
fn accounts(mode: &str, pause: u32, priority: usize) -> Accounts {
    let wide = "bandwidth = { accesses = 50000, period = \"1ms\" }\n";
    let vcpu = |server: &str, budget_us: u32, priority: usize| {
        served(3, server, budget_us, wide) + &format!("priority = {priority}\n")
    };
    let storm = |name: &str, arguments: &str, vcpus: &str| {
        vm(name, "rt-storm", &format!("storm.start_ms=30 {arguments}"), vcpus)
    };
    let device = "[[vm.device]]\ncompatible = [\"arm,pl031\", \"arm,primecell\"]\naddress = 0x0901_0000\nsize = \"4KiB\"\n\
                  interrupt = 34\n";
    let attack = format!("storm.mode={mode} storm.attackers=1 storm.pause={pause} storm.ms=85");
    let attackers = format!("[[vm.vcpu]]\npcpu = 0\n{}", vcpu("deferrable", 150, priority))
        + if mode.starts_with("device") { device } else { "" };
    let vms = [
        storm("victim", "storm.mode=victim storm.windows=1", &vcpu("periodic", 800, 2)),
        storm("attacker", &attack, &attackers),
    ];
    let system = format!("name = \"interrupts\"\nplatform = \"qemu-virt\"\n{}", vms.concat());
    let scope = tempfile::tempdir().expect("a folder");
    let scope = scope.path().to_str().expect("UTF-8");
    let options = ["time=model", "llc=32KiB:2"].map(|it| ["--cachescope-option", it]);
    let arguments = [["--cachescope", scope]].into_iter().chain(options).flatten();
    let recorded = real::Recorded::with(&system, &arguments.collect::<Vec<_>>());
    recorded.replay();
    let mut found = Accounts::default();
    let mut runs = false;
    for entry in &recorded.trace().tracks[3] {
        match entry.event {
            Event::Run { vcpu, .. } => {
                runs = vcpu.vm == 0;
                found.runs += u64::from(runs);
            }
            Event::Idle => runs = false,
            Event::Account { vcpu, accesses } if vcpu.vm == 0 => found.victim += accesses,
            Event::Account { accesses, .. } if runs => {
                found.charged += 1;
                found.runs += 1;
                found.largest = found.largest.max(accesses);
            }
            _ => {}
        }
    }
    found
}
