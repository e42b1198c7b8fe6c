//! The limit on entries into global critical sections, such that tasks that keep to their
//! description are never refused.
//!
//! A task has jobs that enter `k` sections, are released each period `T` and complete within `D`:
//! the deadline, or the period if that is longer, so that a late job is not refused at once. In a
//! window of length `t` the task enters at most `k (floor((t + D) / T) + 1)` sections. For all
//! tasks together that is at most `U t + E`, where `U` is the sum of `k / T` and `E` the sum of `k
//! (1 + D / T)`. The limit is `1 + floor((t + early) / interval)`. With an interval of `1 / U` and
//! `early` of `interval (E - 1)` it is not below `U t + E`, because it is the smallest whole number
//! above `(t + early) / interval`. For one task with one section the limit is exact: the interval
//! `T`, and `D` early.

use units::Duration;

use crate::description::System;
use crate::plan::Entries;

/// A task with `k`, `T` and `D`: the time for which its jobs may be pending.
#[derive(Clone, Copy)]
struct Demand {
    sections: u64,
    period: u64,
    deadline: u64,
}

/// Returns the limit that allows all of these entries, rounded in favour of the tasks.
fn entries(demands: &[Demand]) -> Entries {
    // Parts of a period are counted in a unit that divides all periods, if there is one that is not too
    // large to count with.
    const LARGE: u128 = 1 << 62;
    let common = demands.iter().try_fold(1u128, |common, demand| {
        let period = u128::from(demand.period.max(1));
        let multiple = common / greatest_common_divisor(common, period) * period;
        (multiple <= LARGE).then_some(multiple)
    });
    let unit = common.unwrap_or(LARGE);
    // `U` and the sum of `k D / T`, both in units and not below.
    let (mut often, mut pending, mut sections) = (0u128, 0u128, 0u128);
    for demand in demands {
        let (count, period) = (u128::from(demand.sections), u128::from(demand.period.max(1)));
        let deadline = u128::from(demand.deadline.min(Entries::EARLIEST.0));
        often = often.saturating_add((count * unit).div_ceil(period));
        let jobs = (deadline * unit).div_ceil(period);
        pending = pending.saturating_add(count.saturating_mul(jobs));
        sections += count;
    }
    let [shortest, longest] = Entries::INTERVALS.map(|it| u128::from(it.0));
    let interval = (unit / often.max(1)).clamp(shortest, longest);
    let early = interval.saturating_mul(pending).div_ceil(unit);
    let early = early.saturating_add(interval * sections.saturating_sub(1));
    let early = early.min(Entries::EARLIEST.0.into());
    Entries { interval: Duration(interval as u64), early: Duration(early as u64) }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl System {
    /// Returns the limit on entries of a VCPU into global critical sections: as many as those of
    /// its tasks that keep to the description, and complete within their deadline or their period.
    /// No entries if it has no such tasks.
    pub fn entries(&self, vm: usize, vcpu: usize) -> Entries {
        let own = self.vms.get(vm).into_iter().flat_map(|vm| &vm.tasks);
        let own = own.filter(|task| task.vcpu == vcpu);
        let demand = own.map(|task| {
            let global = task.sections.iter().filter(|section| self.is_global(section.resource));
            let sections = global.count() as u64;
            let deadline = task.deadline.max(task.period).0;
            Demand { sections, period: task.period.0, deadline }
        });
        let demands: Vec<Demand> = demand.filter(|demand| demand.sections > 0).collect();
        match demands.is_empty() {
            true => Entries::default(),
            false => entries(&demands),
        }
    }
}

#[cfg(test)]
mod tests {
    use policy::rate::Rate;
    use policy::time::Instant;
    use proptest::prelude::*;

    use super::*;

    fn demand(sections: u64, period: u64, deadline: u64) -> Demand {
        Demand { sections, period, deadline }
    }

    fn of(demands: &[Demand]) -> (u64, u64) {
        let Entries { interval, early } = entries(demands);
        (interval.0, early.0)
    }

    #[test]
    fn one_task_gets_what_it_needs() {
        let ms = 1_000_000;
        assert_eq!(of(&[demand(1, 200 * ms, 150 * ms)]), (200 * ms, 150 * ms));
        // Four in each 100 ms: at the end of one job and at the start of the next eight at once.
        assert_eq!(of(&[demand(4, 100 * ms, 100 * ms)]), (25 * ms, 175 * ms));
        // Prime to each other, and no whole interval: the next shorter one.
        assert_eq!(of(&[demand(1, 1_000_003, 0), demand(1, 1_000_033, 0)]), (500_008, 500_008));
    }

    #[test]
    fn extremes_are_cut() {
        let [shortest, longest] = Entries::INTERVALS;
        assert_eq!(of(&[demand(64, 1, u64::MAX); 64]), (shortest.0, 1 << 56));
        assert_eq!(of(&[demand(1, u64::MAX, u64::MAX)]).0, longest.0);
        assert_eq!(of(&[demand(1, 0, 0)]), (shortest.0, 0));
    }

    /// Periods in us, so that random times within them meet.
    fn tasks() -> impl Strategy<Value = Vec<(u64, u64, u64, u64)>> {
        // Sections, period, deadline in 8ths of it, phase.
        prop::collection::vec((1u64..5, 10u64..200, 1u64..12, 0u64..200), 1..5)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]

        /// Random tasks, each of whose entries comes at some time between release and deadline, the worst ones
        /// among them: late in one job, as early as possible from then on.
        #[test]
        fn who_is_as_described_is_never_refused(
            tasks in tasks(),
            late in prop::collection::vec(any::<bool>(), 64),
            places in prop::collection::vec(0u64..=1_000, 64),
            hertz in prop::sample::select(vec![1_000_000u64, 19_200_000, 62_500_000, 1_000_000_000]),
        ) {
            let demands: Vec<Demand> = tasks
                .iter()
                .map(|&(sections, period, deadline, _)| {
                    demand(sections, period * 1_000, period * deadline * 125)
                })
                .collect();
            let Entries { interval, early } = entries(&demands);
            let ticks = |time: u64| (u128::from(time) * u128::from(hertz) / 1_000_000_000) as u64;
            // As the hypervisor rounds.
            let rate = Rate::new(
                policy::time::Duration(ticks(interval.0).max(1)),
                policy::time::Duration(ticks(early.0) + 1),
            );
            let mut times = Vec::new();
            let mut dice = late.iter().zip(&places).cycle();
            for (demand, &(.., phase)) in demands.iter().zip(&tasks) {
                for job in 0..12 {
                    let (late, place) = dice.next().unwrap();
                    for _ in 0..demand.sections {
                        let after = match (job, late) {
                            (0, _) => demand.deadline,
                            (1..=6, _) => 0,
                            (_, true) => demand.deadline,
                            (_, false) => demand.deadline * place / 1_000,
                        };
                        times.push(phase * 1_000 + job * demand.period + after);
                    }
                }
            }
            times.sort_unstable();
            let mut from = Rate::START;
            for time in times {
                let now = Instant(ticks(time));
                prop_assert!(Rate::may_enter(from, now), "{interval} {early} at {time}");
                from = rate.enter(from, now);
            }
        }
    }
}
