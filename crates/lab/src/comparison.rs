//! Two traces that were compared: the differences in words, and all of it as a document.

use serde::Serialize;
use trace::compare::{Comparison, Difference, PcpuComparison};
use trace::timeline::State;
use trace::{Header, Origin, Step};

use crate::amount::{length, micros, ppm};

/// A comparison; pairs are in the order of the traces.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    /// True if they agree.
    pub ok: bool,
    /// The start of the compared time, from the start of the servers.
    pub from_ns: i64,
    /// The end of the compared time.
    pub until_ns: i64,
    /// Names of the first and the second of two numbers: `sim` and `run`, or `A` and `B`.
    pub sides: [&'static str; 2],
    /// The first difference, if there is one.
    pub first_difference: Option<FirstDifference>,
    /// The PCPUs that were compared.
    pub pcpus: &'a [PcpuComparison],
    /// The VCPUs.
    pub vcpus: Vec<Vcpu>,
    /// The tasks that set marks in both traces.
    pub tasks: Vec<Task>,
}

/// A difference.
#[derive(Debug, Serialize)]
pub struct FirstDifference {
    /// The time at which it begins, from the start of the servers.
    pub at_ns: i64,
    /// The difference in words.
    pub text: String,
}

/// A VCPU in both traces.
#[derive(Debug, Serialize)]
pub struct Vcpu {
    /// Its name: `linux/0`.
    pub vcpu: String,
    /// Its budget in the first trace, if it has one.
    pub budget_ns: Option<u64>,
    /// The period of this budget.
    pub period_ns: Option<u64>,
    /// The time for which it ran.
    pub supply_ns: [u64; 2],
    /// Number of times that it began to run.
    pub runs: [u64; 2],
    /// Part of the time for which it ran, in millionths.
    pub supply_ppm: [u64; 2],
    /// The mean of the time that it used in whole periods of its server.
    pub used_in_period_mean_ns: Option<[u64; 2]>,
    /// The most that it used in one period.
    pub used_in_period_max_ns: Option<[u64; 2]>,
}

/// A task in both traces.
#[derive(Debug, Serialize)]
pub struct Task {
    /// The name of its VCPU.
    pub vcpu: String,
    /// Its name.
    pub task: String,
    /// Jobs that are complete.
    pub jobs: [u64; 2],
    /// Jobs that were late.
    pub missed_deadlines: [u64; 2],
    /// The mean of the response times.
    pub response_mean_ns: [u64; 2],
    /// The longest response time.
    pub response_max_ns: [u64; 2],
}

impl<'a> Document<'a> {
    /// The document of a comparison of traces with these headers.
    pub fn new(comparison: &'a Comparison, headers: [&Header; 2]) -> Self {
        let (header, sides) = (headers[0], sides(headers));
        let first = comparison.first.as_ref();
        Self {
            ok: first.is_none(),
            from_ns: comparison.window_ns.start,
            until_ns: comparison.window_ns.end,
            sides,
            first_difference: first.map(|difference| FirstDifference {
                at_ns: difference.at_ns(),
                text: describe(difference, header, sides),
            }),
            pcpus: &comparison.pcpus,
            vcpus: comparison
                .vcpus
                .iter()
                .map(|it| Vcpu {
                    vcpu: header.vcpu_name(it.vcpu),
                    budget_ns: header.vcpu(it.vcpu).and_then(|of| of.server.as_ref()?.budget_ns),
                    period_ns: header.vcpu(it.vcpu).and_then(|of| of.server.as_ref()?.period_ns),
                    supply_ns: it.supply_ns,
                    runs: it.runs,
                    supply_ppm: it.supply_ns.map(|ns| ppm(ns, comparison.length_ns().into())),
                    used_in_period_mean_ns: it.usage.map(|of| of.map(|it| it.mean_ns())),
                    used_in_period_max_ns: it.usage.map(|of| of.map(|it| it.max_ns)),
                })
                .collect(),
            tasks: comparison
                .tasks
                .iter()
                .map(|it| Task {
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

/// Returns the names of the traces: after the commands that they come from, if these differ.
pub fn sides(headers: [&Header; 2]) -> [&'static str; 2] {
    match headers.map(|header| header.origin) {
        [Origin::Simulator, Origin::Hypervisor] => ["sim", "run"],
        [Origin::Hypervisor, Origin::Simulator] => ["run", "sim"],
        [..] => ["A", "B"],
    }
}

/// A difference in words; `sides` are the names of the traces, and `header` is the first one's.
pub fn describe(difference: &Difference, header: &Header, sides: [&str; 2]) -> String {
    let [first, second] = sides;
    match *difference {
        Difference::Pcpu { pcpu, from_ns, until_ns, states } => {
            let [a, b] = states.map(|state| match state {
                State::Runs(vcpu) => header.vcpu_name(vcpu),
                State::Idle => "nothing".into(),
                State::Unknown => "an unknown VCPU (records are missing)".into(),
            });
            format!(
                "from {} on, for {}, PCPU {pcpu} runs {a} in {first} and {b} in {second}",
                micros(from_ns),
                length(until_ns.abs_diff(from_ns))
            )
        }
        Difference::Job { vcpu, task, job, step, at_ns } => {
            let what = match step {
                Step::Release => "released",
                Step::Start => "started",
                Step::Finish => "complete",
            };
            let [a, b] =
                at_ns.map(|at| at.map_or("not at all".into(), |at| format!("at {}", micros(at))));
            let (vcpu, task) = (header.vcpu_name(vcpu), header.task_name(vcpu, task));
            format!("job {job} of {task} in {vcpu} is {what} {a} in {first} and {b} in {second}")
        }
    }
}
