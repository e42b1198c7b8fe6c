//! Examples with response times that are known, named after their source.

use analysis::response::{Workload, response_times, schedulable};
use analysis::supply::{ServerSupply, Supply};
use analysis::utilization::{Share, utilization};
use analysis::{Caches, Duration, Kind, Server, Task, vcache, vcpu};
use policy::color::ColorSet;

fn task(wcet: u64, period: u64) -> Task {
    Task::new(Duration(wcet), Duration(period)).unwrap()
}

fn server(kind: Kind, budget: u64, period: u64) -> Server {
    Server::new(kind, Duration(budget), Duration(period)).unwrap()
}

fn times(workload: &Workload<'_>) -> Vec<u64> {
    response_times(workload).into_iter().map(|bound| bound.unwrap().time.0).collect()
}

/// Burns and Wellings, "Real-Time Systems and Programming Languages", response time analysis:
/// a task set that rate monotonic utilisation bounds refuse, though its utilisation is exactly 1.
#[test]
fn burns_wellings_utilization_of_one() {
    let tasks = [task(5, 20), task(10, 40), task(40, 80)];
    let workload = Workload::new(&tasks);
    assert_eq!(times(&workload), [5, 15, 80]);
    assert_eq!(schedulable(&workload), Ok(()));
    assert_eq!(utilization(&tasks, None), Share::WHOLE);
}

/// The same book: periods 7, 12, 20.
#[test]
fn burns_wellings_task_set_d() {
    assert_eq!(times(&Workload::new(&[task(3, 7), task(3, 12), task(5, 20)])), [3, 6, 20]);
}

/// Buttazzo, "Hard Real-Time Computing Systems", response time analysis under deadline monotonic
/// priorities: the fourth task.
#[test]
fn buttazzo_deadline_monotonic() {
    let with = |task: Task, deadline| task.with_deadline(Duration(deadline)).unwrap();
    let tasks =
        [with(task(1, 4), 3), with(task(1, 5), 4), with(task(2, 6), 5), with(task(1, 11), 10)];
    let workload = Workload::new(&tasks);
    assert_eq!(times(&workload), [1, 2, 4, 10]);
    assert_eq!(schedulable(&workload), Ok(()));
}

/// Lehoczky, "Fixed Priority Scheduling of Periodic Task Sets with Arbitrary Deadlines", RTSS
/// 1990: with C = 26, 62 and T = 70, 100 the fifth job takes longest. The first one takes 114.
#[test]
fn lehoczky_longest_response_is_not_the_first() {
    let tasks = [task(26, 70), task(62, 100).with_deadline(Duration(120)).unwrap()];
    let workload = Workload::new(&tasks);
    let bound = response_times(&workload)[1].unwrap();
    assert_eq!((bound.time, bound.jobs), (Duration(118), 5));
    assert_eq!(schedulable(&workload), Ok(()));
    let tasks = [tasks[0], tasks[1].with_deadline(Duration(117)).unwrap()];
    assert!(schedulable(&Workload::new(&tasks)).is_err());
}

/// Lehoczky, the same paper, example 2: C = 52, 52 and T = 100, 140, with each of the two above the
/// other. SchedCAT and Brandenburg's response-time-analysis test for the same times.
#[test]
fn lehoczky_either_priority() {
    let [first, second] = [task(52, 100), task(52, 140)];
    assert_eq!(times(&Workload::new(&[first, second])), [52, 156]);
    assert_eq!(times(&Workload::new(&[second, first])), [52, 108]);
}

/// Task sets with response times of SchedCAT's tests (`tests/fp.py`), and of those that
/// Brandenburg's response-time-analysis has as reference from SchedCAT (`fixed_priority/tests.rs`).
#[test]
fn schedcat_reference_sets() {
    let sets: [&[(u64, u64, u64)]; 4] = [
        &[(1, 4, 1), (1, 5, 2), (3, 9, 7), (3, 18, 18)],
        &[
            (5_995, 43_000, 5_995),
            (2_497, 44_000, 8_492),
            (18_376, 52_000, 26_868),
            (7_724, 55_000, 34_592),
        ],
        &[
            (108, 6_000, 108),
            (1_202, 13_000, 1_310),
            (8_280, 30_000, 9_698),
            (7_904, 30_000, 19_020),
            (569, 28_000, 19_589),
            (117, 22_000, 19_706),
            (1_288, 29_000, 20_994),
        ],
        &[
            (17_116, 50_000, 17_116),
            (7_200, 100_000, 24_316),
            (14_384, 138_000, 38_700),
            (13_596, 122_000, 69_412),
        ],
    ];
    for set in sets {
        let tasks: Vec<_> = set.iter().map(|&(wcet, period, _)| task(wcet, period)).collect();
        let expected: Vec<_> = set.iter().map(|&(.., time)| time).collect();
        assert_eq!(times(&Workload::new(&tasks)), expected);
        assert_eq!(schedulable(&Workload::new(&tasks)), Ok(()));
    }
}

/// Audsley, Burns, Richardson, Tindell and Wellings, "Applying New Scheduling Theory to Static
/// Priority Pre-emptive Scheduling", Software Engineering Journal 1993: an avionics platform with
/// blocking and, for one task, release jitter, in microseconds. Times as in SchedCAT's tests, where
/// they count from the release.
#[test]
fn audsley_avionics_platform() {
    // C, T, D, B, J, response time from the release.
    let platform: [[u64; 6]; 18] = [
        [51, 1_000, 1_000, 0, 0, 51],
        [3_000, 2_000_000, 5_000, 300, 0, 3_504],
        [2_000, 25_000, 25_000, 600, 0, 5_906],
        [5_000, 25_000, 25_000, 900, 0, 11_512],
        [1_000, 40_000, 40_000, 1_350, 0, 13_064],
        [3_000, 50_000, 50_000, 1_350, 0, 16_217],
        [5_000, 50_000, 50_000, 750, 0, 20_821],
        [8_000, 59_000, 59_000, 750, 0, 36_637],
        [9_000, 80_000, 80_000, 1_350, 0, 47_798],
        [2_000, 80_000, 80_000, 450, 0, 48_949],
        [5_000, 100_000, 100_000, 1_050, 0, 99_150],
        [1_000, 200_000, 200_000, 450, 1_000, 99_550],
        [3_000, 200_000, 200_000, 450, 0, 140_641],
        [1_000, 200_000, 200_000, 450, 0, 141_692],
        [1_000, 200_000, 200_000, 1_350, 0, 143_694],
        [3_000, 1_000_000, 1_000_000, 0, 0, 145_446],
        [1_000, 1_000_000, 1_000_000, 0, 0, 146_497],
        [1_000, 1_000_000, 1_000_000, 0, 0, 147_548],
    ];
    let tasks = platform.map(|[wcet, period, deadline, blocking, jitter, _]| {
        let task = task(wcet, period).with_deadline(Duration(deadline)).unwrap();
        let task = task.with_blocking(Duration(blocking)).unwrap();
        task.with_jitter(Duration(jitter)).unwrap()
    });
    let workload = Workload::new(&tasks);
    assert_eq!(times(&workload), platform.map(|[.., jitter, time]| time + jitter));
    assert_eq!(schedulable(&workload), Ok(()));
}

/// pyCPA's test of fixed priorities (`test/test_spp.py`): a task of 3 with the period 15 and the
/// jitter 6 below one of 10 with 30 and 5. One of its jobs takes 13 from the release, two that come
/// together take 16; and on the next processor one, two, three and four jobs 11, 20, 31 and 40.
#[test]
fn pycpa_periods_with_jitter() {
    let with = |task: Task, jitter| task.with_jitter(Duration(jitter)).unwrap();
    let tasks = [with(task(10, 30), 5), with(task(3, 15), 6)];
    assert_eq!(times(&Workload::new(&tasks)), [10 + 5, 13 + 6]);
    // On the second processor the jitter has grown by what the first one adds. The longest windows
    // of so many jobs are those of a task that needs so many times the time.
    let above = with(task(2, 30), 5 + 10 - 5);
    for (jobs, window) in [(1, 11), (2, 20), (3, 31), (4, 40)] {
        let workload = [above, task(9 * jobs, 1_000)];
        assert_eq!(times(&Workload::new(&workload))[1], window);
    }
    let tasks = [above, with(task(9, 15), 6 + 13 - 1)];
    assert_eq!(times(&Workload::new(&tasks)), [2 + 10, 11 + 18]);
}

/// Chen et al., "Many suspensions, many problems", Real-Time Systems 55 (2019): C = 1, 5, 1 and
/// T = 2, 20, any, where the second one suspends itself for 5. The lowest can take 22; with the
/// suspension as jitter in place of `R - C` the analysis would say 12. SchedCAT's tests of
/// suspensions have the same set: 20 for the second one, and the third one late with T = 20.
#[test]
fn chen_suspension_is_not_the_jitter() {
    let suspends = task(5, 20).with_suspension(Duration(5)).unwrap();
    let tasks = [task(1, 2), suspends, task(1, 50)];
    assert_eq!(times(&Workload::new(&tasks)), [1, 20, 22]);
    let wrong = [task(1, 2), task(5, 20).with_jitter(Duration(5)).unwrap(), task(1, 50)];
    assert_eq!(times(&Workload::new(&wrong))[2], 12);
}

/// Shin and Lee, "Periodic Resource Model for Compositional Real-Time Guarantees", RTSS 2003: the
/// supply of 3 in each 5 in the worst case, after 2 (T - C) without.
#[test]
fn shin_lee_supply_of_three_in_five() {
    let supply = ServerSupply::new(server(Kind::Periodic, 3, 5));
    assert_eq!(supply.blackout(), Duration(4));
    let amounts: Vec<u64> = (0..=16).map(|t| supply.in_window(Duration(t)).0).collect();
    assert_eq!(amounts, [0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 4, 5, 6, 6, 6, 7, 8]);
    let linear: Vec<u64> = (0..=16).map(|t| supply.in_window_linear(Duration(t)).0).collect();
    assert_eq!(linear, [0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 6, 6, 7]);
}

/// Prosa and Brandenburg's response-time-analysis (`supply/tests.rs`) prove and test the inverse of
/// the same supply; and that of a budget which comes before a deadline in each period: 2 within 5
/// of 11, and 7 within 10 of 100. Here that is the response time of the server.
#[test]
fn brandenburg_constrained_supply() {
    let supply = ServerSupply::new(server(Kind::Periodic, 3, 5));
    let windows: Vec<u64> =
        (0..=15).map(|demand| supply.window_of(Duration(demand)).unwrap().0).collect();
    assert_eq!(windows, [0, 5, 6, 7, 10, 11, 12, 15, 16, 17, 20, 21, 22, 25, 26, 27]);
    let supply = |budget, deadline, period| {
        let server = server(Kind::Periodic, budget, period);
        ServerSupply::with_response(server, Duration(deadline)).unwrap()
    };
    let amounts = |supply: ServerSupply, windows: &[u64]| -> Vec<u64> {
        windows.iter().map(|&window| supply.in_window(Duration(window)).0).collect()
    };
    let seen = amounts(supply(2, 5, 11), &[0, 11, 12, 13, 14, 15, 17, 22, 23, 24, 25, 26]);
    assert_eq!(seen, [0, 0, 0, 1, 2, 2, 2, 2, 2, 3, 4, 4]);
    let seen = amounts(supply(7, 10, 100), &[93, 96, 97, 98, 99, 100, 101, 102, 103, 104]);
    assert_eq!(seen, [0, 0, 1, 2, 3, 4, 5, 6, 7, 7]);
}

/// Liu, "Real-Time Systems" (2000), section 7.2, figures 7-3 and 7-4: below a deferrable server of
/// 1 in 3, tasks of 1.5 in 3.5 and 0.5 in 6.5 are just in time, and with any more budget they are
/// not. Tenths.
#[test]
fn liu_deferrable_server_as_large_as_it_can_be() {
    let tasks = [task(15, 35), task(5, 65)];
    let below = |budget| {
        let above = [server(Kind::Deferrable, budget, 30)];
        let workload = Workload::new(&tasks).with_supply(Supply::Leftover(&above));
        (times(&workload)[0], schedulable(&workload).is_ok())
    };
    assert_eq!(below(10), (35, true));
    assert!(!below(11).1);
    let above = [server(Kind::Deferrable, 10, 30)];
    assert_eq!(times(&Workload::new(&tasks).with_supply(Supply::Leftover(&above))), [35, 65]);
}

/// Strosnider, Lehoczky and Sha, "The Deferrable Server Algorithm", IEEE ToC 1995: a deferrable
/// server takes its budget twice in a row, a periodic or sporadic one does not.
#[test]
fn strosnider_two_budgets_back_to_back() {
    for (kind, expected) in [(Kind::Deferrable, 7), (Kind::Periodic, 5), (Kind::Sporadic, 5)] {
        let responses = vcpu::response_times(&[server(kind, 2, 6), server(Kind::Periodic, 3, 10)]);
        assert_eq!(responses[1], Ok(Duration(expected)));
    }
}

/// vCache, Eq. 2, by hand: 2 ms in each 5 ms, tasks (1, 20) and (3, 40). The lower one: 3 + 1 and
/// two budgets, three gaps of 3.
#[test]
fn vcache_two_levels_by_hand() {
    let tasks = [task(1, 20), task(3, 40)];
    let server = server(Kind::Sporadic, 2, 5);
    assert_eq!(times(&vcache::workload(&tasks, server, None)), [7, 13]);
    // Each job of the upper one evicts two colours that both have. Then two jobs of it come, with 3
    // each, in five budgets and six gaps.
    let sets = ["0-3", "2-6"].map(|text| text.parse::<ColorSet>().unwrap());
    let caches = Some(Caches::new(&sets, Duration(1)));
    assert_eq!(times(&vcache::workload(&tasks, server, caches)), [7, 27]);
    // A VCPU that is the first one on its PCPU waits for one gap less.
    let supply = ServerSupply::with_response(server, Duration(2)).unwrap();
    let workload = Workload::new(&tasks).with_supply(Supply::Server(supply));
    assert_eq!(times(&workload), [4, 10]);
}

/// vCache, Eq. 3: what is evicted counts once, whichever of the tasks between had it, and only
/// that which the preempting task can evict.
#[test]
fn vcache_delay_is_that_of_the_union() {
    let sets = ["0-3", "2-5", "3,6", "0"].map(|text| text.parse::<ColorSet>().unwrap());
    let caches = Caches::new(&sets, Duration(10));
    assert_eq!([1, 2, 3].map(|j| caches.delay(0, j).0), [20, 20, 30]);
    assert_eq!([2, 3].map(|j| caches.delay(1, j).0), [10, 10]);
    assert_eq!(caches.delay(2, 3), Duration(0));
    assert_eq!(caches.delay(3, 3), Duration(0), "the lowest one preempts nobody");
    // Eq. 4: each task with what it costs the lowest one and those between.
    let tasks = [task(10, 100), task(20, 200), task(30, 300), task(40, 400)];
    let expected = [(40, 100), (30, 200), (30, 300), (40, 400)];
    let expected = expected.map(|(time, period)| Share::up(Duration(time), Duration(period)));
    assert_eq!(utilization(&tasks, Some(&caches)), expected.into_iter().sum());
}
