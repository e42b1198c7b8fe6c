//! What must not make a bound shorter, or longer.

use analysis::response::{Analyzer, Response, Workload};
use analysis::supply::{ServerSupply, Supply};
use analysis::{Caches, Duration, Failure, Kind, Limits, Server, Task, vcpu};
use policy::color::ColorSet;
use proptest::prelude::*;

fn task() -> impl Strategy<Value = Task> {
    (1u64..10, 6u64..60, 0u64..9, 0u64..6, 0u64..5).prop_map(
        |(wcet, period, jitter, blocking, suspension)| {
            let task = Task::new(Duration(wcet), Duration(period)).unwrap();
            let task = task.with_jitter(Duration(jitter)).unwrap();
            let task = task.with_blocking(Duration(blocking)).unwrap();
            task.with_suspension(Duration(suspension.saturating_sub(2))).unwrap()
        },
    )
}

fn responses(workload: &Workload<'_>) -> Vec<Result<Response, Failure>> {
    let limits = Limits { window: Duration(2_000), ..Limits::default() };
    let mut responses = Vec::new();
    Analyzer::new(limits).response_times(workload, &mut responses);
    responses
}

/// A bound, or one that is longer than all.
fn time(response: Result<Response, Failure>) -> u64 {
    response.map_or(u64::MAX, |response| response.time.0)
}

fn not_shorter(before: &Workload<'_>, after: &Workload<'_>) -> Result<(), TestCaseError> {
    for (task, (before, after)) in responses(before).into_iter().zip(responses(after)).enumerate() {
        prop_assert!(time(before) <= time(after), "task {}: {:?} > {:?}", task, before, after);
    }
    Ok(())
}

/// The same task with more of something, or shorter periods.
fn worse(task: Task, what: u32) -> Task {
    let one = |time: Duration| Duration(time.0 + 1);
    match what % 5 {
        0 => task.with_wcet(one(task.wcet())),
        1 => task.with_jitter(one(task.jitter())),
        2 => task.with_blocking(one(task.blocking())),
        3 => task.with_suspension(one(task.suspension())),
        _ => {
            let shorter = Task::new(task.wcet(), Duration(task.period().0 - 1)).unwrap();
            let shorter = shorter.with_jitter(task.jitter()).unwrap();
            let shorter = shorter.with_blocking(task.blocking()).unwrap();
            shorter.with_suspension(task.suspension())
        }
    }
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn more_demand_never_shortens_a_bound(
        tasks in prop::collection::vec(task(), 1..5),
        which in any::<prop::sample::Index>(),
        what in 0u32..5,
    ) {
        let mut after = tasks.clone();
        let which = which.index(tasks.len());
        after[which] = worse(after[which], what);
        not_shorter(&Workload::new(&tasks), &Workload::new(&after))?;
        // Nor does a task more above all others.
        let mut after = vec![tasks[which]];
        after.extend(&tasks);
        let (before, after) = (responses(&Workload::new(&tasks)), responses(&Workload::new(&after)));
        for (before, after) in before.into_iter().zip(&after[1..]) {
            prop_assert!(time(before) <= time(*after));
        }
    }

    #[test]
    fn more_supply_never_lengthens_a_bound(
        tasks in prop::collection::vec(task(), 1..5),
        (budget, gap, late) in (1u64..10, 1u64..12, 0u64..12),
    ) {
        let supply = |budget, period, response| {
            let server = Server::new(Kind::Periodic, Duration(budget), Duration(period)).unwrap();
            ServerSupply::with_response(server, Duration(response)).map(Supply::Server).unwrap()
        };
        let (period, response) = (budget + gap, budget + late.min(gap));
        let less = Workload::new(&tasks).with_supply(supply(budget, period, response));
        let more = Workload::new(&tasks).with_supply(supply(budget + 1, period, response.max(budget + 1)));
        not_shorter(&more, &less)?;
        let earlier = response.saturating_sub(1).max(budget);
        not_shorter(&Workload::new(&tasks).with_supply(supply(budget, period, earlier)), &less)?;
        not_shorter(&Workload::new(&tasks), &more)?;
    }

    #[test]
    fn more_colors_and_longer_reloads_never_shorten_a_bound(
        tasks in prop::collection::vec(task(), 1..5),
        sets in prop::collection::vec(1u64..256, 5),
        more in (any::<prop::sample::Index>(), 0u32..8),
        reload in 0u64..3,
    ) {
        let sets: Vec<_> = sets.into_iter().map(ColorSet::from_bits).collect();
        let mut larger = sets.clone();
        let which = more.0.index(tasks.len());
        larger[which] = ColorSet::from_bits(larger[which].bits() | 1 << more.1);
        let count = tasks.len();
        let with = |sets, reload| {
            Workload::new(&tasks).with_caches(Caches::new(sets, Duration(reload)))
        };
        not_shorter(&with(&sets[..count], reload), &with(&larger[..count], reload))?;
        not_shorter(&with(&sets[..count], reload), &with(&sets[..count], reload + 1))?;
        not_shorter(&Workload::new(&tasks), &with(&sets[..count], reload))?;
    }

    #[test]
    fn a_server_above_never_helps(
        servers in prop::collection::vec((1u64..8, 0u64..20, 0usize..3), 1..5),
    ) {
        let kinds = [Kind::Periodic, Kind::Deferrable, Kind::Sporadic];
        let servers: Vec<_> = servers
            .into_iter()
            .map(|(budget, gap, kind)| {
                Server::new(kinds[kind], Duration(budget), Duration(budget + gap)).unwrap()
            })
            .collect();
        let (all, rest) = (vcpu::response_times(&servers), vcpu::response_times(&servers[1..]));
        for (with, without) in all[1..].iter().zip(&rest) {
            if let Ok(with) = with {
                prop_assert!(without.is_ok_and(|without| without <= *with));
            }
        }
    }

    /// Times are numbers of any unit.
    #[test]
    fn bounds_scale_with_the_unit(tasks in prop::collection::vec(task(), 1..5), unit in 2u64..1_000) {
        let scaled = |task: &Task| {
            let times = |time: Duration| Duration(time.0 * unit);
            let scaled = Task::new(times(task.wcet()), times(task.period())).unwrap();
            let scaled = scaled.with_jitter(times(task.jitter())).unwrap();
            let scaled = scaled.with_blocking(times(task.blocking())).unwrap();
            scaled.with_suspension(times(task.suspension())).unwrap()
        };
        let large: Vec<_> = tasks.iter().map(scaled).collect();
        let limits = Limits { window: Duration(2_000 * unit), ..Limits::default() };
        let mut found = Vec::new();
        Analyzer::new(limits).response_times(&Workload::new(&large), &mut found);
        for (small, large) in responses(&Workload::new(&tasks)).into_iter().zip(found) {
            prop_assert_eq!(
                small.map(|it| (it.time.0 * unit, it.jobs)),
                large.map(|it| (it.time.0, it.jobs))
            );
        }
    }
}
