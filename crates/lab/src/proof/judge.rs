//! Judges if everything holds with the plan.

use report::proof::{Cache, Checked, Proof, Task, Traffic};
use report::verdicts::{Row, Rule};

use super::chains;
use crate::amount::time;
use crate::cachescope::HYPERVISOR;
use crate::verdicts::places;

/// Returns all verdicts. `problems` are those of the run with the plan, `decisions` the wrong ones of the scheduler there,
/// if it had to decide. Evictions across VMs are failures if VMs have colours.
pub fn rows(proof: &Proof, problems: &[String], decisions: Option<&[String]>) -> Vec<Row> {
    let mut rows = vec![Row::new(Rule::Run, "run").fails_if(problems)];
    rows.extend(proof.tasks.iter().flat_map(|task| of_task(proof, task)));
    rows.extend(proof.chains.iter().flat_map(chains::rows));
    if let Some(theorems) = &proof.theorems {
        let refused = matches!(theorems.checked, Checked::Refused { .. });
        let why = refused.then(|| theorems.summary());
        rows.push(Row::new(Rule::Theorems, "bounds").fails_if(why));
    }
    let cache = proof.with.as_ref().and_then(|run| run.cache.as_ref());
    let isolated = proof.vms.iter().any(|vm| !vm.colors.is_empty());
    if let Some(cache) = cache.filter(|_| isolated) {
        let row = |of: &str, lines: u64| {
            let why = (lines > 0).then(|| format!("{of} evicted {lines} lines of each other"));
            let row = Row::new(Rule::CacheIsolation, of).figure("evictions", lines.to_string());
            row.fails_if(why)
        };
        rows.push(row("VMs", cache.cross_vm_evictions()));
        if !proof.platform.hypervisor_colors.is_empty() {
            rows.push(row("hypervisor and VMs", hypervisor_evictions(cache)));
        }
    }
    rows.extend(proof.traffic.iter().filter_map(|it| of_traffic(proof, it)));
    rows.extend(decisions.map(|wrong| Row::new(Rule::Decisions, "scheduler").fails_if(wrong)));
    rows
}

/// Returns the failures of verdicts, a sentence each.
pub fn failures(rows: &[Row]) -> Vec<String> {
    let failed = rows.iter().filter(|row| row.fails());
    failed.flat_map(|row| row.reasons.iter().cloned()).collect()
}

fn of_traffic(proof: &Proof, traffic: &Traffic) -> Option<Row> {
    let budget = traffic.budget_accesses?;
    let most = budget.saturating_add(traffic.overshoot_accesses);
    let over = traffic.with_accesses.iter().filter(|&&made| made > most).count();
    let vm = &proof.vms[traffic.vm].name;
    let made = traffic.with_accesses.iter().max().copied().unwrap_or(0);
    let why = (over > 0).then(|| {
        format!(
            "VM `{vm}` made up to {made} memory accesses in a period, in {over} periods more \
             than the {most} that the analysis counts with"
        )
    });
    let subject = traffic.vcpu.map_or_else(|| places::vm(vm), |vcpu| places::vcpu(vm, vcpu));
    let row = Row::new(Rule::MemoryBudget, subject).figure("executed", format!("{made} accesses"));
    Some(row.figure("limit", format!("{most} accesses")).fails_if(why))
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
    if proof.measured {
        notes.extend(above_bounds(proof));
        return notes;
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

/// Returns which tasks took longer than their bounds on a machine that promises nothing, in a sentence.
fn above_bounds(proof: &Proof) -> Option<String> {
    let runs = |task: &Task| {
        let with = ("with the plan", task.with.clone(), task.bound_with_ns);
        [with, ("without isolation", task.without.clone(), task.bound_without_ns)]
    };
    let all = proof.tasks.iter().flat_map(|task| runs(task).map(|run| (&task.name, run)));
    let above = all.filter_map(|(name, (run, found, bound))| {
        let (max, bound) = found?.max_ns.zip(bound).filter(|(max, bound)| max > bound)?;
        Some(format!("`{name}` {run} ({} and {})", time(max), time(bound)))
    });
    let above: Vec<_> = above.collect();
    (!above.is_empty()).then(|| {
        format!(
            "took longer than the bound: {}: Linux took more time than the platform's `[overheads]` say, or jobs execute longer than described",
            above.join(", ")
        )
    })
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

/// Is its bound right, and is it in time?
fn of_task(proof: &Proof, task: &Task) -> Vec<Row> {
    let vm = proof.vms.get(task.vm).map_or("", |vm| &vm.name);
    let name = format!("task `{}` of VM `{vm}`", task.name);
    let mut late: Vec<String> = task.reason_with.iter().cloned().collect();
    let mut above = Vec::new();
    let mut longest = Vec::new();
    for (what, figure, found) in
        [("simulation", "simulated", &task.simulated), ("run", "executed", &task.with)]
    {
        let Some(found) = found.as_ref().filter(|it| it.jobs > 0) else {
            late.push(match what {
                "run" => format!(
                    "{name} has no complete job in the run: neither marks of its guest nor a report \
                     were seen"
                ),
                _ => format!("{name} has no complete job in the {what}"),
            });
            continue;
        };
        longest.extend(found.max_ns.map(|max| (figure, time(max))));
        // A run on a real machine is no counterexample: Linux took some of the time.
        if let Some((max, bound)) = found.max_ns.zip(task.bound_with_ns)
            && max > bound
            && !(proof.measured && figure == "executed")
        {
            above.push(format!(
                "COUNTEREXAMPLE: {name} took {} in the {what}, longer than its bound of {}",
                time(max),
                time(bound)
            ));
        }
        if found.missed > 0 {
            let (missed, jobs) = (found.missed, found.jobs);
            late.push(format!("{name} missed {missed} deadlines in the {what}, of {jobs} jobs"));
        }
    }
    let bound = task.bound_with_ns.map(|bound| ("bound", time(bound)));
    let limit = task.deadline_ns.map(|limit| ("limit", time(limit)));
    let row = |rule, reasons: Vec<String>| {
        let row = Row::new(rule, places::task(vm, &task.name)).fails_if(reasons);
        let judged =
            |it: &&(&str, String)| it.0 != "executed" || rule != Rule::Bound || !proof.measured;
        let figures = bound.iter().chain(&limit).chain(longest.iter().filter(judged));
        figures.fold(row, |row, (name, value)| row.figure(name, value))
    };
    let bounded = task.bound_with_ns.map(|_| row(Rule::Bound, above));
    bounded.into_iter().chain([row(Rule::Deadline, late)]).collect()
}

#[cfg(test)]
mod tests {
    use report::proof::{Owner, Responses, Run, Vm};

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

    fn failures_of(proof: &Proof) -> Vec<String> {
        failures(&rows(proof, &[], None))
    }

    #[test]
    fn what_holds_does() {
        assert_eq!(failures_of(&proof()), Vec::<String>::new());
        let rows = rows(&proof(), &[], Some(&[]));
        let all: Vec<_> = rows.iter().map(|row| (row.rule.id(), row.subject.as_str())).collect();
        let expected = [
            ("run", "run"),
            ("bound", "task a.t"),
            ("deadline", "task a.t"),
            ("cache-isolation", "VMs"),
            ("memory-budget", "VM b"),
            ("decisions", "scheduler"),
        ];
        assert_eq!(all, expected.map(|(rule, subject)| (rule.into(), subject)));
    }

    #[test]
    fn a_measured_response_above_its_bound_is_told_and_no_failure() {
        let mut proof = Proof { measured: true, ..proof() };
        proof.tasks[0].with = responses(150, 0);
        proof.tasks[0].deadline_ns = Some(200);
        assert_eq!(failures_of(&proof), Vec::<String>::new());
        let notes = notes(&proof).join("\n");
        assert!(notes.contains("`t` with the plan (150 ns and 100 ns): Linux"), "{notes}");
        proof.tasks[0].with = responses(250, 1);
        assert!(failures_of(&proof)[0].contains("missed 1 deadlines in the run"));
        proof.tasks[0].simulated = responses(101, 0);
        assert!(failures_of(&proof)[0].starts_with("COUNTEREXAMPLE"), "a simulation is exact");
    }

    #[test]
    fn what_is_wrong_with_the_run_and_its_decisions_is_a_failure() {
        let wrong = |text: &str| vec![text.to_owned()];
        let rows = rows(&proof(), &wrong("stopped"), Some(&wrong("PCPU 0")));
        assert_eq!(failures(&rows), ["stopped", "PCPU 0"]);
    }

    #[test]
    fn each_violation_is_named() {
        let one = |change: &dyn Fn(&mut Proof)| {
            let mut proof = proof();
            change(&mut proof);
            let failures = failures_of(&proof);
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
