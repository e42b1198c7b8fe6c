//! What a run comes to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bulkhead_qemu::{Exit, Outcome};
use bulkhead_report::text::table;
use lab::cachescope::Counts;
use lab::console::{Known, Vm};
use lab::deadlines::{Task, Tasks};
use lab::record::Recorded;
use serde::Serialize;

use super::counts;
use crate::status::Status;

/// What ended the run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// QEMU ended.
    Itself,
    /// The user left the console.
    Left,
    /// This signal.
    Signal(i32),
}

/// A run that is over.
#[derive(Debug)]
pub struct Summary {
    name: String,
    known: Known,
    tasks: Tasks,
    end: End,
    exit: Exit,
    elapsed: Duration,
    qemu_messages: String,
    counts: Option<Result<Counts, String>>,
    trace: Option<Result<Recorded, String>>,
    log_file: PathBuf,
}

/// What QEMU says, but for that it was asked to end.
fn messages(outcome: &Outcome) -> String {
    let asked = |line: &&str| line.contains("terminating on signal 15 from pid");
    outcome.stderr.lines().filter(|line| !asked(line)).collect::<Vec<_>>().join("\n")
}

impl Summary {
    /// Puts together what is known. `counts` are there if the caches were measured.
    pub fn new(
        name: &str,
        (known, tasks): (Known, Tasks),
        end: End,
        outcome: &Outcome,
        counts: Option<Result<Counts, String>>,
        log_file: &Path,
    ) -> Self {
        Self {
            name: name.into(),
            known,
            tasks,
            end,
            exit: outcome.exit,
            elapsed: outcome.elapsed,
            qemu_messages: messages(outcome),
            counts,
            trace: None,
            log_file: log_file.to_owned(),
        }
    }

    /// Adds the trace, if one was recorded.
    pub fn with_trace(mut self, trace: Option<Result<Recorded, String>>) -> Self {
        self.trace = trace;
        self
    }

    /// The exit status: whether all is well. With `until_off`, each VM must have
    /// switched itself off.
    pub fn status(&self, until_off: bool) -> Status {
        match self.end {
            End::Signal(signal) => Status::Signal(signal),
            End::Left => Status::Yes,
            End::Itself if self.problems(until_off).is_empty() => Status::Yes,
            End::Itself => Status::No,
        }
    }

    fn names(&self) -> Vec<&str> {
        self.known.vms.iter().map(|vm| vm.name.as_str()).collect()
    }

    /// Everything that is not well, a sentence each.
    fn problems(&self, until_off: bool) -> Vec<String> {
        let mut problems = Vec::new();
        if self.end == End::Itself {
            match self.exit {
                Exit::TimedOut => {
                    problems
                        .push(format!("it timed out after {:.1} s", self.elapsed.as_secs_f64()));
                }
                Exit::Code(0) if self.known.power_off => {}
                Exit::Code(0) => problems.push(match &self.known.refusal {
                    Some(why) => format!("the hypervisor started no VM: {why}"),
                    None => "the hypervisor ended without power-off".into(),
                }),
                exit => problems.push(format!("QEMU ended with {exit}")),
            }
        }
        for vm in &self.known.vms {
            let state = state(vm, self.known.ready);
            if state == "stopped" {
                problems.push(format!(
                    "VM `{}` was stopped: {}",
                    vm.name,
                    reason(vm).unwrap_or("no reason given")
                ));
            } else if until_off && state != "off" && self.end == End::Itself {
                problems.push(format!("VM `{}` did not switch itself off", vm.name));
            }
            let failures = vm.failures.iter();
            problems.extend(failures.map(|what| format!("VM `{}` says: {what}", vm.name)));
        }
        problems.extend(self.tasks.problems(&self.names()));
        if let Some(Err(why)) = &self.counts {
            problems.push(why.clone());
        }
        if let Some(Err(why)) = &self.trace {
            problems.push(why.clone());
        }
        problems
    }

    /// The summary for people.
    pub fn text(&self, until_off: bool) -> String {
        let rows: Vec<_> = self.known.vms.iter().map(|vm| row(vm, self.known.ready)).collect();
        let heading = [
            "VM",
            "state",
            ">restarts",
            ">exits",
            ">interrupts",
            ">lines",
            ">first line",
            ">last line",
        ];
        let mut text = format!("\n{}", table(&heading, &rows));
        let names = self.names();
        let tasks = self.tasks.all().iter().map(|task| task_row(names[task.vm], task));
        let tasks: Vec<_> = tasks.collect();
        if !tasks.is_empty() {
            let heading = [
                "VM",
                "task",
                ">period",
                ">jobs",
                ">misses",
                ">response min",
                ">mean",
                ">max",
                ">deadline",
                ">bound",
            ];
            text.push('\n');
            text.extend(self.tasks.heading().map(|heading| format!("{heading}\n")));
            text.push_str(&table(&heading, &tasks));
        }
        if let Some(Ok(counts)) = &self.counts {
            text.push_str(&format!("\n{}", counts::text(counts)));
        }
        text.push('\n');
        if let Some(Ok(recorded)) = &self.trace {
            text.push_str(&recording(recorded));
        }
        let problems = self.problems(until_off);
        // QEMU also warns of things that are as they should be.
        for line in self.qemu_messages.lines().filter(|_| !problems.is_empty()) {
            text.push_str(&format!("QEMU says: {line}\n"));
        }
        for note in self.tasks.notes(&names) {
            text.push_str(&format!("note: {note}\n"));
        }
        for problem in &problems {
            text.push_str(&format!("not well: {problem}\n"));
        }
        if problems.is_empty() && self.end == End::Itself {
            text.push_str(&match self.tasks.unseen(&names) {
                None => "all is well\n".into(),
                Some(unseen) => format!("nothing went wrong, but {unseen}\n"),
            });
        } else {
            text.push_str(&format!("log: {}\n", self.log_file.display()));
        }
        text
    }

    /// The summary for machines.
    pub fn document(&self, until_off: bool) -> Document {
        let result = match (self.status(until_off), self.end, self.exit) {
            (_, End::Left, _) => "left",
            (_, End::Signal(_), _) => "interrupted",
            (_, End::Itself, Exit::TimedOut) => "timed-out",
            (Status::Yes, ..) => "ok",
            _ => "failed",
        };
        let names = self.names();
        Document {
            ok: self.status(until_off) == Status::Yes,
            result,
            name: self.name.clone(),
            problems: self.problems(until_off),
            notes: self.tasks.notes(&names).into_iter().chain(self.tasks.unseen(&names)).collect(),
            times: self.tasks.times(),
            qemu_messages: self.qemu_messages.clone(),
            power_off: self.known.power_off,
            elapsed_ms: millis(self.elapsed),
            log_file: self.log_file.display().to_string(),
            vms: self
                .known
                .vms
                .iter()
                .zip(0..)
                .map(|(vm, index)| VmDocument::new(vm, self.known.ready, self.tasks.of(index)))
                .collect(),
            cachescope: self.counts.as_ref().and_then(|counts| counts.as_ref().ok()).cloned(),
            trace: self.trace.as_ref().and_then(|trace| trace.as_ref().ok()).cloned(),
        }
    }
}

/// A run as `--json` shows it.
#[derive(Debug, Serialize)]
pub struct Document {
    ok: bool,
    result: &'static str,
    name: String,
    problems: Vec<String>,
    /// What has to be known to read the rest.
    notes: Vec<String>,
    /// How exact times are: `host`, `turns` or `exact`.
    times: &'static str,
    qemu_messages: String,
    power_off: bool,
    elapsed_ms: u64,
    log_file: String,
    vms: Vec<VmDocument>,
    /// The caches, if they were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    cachescope: Option<Counts>,
    /// The trace, if one was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Recorded>,
}

#[derive(Debug, Serialize)]
struct VmDocument {
    name: String,
    state: String,
    reason: Option<String>,
    restarts: Option<u64>,
    exits: Option<u64>,
    interrupts: Option<u64>,
    lines: u64,
    first_line_ms: Option<u64>,
    last_line_ms: Option<u64>,
    tasks: Vec<Task>,
}

impl VmDocument {
    fn new(vm: &Vm, ready: bool, tasks: Vec<Task>) -> Self {
        let report = vm.report.as_ref();
        Self {
            name: vm.name.clone(),
            state: state(vm, ready).into(),
            reason: reason(vm).map(str::to_owned),
            restarts: report.map(|report| report.restarts),
            exits: report.map(|report| report.exits),
            interrupts: report.map(|report| report.irqs),
            lines: vm.lines,
            first_line_ms: vm.first_line.map(millis),
            last_line_ms: vm.last_line.map(millis),
            tasks,
        }
    }
}

/// By the hypervisor's report; without one, by what it said when the VM ended.
fn state(vm: &Vm, ready: bool) -> &str {
    match (&vm.report, &vm.ended) {
        (Some(report), _) => &report.state,
        (None, Some((state, _))) => state,
        (None, None) if ready => "running",
        (None, None) => "not-started",
    }
}

fn reason(vm: &Vm) -> Option<&str> {
    match (&vm.report, &vm.ended) {
        (Some(report), _) => report.reason.as_deref(),
        (None, ended) => ended.as_ref().map(|(_, reason)| reason.as_str()),
    }
}

fn row(vm: &Vm, ready: bool) -> Vec<String> {
    let number = |value: Option<u64>| value.map_or("-".into(), |value| value.to_string());
    let time = |time: Option<Duration>| {
        time.map_or("-".into(), |time| format!("{:.3} s", time.as_secs_f64()))
    };
    let report = vm.report.as_ref();
    let state = match reason(vm) {
        Some(reason) => format!("{} ({reason})", state(vm, ready)),
        None => state(vm, ready).into(),
    };
    vec![
        vm.name.clone(),
        state,
        number(report.map(|report| report.restarts)),
        number(report.map(|report| report.exits)),
        number(report.map(|report| report.irqs)),
        vm.lines.to_string(),
        time(vm.first_line),
        time(vm.last_line),
    ]
}

fn task_row(vm: &str, task: &Task) -> Vec<String> {
    let micros = |nanos: Option<u64>| {
        nanos.map_or("-".into(), |nanos| format!("{}.{:03} us", nanos / 1000, nanos % 1000))
    };
    vec![
        vm.into(),
        task.name.clone(),
        task.period_us.map_or("-".into(), |period| format!("{period} us")),
        task.jobs.to_string(),
        task.misses.to_string(),
        micros(task.response_min_ns),
        micros(task.response_mean_ns),
        micros(task.response_max_ns),
        micros(task.deadline_ns),
        micros(task.bound_ns),
    ]
}

/// What was recorded, for people.
fn recording(Recorded { file, records, lost }: &Recorded) -> String {
    let lost = match lost {
        0 => "none lost".into(),
        lost => {
            format!("{lost} LOST: the hypervisor wrote records faster than this machine read them")
        }
    };
    format!("trace: {file}, {records} records, {lost}\n")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
