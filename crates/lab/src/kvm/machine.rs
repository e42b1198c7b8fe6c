//! The host as a machine: its console, its trace, and its end.

mod console;
mod limits;
mod sharing;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use abi::guest::RAM;
use abi::trace::Record;
use host::colors::{Colored, Extra, Findings};
use host::machine::{self as host_machine, FREQUENCY_HZ, Guest, Id, Linux, Records, Seats};
use qemu::{Chunk, Exit, Input, Log, LogFile, Next, Outcome};
use system::description::Protocol;
use system::plan::Vm;

use crate::boot::Machine;
use crate::decisions;
use crate::failure::Failure;
use crate::load::System;
use crate::record::{Feed, Opened};
use crate::watch::Watch;
use console::Console;

/// Time between two looks at the records of PCPUs. There is room for 65,536 of each: only a guest that writes marks as fast as
/// it can fills that in the shorter time. Looking takes time from a host that may have few CPUs.
const LONG_PAUSE: Duration = Duration::from_millis(8);
const SHORT_PAUSE: Duration = Duration::from_millis(1);
/// With fewer records since the last look, the next one may come later.
const FEW_RECORDS: usize = 1_024;

/// The VMs of a system, which can be started once.
#[derive(Debug)]
pub struct Host {
    prepared: Option<host_machine::Prepared>,
    findings: Shown,
}

/// The findings about frames with colours: there when the VMs have ended.
type Shown = Arc<Mutex<Option<Findings>>>;

impl Host {
    /// Makes the VMs of a system. `watch` can stop the search for frames of their colours.
    pub fn new(system: &System, watch: &dyn Watch) -> Result<Self, Failure> {
        let guests = system.plan.vms.iter().map(|vm| guest(system, vm));
        let guests = guests.collect::<Result<_, Failure>>()?;
        let pcpus = decisions::all_planned(&system.plan, FREQUENCY_HZ)?;
        let seats = pcpus.iter().zip(&system.plan.platform.cpus).map(|(vcpus, cpu)| Seats {
            cpu: cpu.0 as usize,
            vcpus: vcpus.iter().map(|it| Id { vm: it.vcpu.vm, vcpu: it.vcpu.vcpu }).collect(),
        });
        let sharing = sharing::sharing(&system.plan);
        let stops = || watch.stops();
        let prepared = host_machine::Prepared::new(guests, seats.collect(), sharing, &stops);
        let prepared = prepared.map_err(|error| match &error {
            host_machine::Error::OfVm { vm, error } => {
                let name = system.plan.vms.get(*vm).map_or("", |vm| &vm.name);
                Failure::new(code(error), format!("VM `{name}`: {error}"))
            }
            error => failed(error),
        })?;
        let prepared = prepared.with_limits(limits::limits(&system.plan));
        Ok(Self { prepared: Some(prepared), findings: Shown::default() })
    }

    /// Tells a model of the host's caches, where QEMU has one, the frames of all VMs before they start.
    pub fn telling_frames(self) -> Self {
        let prepared = self.prepared.map(host_machine::Prepared::telling_frames);
        Self { prepared, ..self }
    }

    /// Returns the findings about the frames of VMs with colours, when the VMs have ended.
    pub fn findings(&self) -> Option<Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts the VMs. Their output goes into the file `log`, too. After `timeout` they are stopped.
    pub fn start(
        &mut self,
        system: &System,
        log: &LogFile,
        timeout: Option<Duration>,
    ) -> Result<(Box<dyn Machine>, RecordFeed), Failure> {
        let log = log.create()?;
        let Some(prepared) = self.prepared.take() else {
            return Err(Failure::new("kvm", "the VMs have been started already"));
        };
        let planned = decisions::all_planned(&system.plan, FREQUENCY_HZ)?;
        let rules = decisions::rules(&system.plan, FREQUENCY_HZ);
        let scheduler = |start| {
            let scheduler = |vcpus: &Vec<_>| trace::scheduler(vcpus, rules, start);
            planned.iter().map(scheduler).collect::<Result<Vec<_>, _>>()
        };
        // The start changes nothing about whether it can be done.
        scheduler(0).map_err(|error| Failure::new("kvm", error))?;
        let start = Instant::now();
        let mut running = prepared
            .start(|start| scheduler(start).unwrap_or_default())
            .map_err(|it| failed(&it))?;
        let records = running.take_records();
        let mut console = Console::new(system.plan.vms.iter().map(|vm| vm.name.clone()));
        let machine = Session {
            running,
            waiting: VecDeque::from([console.ready()]),
            console,
            log,
            findings: Arc::clone(&self.findings),
            start,
            timeout,
            timed_out: false,
            is_over: false,
        };
        Ok((Box::new(machine), RecordFeed(records)))
    }
}

fn failed(error: &host_machine::Error) -> Failure {
    Failure::new(code(error), error)
}

/// Returns the stable name of an error.
fn code(error: &host_machine::Error) -> &'static str {
    match error {
        host_machine::Error::Claimed { .. } => "cpu-taken",
        host_machine::Error::Colors(_) | host_machine::Error::TooLittle { .. } => "no-memory",
        host_machine::Error::HiddenFrames => "pagemap",
        host_machine::Error::NoCounter { .. } => "counter",
        _ => "kvm",
    }
}

/// Reads a file of a guest; `what` says which.
fn file(system: &System, vm: &Vm, name: &str, what: &str) -> Result<Vec<u8>, Failure> {
    let path = system.folder.join(name);
    std::fs::read(&path).map_err(|error| {
        let advice = image::checkout::advice(&path);
        let (name, path) = (&vm.name, path.display());
        let text =
            format!("cannot read {path}, the {what} of VM `{name}`: {error}\nhelp: {advice}");
        Failure::file("cannot-read", text)
    })
}

/// Returns the other parts of a Linux, if the VM has one.
fn linux(system: &System, vm: &Vm) -> Result<Option<Linux>, Failure> {
    let described = system.description.iter().flat_map(|it| &it.vms);
    let described = described.into_iter().find(|it| it.name.value == vm.name);
    if described.is_none_or(|it| it.boot.protocol == Protocol::Raw) {
        return Ok(None);
    }
    let initrd = vm.boot.initrd.as_ref();
    let initrd = initrd.map(|it| file(system, vm, &it.file, "initial RAM disk"));
    Ok(Some(Linux { initrd: initrd.transpose()? }))
}

/// Reads the files of a guest.
fn guest(system: &System, vm: &Vm) -> Result<Guest, Failure> {
    let path = system.folder.join(&vm.boot.kernel.file);
    let file = file(system, vm, &vm.boot.kernel.file, "kernel")?;
    let linux = linux(system, vm)?;
    let (load, size) = (vm.boot.kernel.load.0, vm.memory_size().0);
    let is_too_long = file.len() as u64 > RAM.saturating_add(size).saturating_sub(load);
    if linux.is_none() && is_too_long {
        let (name, path, bytes) = (&vm.name, path.display(), file.len());
        let text = format!(
            "{path}, the kernel of VM `{name}`, has {bytes} bytes, and does not fit its RAM\n\
             help: raise `memory`, of which the kernel needs its size and {} KiB before it",
            load.saturating_sub(RAM) >> 10
        );
        return Err(Failure::new("no-memory", text));
    }
    Ok(Guest {
        ram_bytes: size,
        colors: colors(system, vm)?,
        file,
        load,
        entry: vm.boot.entry.0,
        arguments: vm.boot.bootargs.clone().unwrap_or_default(),
        restarts: vm.lifecycle.restarts(),
        linux,
    })
}

/// The colours of a VM's memory.
fn colors(system: &System, vm: &Vm) -> Result<Option<Colored>, Failure> {
    let described = system.description.as_ref().map(|it| &it.platform);
    let extra = vm.pool.map(|it| Extra { colors: it.area.colors, pages: it.frames });
    let has_some = vm.colors().is_some() || extra.is_some();
    let (true, Some(platform)) = (has_some, described) else { return Ok(None) };
    let geometry = platform.value.colors();
    let geometry = geometry.map_err(|why| {
        let name = &platform.value.name;
        Failure::new("unknown-colors", format!("`{name}` has no colours: {why}"))
    })?;
    // A VM that has only extra colours has its RAM anywhere, but in frames that are known.
    let colors = vm.colors().unwrap_or(geometry.all());
    Ok(Some(Colored { geometry, colors, shown: vm.vllc, extra }))
}

/// The traces of the PCPUs.
pub struct RecordFeed(Vec<Records>);

impl Feed for RecordFeed {
    fn open(&mut self) -> Result<Option<Opened>, String> {
        Ok(Some(Opened { frequency_hz: FREQUENCY_HZ, pcpus: self.0.len() }))
    }

    fn poll(&mut self, pcpu: usize, records: &mut Vec<Record>) -> std::io::Result<u64> {
        Ok(self.0.get_mut(pcpu).map_or(0, |it| it.poll(records)))
    }

    fn pause(&self, records: usize) -> Duration {
        if records < FEW_RECORDS { LONG_PAUSE } else { SHORT_PAUSE }
    }
}

/// VMs that run.
struct Session {
    running: host_machine::Running,
    /// Output that was not given out yet.
    waiting: VecDeque<String>,
    console: Console,
    log: Log,
    findings: Shown,
    start: Instant,
    timeout: Option<Duration>,
    timed_out: bool,
    /// All VMs have ended, and the console has said so.
    is_over: bool,
}

impl Session {
    /// Stops all VMs, and waits up to `grace` for that.
    fn stopped(mut self, grace: Duration) -> Outcome {
        self.running.stop();
        let end = Instant::now() + grace;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.next(left) {
                Next::Ended => break,
                Next::Output(_) => {}
                Next::Idle if left.is_zero() => break,
                Next::Idle => {}
            }
        }
        self.outcome()
    }

    fn outcome(mut self) -> Outcome {
        let findings = self.running.take_findings();
        *self.findings.lock().unwrap_or_else(PoisonError::into_inner) = findings;
        let failure = self.running.failure().map(String::from).or_else(|| self.running.untrue());
        let exit = match failure {
            Some(_) => Exit::Code(1),
            None if self.timed_out => Exit::TimedOut,
            None => Exit::Code(0),
        };
        Outcome {
            exit,
            log: String::new(),
            log_file: None,
            log_error: self.log.end().error(),
            stderr: failure.unwrap_or_default(),
            elapsed: self.start.elapsed(),
        }
    }

    /// Waits up to `timeout` for text.
    fn text(&mut self, timeout: Duration) -> Option<String> {
        if let Some(text) = self.waiting.pop_front() {
            return Some(text);
        }
        match self.running.next(timeout) {
            host_machine::Next::News(news) => Some(self.console.tell(news)),
            host_machine::Next::Nothing => None,
            host_machine::Next::End if self.is_over => None,
            host_machine::Next::End => {
                self.is_over = true;
                Some(self.console.end(self.running.failure().is_none()))
            }
        }
    }
}

impl Machine for Session {
    fn next(&mut self, timeout: Duration) -> Next {
        if !self.timed_out && self.timeout.is_some_and(|limit| self.start.elapsed() >= limit) {
            self.timed_out = true;
            self.running.stop();
        }
        match self.text(timeout) {
            Some(text) => {
                self.log.write(text.as_bytes());
                Next::Output(Chunk { time: self.start.elapsed(), bytes: text.into_bytes() })
            }
            None if self.is_over => Next::Ended,
            None => Next::Idle,
        }
    }

    fn input(&self) -> Input {
        // Guests hear nothing: nobody is at the other end.
        Input::new(mpsc::channel().0)
    }

    fn finish(self: Box<Self>, grace: Duration) -> Outcome {
        match self.is_over {
            true => self.outcome(),
            false => self.stopped(grace),
        }
    }

    fn end(self: Box<Self>, grace: Duration) -> Outcome {
        self.stopped(grace)
    }

    fn stop(self: Box<Self>) {
        drop(self);
    }
}
