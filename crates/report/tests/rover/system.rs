//! VMs and tasks.

use report::proof::{Responses, Task, Term, Vcpu, Vm};

use super::MS;

pub fn vms() -> Vec<Vm> {
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
pub fn noise(seed: u64, range: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 33) % range.max(1)
}

pub struct Named {
    pub vm: usize,
    pub name: &'static str,
    pub wcet: u64,
    pub period: u64,
    pub deadline: u64,
    pub bound: u64,
    pub typical: u64,
}

pub fn named() -> [Named; 6] {
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

pub fn tasks() -> Vec<Task> {
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
