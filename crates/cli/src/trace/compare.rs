//! `bulkhead trace compare`.

use serde::Serialize;
use trace::compare::{self, Comparison, Difference, JobSummary, Options};
use trace::timeline::State;
use trace::{Header, Step};

use super::options::CompareOptions;
use super::{length, micros};
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;
use crate::table::table;

/// Runs the command.
pub fn compare(options: &CompareOptions, as_json: bool) -> Result<Status, Failure> {
    let traces = [super::read(&options.first)?, super::read(&options.second)?];
    let signed = |time: bulkhead_system::units::Duration| i64::try_from(time.0).unwrap_or(i64::MAX);
    let limits = Options {
        tolerance_ns: options.tolerance.0,
        from_ns: options.from.map(signed),
        until_ns: options.until.map(signed),
        shift_ns: options.shift.map_or(0, signed),
    };
    let comparison = compare::compare([&traces[0], &traces[1]], limits)
        .map_err(|error| Failure::new("not-comparable", error))?;
    let header = &traces[0].header;
    if as_json {
        json::print(&Document::new(&comparison, header))?;
    } else {
        output::print(&text(&comparison, header, options))?;
    }
    Ok(if comparison.first.is_none() { Status::Yes } else { Status::No })
}

fn text(comparison: &Comparison, header: &Header, options: &CompareOptions) -> String {
    let window = &comparison.window_ns;
    let mut text = format!(
        "A: {}\nB: {}\ncompared from {} to {}\n\n",
        options.first.display(),
        options.second.display(),
        micros(window.start),
        micros(window.end)
    );
    let rows: Vec<_> = comparison
        .vcpus
        .iter()
        .map(|vcpu| {
            let [a, b] = vcpu.supply_ns;
            let runs = vcpu.runs.map(|runs| runs.to_string());
            let [runs_a, runs_b] = runs;
            let name = header.vcpu_name(vcpu.vcpu);
            vec![name, length(a), length(b), difference(a, b), runs_a, runs_b]
        })
        .collect();
    let heading = ["VCPU", ">supply A", ">supply B", ">B - A", ">runs A", ">runs B"];
    text.push_str(&table(&heading, &rows));
    let rows: Vec<_> = comparison
        .tasks
        .iter()
        .map(|task| {
            let [a, b] = &task.jobs;
            vec![
                header.vcpu_name(task.vcpu),
                header.task_name(task.vcpu, task.task),
                a.jobs.to_string(),
                b.jobs.to_string(),
                length(mean(a)),
                length(mean(b)),
                length(a.response_max_ns),
                length(b.response_max_ns),
                difference(a.response_max_ns, b.response_max_ns),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let heading = [
            "VCPU", "task", ">jobs A", ">jobs B", ">mean A", ">mean B", ">max A", ">max B",
            ">B - A",
        ];
        text.push_str(&format!("\n{}", table(&heading, &rows)));
    }
    let rows: Vec<_> = comparison
        .pcpus
        .iter()
        .map(|pcpu| {
            let times = [pcpu.differs_ns, pcpu.longest_ns, pcpu.unknown_ns].map(length);
            std::iter::once(pcpu.pcpu.to_string()).chain(times).collect()
        })
        .collect();
    if !rows.is_empty() {
        let heading = [">PCPU", ">differs for", ">longest", ">not known"];
        text.push_str(&format!("\n{}", table(&heading, &rows)));
    }
    text.push('\n');
    match &comparison.first {
        None => text.push_str(&format!("no difference above {}\n", length(options.tolerance.0))),
        Some(first) => text.push_str(&format!("first difference: {}\n", describe(first, header))),
    }
    text
}

fn mean(jobs: &JobSummary) -> u64 {
    let mean = jobs.response_sum_ns.checked_div(u128::from(jobs.jobs)).unwrap_or(0);
    u64::try_from(mean).unwrap_or(u64::MAX)
}

fn difference(a: u64, b: u64) -> String {
    let difference = i128::from(b) - i128::from(a);
    micros(i64::try_from(difference).unwrap_or(i64::MAX))
}

fn describe(difference: &Difference, header: &Header) -> String {
    match *difference {
        Difference::Pcpu { pcpu, from_ns, until_ns, states } => {
            let [a, b] = states.map(|state| match state {
                State::Runs(vcpu) => header.vcpu_name(vcpu),
                State::Idle => "nothing".into(),
                State::Unknown => "something that is not known".into(),
            });
            format!(
                "from {} on, for {}, PCPU {pcpu} runs {a} in A and {b} in B",
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
            format!("job {job} of {task} in {vcpu} is {what} {a} in A and {b} in B")
        }
    }
}

#[derive(Serialize)]
struct Document {
    /// Whether they agree.
    ok: bool,
    from_ns: i64,
    until_ns: i64,
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
    supply_ns: [u64; 2],
    runs: [u64; 2],
}

#[derive(Serialize)]
struct TaskDocument {
    vcpu: String,
    task: String,
    jobs: [u64; 2],
    response_mean_ns: [u64; 2],
    response_max_ns: [u64; 2],
}

impl Document {
    fn new(comparison: &Comparison, header: &Header) -> Self {
        let first = comparison.first.as_ref();
        Self {
            ok: first.is_none(),
            from_ns: comparison.window_ns.start,
            until_ns: comparison.window_ns.end,
            first_difference: first.map(|difference| DifferenceDocument {
                at_ns: difference.at_ns(),
                text: describe(difference, header),
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
                    supply_ns: it.supply_ns,
                    runs: it.runs,
                })
                .collect(),
            tasks: comparison
                .tasks
                .iter()
                .map(|it| TaskDocument {
                    vcpu: header.vcpu_name(it.vcpu),
                    task: header.task_name(it.vcpu, it.task),
                    jobs: [0, 1].map(|side| it.jobs[side].jobs),
                    response_mean_ns: [0, 1].map(|side| mean(&it.jobs[side])),
                    response_max_ns: [0, 1].map(|side| it.jobs[side].response_max_ns),
                })
                .collect(),
        }
    }
}
