//! Bounds of response times for people.

use lab::amount::{percent, signed, time};
use lab::explain::reasons;
use report::text::table;
use verdict::{TaskVerdict, VcpuVerdict, Verdict};

use super::chains;

/// The tasks with their bounds, the VCPUs that share a PCPU with theirs, the chains, and why some
/// can be late.
pub fn show(verdict: &Verdict) -> String {
    let tasks = tasks(verdict);
    if tasks.is_empty() {
        return String::new();
    }
    let heading = ["VM", ">VCPU", "task", ">WCRT", ">deadline", ">slack", "in time"];
    let mut text = format!("\n{}", table(&heading, &tasks));
    let vcpus = vcpus(verdict);
    if !vcpus.is_empty() {
        let heading =
            [">PCPU", "VM", ">VCPU", ">tasks need", ">has", ">WCRT", ">period", ">waits up to"];
        text.push_str(&format!("\n{}", table(&heading, &vcpus)));
    }
    text.push_str(&chains::show(verdict));
    text.push_str(&reasons(verdict));
    text
}

fn tasks(verdict: &Verdict) -> Vec<Vec<String>> {
    let row = |(vcpu, task): (&VcpuVerdict, &TaskVerdict)| {
        vec![
            vcpu.vm.clone(),
            vcpu.vcpu.to_string(),
            task.task.clone(),
            task.wcrt_ns.map_or("-".into(), time),
            time(task.deadline_ns),
            task.slack_ns.map_or("-".into(), signed),
            if task.ok { "yes" } else { "no" }.into(),
        ]
    };
    verdict.tasks().map(row).collect()
}

/// The VCPUs that have a server and tasks.
fn vcpus(verdict: &Verdict) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for pcpu in &verdict.pcpus {
        for vcpu in &pcpu.vcpus {
            let (Some(budget), Some(period)) = (vcpu.budget_ns, vcpu.period_ns) else { continue };
            if vcpu.tasks.is_empty() {
                continue;
            }
            let share = u128::from(budget) * 1_000_000 / u128::from(period.max(1));
            rows.push(vec![
                pcpu.pcpu.to_string(),
                vcpu.vm.clone(),
                vcpu.vcpu.to_string(),
                percent(vcpu.utilization_ppm),
                percent(share as u64),
                vcpu.wcrt_ns.map_or("too long".into(), time),
                time(period),
                vcpu.blackout_ns.map_or("-".into(), time),
            ]);
        }
    }
    rows
}
