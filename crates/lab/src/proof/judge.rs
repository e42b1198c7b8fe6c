//! Judges if everything holds with the plan.

use report::proof::{Cache, Checked, Proof, Responses, Task};

use super::chains;
use crate::amount::time;
use crate::cachescope::HYPERVISOR;

/// Returns the failures, a sentence each. Evictions across VMs are failures if VMs have colours.
pub fn failures(proof: &Proof) -> Vec<String> {
    let mut failures = Vec::new();
    for task in &proof.tasks {
        of_task(proof, task, &mut failures);
    }
    failures.extend(proof.chains.iter().flat_map(chains::failures));
    if let Some(theorems) = &proof.theorems
        && let Checked::Refused { .. } = theorems.checked
    {
        failures.push(theorems.summary());
    }
    let cache = proof.with.as_ref().and_then(|run| run.cache.as_ref());
    let isolated = proof.vms.iter().any(|vm| !vm.colors.is_empty());
    if let Some(cache) = cache.filter(|_| isolated) {
        let evictions = cache.cross_vm_evictions();
        if evictions > 0 {
            failures.push(format!("VMs evicted {evictions} lines of each other"));
        }
        let between = hypervisor_evictions(cache);
        if between > 0 && !proof.platform.hypervisor_colors.is_empty() {
            failures.push(format!("hypervisor and VMs evicted {between} lines of each other"));
        }
    }
    for traffic in &proof.traffic {
        let Some(budget) = traffic.budget_accesses else { continue };
        let most = budget.saturating_add(traffic.overshoot_accesses);
        let over = traffic.with_accesses.iter().filter(|&&made| made > most).count();
        if over > 0 {
            let vm = &proof.vms[traffic.vm].name;
            let made = traffic.with_accesses.iter().max().copied().unwrap_or(0);
            failures.push(format!(
                "VM `{vm}` made up to {made} memory accesses in a period, in {over} periods more \
                 than the {most} that the analysis counts with"
            ));
        }
    }
    failures
}

/// Returns notes for the reader: lines that VMs without colours lost, and bounds without isolation
/// that do not hold.
pub fn notes(proof: &Proof) -> Vec<String> {
    let mut notes = Vec::new();
    let cache = proof.with.as_ref().and_then(|run| run.cache.as_ref());
    let evictions = cache.map_or(0, Cache::cross_vm_evictions);
    if evictions > 0 && proof.vms.iter().all(|vm| vm.colors.is_empty()) {
        notes.push(format!(
            "no VM has colours, and VMs evicted {evictions} lines of each other: what this costs has to be in `wcet`"
        ));
    }
    for task in &proof.tasks {
        let found = task.without.as_ref().and_then(|it| it.max_ns);
        if let Some((max, bound)) = found.zip(task.bound_without_ns)
            && max > bound
        {
            notes.push(format!(
                "task `{}` took {} without isolation, longer than its bound of {} there: its `wcet` with the \
                 fewest colours is too short",
                task.name,
                time(max),
                time(bound)
            ));
        }
    }
    notes
}

/// Lines of the hypervisor that VMs evicted, and the reverse.
fn hypervisor_evictions(cache: &Cache) -> u64 {
    let is_hypervisor = |place: usize| cache.owners[place].name == HYPERVISOR;
    let is_vm = |place: usize| cache.owners[place].vm.is_some();
    let cells = cache.evictions.iter().enumerate().flat_map(|(came, row)| {
        row.iter().enumerate().map(move |(went, count)| (came, went, count))
    });
    let between = cells.filter(|&(came, went, _)| {
        is_hypervisor(came) && is_vm(went) || is_vm(came) && is_hypervisor(went)
    });
    between.map(|(.., count)| count).sum()
}

fn of_task(proof: &Proof, task: &Task, failures: &mut Vec<String>) {
    let vm = proof.vms.get(task.vm).map_or("", |vm| &vm.name);
    let name = format!("task `{}` of VM `{vm}`", task.name);
    failures.extend(task.reason_with.clone());
    let mut compare = |what: &str, found: Option<&Responses>| {
        let Some(found) = found.filter(|it| it.jobs > 0) else {
            failures.push(match what {
                "run" => format!(
                    "{name} has no complete job in the run: neither marks of its guest nor a report \
                     were seen"
                ),
                _ => format!("{name} has no complete job in the {what}"),
            });
            return;
        };
        if let Some((max, bound)) = found.max_ns.zip(task.bound_with_ns)
            && max > bound
        {
            failures.push(format!(
                "COUNTEREXAMPLE: {name} took {} in the {what}, longer than its bound of {}",
                time(max),
                time(bound)
            ));
        }
        if found.missed > 0 {
            let (missed, jobs) = (found.missed, found.jobs);
            failures
                .push(format!("{name} missed {missed} deadlines in the {what}, of {jobs} jobs"));
        }
    };
    compare("simulation", task.simulated.as_ref());
    compare("run", task.with.as_ref());
}

#[cfg(test)]
mod tests {
    use report::proof::{Owner, Run, Traffic, Vm};

    use super::*;

    fn responses(max_ns: u64, missed: u64) -> Option<Responses> {
        Some(Responses { jobs: 3, missed, max_ns: Some(max_ns), times_ns: Vec::new() })
    }

    fn proof() -> Proof {
        let vm = |name: &str| Vm { name: name.into(), colors: vec![1], ..Vm::default() };
        let owner = |vm| Owner { vm: Some(vm), ..Owner::default() };
        let cache =
            Cache { owners: vec![owner(0), owner(1)], evictions: vec![vec![9, 0], vec![0, 9]] };
        Proof {
            vms: vec![vm("a"), vm("b")],
            tasks: vec![Task {
                name: "t".into(),
                bound_with_ns: Some(100),
                deadline_ns: Some(100),
                simulated: responses(100, 0),
                with: responses(99, 0),
                ..Task::default()
            }],
            with: Some(Run { cache: Some(cache), ..Run::default() }),
            traffic: vec![Traffic {
                vm: 1,
                budget_accesses: Some(10),
                overshoot_accesses: 5,
                with_accesses: vec![15, 0],
                ..Traffic::default()
            }],
            ..Proof::default()
        }
    }

    #[test]
    fn what_holds_does() {
        assert_eq!(failures(&proof()), Vec::<String>::new());
    }

    #[test]
    fn each_violation_is_named() {
        let one = |change: &dyn Fn(&mut Proof)| {
            let mut proof = proof();
            change(&mut proof);
            let failures = failures(&proof);
            assert_eq!(failures.len(), 1, "{failures:?}");
            failures[0].clone()
        };
        let text = one(&|it| it.tasks[0].with = responses(101, 0));
        assert!(text.starts_with("COUNTEREXAMPLE: task `t` of VM `a` took 101 ns"), "{text}");
        let text = one(&|it| it.tasks[0].simulated = responses(101, 0));
        assert!(text.contains("simulation"), "{text}");
        assert!(one(&|it| it.tasks[0].with = responses(99, 1)).contains("missed 1 deadlines"));
        assert!(one(&|it| it.tasks[0].with = None).contains("no complete job in the run"));
        assert_eq!(one(&|it| it.tasks[0].reason_with = Some("late".into())), "late");
        assert!(one(&|it| it.traffic[0].with_accesses[1] = 16).contains("up to 16"));
        let text = one(&|it| {
            let cache = it.with.as_mut().and_then(|run| run.cache.as_mut());
            cache.expect("a cache").evictions[0][1] = 7;
        });
        assert_eq!(text, "VMs evicted 7 lines of each other");
    }
}
