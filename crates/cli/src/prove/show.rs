//! A proof for people, as text.

use lab::amount::time;
use report::proof::{Chain, ChainTimes, Proof, Responses, Run, Task, Traffic, Unproved};
use report::text::table;

/// Returns verdicts, one table of the tasks, evictions, budgets, and failures.
pub fn show(proof: &Proof) -> String {
    let compared = proof.without.is_some();
    let mut text = String::new();
    if proof.measured {
        text.push_str("measured, not promised: Linux and what is below it can take any time\n");
    }
    if let Some(schedulable) = proof.check_without.schedulable {
        text.push_str(&format!("without isolation: {}\n", verdict(schedulable)));
        for task in &proof.tasks {
            text.extend(task.reason_without.iter().map(|why| format!("  {why}\n")));
        }
    }
    if let Some(schedulable) = proof.check_with.schedulable {
        text.push_str(&format!("with the plan: {}\n", verdict(schedulable)));
    }
    text.push_str(&format!("\n{}", tasks(proof, compared)));
    if !proof.chains.is_empty() {
        text.push_str(&format!("\n{}", chains(proof, compared)));
    }
    let vms = vms(proof);
    // A real machine does not tell what caches and bus did.
    if !vms.is_empty() && !proof.measured {
        let heading = [
            "VM",
            ">lines lost to other VMs: without",
            ">with",
            ">lines from and to memory: without",
            ">with",
            ">waits for the bus: without",
            ">with",
        ];
        text.push_str(&format!("\n{}", table(&heading, &vms)));
    }
    let budgets: Vec<_> = proof.traffic.iter().filter_map(|it| budget(proof, it)).collect();
    if !budgets.is_empty() {
        let heading = [
            "VM",
            ">accesses may be",
            ">beyond at most",
            ">in each",
            ">most made: without",
            ">with",
            ">periods",
            ">stopped in",
        ];
        text.push_str(&format!("\n{}", table(&heading, &budgets)));
    }
    if let Some(theorems) = &proof.theorems {
        text.push_str(&format!("\n{}\n", theorems.summary()));
        for Unproved { vm, vcpu, task, reason } in &theorems.without {
            text.push_str(&format!(
                "  no theorem for task `{task}` on VCPU {vcpu} of VM `{vm}`: {reason}\n"
            ));
        }
    }
    // What is wrong with the run with the plan is among the failures.
    let without = proof.without.iter().flat_map(|run| &run.notes);
    let without = without.map(|note| format!("without isolation: {note}"));
    let notes: Vec<_> = proof.notes.iter().cloned().chain(without).collect();
    for note in &notes {
        text.push_str(&format!("\nnote: {note}"));
    }
    text.push_str(if notes.is_empty() { "\n" } else { "\n\n" });
    for failure in &proof.failures {
        text.push_str(&format!("does not hold: {failure}\n"));
    }
    if proof.holds {
        text.push_str(match proof.measured {
            true => "all deadlines were kept with the plan\n",
            false => "everything holds with the plan\n",
        });
    }
    text
}

fn verdict(schedulable: bool) -> &'static str {
    if schedulable { "schedulable" } else { "not schedulable" }
}

fn tasks(proof: &Proof, compared: bool) -> String {
    let longest =
        |it: &Option<Responses>| it.as_ref().and_then(|it| it.max_ns).map_or("-".into(), time);
    let missed = |it: &Option<Responses>| {
        it.as_ref().map_or("-".into(), |it| format!("{} of {}", it.missed, it.jobs))
    };
    let row = |task: &Task| {
        let mut row = vec![
            proof.vms.get(task.vm).map_or_else(String::new, |vm| vm.name.clone()),
            task.name.clone(),
            task.deadline_ns.map_or("-".into(), time),
            task.bound_with_ns.map_or("-".into(), time),
            longest(&task.simulated),
            longest(&task.with),
            missed(&task.with),
        ];
        if compared {
            row.extend([
                task.bound_without_ns.map_or("-".into(), time),
                longest(&task.without),
                missed(&task.without),
            ]);
        }
        row
    };
    let rows: Vec<_> = proof.tasks.iter().map(row).collect();
    let mut heading =
        vec!["VM", "task", ">deadline", ">bound", ">simulated", ">executed", ">missed"];
    if compared {
        heading.extend([">bound without", ">executed", ">missed"]);
    }
    table(&heading, &rows)
}

/// The reaction and the data age of each chain.
fn chains(proof: &Proof, compared: bool) -> String {
    let row = |(chain, time_of): (&Chain, &str)| {
        let is_age = time_of == "data age";
        let shown = |time_ns: Option<u64>| time_ns.map_or("-".into(), time);
        let of = |it: &ChainTimes| shown(if is_age { it.age_ns } else { it.reaction_ns });
        let limit = if is_age { chain.max_age_ns } else { chain.max_reaction_ns };
        let mut row = vec![
            chain.name.clone(),
            time_of.into(),
            shown(limit),
            of(&chain.bounds_with),
            of(&chain.simulated),
            of(&chain.with),
        ];
        if compared {
            row.extend([of(&chain.bounds_without), of(&chain.without)]);
        }
        row
    };
    let both = proof.chains.iter().flat_map(|it| [(it, "reaction"), (it, "data age")]);
    let rows: Vec<_> = both.map(row).collect();
    let mut heading = vec!["chain", "time", ">may be", ">bound", ">simulated", ">executed"];
    if compared {
        heading.extend([">bound without", ">executed"]);
    }
    table(&heading, &rows)
}

/// Returns the effects of caches and bus on each VM.
fn vms(proof: &Proof) -> Vec<Vec<String>> {
    let lost = |run: &Option<Run>, vm: usize| {
        let cache = run.as_ref().and_then(|run| run.cache.as_ref());
        let owner = cache.and_then(|cache| cache.owners.iter().find(|it| it.vm == Some(vm)));
        owner.map_or("-".into(), |owner| owner.lost_by_color.iter().sum::<u64>().to_string())
    };
    let of = |run: &Option<Run>, vm: usize| run.as_ref().and_then(|run| run.vms.get(vm).cloned());
    let lines = |run: &Option<Run>, vm: usize| {
        let lines = of(run, vm).and_then(|it| it.memory_lines);
        lines.map_or("-".into(), |lines| lines.to_string())
    };
    let wait = |run: &Option<Run>, vm: usize| {
        let wait = of(run, vm).and_then(|it| it.bus_wait_ns);
        wait.map_or("-".into(), |ns| time(ns / 1000 * 1000))
    };
    let row = |(vm, it): (usize, &report::proof::Vm)| {
        let (without, with) = (&proof.without, &proof.with);
        vec![
            it.name.clone(),
            lost(without, vm),
            lost(with, vm),
            lines(without, vm),
            lines(with, vm),
            wait(without, vm),
            wait(with, vm),
        ]
    };
    proof.vms.iter().enumerate().map(row).collect()
}

fn budget(proof: &Proof, it: &Traffic) -> Option<Vec<String>> {
    let most = |series: &[u64]| series.iter().max().map_or("-".into(), u64::to_string);
    let name = &proof.vms.get(it.vm)?.name;
    Some(vec![
        it.vcpu.map_or_else(|| name.clone(), |vcpu| format!("{name}/{vcpu}")),
        it.budget_accesses?.to_string(),
        it.overshoot_accesses.to_string(),
        time(it.window_ns),
        most(&it.without_accesses),
        most(&it.with_accesses),
        it.with_accesses.len().to_string(),
        it.throttled_windows.len().to_string(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_the_run_without_isolation_are_told() {
        let noted = |notes: &[&str]| {
            let notes = notes.iter().map(|&it| it.into()).collect();
            Proof { without: Some(Run { notes, ..Run::default() }), ..Proof::default() }
        };
        let text = show(&noted(&["VM `rt` was stopped: a crash"]));
        let note = "\nnote: without isolation: VM `rt` was stopped: a crash\n\n";
        assert!(text.contains(note), "{text}");
        assert!(!show(&noted(&[])).contains("note: "));
    }
}
