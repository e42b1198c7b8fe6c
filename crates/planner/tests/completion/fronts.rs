//! Plans none of which is better than another one in everything, and weights.

use planner::completion::{Objective, Options, Point, Weights, complete_with, front};
use system::plan;
use verdict::Verdict;

use super::{OPEN, system, task, vcpu, vm};

fn text(limit: &str) -> String {
    let task = |name: &str, wcet: &str| task(name, "40ms", wcet) + "accesses = 10_000\n";
    format!(
        "[platform]\nboard = \"qemu-virt\"\n[platform.bandwidth]\naccess_latency = \"64ns\"\n{}{}{}",
        vm("a", &(vcpu(OPEN) + &task("t", "\"12ms\""))),
        vm("b", &(vcpu(OPEN) + &task("t", "\"9ms\""))),
        vm("linux", limit),
    )
}

fn points(text: &str) -> Vec<Point> {
    front(&system(text), None, &Options::default()).unwrap().0
}

fn dominates(one: &Point, other: &Point) -> bool {
    one.total_ppm <= other.total_ppm
        && one.slack_ppm >= other.slack_ppm
        && one.accesses >= other.accesses
}

#[test]
fn no_plan_of_a_front_is_better_than_another() {
    for limit in ["bandwidth = \"1MB/s\"", "bandwidth = \"planned\""] {
        let all = points(&text(limit));
        assert!(all.len() >= 4, "{limit}: {}", all.len());
        for (index, point) in all.iter().enumerate() {
            let plan = plan::make(&point.system).unwrap();
            assert!(Verdict::of_plan(&plan, Some(&point.system)).schedulable, "{limit}: {index}");
            assert_eq!(point.accesses.is_some(), limit.contains("planned"));
            let others = all.iter().enumerate().filter(|(other, _)| *other != index);
            for (other, worse) in others {
                assert!(!dominates(point, worse), "{limit}: {index} {other}");
            }
        }
        assert!(all.is_sorted_by_key(|it| it.total_ppm));
        let again = points(&text(limit));
        let plans = |all: &[Point]| all.iter().map(|it| it.system.clone()).collect::<Vec<_>>();
        assert!(plans(&all) == plans(&again), "the same every time");
    }
}

#[test]
fn an_interrupted_front_shows_what_there_is() {
    let stops = |candidates: u64| candidates > 30;
    let options = Options { stops: &stops, ..Options::default() };
    let (few, outcome) = front(&system(&text("bandwidth = \"1MB/s\"")), None, &options).unwrap();
    assert!(outcome.cut && !few.is_empty());
    assert!(few.len() <= points(&text("bandwidth = \"1MB/s\"")).len());
}

#[test]
fn weights_lie_between_their_objectives() {
    let values = |objective: Objective| {
        let mut system = system(&text("bandwidth = \"1MB/s\""));
        complete_with(&mut system, &Options { objective, ..Options::default() }).unwrap();
        let plan = plan::make(&system).unwrap();
        assert!(Verdict::of_plan(&plan, Some(&system)).schedulable);
        let vcpus = system.vms.iter().flat_map(|vm| &vm.vcpus);
        let budgets = vcpus.filter_map(|vcpu| vcpu.server.as_ref()?.class.value.budget());
        budgets.map(|it| it.budget.0).sum::<u64>()
    };
    let weighted =
        |time, slack| values(Objective::Weighted(Weights { time, slack, ..Weights::default() }));
    let (least, most) = (values(Objective::LeastTime), values(Objective::MostSlack));
    let (mostly_time, mostly_slack) = (weighted(1_000, 1), weighted(1, 1_000));
    assert!(
        least <= mostly_time && mostly_time <= mostly_slack,
        "{least} {mostly_time} {mostly_slack}"
    );
    assert!(mostly_slack <= most + most / 100, "{mostly_slack} {most}");
    assert!(mostly_time < least + least / 50, "{least} {mostly_time}");
    assert!(mostly_slack > least + least / 4, "{least} {mostly_slack}");
}
