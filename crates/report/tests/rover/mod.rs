//! A proof as `bulkhead prove` makes it, of a rover with four VMs; and others that ask more of the
//! page.

use bulkhead_report::proof::{
    Cache, Check, Command, Fact, File, Lane, LaneKind, Mark, MarkKind, Origin, Owner, Platform,
    Proof, Responses, Run, Section, Span, SpanKind, Task, Term, Timeline, Traffic, Vcpu, Vm, VmRun,
};

const MS: u64 = 1_000_000;

/// The rover: not schedulable without isolation, and everything holds with its plan.
pub fn rover() -> Proof {
    let (without, with) = (true, false);
    Proof {
        name: "rover".into(),
        holds: true,
        failures: Vec::new(),
        notes: vec!["Times are those of the cache model, not of a chip.".into()],
        platform: Platform {
            name: "qemu-virt".into(),
            pcpus: 4,
            llc_bytes: Some(1 << 20),
            llc_ways: Some(16),
            colors: Some(16),
            hypervisor_colors: vec![15],
        },
        vms: vms(),
        tasks: tasks(),
        check_without: Check {
            schedulable: Some(false),
            notes: vec!["Nothing limits the memory accesses of `linux` and `noise`.".into()],
        },
        check_with: Check {
            schedulable: Some(true),
            notes: vec!["Sporadic releases, fully preemptive tasks.".into()],
        },
        simulation: Some(run(with, None)),
        without: Some(run(without, Some(cache(without)))),
        with: Some(run(with, Some(cache(with)))),
        traffic: traffic(),
        origin: origin(),
    }
}

/// The rover with names that want to leave their place.
pub fn hostile() -> Proof {
    let mut proof = rover();
    let evil =
        "</title><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&\u{202e}";
    proof.name = evil.into();
    proof.notes = vec![evil.into(), "x".repeat(5_000)];
    proof.failures = vec![evil.into()];
    proof.platform.name = evil.into();
    proof.check_without.notes = vec![evil.into()];
    for vm in &mut proof.vms {
        (vm.name, vm.guest) = (evil.into(), evil.into());
        vm.vcpus.iter_mut().for_each(|vcpu| vcpu.server = Some(evil.into()));
    }
    for task in &mut proof.tasks {
        task.name = evil.into();
        task.reason_without = Some(evil.into());
        task.terms.iter_mut().for_each(|term| term.name = evil.into());
    }
    for run in [&mut proof.simulation, &mut proof.without, &mut proof.with].into_iter().flatten() {
        run.notes = vec![evil.into()];
        run.sections.iter_mut().for_each(|it| it.resource = evil.into());
        run.vms.iter_mut().for_each(|it| it.state = evil.into());
        let caches = run.cache.iter_mut().flat_map(|cache| &mut cache.owners);
        caches.for_each(|owner| owner.name = evil.into());
        if let Some(line) = &mut run.timeline {
            line.reason = evil.into();
            for lane in &mut line.lanes {
                lane.name = evil.into();
                lane.spans.iter_mut().for_each(|span| span.label = evil.into());
                lane.marks.iter_mut().for_each(|mark| mark.label = evil.into());
            }
        }
    }
    for command in &mut proof.origin.commands {
        (command.purpose, command.line) = (evil.into(), evil.into());
    }
    for file in &mut proof.origin.files {
        (file.purpose, file.name, file.sha256) = (evil.into(), evil.into(), evil.into());
    }
    for fact in &mut proof.origin.facts {
        (fact.name, fact.value) = (evil.into(), evil.into());
    }
    proof
}

/// The rover with a plan that does not hold: a response above its bound, a missed deadline, an
/// overdrawn budget, an eviction across VMs.
pub fn broken() -> Proof {
    let mut proof = rover();
    proof.holds = false;
    proof.failures = vec!["`drive/0 slow` took longer than its bound.".into()];
    if let Some(with) = &mut proof.tasks[2].with {
        (with.max_ns, with.missed) = (Some(6 * MS), 1);
    }
    if let Some(cache) = proof.with.as_mut().and_then(|run| run.cache.as_mut()) {
        cache.evictions[1][2] = 1;
    }
    proof.traffic[0].with_accesses[9] = 100_000;
    proof
}

/// More of everything than a page can show.
pub fn huge() -> Proof {
    let mut proof = rover();
    let task = proof.tasks[0].clone();
    proof.tasks.resize(2_000, task);
    let vm = proof.vms[0].clone();
    proof.vms.resize(100, vm);
    let traffic = proof.traffic[0].clone();
    proof.traffic.resize(100, traffic);
    for traffic in &mut proof.traffic {
        traffic.with_accesses = (0..100_000).map(|it| it % 9_000).collect();
        traffic.throttled_windows = (0..100_000).step_by(7).collect();
    }
    let line = proof.with.as_mut().and_then(|run| run.timeline.as_mut());
    if let Some(line) = line {
        let span = |at: i64| Span {
            time_ns: at * 1_000..at * 1_000 + 500,
            label: "x".repeat(300),
            ..Span::default()
        };
        line.window_ns = 0..1_000_000;
        let lane = Lane { spans: (0..1_000).map(span).collect(), ..Lane::default() };
        line.lanes = vec![lane; 100];
    }
    if let Some(cache) = proof.with.as_mut().and_then(|run| run.cache.as_mut()) {
        let owner = Owner { accesses_by_color: vec![5; 4_096], ..cache.owners[1].clone() };
        cache.owners = vec![owner; 200];
        cache.evictions = vec![vec![1; 200]; 200];
    }
    proof
}

fn vms() -> Vec<Vm> {
    let vm = |name: &str, guest: &str, critical, mib: u64, colors: std::ops::Range<usize>| Vm {
        name: name.into(),
        guest: guest.into(),
        critical,
        memory_bytes: mib << 20,
        colors: colors.collect(),
        ..Vm::default()
    };
    let own = |pcpu| Vcpu { pcpu, ..Vcpu::default() };
    let limited = |pcpu, accesses| Vcpu {
        memory_budget_accesses: Some(accesses),
        memory_period_ns: Some(MS),
        ..own(pcpu)
    };
    let server = |budget, period, priority| Vcpu {
        server: Some("deferrable".into()),
        priority: Some(priority),
        budget_ns: Some(budget),
        period_ns: Some(period),
        ..own(1)
    };
    vec![
        Vm { vcpus: vec![own(0)], ..vm("drive", "real-time guest", true, 16, 0..8) },
        Vm {
            vcpus: vec![server(2 * MS, 5 * MS, 2)],
            ..vm("arm", "real-time guest", true, 16, 8..10)
        },
        Vm {
            vcpus: vec![server(4 * MS, 10 * MS, 1)],
            ..vm("nav", "real-time guest", true, 16, 10..12)
        },
        Vm { vcpus: vec![limited(2, 6_100)], ..vm("linux", "Linux", false, 256, 12..14) },
        Vm { vcpus: vec![limited(3, 1_500)], ..vm("noise", "real-time guest", false, 16, 14..15) },
    ]
}

/// Numbers that look random, the same on each machine.
fn noise(seed: u64, range: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 33) % range.max(1)
}

struct Named {
    vm: usize,
    name: &'static str,
    wcet: u64,
    period: u64,
    deadline: u64,
    bound: u64,
    typical: u64,
}

fn named() -> [Named; 6] {
    let task = |vm, name, [wcet, period, deadline, bound, typical]: [u64; 5]| Named {
        vm,
        name,
        wcet: wcet * 1_000,
        period: period * 1_000,
        deadline: deadline * 1_000,
        bound: bound * 1_000,
        typical: typical * 1_000,
    };
    [
        task(0, "fast", [150, 5_000, 5_000, 480, 310]),
        task(0, "medium", [400, 10_000, 10_000, 1_210, 860]),
        task(0, "slow", [2_200, 20_000, 3_100, 2_985, 2_620]),
        task(1, "grip", [600, 10_000, 10_000, 6_840, 4_100]),
        task(1, "plan", [900, 40_000, 40_000, 24_300, 9_800]),
        task(2, "locate", [1_800, 20_000, 20_000, 18_760, 12_050]),
    ]
}

fn tasks() -> Vec<Task> {
    let responses = |typical: u64, spread: u64, deadline: u64, seed: u64| {
        let times_ns: Vec<u64> =
            (0..240).map(|job| typical * 7 / 8 + noise(seed * 1_000 + job, spread)).collect();
        let missed = times_ns.iter().filter(|time| **time > deadline).count() as u64;
        let max_ns = times_ns.iter().copied().max();
        Some(Responses { jobs: 240, missed, max_ns, times_ns })
    };
    let task = |(place, of): (usize, Named)| {
        let seed = place as u64;
        let hit = of.name == "slow";
        Task {
            vm: of.vm,
            vcpu: 0,
            name: of.name.into(),
            wcet_ns: Some(of.wcet),
            period_ns: Some(of.period),
            deadline_ns: Some(of.deadline),
            accesses: Some(200),
            bound_without_ns: None,
            reason_without: hit.then(|| {
                "nothing limits the memory accesses of linux and noise on other PCPUs".into()
            }),
            bound_with_ns: Some(of.bound),
            reason_with: None,
            terms: vec![
                Term { name: "execution".into(), time_ns: of.wcet },
                Term { name: "memory accesses of other PCPUs".into(), time_ns: of.bound - of.wcet },
            ],
            simulated: responses(of.typical, of.typical / 9, of.deadline, seed),
            without: responses(
                of.typical * if hit { 13 } else { 11 } / 10,
                of.typical,
                of.deadline,
                seed + 20,
            ),
            with: responses(of.typical, of.typical / 8, of.deadline, seed + 40),
        }
    };
    named().into_iter().enumerate().map(task).collect()
}

fn run(without: bool, cache: Option<Cache>) -> Run {
    let vm = |wait_us: u64, lines| VmRun {
        state: "off".into(),
        restarts: 0,
        exits: Some(4_321),
        bus_wait_ns: Some(wait_us * 1_000),
        memory_lines: Some(lines),
    };
    let section = |task, waits| Section {
        resource: "map".into(),
        task,
        times: 240,
        waits,
        wait_max_ns: waits * 4_000,
        hold_max_ns: 61_250,
    };
    Run {
        time_ns: 2_400 * MS,
        timeline: Some(timeline(without)),
        cache,
        vms: match without {
            true => vec![
                vm(312_400, 902_113),
                vm(8_100, 31_006),
                vm(9_020, 40_551),
                vm(901_222, 7_611_040),
                vm(1_250_110, 14_020_077),
            ],
            false => vec![
                vm(21_007, 801_222),
                vm(1_004, 30_871),
                vm(1_310, 39_900),
                vm(44_090, 5_160_008),
                vm(61_777, 2_811_900),
            ],
        },
        sections: vec![section(3, 12), section(5, 9)],
        notes: Vec::new(),
    }
}

fn timeline(without: bool) -> Timeline {
    const WINDOW: i64 = 60_000_000;
    let length = |of: &Named| (if without { of.wcet * 8 / 5 } else { of.wcet }) as i64;
    let mut lanes = Vec::new();
    for pcpu in 0..4_usize {
        let on: Vec<usize> = match pcpu {
            0 => vec![0],
            1 => vec![1, 2],
            _ => vec![pcpu + 1],
        };
        let first = lanes.len();
        lanes.push(Lane { name: format!("PCPU {pcpu}"), ..Lane::default() });
        for vm in on {
            let name = vms()[vm].name.clone();
            let at = lanes.len();
            lanes.push(Lane { kind: LaneKind::Vcpu, name: format!("{name}/0"), ..Lane::default() });
            let run = |time_ns, kind, label: String| Span { time_ns, kind, vm: Some(vm), label };
            let mut busy: Vec<Span> = Vec::new();
            for (order, of) in named().iter().enumerate().filter(|(_, of)| of.vm == vm) {
                let mut lane =
                    Lane { kind: LaneKind::Task, name: of.name.into(), ..Lane::default() };
                for job in 0..WINDOW / of.period as i64 {
                    let release = job * of.period as i64;
                    let start =
                        release + order as i64 * 300_000 + if vm == 2 { 3_000_000 } else { 0 };
                    let end = start + length(of);
                    let label = format!("job {job}");
                    lane.spans.push(run(start..end, SpanKind::Runs, label.clone()));
                    busy.push(run(start..end, SpanKind::Runs, format!("{name}/0")));
                    if vm == 1 && job % 2 == 0 {
                        lane.spans.push(run(
                            start + 100_000..start + 250_000,
                            SpanKind::Waits,
                            "map".into(),
                        ));
                        lane.spans.push(run(
                            start + 250_000..start + 500_000,
                            SpanKind::Holds,
                            "map".into(),
                        ));
                    }
                    let deadline = release + of.deadline as i64;
                    let late = end > deadline;
                    let kind = if late { MarkKind::Miss } else { MarkKind::Deadline };
                    lane.marks.extend([
                        Mark { at_ns: release, kind: MarkKind::Release, label: label.clone() },
                        Mark { at_ns: deadline, kind, label: label.clone() },
                        Mark { at_ns: end, kind: MarkKind::Finish, label },
                    ]);
                }
                lanes.push(lane);
            }
            if vm > 2 {
                for window in 0..WINDOW / 1_000_000 {
                    let start = window * 1_000_000;
                    let until = if without {
                        1_000_000
                    } else {
                        700_000 - noise(window as u64, 300_000) as i64
                    };
                    busy.push(run(start..start + until, SpanKind::Runs, format!("{name}/0")));
                    if !without {
                        lanes[at].spans.push(run(
                            start + until..start + 1_000_000,
                            SpanKind::Throttled,
                            String::new(),
                        ));
                    }
                }
            }
            lanes[at].spans.extend(busy.iter().cloned());
            lanes[first].spans.extend(busy);
        }
    }
    let reason = if without {
        "around the first missed deadline"
    } else {
        "the same time as without isolation"
    };
    Timeline { window_ns: 0..WINDOW, reason: reason.into(), lanes }
}

fn cache(without: bool) -> Cache {
    let names = ["hypervisor", "drive", "arm", "nav", "linux", "noise"];
    let owners = names.iter().enumerate().map(|(place, name)| {
        let vm = place.checked_sub(1);
        let colors = match vm {
            Some(vm) => vms()[vm].colors.clone(),
            None => vec![15],
        };
        let used = |color: &usize| without || colors.contains(color);
        let accesses = |color: usize| match used(&color) {
            true => 10_u64.pow(1 + place as u32 % 5) * 3 + noise((place * 16 + color) as u64, 500),
            false => 0,
        };
        let lost = |color: usize| {
            if without && vm.is_some() { noise((place * 31 + color) as u64, 900) } else { 0 }
        };
        Owner {
            name: (*name).into(),
            vm,
            accesses_by_color: (0..16).map(accesses).collect(),
            lost_by_color: (0..16).map(lost).collect(),
        }
    });
    let evictions = (0..6).map(|came: u64| {
        let cell = |went: u64| match (without, came == went) {
            (_, true) => 20_000 * came + 411,
            (true, false) => noise(came * 6 + went, 9_000),
            (false, false) => 0,
        };
        (0..6).map(cell).collect()
    });
    Cache { owners: owners.collect(), evictions: evictions.collect() }
}

fn traffic() -> Vec<Traffic> {
    let of = |vm: usize, budget: u64| {
        let with: Vec<u64> = (0..2_400)
            .map(|it| (noise(it + vm as u64, budget / 2) + budget * 3 / 4).min(budget + 41))
            .collect();
        let throttled = with.iter().enumerate().filter(|(_, it)| **it >= budget).map(|(at, _)| at);
        Traffic {
            vm,
            vcpu: Some(0),
            window_ns: MS,
            budget_accesses: Some(budget),
            overshoot_accesses: 240,
            without_accesses: (0..2_400).map(|it| budget * 2 + noise(it, budget)).collect(),
            throttled_windows: throttled.collect(),
            with_accesses: with,
        }
    };
    vec![of(3, 6_100), of(4, 1_500)]
}

fn origin() -> Origin {
    let command =
        |purpose: &str, line: &str| Command { purpose: purpose.into(), line: line.into() };
    let fact = |name: &str, value: &str| Fact { name: name.into(), value: value.into() };
    let file = |purpose: &str, name: &str| File {
        purpose: purpose.into(),
        name: name.into(),
        sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
    };
    Origin {
        commands: vec![
            command("All of it", "bulkhead prove systems/rover.toml -o build/demo"),
            command("The plan", "bulkhead plan systems/rover.toml -o build/demo/with.plan.dts"),
        ],
        files: vec![
            file("description", "systems/rover.toml"),
            file("trace of the run with the plan", "build/demo/with.trace"),
        ],
        facts: vec![fact("Bulkhead", "0.1.0"), fact("QEMU", "10.0.2")],
    }
}
