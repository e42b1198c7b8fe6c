//! More changes, and such that help together where no single one does.
//!
//! Each change has a strength, which begins at nothing and has a most. Pairs, then threes, of
//! changes that help at their most are made weaker, one change after the other, as far as there is
//! a plan. So with any of them a step weaker none is found.

use analysis::Duration;
use system::description::{Chain, Located, System};

use super::advice::trials::Trials;
use super::change::{self, Change};
use super::least::least;

/// Most single changes of which sets are made.
const ATOMS: usize = 16;
/// Steps of a change, up to its most.
const STEPS: u64 = 32;
/// The longest limit of a chain that is tried is the given one times this.
const LONGER: u64 = 2;
/// Budgets, deadlines and execution times are multiples of this.
const GRAIN: u64 = 1_000;

/// The result of the search.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Found {
    /// Each of these changes helps alone.
    Alone(Vec<Change>),
    /// These changes help together.
    Set(Vec<Change>),
    /// No set of up to three helps.
    Nothing,
    /// The work was spent before all sets were tried.
    NotAllTried,
}

/// A change of a strength from 1 to [`STEPS`].
struct Atom<'a> {
    make: Box<Make<'a>>,
}

/// Makes a change of this strength.
type Make<'a> = dyn Fn(&System, u64) -> Option<(System, Change)> + 'a;

/// Returns all single changes with which there is a plan, or a smallest set of two or three.
pub(super) fn smallest(system: &System, trials: &Trials<'_>) -> Found {
    let atoms = atoms(system);
    let with = |set: &[usize], strengths: &[u64]| {
        set.iter().zip(strengths).try_fold(
            (system.clone(), Vec::new()),
            |(system, mut all), (&atom, &strength)| {
                if strength == 0 {
                    return Some((system, all));
                }
                let (changed, change) = (atoms[atom].make)(&system, strength)?;
                all.push(change);
                Some((changed, all))
            },
        )
    };
    let helps = |set: &[usize], strengths: &[u64]| {
        with(set, strengths).is_some_and(|(changed, _)| trials.holds(&changed))
    };
    let mut alone = Vec::new();
    for size in 1..=3 {
        let mut best: Option<(u64, Vec<Change>)> = None;
        for set in sets(atoms.len(), size) {
            if trials.is_over() {
                break;
            }
            let mut strengths = vec![STEPS; size];
            if !helps(&set, &strengths) {
                continue;
            }
            for index in 0..size {
                let with = |strength: u64| {
                    let mut strengths = strengths.clone();
                    strengths[index] = strength;
                    helps(&set, &strengths)
                };
                let weakest = match with(0) {
                    true => 0,
                    false => least(STEPS, with, |_| true).unwrap_or(STEPS),
                };
                strengths[index] = weakest;
            }
            let sum = strengths.iter().sum();
            let changes = with(&set, &strengths).map_or(Vec::new(), |(_, changes)| changes);
            // What was found when the work was spent was not made weaker as far as possible.
            if size == 1 && !trials.is_over() {
                alone.extend(changes);
                continue;
            }
            let is_less = best.as_ref().is_none_or(|(other, _)| sum < *other);
            if is_less && !trials.is_over() && !changes.is_empty() {
                best = Some((sum, changes));
            }
        }
        if !alone.is_empty() {
            return Found::Alone(alone);
        }
        if let Some((_, changes)) = best {
            return Found::Set(changes);
        }
    }
    if trials.is_over() { Found::NotAllTried } else { Found::Nothing }
}

/// Returns all sets of this size, in the order of their members.
fn sets(count: usize, size: usize) -> Vec<Vec<usize>> {
    let mut sets = vec![Vec::new()];
    for _ in 0..size {
        let longer = sets.iter().flat_map(|set: &Vec<usize>| {
            let first = set.last().map_or(0, |last| last + 1);
            (first..count).map(|next| set.iter().copied().chain([next]).collect())
        });
        sets = longer.collect();
    }
    sets
}

fn part(most: u64, strength: u64) -> u64 {
    let part = u128::from(most) * u128::from(strength) / u128::from(STEPS);
    (part as u64).next_multiple_of(GRAIN)
}

/// Returns single changes: first those of limits of chains, then those of the tasks that need most, then those of budgets.
fn atoms(system: &System) -> Vec<Atom<'_>> {
    let chains = system.chains.iter().enumerate();
    let mut atoms: Vec<Atom<'_>> =
        chains.flat_map(|(index, chain)| limits(index, chain)).take(ATOMS / 2).collect();
    let mut tasks: Vec<(usize, usize)> = (0..system.vms.len())
        .flat_map(|vm| (0..system.vms[vm].tasks.len()).map(move |task| (vm, task)))
        .collect();
    let needs = |&(vm, task): &(usize, usize)| {
        let task = &system.vms[vm].tasks[task];
        let share =
            u128::from(task.wcet.shortest().0) * 1_000_000 / u128::from(task.deadline.0.max(1));
        (std::cmp::Reverse(share), vm)
    };
    tasks.sort_by_key(needs);
    for &(vm, task) in tasks.iter().take(ATOMS / 2) {
        let name = format!(
            "`{}` of `{}`",
            system.vms[vm].tasks[task].name.value, system.vms[vm].name.value
        );
        let wcet = system.vms[vm].tasks[task].wcet.shortest().0;
        if wcet > 2 * GRAIN {
            let name = name.clone();
            atoms.push(Atom {
                make: Box::new(move |system, strength| {
                    let less = Duration(part(wcet / 2, strength));
                    let change = Change::LessOf { task: name.clone(), less };
                    Some((change::less(system, vm, task, less), change))
                }),
            });
        }
        let (deadline, period) =
            (system.vms[vm].tasks[task].deadline.0, system.vms[vm].tasks[task].period.0);
        if deadline + GRAIN * STEPS <= period {
            atoms.push(Atom {
                make: Box::new(move |system, strength| {
                    let later = Duration(deadline + part(period - deadline, strength))
                        .min(Duration(period));
                    let change = Change::DeadlineOf { task: name.clone(), deadline: later };
                    Some((change::deadline(system, vm, task, later), change))
                }),
            });
        }
    }
    for vm in 0..system.vms.len() {
        for vcpu in 0..system.vms[vm].vcpus.len() {
            atoms.extend(budget(system, vm, vcpu));
        }
    }
    for (index, resource) in system.resources.iter().enumerate() {
        let sections = |system: &System| {
            let tasks = system.vms.iter().flat_map(|vm| &vm.tasks);
            tasks.flat_map(|task| &task.sections).any(|section| section.resource == index)
        };
        if sections(system) {
            let name = resource.name.value.clone();
            atoms.push(Atom {
                make: Box::new(move |system, strength| {
                    let percent = (strength * 90 / STEPS).max(1);
                    let change = Change::Sections { resource: name.clone(), percent };
                    Some((change::sections(system, index, percent), change))
                }),
            });
        }
    }
    if system.vms.iter().flat_map(|vm| &vm.tasks).any(|task| task.accesses.is_some()) {
        atoms.push(Atom {
            make: Box::new(|system, strength| {
                let percent = (strength * 90 / STEPS).max(1);
                Some((change::accesses(system, percent), Change::Accesses { percent }))
            }),
        });
    }
    atoms.truncate(ATOMS);
    atoms
}

/// Longer limits of a chain, one at a time.
fn limits(index: usize, chain: &Chain) -> impl Iterator<Item = Atom<'_>> {
    type Limit = fn(&mut Chain) -> &mut Option<Located<Duration>>;
    let both: [(_, Limit, _); 2] = [
        ("max_reaction", |chain| &mut chain.max_reaction, &chain.max_reaction),
        ("max_age", |chain| &mut chain.max_age, &chain.max_age),
    ];
    let name = &chain.name.value;
    both.into_iter().filter_map(move |(key, of, given)| {
        let given = given.as_ref()?.value.0;
        let make = move |system: &System, strength: u64| {
            let more = part(given.saturating_mul(LONGER - 1), strength);
            let limit = Duration(given.saturating_add(more));
            let mut changed = system.clone();
            of(&mut changed.chains[index]).as_mut()?.value = limit;
            Some((changed, Change::Chain { chain: name.clone(), key, limit }))
        };
        Some(Atom { make: Box::new(make) })
    })
}

/// A given budget: larger where the VCPU has tasks, smaller where it has none.
fn budget<'a>(system: &System, vm: usize, vcpu: usize) -> Option<Atom<'a>> {
    let of_vm = &system.vms[vm];
    let server = of_vm.vcpus[vcpu].server.as_ref().filter(|server| !server.open)?;
    let given = server.class.value.budget()?;
    let of = Some(format!("VCPU {vcpu} of `{}`", of_vm.name.value));
    let is_used = !of_vm.tasks.is_empty();
    Some(Atom {
        make: Box::new(move |system, strength| {
            let budget = match is_used {
                true => given.budget.0 + part(given.period.0 - given.budget.0, strength),
                false => given.budget.0.saturating_sub(part(given.budget.0, strength)).max(GRAIN),
            };
            let budget = Duration(budget).min(given.period);
            let changed = change::budget(system, vm, vcpu, budget)?;
            Some((changed, Change::Budget { of: of.clone(), budget }))
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_each_combination_once() {
        assert_eq!(sets(3, 2), [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(sets(5, 3).len(), 10);
        assert!(sets(1, 2).is_empty());
    }
}
