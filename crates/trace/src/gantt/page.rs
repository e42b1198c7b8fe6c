//! A page with the chart and tables, in one file without scripts.

use std::collections::BTreeMap;
use std::fmt::Write;

use report::Error;

use super::{chart, window};
use crate::timeline::{self, State};
use crate::{Trace, VcpuId};

const STYLE: &str = "body { font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 1140px; \
    padding: 0 1em; color: #1f2328; background: #ffffff; } \
    table { border-collapse: collapse; margin: 1em 0; } \
    th, td { border-bottom: 1px solid #d0d7de; padding: .2em .8em; text-align: right; } \
    th:first-child, td:first-child { text-align: left; } svg { max-width: 100%; height: auto; } \
    @media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } \
    th, td { border-color: #30363d; } }";

/// Returns the page from a time to another in nanoseconds, as [`super::svg`].
pub fn html(trace: &Trace, from_ns: Option<u64>, until_ns: Option<u64>) -> Result<String, Error> {
    let window = window(trace, from_ns, until_ns);
    let svg = chart(trace, &window).svg()?;
    let header = &trace.header;
    let title = escape(&format!("{} ({})", header.name, header.origin));
    let lost = match trace.lost() {
        0 => String::new(),
        lost => format!("<p><strong>{lost} records were lost.</strong></p>\n"),
    };
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{lost}{svg}\n\
         <h2>VCPUs, in all of the trace</h2>\n{}<h2>Tasks, in all of the trace</h2>\n{}</body>\n</html>\n",
        vcpus(trace),
        tasks(trace)
    ))
}

fn vcpus(trace: &Trace) -> String {
    let (clock, header) = (trace.clock(), &trace.header);
    let mut supply: BTreeMap<VcpuId, (u64, u64)> = BTreeMap::new();
    for pcpu in 0..trace.tracks.len() {
        for span in timeline::spans(trace, pcpu) {
            if let State::Runs(vcpu) = span.state {
                let (ticks, runs) = supply.entry(vcpu).or_default();
                *ticks += span.end - span.start;
                *runs += 1;
            }
        }
    }
    let all = trace.last().saturating_sub(trace.first()).max(1);
    let rows = header.vcpus().map(|(id, vcpu)| {
        let (ticks, runs) = supply.get(&id).copied().unwrap_or_default();
        let server = vcpu.server.as_ref().map_or("its PCPU for itself".into(), |it| it.to_string());
        [
            header.vcpu_name(id),
            vcpu.pcpu.to_string(),
            server,
            format!("{:.3}", clock.length_ns(ticks) as f64 / 1e6),
            format!("{:.2}", ticks as f64 * 100.0 / all as f64),
            runs.to_string(),
        ]
    });
    table(["VCPU", "PCPU", "server", "runs for (ms)", "of the time (%)", "begins to run"], rows)
}

fn tasks(trace: &Trace) -> String {
    let (clock, header) = (trace.clock(), &trace.header);
    let jobs = timeline::jobs(trace);
    let rows = jobs.iter().map(|(&(vcpu, task), jobs)| {
        let responses: Vec<u64> = jobs.iter().filter_map(|job| job.response()).collect();
        let sum: u128 = responses.iter().copied().map(u128::from).sum();
        let mean = sum.checked_div(responses.len() as u128).unwrap_or(0);
        let micros = |ticks: u64| format!("{:.3}", clock.length_ns(ticks) as f64 / 1e3);
        [
            header.task_name(vcpu, task),
            header.vcpu_name(vcpu),
            responses.len().to_string(),
            micros(responses.iter().copied().min().unwrap_or(0)),
            micros(u64::try_from(mean).unwrap_or(u64::MAX)),
            micros(responses.iter().copied().max().unwrap_or(0)),
        ]
    });
    let heading = ["task", "VCPU", "jobs", "shortest response (us)", "mean (us)", "longest (us)"];
    table(heading, rows)
}

fn table<const N: usize>(heading: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut text = String::from("<table>\n");
    let mut row = |tag: &str, cells: &[String]| {
        text.push_str("<tr>");
        for cell in cells {
            write!(text, "<{tag}>{}</{tag}>", escape(cell)).expect("a string takes text");
        }
        text.push_str("</tr>\n");
    };
    row("th", &heading.map(String::from));
    rows.for_each(|cells| row("td", &cells));
    text.push_str("</table>\n");
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
