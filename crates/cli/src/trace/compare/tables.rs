//! A comparison in tables for people.

use lab::amount::{length, ppm};
use report::text::table;
use trace::Header;
use trace::compare::{Comparison, TaskComparison, VcpuComparison};

/// The tasks that set marks in both; `None` if there are none.
pub fn tasks(comparison: &Comparison, header: &Header, sides: [&str; 2]) -> Option<String> {
    let row = |task: &TaskComparison| {
        let jobs = &task.jobs;
        let mut row = vec![header.vcpu_name(task.vcpu), header.task_name(task.vcpu, task.task)];
        row.extend(jobs.map(|jobs| jobs.jobs.to_string()));
        row.extend(jobs.map(|jobs| jobs.misses.to_string()));
        row.extend(times(jobs.map(|jobs| jobs.response_mean_ns())));
        row.extend(times(jobs.map(|jobs| jobs.response_max_ns)));
        row
    };
    let rows: Vec<_> = comparison.tasks.iter().map(row).collect();
    let [first, second] = sides;
    let difference = format!(">{second} - {first}");
    let (jobs, missed) = (format!(">jobs {first}"), format!(">missed {first}"));
    let (mean, max) = (format!(">mean us {first}"), format!(">max us {first}"));
    let second = format!(">{second}");
    let heading = [
        "VCPU",
        "task",
        &jobs,
        &second,
        &missed,
        &second,
        &mean,
        &second,
        &difference,
        &max,
        &second,
        &difference,
    ];
    (!rows.is_empty()).then(|| table(&heading, &rows))
}

/// Returns the table of all VCPUs: their processor time, and the used parts of their budgets.
pub fn vcpus(comparison: &Comparison, header: &Header, sides: [&str; 2]) -> Option<String> {
    let row = |vcpu: &VcpuComparison| {
        let server = header.vcpu(vcpu.vcpu).and_then(|it| it.server.as_ref());
        let budget = server.and_then(|server| server.budget_ns);
        let mut row = vec![
            header.vcpu_name(vcpu.vcpu),
            server.map_or_else(|| "whole PCPU".into(), |server| server.kind.clone()),
            budget.map_or_else(|| "-".into(), |ns| micros(i128::from(ns))),
        ];
        row.extend(vcpu.supply_ns.map(|ns| percent(ppm(ns, comparison.length_ns().into()))));
        match vcpu.usage {
            Some(usage) => {
                row.extend(times(usage.map(|usage| usage.mean_ns())));
                row.extend(times(usage.map(|usage| usage.max_ns)));
            }
            None => row.extend(["-"; 6].map(String::from)),
        }
        row
    };
    let rows: Vec<_> = comparison.vcpus.iter().map(row).collect();
    let [first, second] = sides;
    let difference = format!(">{second} - {first}");
    let supply = format!(">% of PCPU {first}");
    let (mean, max) = (format!(">used mean us {first}"), format!(">used max us {first}"));
    let second = format!(">{second}");
    let heading = [
        "VCPU",
        "server",
        ">budget us",
        &supply,
        &second,
        &mean,
        &second,
        &difference,
        &max,
        &second,
        &difference,
    ];
    (!rows.is_empty()).then(|| table(&heading, &rows))
}

/// The PCPUs that were compared; `None` if there are none.
pub fn pcpus(comparison: &Comparison) -> Option<String> {
    let rows = comparison.pcpus.iter().map(|pcpu| {
        let times = [pcpu.differs_ns, pcpu.longest_ns, pcpu.unknown_ns].map(length);
        std::iter::once(pcpu.pcpu.to_string()).chain(times).collect()
    });
    let rows: Vec<_> = rows.collect();
    let heading = [">PCPU", ">differs for", ">longest", ">not known"];
    (!rows.is_empty()).then(|| table(&heading, &rows))
}

/// Returns two times and the difference by which the second is longer.
fn times([a, b]: [u64; 2]) -> [String; 3] {
    let (a, b) = (i128::from(a), i128::from(b));
    [a, b, b - a].map(micros)
}

/// Nanoseconds as microseconds, exact.
fn micros(ns: i128) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    format!("{sign}{}.{:03}", ns / 1000, ns % 1000)
}

fn percent(ppm: u64) -> String {
    format!("{}.{:02}", ppm / 10_000, ppm % 10_000 / 100)
}
