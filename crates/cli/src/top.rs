//! `bulkhead top`: runs a system, and shows the activity of its VCPUs and tasks.

mod lines;
mod options;
mod screen;

use std::io::{self, IsTerminal};
use std::time::Instant;

use lab::boot::{Ran, Running};
use lab::hypervisor;
use lab::keep;
use lab::kvm::OnKvm;
use lab::load;
use lab::record::Live;
use lab::run::{Clock, End, GRACE, OnQemu, Options, Prepared};
use qemu::Next;
use serde::Serialize;
use trace::live::View;

use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::run::{On, TICK, text};
use crate::signals::Signals;
use crate::status::Status;
pub use options::TopOptions;
use screen::Screen;

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'v> {
    /// True if the run was well until then.
    ok: bool,
    #[serde(flatten)]
    view: Option<&'v View>,
}

/// Runs the command.
pub fn top(options: &TopOptions, as_json: bool) -> Result<Status, Failure> {
    if as_json && !options.once {
        let text = "`--json` prints one document, and `top` shows many tables\nhelp: add `--once`";
        return Err(Failure::new("usage", text));
    }
    options.check()?;
    if let Some(log) = &options.log {
        keep::description(log, &options.file)?;
    }
    let signals = Signals::catch()?;
    let mut system = match options.on {
        On::Qemu => load::plan(&options.file)?,
        On::Kvm => load::outlined(&options.file)?,
    };
    for (vm, arguments) in &options.append {
        system.append(vm, arguments)?;
    }
    let live = Live::default();
    let wanted = Options {
        clock: match options {
            TopOptions { short_turns: true, .. } => Clock::ShortTurns,
            TopOptions { deterministic: true, .. } => Clock::Deterministic,
            _ => Clock::Host,
        },
        trace: None,
        live: Some(live.clone()),
        until_off: false,
        timeout: options.timeout,
        log: options.log.clone(),
        arguments: options.qemu_arg.clone(),
    };
    let follow = Follow { options, live, name: &system.plan.name, as_json, signals: &signals };
    match options.on {
        On::Qemu => {
            let found = hypervisor::find(options.hypervisor.as_deref())?;
            follow.run(OnQemu::new(&system, &found, wanted)?)
        }
        On::Kvm => {
            let prepared = OnKvm::new(&system, wanted, &signals);
            match (prepared, signals.caught()) {
                (_, Some(signal)) => Ok(Status::Signal(signal)),
                (prepared, None) => follow.run(prepared?),
            }
        }
    }
}

struct Follow<'a> {
    options: &'a TopOptions,
    live: Live,
    name: &'a str,
    as_json: bool,
    signals: &'a Signals,
}

impl Follow<'_> {
    /// Follows a run to its end.
    fn run(&self, mut prepared: impl Prepared) -> Result<Status, Failure> {
        if let Some(signal) = self.signals.caught() {
            return Ok(Status::Signal(signal));
        }
        let (ran, end, view) = self.attend(prepared.start()?)?;
        let summary = prepared.judge(ran, end)?;
        match (self.as_json, self.options.once) {
            (true, _) => json::print(&Document { ok: summary.is_ok(), view: view.as_ref() })?,
            (false, true) if end == End::Left => {}
            (false, _) => output::print(&text::text(&summary))?,
        }
        Ok(match self.signals.caught() {
            Some(signal) if end == End::Interrupted => Status::Signal(signal),
            _ if summary.is_ok() => Status::Yes,
            _ => Status::No,
        })
    }

    /// Shows a table in each interval until the run is over. Returns the end of the run, and the last table.
    fn attend(&self, mut running: Running) -> Result<(Ran, End, Option<View>), Failure> {
        let is_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
        let is_screen = is_terminal && screen::is_known() && !self.options.once;
        let mut screen = if is_screen { Some(Screen::new()?) } else { None };
        // The first interval begins when the hypervisor has.
        let mut since = None;
        let mut last = None;
        let end = loop {
            if self.signals.caught().is_some() {
                break End::Interrupted;
            }
            match screen.as_mut().map(Screen::keys).transpose()? {
                Some(screen::Asked::Leave) => break End::Left,
                Some(screen::Asked::Interrupt) => {
                    self.signals.interrupt();
                    break End::Interrupted;
                }
                Some(screen::Asked::Nothing) | None => {}
            }
            // The console is in the log.
            if let Next::Ended = running.next(TICK) {
                break End::Itself;
            }
            let is_due = since.is_none_or(|it: Instant| it.elapsed() >= self.options.interval);
            if is_due && let Some(view) = self.live.view() {
                let is_first = since.replace(Instant::now()).is_none();
                if !is_first {
                    self.show(&view, screen.as_mut())?;
                    last = Some(view);
                    if self.options.once {
                        break End::Left;
                    }
                }
            }
        };
        let ran = match end {
            End::Itself => running.finish(GRACE),
            End::Left | End::Interrupted => running.end(GRACE),
        };
        // The screen comes back before anything is printed.
        let was_screen = screen.take().is_some();
        if end != End::Left
            && let Some(view) = self.live.view()
        {
            if !was_screen {
                self.show(&view, None)?;
            }
            last = Some(view);
        }
        Ok((ran, end, last))
    }

    fn show(&self, view: &View, screen: Option<&mut Screen>) -> Result<(), Failure> {
        let lines = lines::of(self.name, view);
        match screen {
            Some(screen) => screen.show(lines)?,
            None if self.as_json => {}
            None => output::print(&format!("{}\n", lines::text(&lines)))?,
        }
        Ok(())
    }
}
