//! `bulkhead plan --front`: plans of which none is better than another one in everything.

use std::path::{Path, PathBuf};

use lab::amount::percent;
use lab::load::{self, System};
use planner::completion::{Outcome, Point};
use report::text::table;
use report::{Axis, Line, LineChart};
use serde::Serialize;

use super::PlanOptions;
use super::search;
use super::written::{self, Written};
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Lines of the chart.
const LINES: usize = 5;

/// Runs the command with `--front`, and with a file for the chart if there is one.
pub fn front(
    options: &PlanOptions,
    chart: Option<&Path>,
    as_json: bool,
) -> Result<Status, Failure> {
    if chart == Some(Path::new("-")) {
        let text = "the chart of a front needs a file\nhelp: name one with `--front=FILE.svg`";
        return Err(Failure::new("no-file", text));
    }
    let (plans, outcome) = search::searching(options, |ends| {
        let system = load::description(&options.file)?;
        let vm = options.vm.as_deref().map(|vm| index(&system, vm)).transpose()?;
        load::front(&options.file, vm, |system| ends.options(options, system))
    })?;
    let svg = chart.map(|_| svg(&plans)).transpose()?;
    let files = match &options.output {
        Some(folder) => write(folder, &plans)?,
        None => vec![None; plans.len()],
    };
    if let (Some(chart), Some(svg)) = (chart, svg) {
        image::write(chart, svg.as_bytes())?;
    }
    if as_json {
        json::print(&Document::new(&plans, &files, &outcome)?)?;
    } else {
        let text = show(options, &plans, &files, &outcome);
        let chart = chart.map_or(String::new(), |chart| format!("chart: {}\n", chart.display()));
        output::print(&format!("{text}{chart}"))?;
    }
    Ok(Status::Yes)
}

fn index(system: &system::description::System, vm: &str) -> Result<usize, lab::Failure> {
    let names: Vec<&str> = system.vms.iter().map(|vm| vm.name.value.as_str()).collect();
    names.iter().position(|name| *name == vm).ok_or_else(|| {
        let known = names.join("`, `");
        let text = format!("there is no VM `{vm}`\nhelp: the VMs are `{known}`");
        lab::Failure::new("unknown-vm", text)
    })
}

/// Writes `NAME.1.plan.dts` (or `.planned.toml`) and so on; returns their places.
fn write(folder: &Path, plans: &[(System, Point)]) -> Result<Vec<Option<PathBuf>>, Failure> {
    if folder == Path::new("-") {
        let text = "the plans of a front need a folder\nhelp: name one with `-o DIR`";
        return Err(Failure::new("no-folder", text));
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::file("output", format!("cannot make {}: {error}", folder.display()))
    })?;
    let each = plans.iter().enumerate().map(|(index, (system, _))| {
        let ending = written::ending(system);
        let target = folder.join(format!("{}.{}.{ending}", system.plan.name, index + 1));
        let written = Written::new(&mut system.clone(), Some(&target))?;
        image::write(&target, written.text().as_bytes())?;
        Ok(Some(target))
    });
    each.collect()
}

fn show(
    options: &PlanOptions,
    plans: &[(System, Point)],
    files: &[Option<PathBuf>],
    outcome: &Outcome,
) -> String {
    let limited = plans.iter().any(|(_, point)| point.accesses.is_some());
    let rows: Vec<Vec<String>> = plans
        .iter()
        .zip(files)
        .enumerate()
        .map(|(index, ((_, point), file))| {
            let hundredths = point.total_ppm.div_ceil(10_000);
            let total = format!("{}.{:02} PCPUs", hundredths / 100, hundredths % 100);
            let mut row = vec![(index + 1).to_string(), total, percent(point.slack_ppm)];
            row.extend(limited.then(|| point.accesses.unwrap_or(0).to_string()));
            row.extend(file.iter().map(|file| file.display().to_string()));
            row
        })
        .collect();
    let mut heading = vec![">plan", ">processor time", ">execution times can grow by"];
    heading.extend(limited.then_some(">accesses in a second"));
    heading.extend(files.iter().any(Option::is_some).then_some("file"));
    format!("{}{}", table(&heading, &rows), search::show(options, outcome))
}

fn svg(plans: &[(System, Point)]) -> Result<String, Failure> {
    let mut points: Vec<&Point> = plans.iter().map(|(_, point)| point).collect();
    points.sort_by_key(|point| (point.accesses, point.total_ppm));
    let each = match points.iter().any(|point| point.accesses.is_some()) {
        true => points.len().div_ceil(LINES).max(1),
        false => points.len().max(1),
    };
    let lines = points.chunks(each).map(|points| {
        let of = |point: &&Point| point.accesses.unwrap_or(0);
        let (least, most) = (points.iter().map(of).min(), points.iter().map(of).max());
        let name = match (points[0].accesses, least, most) {
            (Some(_), Some(least), Some(most)) if least == most => format!("{least} accesses/s"),
            (Some(_), Some(least), Some(most)) => format!("{least} to {most} accesses/s"),
            _ => "plans".into(),
        };
        let mut line: Vec<(f64, f64)> = points
            .iter()
            .map(|point| (point.total_ppm as f64 / 1e6, point.slack_ppm as f64 / 1e4))
            .collect();
        line.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        Line { name, points: line }
    });
    let name = plans.first().map_or("", |(system, _)| system.plan.name.as_str());
    let chart = LineChart {
        title: format!("Plans of {name}"),
        x: Axis { label: "processor time of all VCPUs (PCPUs)".into(), from_zero: false },
        y: Axis::from_zero("execution times can grow by (%)"),
        lines: lines.collect(),
    };
    chart.svg().map_err(|error| Failure::new("chart", error))
}

#[derive(Serialize)]
struct Document {
    ok: bool,
    points: Vec<PointDocument>,
    search: Outcome,
}

#[derive(Serialize)]
struct PointDocument {
    total_ppm: u64,
    slack_ppm: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    accesses_per_s: Option<u64>,
    plan_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_dts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_toml: Option<String>,
}

impl Document {
    fn new(
        plans: &[(System, Point)],
        files: &[Option<PathBuf>],
        outcome: &Outcome,
    ) -> Result<Self, Failure> {
        let point = |((system, point), file): (&(System, Point), &Option<PathBuf>)| {
            let written = Written::new(&mut system.clone(), None)?;
            Ok::<_, Failure>(PointDocument {
                total_ppm: point.total_ppm,
                slack_ppm: point.slack_ppm,
                accesses_per_s: point.accesses.map(|it| u64::try_from(it).unwrap_or(u64::MAX)),
                plan_file: file.as_ref().map(|file| file.display().to_string()),
                plan_dts: written.dts().map(str::to_owned),
                plan_toml: written.toml().map(str::to_owned),
            })
        };
        let points = plans.iter().zip(files).map(point).collect::<Result<_, _>>()?;
        Ok(Self { ok: true, points, search: *outcome })
    }
}
