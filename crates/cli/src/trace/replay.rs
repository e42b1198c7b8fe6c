//! `bulkhead trace replay`.

use lab::amount::{length, micros};
use lab::decisions::{difference, replays, why};
use lab::header::header;
use lab::load;
use report::text::table;
use serde::Serialize;
use trace::{Clock, Header, Replay, Source};

use super::options::ReplayOptions;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Runs the command.
pub fn replay(options: &ReplayOptions, as_json: bool) -> Result<Status, Failure> {
    let plan = load::outlined(&options.plan)?.plan;
    let trace = super::open_trace(&options.file)?;
    if let Some(difference) = difference(&header(&plan, None, 1), trace.header()) {
        let (trace, plan) = (options.file.display(), options.plan.display());
        let text = format!(
            "{trace} is no trace of {plan}: {difference}\nhelp: name the plan or description with which it was recorded"
        );
        return Err(Failure::new("other-plan", text));
    }
    let Some(replays) = replays(&plan, &trace, &options.file.display().to_string())? else {
        return Err(Failure::new(
            "no-servers",
            format!(
                "no VCPU of {} has a server or a memory budget: nothing is decided",
                options.plan.display()
            ),
        ));
    };
    let clock = trace.clock();
    let ok = replays.iter().all(|replay| replay.stopped.is_none()) && !trace.is_cut_off;
    if as_json {
        let pcpus = replays.iter().map(|replay| PcpuDocument::new(replay, trace.header(), clock));
        json::print(&Document { ok, cut_off: trace.is_cut_off, pcpus: pcpus.collect() })?;
    } else {
        let row = |replay: &Replay| {
            let numbers = [replay.pcpu as u64, replay.inputs, replay.decisions, replay.superseded];
            let mut row: Vec<String> = numbers.iter().map(u64::to_string).collect();
            row.push(length(clock.length_ns(replay.late_max)));
            row
        };
        let rows: Vec<_> = replays.iter().map(row).collect();
        let heading = [">PCPU", ">inputs", ">decisions", ">superseded", ">latest timer"];
        let mut text = table(&heading, &rows);
        text.push('\n');
        for replay in &replays {
            if let Some(stopped) = &replay.stopped {
                let at = micros(clock.ns(stopped.ticks));
                let why = why(stopped, trace.header());
                text.push_str(&format!("PCPU {} at {at}: {why}\n", replay.pcpu));
            }
        }
        if ok {
            text.push_str("all decisions are the same\n");
        } else if trace.is_cut_off {
            text.push_str(
                "the trace was not written to its end, and the missing part cannot be checked\n",
            );
        }
        output::print(&text)?;
    }
    Ok(if ok { Status::Yes } else { Status::No })
}

#[derive(Serialize)]
struct Document {
    /// True if all decisions came out again.
    ok: bool,
    /// True if the trace was not written to its end: the missing events were not replayed.
    cut_off: bool,
    pcpus: Vec<PcpuDocument>,
}

#[derive(Serialize)]
struct PcpuDocument {
    pcpu: usize,
    inputs: u64,
    decisions: u64,
    superseded: u64,
    late_max_ns: u64,
    stopped_at_ns: Option<i64>,
    stopped_why: Option<String>,
}

impl PcpuDocument {
    fn new(replay: &Replay, header: &Header, clock: Clock) -> Self {
        let stopped = replay.stopped.as_ref();
        Self {
            pcpu: replay.pcpu,
            inputs: replay.inputs,
            decisions: replay.decisions,
            superseded: replay.superseded,
            late_max_ns: clock.length_ns(replay.late_max),
            stopped_at_ns: stopped.map(|stopped| clock.ns(stopped.ticks)),
            stopped_why: stopped.map(|stopped| why(stopped, header)),
        }
    }
}
