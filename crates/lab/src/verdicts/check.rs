//! The verdicts of the analysis.

use report::verdicts::{Row, Rule, Verdicts};
use system::report::Report;
use verdict::{ChainVerdict, TaskVerdict, VcpuVerdict};

use super::{places, verdicts};
use crate::amount::{percent, time};
use crate::check::Checked;
use crate::explain;

/// Returns the verdicts on a plan, tasks, chains and VCPUs, with these notes. Chains without limits are not judged.
pub fn of_check(checked: &Checked, notes: Vec<String>) -> Verdicts {
    let Checked { file, described, report, verdict, .. } = checked;
    let name = checked.name();
    let mut rows = vec![Row::new(Rule::Plan, format!("system {name}"))];
    rows.extend(verdict.tasks().map(|(vcpu, it)| task(vcpu, it)));
    let limited = |it: &&ChainVerdict| it.max_reaction_ns.or(it.max_age_ns).is_some();
    rows.extend(verdict.chains.iter().filter(limited).map(chain));
    let vcpus = verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
    rows.extend(vcpus.filter_map(budget));
    rows.extend(report.iter().flat_map(overloaded));
    let fails = rows.iter().any(|row| row.fails());
    let answer = match (fails, described) {
        (true, _) => "not schedulable",
        (false, Some(_)) => "schedulable",
        (false, None) => "sound",
    };
    verdicts(("check", file, answer), described.as_deref(), rows, notes)
}

fn task(vcpu: &VcpuVerdict, task: &TaskVerdict) -> Row {
    let why = (!task.ok).then(|| explain::why(vcpu, task));
    row(Row::new(Rule::Deadline, places::task(&vcpu.vm, &task.task)), why)
        .figure("bound", task.wcrt_ns.map_or("none".into(), time))
        .figure("limit", time(task.deadline_ns))
}

fn chain(chain: &ChainVerdict) -> Row {
    row(Row::new(Rule::Chain, places::chain(&chain.chain)), explain::of_chain(chain))
        .figure("bound", both(chain.reaction_ns, chain.age_ns))
        .figure("limit", both(chain.max_reaction_ns, chain.max_age_ns))
}

/// `reaction 24 ms, data age 30 ms`.
pub fn both(reaction_ns: Option<u64>, age_ns: Option<u64>) -> String {
    let shown = |what: &str, ns: Option<u64>| ns.map(|ns| format!("{what} {}", time(ns)));
    let shown = [shown("reaction", reaction_ns), shown("data age", age_ns)];
    let shown: Vec<_> = shown.into_iter().flatten().collect();
    if shown.is_empty() { "none".into() } else { shown.join(", ") }
}

/// The first line says why, and the others are details.
fn row(row: Row, why: Option<String>) -> Row {
    let why = why.unwrap_or_default();
    let (reason, details) = why.split_once('\n').unwrap_or((&why, ""));
    let reason = (!reason.is_empty()).then_some(reason);
    Row { details: details.into(), ..row.fails_if(reason) }
}

/// The answer does not depend on budgets, but on what they mean for tasks.
fn budget(vcpu: &VcpuVerdict) -> Option<Row> {
    let period = vcpu.period_ns.filter(|_| vcpu.budget_ns.is_some())?;
    let why = || match vcpu.at_least_ns {
        Some(needed) => {
            format!(
                "it may have to wait for {} or longer until it has had its budget",
                time(needed)
            )
        }
        None => "other VCPUs can delay its budget for longer than a period".into(),
    };
    let row = Row::new(Rule::Budget, places::vcpu(&vcpu.vm, vcpu.vcpu))
        .figure("bound", vcpu.wcrt_ns.map_or("none".into(), time))
        .figure("limit", time(period));
    Some(row.open_if((!vcpu.ok).then(why)))
}

fn overloaded(report: &Report) -> Vec<Row> {
    let mut rows = Vec::new();
    for vm in &report.vms {
        for (index, vcpu) in vm.vcpus.iter().enumerate().filter(|(_, vcpu)| vcpu.overloaded) {
            let needs = percent(vcpu.utilization_best_ppm);
            let has = percent(vcpu.budget_ppm.unwrap_or(1_000_000));
            let why = format!("its tasks need {needs} of a PCPU at best, and it has {has}");
            let row = Row::new(Rule::Load, places::vcpu(&vm.name, index));
            rows.push(row.fails_if([why]));
        }
    }
    rows
}
