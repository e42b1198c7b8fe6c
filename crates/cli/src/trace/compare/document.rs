//! A comparison for machines.

use serde::Serialize;
use trace::Header;
use trace::compare::Comparison;

use super::{describe, tables};

/// A comparison; pairs are in the order of the traces.
#[derive(Serialize)]
pub struct Document {
    /// Whether they agree.
    ok: bool,
    from_ns: i64,
    until_ns: i64,
    /// What the first and the second of two numbers are called: `sim` and `run`, or `A` and `B`.
    sides: [&'static str; 2],
    first_difference: Option<DifferenceDocument>,
    pcpus: Vec<PcpuDocument>,
    vcpus: Vec<VcpuDocument>,
    tasks: Vec<TaskDocument>,
}

#[derive(Serialize)]
struct DifferenceDocument {
    at_ns: i64,
    text: String,
}

#[derive(Serialize)]
struct PcpuDocument {
    pcpu: usize,
    differs_ns: u64,
    longest_ns: u64,
    unknown_ns: u64,
}

#[derive(Serialize)]
struct VcpuDocument {
    vcpu: String,
    /// As in the traces, `null` without a budget.
    budget_ns: Option<u64>,
    period_ns: Option<u64>,
    supply_ns: [u64; 2],
    runs: [u64; 2],
    /// Part of the time for which it ran, in millionths.
    supply_ppm: [u64; 2],
    /// In whole periods of its server.
    used_in_period_mean_ns: Option<[u64; 2]>,
    used_in_period_max_ns: Option<[u64; 2]>,
}

#[derive(Serialize)]
struct TaskDocument {
    vcpu: String,
    task: String,
    jobs: [u64; 2],
    missed_deadlines: [u64; 2],
    response_mean_ns: [u64; 2],
    response_max_ns: [u64; 2],
}

impl Document {
    /// All of a comparison.
    pub fn new(comparison: &Comparison, headers: [&Header; 2]) -> Self {
        let (header, sides) = (headers[0], tables::sides(headers));
        let first = comparison.first.as_ref();
        Self {
            ok: first.is_none(),
            from_ns: comparison.window_ns.start,
            until_ns: comparison.window_ns.end,
            sides,
            first_difference: first.map(|difference| DifferenceDocument {
                at_ns: difference.at_ns(),
                text: describe(difference, header, sides),
            }),
            pcpus: comparison
                .pcpus
                .iter()
                .map(|it| PcpuDocument {
                    pcpu: it.pcpu,
                    differs_ns: it.differs_ns,
                    longest_ns: it.longest_ns,
                    unknown_ns: it.unknown_ns,
                })
                .collect(),
            vcpus: comparison
                .vcpus
                .iter()
                .map(|it| VcpuDocument {
                    vcpu: header.vcpu_name(it.vcpu),
                    budget_ns: tables::budget(header, it.vcpu),
                    period_ns: header.vcpu(it.vcpu).and_then(|of| of.server.as_ref()?.period_ns),
                    supply_ns: it.supply_ns,
                    runs: it.runs,
                    supply_ppm: it.supply_ns.map(|ns| tables::part(ns, comparison)),
                    used_in_period_mean_ns: it.usage.map(|of| of.map(|it| it.mean_ns())),
                    used_in_period_max_ns: it.usage.map(|of| of.map(|it| it.max_ns)),
                })
                .collect(),
            tasks: comparison
                .tasks
                .iter()
                .map(|it| TaskDocument {
                    vcpu: header.vcpu_name(it.vcpu),
                    task: header.task_name(it.vcpu, it.task),
                    jobs: it.jobs.map(|jobs| jobs.jobs),
                    missed_deadlines: it.jobs.map(|jobs| jobs.misses),
                    response_mean_ns: it.jobs.map(|jobs| jobs.response_mean_ns()),
                    response_max_ns: it.jobs.map(|jobs| jobs.response_max_ns),
                })
                .collect(),
        }
    }
}
