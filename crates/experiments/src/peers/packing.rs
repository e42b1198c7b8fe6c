//! Packing of tasks into VCPUs and of VCPUs onto PCPUs, the largest utilisation first.

use std::cmp::Ordering;

use planner::Task;

use super::drawn::{Drawn, utilization};
use super::plan::{Plan, Vcpu};

/// The choice among the places where something fits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fit {
    /// The first.
    First,
    /// The fullest.
    Best,
    /// The emptiest.
    Worst,
}

/// Returns the tasks of each VCPU with tasks; `None` if a task fits nowhere.
pub fn onto_vcpus(
    tasks: &[Task],
    vcpus: usize,
    fit: Fit,
    fits: impl Fn(&[&Task]) -> bool,
) -> Option<Vec<Vec<usize>>> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by(|one, other| descending(utilization(&tasks[*one]), utilization(&tasks[*other])));
    let mut packed: Vec<Vec<usize>> = vec![Vec::new(); vcpus];
    for task in order {
        let with = |own: &[usize]| {
            let mut own: Vec<usize> = own.iter().copied().chain([task]).collect();
            own.sort_unstable();
            own
        };
        let load = |own: &[usize]| own.iter().map(|&task| utilization(&tasks[task])).sum();
        let places = by_fit(fit, packed.iter().map(|own| load(own)).collect());
        let found = places.into_iter().find_map(|place| {
            let own = with(&packed[place]);
            let members: Vec<&Task> = own.iter().map(|&task| &tasks[task]).collect();
            fits(&members).then_some((place, own))
        });
        let (place, own) = found?;
        packed[place] = own;
    }
    packed.retain(|own| !own.is_empty());
    Some(packed)
}

/// Returns the plan in which each VCPU has a PCPU; `None` if one fits nowhere. All have the same
/// period, so that they fit if their budgets are at most that.
pub fn onto_pcpus(drawn: &Drawn, mut vcpus: Vec<Vcpu>, fit: Fit) -> Option<Plan> {
    let mut order: Vec<usize> = (0..vcpus.len()).collect();
    order.sort_by_key(|&vcpu| std::cmp::Reverse(vcpus[vcpu].budget_ns));
    let mut taken = vec![0; drawn.pcpus];
    for vcpu in order {
        let places = by_fit(fit, taken.iter().map(|taken| *taken as f64).collect());
        let budget = vcpus[vcpu].budget_ns;
        let place = places.into_iter().find(|&it| taken[it] + budget <= drawn.period.0)?;
        taken[place] += budget;
        vcpus[vcpu].pcpu = place;
    }
    Some(Plan { vcpus })
}

/// Returns places with these loads in the order in which they are tried.
fn by_fit(fit: Fit, loads: Vec<f64>) -> Vec<usize> {
    let mut places: Vec<usize> = (0..loads.len()).collect();
    match fit {
        Fit::First => {}
        Fit::Best => places.sort_by(|one, other| descending(loads[*one], loads[*other])),
        Fit::Worst => places.sort_by(|one, other| loads[*one].total_cmp(&loads[*other])),
    }
    places
}

fn descending(one: f64, other: f64) -> Ordering {
    other.total_cmp(&one)
}

#[cfg(test)]
mod tests {
    use analysis::Duration;

    use super::*;

    /// Tasks with utilisations of `percents` percent.
    fn tasks(percents: &[u64]) -> Vec<Task> {
        let task = |percent: &u64| {
            let wcet = Duration(percent * 1_000_000);
            let task = analysis::Task::new(wcet, Duration(100_000_000)).expect("a task");
            Task::new(task, &[wcet]).expect("a task")
        };
        percents.iter().map(task).collect()
    }

    fn fits(tasks: &[&Task]) -> bool {
        tasks.iter().map(|task| utilization(task)).sum::<f64>() < 1.0
    }

    #[test]
    fn each_fit_has_its_order() {
        let tasks = tasks(&[60, 50, 30, 20]);
        let packed = |fit| onto_vcpus(&tasks, 2, fit, fits);
        assert_eq!(packed(Fit::First), Some(vec![vec![0, 2], vec![1, 3]]));
        assert_eq!(packed(Fit::Best), Some(vec![vec![0, 2], vec![1, 3]]));
        assert_eq!(packed(Fit::Worst), Some(vec![vec![0, 3], vec![1, 2]]));
        assert_eq!(onto_vcpus(&tasks, 1, Fit::First, fits), None);
    }

    #[test]
    fn budgets_fill_pcpus() {
        let drawn = Drawn { vms: vec![], vcpus: 1, pcpus: 2, period: Duration(100) };
        let vcpus = |budgets: &[u64]| -> Vec<Vcpu> {
            let vcpu = |&budget_ns: &u64| Vcpu { vm: 0, tasks: vec![], budget_ns, pcpu: 0 };
            budgets.iter().map(vcpu).collect()
        };
        let plan = onto_pcpus(&drawn, vcpus(&[40, 70, 60, 30]), Fit::Best).expect("they fit");
        let pcpus: Vec<usize> = plan.vcpus.iter().map(|vcpu| vcpu.pcpu).collect();
        assert_eq!(pcpus, [1, 0, 1, 0]);
        assert_eq!(onto_pcpus(&drawn, vcpus(&[60, 60, 60]), Fit::Best), None);
    }
}
