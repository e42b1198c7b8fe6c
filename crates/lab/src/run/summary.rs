//! The summary of a run.

use std::path::PathBuf;
use std::time::Duration;

use qemu::{Exit, Outcome};
use report::verdicts::{Row, Rule};
use serde::Serialize;

use crate::cachescope::Counts;
use crate::chains::Seen;
use crate::console::{Known, Vm};
use crate::deadlines::{Task, Tasks};
use crate::kvm::Colors;
use crate::made::Made;
use crate::record::Recorded;
use crate::verdicts::places;

/// The end of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// QEMU ended.
    Itself,
    /// The user left the console.
    Left,
    /// A user ended it, who did not want to wait for the end of QEMU.
    Interrupted,
}

/// The runner of a system, which messages name.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Runner {
    /// The hypervisor, on a board.
    #[default]
    Hypervisor,
    /// Threads of this process, under Linux and KVM.
    Kvm,
}

/// A run that is over.
#[derive(Debug)]
pub struct Summary {
    pub(super) name: String,
    pub(super) runner: Runner,
    pub(super) known: Known,
    pub(super) tasks: Tasks,
    pub(super) end: End,
    /// Each VM must have switched itself off.
    pub(super) until_off: bool,
    /// The machine; its console is in a file.
    pub(super) outcome: Outcome,
    /// The caches, if they were measured.
    pub(super) counts: Option<Result<Counts, String>>,
    /// The trace, if one was to be recorded.
    pub(super) trace: Option<Result<Recorded, String>>,
    pub(super) log_file: PathBuf,
    /// Remarks on the machine.
    pub(super) remarks: Vec<String>,
    /// The frames of VMs with colours, where they were looked at.
    pub(super) colors: Option<Colors>,
}

impl Summary {
    /// Returns true if all is well. Nothing is known of a run that was interrupted.
    pub fn is_ok(&self) -> bool {
        match self.end {
            End::Interrupted => false,
            End::Left | End::Itself => self.problems().is_empty(),
        }
    }

    /// Returns the runner of the system.
    pub fn runner(&self) -> Runner {
        self.runner
    }

    /// Returns true if QEMU ended by itself.
    pub fn is_over(&self) -> bool {
        self.end == End::Itself
    }

    /// Returns the heading of the table of tasks, if the table proves nothing.
    pub fn heading(&self) -> Option<&'static str> {
        self.tasks.heading()
    }

    /// Returns notes that help to read the rest, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let seen = self.colors.as_ref().and_then(Colors::note);
        let remarks = self.remarks.iter().cloned().chain(seen);
        remarks.chain(self.tasks.notes(&self.names())).collect()
    }

    /// Returns the reason why the run cannot be called well although nothing failed: something was not seen.
    pub fn unseen(&self) -> Option<String> {
        self.tasks.unseen(&self.names()).or_else(|| self.known.vms.iter().find_map(hidden))
    }

    fn names(&self) -> Vec<&str> {
        self.known.vms.iter().map(|vm| vm.name.as_str()).collect()
    }

    /// Everything that is not well, a sentence each.
    pub fn problems(&self) -> Vec<String> {
        let rows = self.rows().into_iter().filter(|row| row.fails());
        rows.flat_map(|row| row.reasons).collect()
    }

    /// Returns the end of the run.
    pub fn end(&self) -> End {
        self.end
    }

    /// Returns the verdicts on the run, its VMs, tasks and chains, and on the recording.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = vec![Row::new(Rule::Run, "run").fails_if(self.broken_off())];
        rows.extend(self.known.vms.iter().map(|vm| self.vm(vm)));
        rows.extend(self.colors.iter().flat_map(Colors::rows));
        rows.extend(self.tasks.rows(&self.names()));
        let counts = self.counts.as_ref().map(|it| ("counts of caches", it.as_ref().err()));
        let trace = self.trace.as_ref().map(|it| ("trace", it.as_ref().err()));
        let log = self.outcome.log_error.as_ref().map(|why| ("log", Some(why)));
        rows.extend(
            [counts, trace, log]
                .into_iter()
                .flatten()
                .map(|(what, why)| Row::new(Rule::Recording, what).fails_if(why.cloned())),
        );
        rows
    }

    /// Returns why the run did not end in good order, if it did not.
    fn broken_off(&self) -> Option<String> {
        if self.end != End::Itself {
            return None;
        }
        Some(match self.outcome.exit {
            Exit::TimedOut => {
                let seconds = self.outcome.elapsed.as_secs_f64();
                let why = match self.outcome.stderr.contains(NO_TIMER) {
                    true => {
                        ": at some time all VCPUs waited, and no timer was set that would wake one"
                    }
                    false => "",
                };
                format!("it timed out after {seconds:.1} s{why}")
            }
            Exit::Code(0) if self.known.power_off => return None,
            _ if self.runner == Runner::Kvm => match &*self.outcome.stderr {
                "" => "the run ended before all VMs did".into(),
                why => format!("the run was broken off: {why}"),
            },
            Exit::Code(0) => match &self.known.refusal {
                Some(why) => format!("the hypervisor started no VM: {why}"),
                None => "the hypervisor ended without power-off".into(),
            },
            exit => format!("QEMU ended with {exit}"),
        })
    }

    fn vm(&self, vm: &Vm) -> Row {
        let mut problems = Vec::new();
        let state = state(vm, self.known.ready);
        if state == "stopped" {
            let why = reason(vm).unwrap_or("no reason given");
            problems.push(format!("VM `{}` was stopped: {why}", vm.name));
        } else if self.until_off && state != "off" && self.end == End::Itself {
            problems.push(format!("VM `{}` did not switch itself off", vm.name));
        }
        let failures = vm.failures.iter();
        problems.extend(failures.map(|what| format!("VM `{}` says: {what}", vm.name)));
        let row = Row::new(Rule::Vm, places::vm(&vm.name));
        if problems.is_empty() { row.open_if(hidden(vm)) } else { row.fails_if(problems) }
    }

    /// The same for machines.
    pub fn document(&self) -> Document {
        let result = match (self.end, self.outcome.exit) {
            (End::Left, _) => "left",
            (End::Interrupted, _) => "interrupted",
            (End::Itself, Exit::TimedOut) => "timed-out",
            (End::Itself, _) if self.is_ok() => "ok",
            (End::Itself, _) => "failed",
        };
        let vms = self.known.vms.iter().zip(0..);
        let vms =
            vms.map(|(vm, index)| VmDocument::new(vm, self.known.ready, self.tasks.of(index)));
        Document {
            ok: self.is_ok(),
            result,
            name: self.name.clone(),
            problems: self.problems(),
            notes: self.notes().into_iter().chain(self.unseen()).collect(),
            unseen: self.is_ok() && self.unseen().is_some(),
            times: self.tasks.times(),
            qemu_messages: match self.runner {
                Runner::Hypervisor => messages(&self.outcome),
                Runner::Kvm => String::new(),
            },
            power_off: self.known.power_off,
            elapsed_ms: millis(self.outcome.elapsed),
            log_file: self.log_file.display().to_string(),
            vms: vms.collect(),
            chains: self.tasks.chains().to_vec(),
            colors: self.colors.clone(),
            cachescope: self.counts.as_ref().and_then(|counts| counts.as_ref().ok()).cloned(),
            trace: self.trace.as_ref().and_then(|trace| trace.as_ref().ok()).cloned(),
            made: Made::now("run"),
        }
    }
}

/// A run as `--json` shows it.
#[derive(Debug, Serialize)]
pub struct Document {
    /// True if all is well.
    pub ok: bool,
    /// `ok`, `failed`, `timed-out`, `interrupted` or `left`.
    pub result: &'static str,
    /// The name of the system.
    pub name: String,
    /// Problems, a sentence each.
    pub problems: Vec<String>,
    /// Notes that help to read the rest.
    pub notes: Vec<String>,
    /// True if nothing went wrong, but not all was seen; a note says what.
    pub unseen: bool,
    /// The exactness of times: `host`, `measured`, `turns`, `shared` or `exact`.
    pub times: &'static str,
    /// The messages of QEMU.
    pub qemu_messages: String,
    /// True if the hypervisor ended in good order.
    pub power_off: bool,
    /// The time for which QEMU ran, in time of this host.
    pub elapsed_ms: u64,
    /// All output of the console.
    pub log_file: String,
    /// The VMs with their tasks, in the order of the plan.
    pub vms: Vec<VmDocument>,
    /// The chains, if the run was recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<Seen>,
    /// The frames of VMs with colours, where they were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colors: Option<Colors>,
    /// The caches, if they were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cachescope: Option<Counts>,
    /// The trace, if one was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Recorded>,
    /// The origin of the document.
    pub made: Made,
}

/// A VM of a run.
#[derive(Debug, Serialize)]
pub struct VmDocument {
    /// Its name.
    pub name: String,
    /// `off`, `stopped`, `running` or `not-started`.
    pub state: String,
    /// The reason why it is so, if that is worth telling.
    pub reason: Option<String>,
    /// Restarts since the hypervisor started.
    pub restarts: Option<u64>,
    /// Exits of all its VCPUs.
    pub exits: Option<u64>,
    /// Interrupts injected.
    pub interrupts: Option<u64>,
    /// Lines of output.
    pub lines: u64,
    /// The time at which the first of them came, from the start of QEMU, in time of this host.
    pub first_line_ms: Option<u64>,
    /// The time at which the last of them came.
    pub last_line_ms: Option<u64>,
    /// Its tasks.
    pub tasks: Vec<Task>,
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

/// Returns why failures of a VM may not have been seen, if lines of the VM were hidden.
fn hidden(vm: &Vm) -> Option<String> {
    let why = || {
        format!("failures of `{}` were not seen while the console showed another VM alone", vm.name)
    };
    vm.hidden.then(why)
}

/// A part of the message of QEMU, once in deterministic time, when all CPUs wait and only input could wake one.
const NO_TIMER: &str = "icount sleep disabled and no active timers";

/// Returns the messages of QEMU, but for those that the summary has by itself: that it was asked to end, and that all CPUs wait.
fn messages(outcome: &Outcome) -> String {
    let known = ["terminating on signal 15 from pid", NO_TIMER];
    let lines = outcome.stderr.lines();
    lines.filter(|line| !known.iter().any(|it| line.contains(it))).collect::<Vec<_>>().join("\n")
}

/// Returns the state by the hypervisor's report; without one, by its message at the end of the VM.
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

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
