//! Random systems that are small enough for all of their plans to be tried.

use taskgen::Random;

use crate::draft::{Colors, Draft, Limit, Task, Vcpu, Vm};
use crate::draw::{of, one_in, shares};

/// Periods of VCPUs that are tried where they are open, in microseconds: all are whole ticks.
pub const PERIODS_US: [u64; 3] = [1_000, 2_000, 4_000];

/// Utilisation of all tasks, in PCPUs; there are two.
const LOAD: [f64; 2] = [0.4, 1.5];

/// Returns the small system with this number.
pub fn draw(number: u64) -> Draft {
    let mut random = Random::new(1_800, number);
    let random = &mut random;
    let colored = one_in(random, 3);
    let periods_open = one_in(random, 3);
    // VCPUs and tasks of each VM.
    let sizes = match random.between(0, 2) {
        0 => [(2, random.between(2, 3)), (1, random.between(2, 4))],
        1 => [(1, random.between(2, 4)), (1, random.between(2, 4))],
        _ => [(2, 2), (if periods_open { 1 } else { 2 }, 2)],
    };
    let load = random.real(LOAD[0], LOAD[1]);
    let shares = shares(random, 2, load, 1.2);
    let vms = sizes.into_iter().zip(shares).map(|((vcpus, tasks), share)| {
        let period_us = (!periods_open).then(|| of(random, &PERIODS_US));
        let server = of(random, &["periodic", "deferrable", "sporadic"]);
        let vcpu = Vcpu {
            server: Some(server),
            period_us,
            budget_us: None,
            pcpu: None,
            priority: None,
            overrun: false,
            limit: Limit::None,
        };
        let shares = crate::draw::shares(random, tasks as usize, share, 0.7);
        Vm {
            colors: if colored { Colors::Planned } else { Colors::All },
            vllc: false,
            limit: Limit::None,
            vcpus: vec![vcpu; vcpus],
            tasks: shares.into_iter().map(|share| task(random, share, colored)).collect(),
        }
    });
    let vms = vms.collect();
    Draft {
        pcpus: 2,
        colors: 4,
        overheads: one_in(random, 2),
        reload_us: (colored && one_in(random, 2)).then(|| random.between(1, 50)),
        locks: "vmpcp",
        section_overhead_us: 100,
        resources: Vec::new(),
        vms,
        chains: Vec::new(),
    }
}

fn task(random: &mut Random, share: f64, colored: bool) -> Task {
    let period_us = of(random, &[10_000, 20_000, 25_000, 40_000, 50_000, 100_000]);
    let deadline_us = match one_in(random, 3) {
        true => (period_us as f64 * random.real(0.7, 1.0)) as u64,
        false => period_us,
    };
    let time = (period_us as f64 * 1e3 * share) as u64 + 1_000;
    let gain = random.real(0.0, 0.3);
    let with = |colors: u64| ((time as f64) * (1.0 + gain - gain * colors as f64 / 2.0)) as u64;
    Task {
        vcpu: None,
        period_us,
        deadline_us,
        jitter_us: 0,
        suspension_us: 0,
        exits: 0,
        wcet_ns: match colored {
            true => (1..=4).map(|colors| (colors, with(colors))).collect(),
            false => vec![(0, time)],
        },
        accesses: None,
        sections: Vec::new(),
    }
}
