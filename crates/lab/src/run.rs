//! One run of a system: prepared and started in QEMU, and judged when it is over.

mod summary;
mod target;

use std::path::PathBuf;
use std::time::Duration;

use qemu::{Exit, LogFile, Time};
use system::plan::Plan;

use crate::board::board;
use crate::boot::{self, Ran, Running, Start};
use crate::cachescope::{self, Cachescope, SHORT_TURNS};
use crate::deadlines::{Tasks, Times};
use crate::failure::Failure;
use crate::hypervisor::Found;
use crate::kvm::Colors;
use crate::load::System;
use crate::record::{Live, read_trace};
use crate::workspace::{Scratch, Workspace};

pub use summary::{Document, End, Runner, Summary, VmDocument};
pub(crate) use target::Target;

/// Time for QEMU to end after its console is closed, or when it is asked to.
pub const GRACE: Duration = Duration::from_secs(5);

/// The clock of a machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Clock {
    /// The clock of this host.
    Host,
    /// One instruction takes 1 ns: every run is the same. CPUs take turns of 1 ms and more.
    Deterministic,
    /// The same with turns of 500 instructions.
    ShortTurns,
    /// The same as [`Clock::Deterministic`], and cachescope counts accesses; with its option `time=model` they take time.
    Cachescope {
        /// The folder for the results.
        folder: PathBuf,
        /// Options of the plugin, `KEY=VALUE`.
        options: Vec<String>,
    },
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time in the machine.
    pub clock: Clock,
    /// The file for a trace, if one is wanted.
    pub trace: Option<PathBuf>,
    /// Is told the events in the machine, while they happen.
    pub live: Option<Live>,
    /// It is a failure if a VM does not switch itself off.
    pub until_off: bool,
    /// The machine is asked to end after this time, which is a failure.
    pub timeout: Option<Duration>,
    /// The file for all output of the console, if not the one in the workspace.
    pub log: Option<PathBuf>,
    /// More arguments for QEMU.
    pub arguments: Vec<String>,
}

/// A run that can be started, on any machine.
pub trait Prepared {
    /// Starts the machine.
    fn start(&mut self) -> Result<Running, Failure>;
    /// Returns the summary of the run that left `ran`, and that `end` ended.
    fn judge(self, ran: Ran, end: End) -> Result<Summary, Failure>;
}

/// A run on a board of QEMU that can be started.
#[derive(Debug)]
pub struct OnQemu<'a> {
    system: &'a System,
    options: Options,
    machine: boot::Prepared<'a>,
    target: Target,
    log: LogFile,
    times: Times,
    /// Removed with this value.
    _scratch: Option<Scratch>,
}

/// Returns true if all VCPUs are on one PCPU: the others are idle, for which QEMU's clock does not wait.
fn has_one_pcpu(plan: &Plan) -> bool {
    let mut pcpus = plan.vms.iter().flat_map(|vm| &vm.vcpus).map(|vcpu| vcpu.pcpu);
    let first = pcpus.next();
    pcpus.all(|pcpu| Some(pcpu) == first)
}

impl<'a> OnQemu<'a> {
    /// Builds the image of a system, and finds the programs and files to run it.
    pub fn new(system: &'a System, found: &Found, options: Options) -> Result<Self, Failure> {
        let image = system.image(&found.load()?)?;
        if !matches!(options.clock, Clock::ShortTurns | Clock::Cachescope { .. }) {
            cachescope::check_not_needed(system)?;
        }
        board(system)?;
        let place = Workspace::new(found, &system.plan.name)?;
        let mut turns = None;
        let scope = match &options.clock {
            Clock::Host | Clock::Deterministic => None,
            Clock::ShortTurns => {
                let folder = turns.insert(place.scratch()?).path();
                Some(Cachescope::prepare(folder, system, found)?.with_options(&SHORT_TURNS))
            }
            Clock::Cachescope { folder, options } => {
                Some(Cachescope::prepare(folder, system, found)?.with_options(options))
            }
        };
        let times = match &options.clock {
            Clock::Host => Times::Host,
            Clock::ShortTurns if has_one_pcpu(&system.plan) => Times::Exact,
            Clock::ShortTurns => Times::Shared,
            _ if scope.as_ref().is_some_and(Cachescope::is_model_time) => Times::Exact,
            _ => Times::Turns,
        };
        let machine = boot::Prepared::new(system, &image.bytes, &place)?.with_cachescope(scope);
        let can_record = machine.can_record() || options.live.is_some();
        let target = Target::new(system, &options, &place, can_record)?;
        let log = options.log.clone().map_or_else(|| place.log(), LogFile::named);
        Ok(Self { system, options, machine, target, log, times, _scratch: turns })
    }
}

impl Prepared for OnQemu<'_> {
    fn start(&mut self) -> Result<Running, Failure> {
        self.machine.start(Start {
            time: match self.options.clock {
                Clock::Host => Time::Real,
                _ => Time::Deterministic,
            },
            timeout: self.options.timeout,
            log: self.log.clone(),
            keep_log: false,
            record: self.target.file(),
            live: self.options.live.clone(),
            arguments: &self.options.arguments,
        })
    }

    fn judge(self, ran: Ran, end: End) -> Result<Summary, Failure> {
        if let Exit::Code(code @ 1..) = ran.outcome.exit
            && !ran.known.spoke
        {
            let why = match ran.outcome.stderr.trim() {
                "" => String::new(),
                said => format!("\nQEMU says: {said}"),
            };
            let text =
                format!("QEMU did not start the machine: it ended with exit status {code}{why}");
            return Err(Failure::new("qemu", text));
        }
        let wanted = matches!(self.options.clock, Clock::Cachescope { .. });
        let counts = self.machine.cachescope().filter(|_| wanted).map(Cachescope::counts);
        let circumstances = Circumstances {
            runner: Runner::Hypervisor,
            times: self.times,
            until_off: self.options.until_off,
            trace: self.target.file().map(|(path, _)| path.to_owned()),
            log: self.log.path().to_owned(),
            end,
            remarks: Vec::new(),
            colors: None,
        };
        let summary = judge(self.system, ran, circumstances);
        Ok(Summary { counts, ..self.target.without_scratch(summary) })
    }
}

/// Facts that a judgement needs about a run besides those that the machine left.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// The runner of the system.
    pub runner: Runner,
    /// The exactness of the times of the machine.
    pub times: Times,
    /// It is a failure if a VM does not switch itself off.
    pub until_off: bool,
    /// The file to which a trace was recorded, if there is one.
    pub trace: Option<PathBuf>,
    /// The file with all output of the console.
    pub log: PathBuf,
    /// The end of the run.
    pub end: End,
    /// Remarks on the machine, a sentence each.
    pub remarks: Vec<String>,
    /// The frames of VMs with colours, where they were looked at.
    pub colors: Option<Colors>,
}

/// Judges a run of a system that left `ran`, on any machine.
pub fn judge(system: &System, ran: Ran, circumstances: Circumstances) -> Summary {
    let Circumstances { runner, times, until_off, log, end, remarks, colors, .. } = circumstances;
    let mut recorded = ran.recorded;
    let mut trace = None;
    if let (Some(path), Some(Ok(_))) = (circumstances.trace, &recorded) {
        match read_trace(&path) {
            Ok(it) => trace = Some(it),
            Err(failure) => recorded = Some(Err(failure.to_string())),
        }
    }
    let tasks = Tasks::new(system, trace.as_ref(), &ran.known, times);
    Summary {
        name: system.plan.name.clone(),
        runner,
        known: ran.known,
        tasks,
        end,
        until_off,
        outcome: ran.outcome,
        counts: None,
        trace: recorded,
        log_file: log,
        remarks,
        colors,
    }
}
