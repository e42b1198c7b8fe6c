//! The analyses against the published equations, written down literally.

use analysis::hierarchy::{PcpuAnalyzer, Vcpu};
use analysis::response::{Analyzer, Response, Workload, schedulable};
use analysis::supply::{ServerSupply, Supply};
use analysis::{Caches, Duration, Failure, Kind, LONGEST, Limits, Server, Task, vcache, vcpu};
use policy::color::ColorSet;
use proptest::prelude::*;

/// Windows that are tried; what is longer has no bound here.
const LONGEST_TRIED: u64 = 1_000;

fn task() -> impl Strategy<Value = Task> {
    (1u64..10, 5u64..60, 1u64..100).prop_map(|(wcet, period, deadline)| {
        let task = Task::new(Duration(wcet), Duration(period)).unwrap();
        task.with_deadline(Duration(deadline)).unwrap()
    })
}

fn detailed_task() -> impl Strategy<Value = Task> {
    (task(), 0u64..70, 0u64..8, 0u64..8).prop_map(|(task, jitter, blocking, suspension)| {
        let task = task.with_jitter(Duration(jitter.saturating_sub(20))).unwrap();
        let task = task.with_blocking(Duration(blocking.saturating_sub(4))).unwrap();
        task.with_suspension(Duration(suspension.saturating_sub(5))).unwrap()
    })
}

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Periodic, Kind::Deferrable, Kind::Sporadic])
}

fn server() -> impl Strategy<Value = Server> {
    (kind(), 1u64..10, 0u64..15).prop_map(|(kind, budget, gap)| {
        Server::new(kind, Duration(budget), Duration(budget + gap)).unwrap()
    })
}

/// `S_i`: up to 6 colours, and the time to load one.
fn colors() -> impl Strategy<Value = (Vec<ColorSet>, Duration)> {
    let set = (1u64..64).prop_map(ColorSet::from_bits);
    (prop::collection::vec(set, 5), (0u64..3).prop_map(Duration))
}

/// Bounds up to the windows that are tried.
fn response_times(workload: &Workload<'_>) -> Vec<Result<Response, Failure>> {
    let limits = Limits { window: Duration(LONGEST_TRIED), ..Limits::default() };
    let mut responses = Vec::new();
    Analyzer::new(limits).response_times(workload, &mut responses);
    responses
}

/// The least fixed point from `first` on, if it is not too long.
fn fixed_point(first: u64, next: impl Fn(u64) -> u64) -> Option<u64> {
    let mut window = first;
    while window <= LONGEST_TRIED {
        match next(window) {
            same if same == window => return Some(window),
            longer => window = longer,
        }
    }
    None
}

fn jobs(window: u64, jitter: u64, period: Duration) -> u64 {
    (window + jitter).div_ceil(period.0)
}

/// vCache, Eq. 3.
fn eq3(sets: &[ColorSet], reload: Duration, h: usize, j: usize) -> u64 {
    let mut union = ColorSet::EMPTY;
    for set in &sets[h + 1..=j] {
        union = union | *set;
    }
    u64::from((sets[h] & union).len()) * reload.0
}

/// vCache, Eq. 2.
fn eq2(tasks: &[Task], j: usize, server: Server, gamma: impl Fn(usize) -> u64) -> Option<u64> {
    let gap = server.gap().0;
    fixed_point(tasks[j].wcet().0, |w| {
        let above = tasks[..j].iter().enumerate();
        let above = above.map(|(h, it)| jobs(w, gap, it.period()) * (it.wcet().0 + gamma(h)));
        tasks[j].wcet().0 + above.sum::<u64>() + jobs(w, server.budget().0, server.period()) * gap
    })
}

/// vCache, Eq. 1.
fn eq1(servers: &[Server], i: usize) -> Option<u64> {
    fixed_point(servers[i].budget().0, |w| {
        let above = servers[..i].iter();
        let above = above.map(|it| jobs(w, it.jitter().0, it.period()) * it.budget().0);
        servers[i].budget().0 + above.sum::<u64>()
    })
}

/// What a task above costs in each of its jobs, and its jitter.
type Above = (u64, u64);

/// All jobs in the busy period of task `i`, with supply by a function of the window.
fn busy_period(
    tasks: &[Task],
    above: &[Above],
    i: usize,
    supply: impl Fn(u64) -> u64,
) -> Option<u64> {
    let (task, period) = (&tasks[i], tasks[i].period().0);
    let suspends = task.suspension().0 > 0;
    let mut worst = 0;
    for q in 0.. {
        let waits = if suspends { q + 1 } else { 1 };
        let own = (q + 1) * (task.wcet().0 + task.suspension().0) + waits * task.blocking().0;
        let demand = |w| {
            let above = tasks[..i].iter().zip(above);
            own + above.map(|(it, &(c, j))| jobs(w, j, it.period()) * c).sum::<u64>()
        };
        let window = (1..=LONGEST_TRIED).find(|&w| supply(w) >= demand(w))?;
        worst = worst.max(window + task.jitter().0 - q * period);
        if window + task.jitter().0 <= (q + 1) * period {
            return Some(worst);
        }
    }
    None
}

/// Task `h` as those below it see it, which has this response time, each time it goes on costs
/// task `i` this much; `evicts`: those below can have something to load again.
fn above(task: &Task, response: u64, delay: u64, evicts: bool) -> Above {
    let [c, s, b] = [task.wcet().0, task.suspension().0, task.blocking().0];
    match s {
        0 => (c + delay, task.jitter().0),
        _ => (
            if delay > 0 { c + delay + s + b } else { c },
            if evicts { response } else { response - c },
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn tasks_are_those_of_eq_2_and_3(
        mut tasks in prop::collection::vec(task(), 1..5),
        server in server(),
        (sets, reload) in colors(),
    ) {
        // Eq. 2 is about one job of each task: constrained deadlines.
        for task in &mut tasks {
            *task = task.with_deadline(task.deadline().min(task.period())).unwrap();
        }
        let caches = Caches::new(&sets[..tasks.len()], reload);
        let workload = vcache::workload(&tasks, server, Some(caches));
        let mut all = true;
        for (j, bound) in response_times(&workload).into_iter().enumerate() {
            for h in 0..j {
                prop_assert_eq!(caches.delay(h, j).0, eq3(&sets, reload, h, j));
            }
            let expected = eq2(&tasks, j, server, |h| eq3(&sets, reload, h, j));
            all &= expected.is_some_and(|time| time <= tasks[j].deadline().0);
            match bound {
                Ok(bound) if bound.jobs == 1 => prop_assert_eq!(Some(bound.time.0), expected),
                // More than one job in the busy period, or jobs without end: the first one is
                // later than the period.
                _ => prop_assert!(expected.is_none_or(|time| time > tasks[j].period().0)),
            }
        }
        prop_assert_eq!(schedulable(&workload).is_ok(), all);
    }

    #[test]
    fn vcpus_are_those_of_eq_1(servers in prop::collection::vec(server(), 1..6)) {
        for (i, response) in vcpu::response_times(&servers).into_iter().enumerate() {
            let expected = eq1(&servers, i).filter(|time| *time <= servers[i].period().0);
            prop_assert_eq!(response.ok().map(|time| time.0), expected);
        }
    }

    #[test]
    fn all_jobs_of_a_busy_period_are_looked_at(
        tasks in prop::collection::vec(detailed_task(), 1..5),
        server in prop::option::of(server()),
        late in 0u64..15,
        (sets, reload) in colors(),
    ) {
        let supply = server.map(|it| {
            let late = late.min(it.gap().0);
            ServerSupply::with_response(it, Duration(it.budget().0 + late)).unwrap()
        });
        let sets = &sets[..tasks.len()];
        let workload = Workload::new(&tasks).with_caches(Caches::new(sets, reload));
        let workload = match supply {
            Some(supply) => workload.with_supply(Supply::Server(supply)),
            None => workload,
        };
        let bounds = response_times(&workload);
        let mut responses = Vec::new();
        let mut all = true;
        for (i, task) in tasks.iter().enumerate() {
            let others: Vec<Above> = (0..i)
                .map(|h| {
                    let delay = |j| eq3(sets, reload, h, j);
                    above(&tasks[h], responses[h], delay(i), reload.0 > 0)
                })
                .collect();
            let asleep = task.suspension().0 > 0;
            let supply = supply.map(|it| if asleep { it.with_sleep() } else { it });
            let in_window = |w| supply.map_or(w, |supply| supply.in_window(Duration(w)).0);
            let expected = busy_period(&tasks, &others, i, in_window);
            let found = bounds[i].ok().map(|bound| bound.time.0);
            // Where windows are too long to be tried one by one, nothing is known.
            let Some(expected) = expected else { return Ok(()) };
            prop_assert_eq!(found, Some(expected), "task {}", i);
            all &= expected <= task.deadline().0;
            responses.push(expected);
        }
        prop_assert_eq!(schedulable(&workload).is_ok(), all);
    }

    #[test]
    fn supply_and_its_inverse_agree(server in server(), late in 0u64..15, window in 0u64..200) {
        let late = late.min(server.gap().0);
        let response = Duration(server.budget().0 + late);
        let supply = ServerSupply::with_response(server, response).unwrap();
        let amount = supply.in_window(Duration(window));
        let linear = supply.in_window_linear(Duration(window));
        prop_assert!(linear <= amount);
        for demand in 0..60 {
            let needed = supply.window_of(Duration(demand)).unwrap();
            prop_assert_eq!(needed <= Duration(window), Duration(demand) <= amount);
            let needed = supply.window_of_linear(Duration(demand)).unwrap();
            prop_assert_eq!(needed <= Duration(window), Duration(demand) <= linear);
        }
    }

    #[test]
    fn what_servers_leave_is_what_a_task_below_them_gets(
        servers in prop::collection::vec(server(), 0..3),
        window in 0u64..120,
    ) {
        // Up to 99 %: close to all, the search takes its million steps.
        let percent = |it: &Server| it.budget().0 * 100 / it.period().0 + 1;
        prop_assume!(servers.iter().map(percent).sum::<u64>() < 100);
        let left = Supply::Leftover(&servers);
        let amount = left.in_window(Duration(window));
        for demand in 1..40 {
            let own = Task::new(Duration(demand), LONGEST).unwrap();
            let workload = Workload::new(std::slice::from_ref(&own)).with_supply(left);
            let alone = analysis::response::response_times(&workload)[0];
            prop_assert_eq!(left.window_of(Duration(demand)), alone.ok().map(|it| it.time));
            let in_time = alone.is_ok_and(|it| it.time <= Duration(window));
            prop_assert_eq!(Duration(demand) <= amount, in_time);
        }
    }

    #[test]
    fn a_pcpu_is_its_parts(
        vcpus in prop::collection::vec(
            (server(), prop::collection::vec(task(), 0..4)), 1..4),
        background in prop::collection::vec(prop::collection::vec(task(), 0..3), 0..3),
    ) {
        let mut all: Vec<_> = vcpus.iter().map(|(it, tasks)| Vcpu::new(*it, tasks)).collect();
        let rest = background.iter();
        all.extend(rest.map(|tasks| Vcpu { server: None, tasks, caches: None }));
        let servers: Vec<_> = vcpus.iter().map(|(server, _)| *server).collect();
        let limits = Limits { window: Duration(LONGEST_TRIED), ..Limits::default() };
        let mut analyzer = PcpuAnalyzer::new(limits);
        let found = analyzer.response_times(&all);
        let responses = vcpu::response_times(&servers);
        let mut good = responses.iter().all(Result::is_ok);
        for (place, it) in all.iter().enumerate() {
            prop_assert_eq!(found[place].server, responses.get(place).copied());
            let supply = match responses.get(place) {
                Some(Ok(time)) =>
                    ServerSupply::with_response(servers[place], *time).map(Supply::Server),
                Some(Err(_)) => None,
                None => (place == servers.len()).then_some(Supply::Leftover(&servers)),
            };
            match supply {
                Some(supply) => {
                    let workload = Workload::new(it.tasks).with_supply(supply);
                    prop_assert_eq!(&found[place].tasks, &response_times(&workload));
                }
                None => for (task, bound) in found[place].tasks.iter().enumerate() {
                    prop_assert_eq!(bound, &Err(Failure::NoSupply { task }));
                }
            }
            let on_time = |(bound, task): (&Result<Response, _>, &Task)| {
                bound.is_ok_and(|bound| bound.time <= task.deadline())
            };
            good &= found[place].tasks.iter().zip(it.tasks).all(on_time);
        }
        prop_assert_eq!(analyzer.schedulable(&all).is_ok(), good);
    }
}
