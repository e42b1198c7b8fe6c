//! Runs: what happened when, in the cache, on the way to memory.

use report::proof::{
    Cache, Lane, LaneKind, Mark, MarkKind, Owner, Run, Section, Span, SpanKind, Timeline, Traffic,
    VmRun,
};

use super::MS;
use super::system::{Named, named, noise, vms};

pub fn run(without: bool, cache: Option<Cache>) -> Run {
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

pub fn timeline(without: bool) -> Timeline {
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

pub fn cache(without: bool) -> Cache {
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

pub fn traffic() -> Vec<Traffic> {
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
