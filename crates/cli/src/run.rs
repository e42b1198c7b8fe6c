//! `bulkhead run`: builds the image and boots it on QEMU, or runs the VMs under KVM, and reports the run.

mod counts;
mod image_report;
mod interactive;
mod keys;
mod options;
mod terminal;
pub mod text;
mod view;

use std::time::Duration;

use lab::boot::{Ran, Running};
use lab::consoles::Consoles;
use lab::hypervisor;
use lab::keep;
use lab::kvm::OnKvm;
use lab::load::{self, System};
use lab::run::{Clock, End, GRACE, OnQemu, Options, Prepared};
use lab::verdicts::of_run;
use qemu::Next;

use crate::failure::Failure;
use crate::format::Format;
use crate::json;
use crate::output;
use crate::signals::Signals;
use crate::status::Status;
use interactive::Interactive;
pub use options::{On, RunOptions};
use view::View;

/// Time between two looks of the loop for signals and keys.
pub const TICK: Duration = Duration::from_millis(50);

/// Runs the command.
pub fn run(options: &RunOptions, format: Format) -> Result<Status, Failure> {
    options.check()?;
    for target in [&options.trace, &options.log, &options.image_only].into_iter().flatten() {
        keep::description(target, &options.file)?;
    }
    let signals = Signals::catch()?;
    let mut system = match options.on {
        On::Qemu => load::plan(&options.file)?,
        On::Kvm => load::outlined(&options.file)?,
    };
    for (vm, arguments) in &options.append {
        system.append(vm, arguments)?;
    }
    let names: Vec<&str> = system.plan.vms.iter().map(|vm| vm.name.as_str()).collect();
    let sockets = options.consoles.as_deref().map(|folder| Consoles::open(folder, &names));
    let sockets = sockets.transpose()?;
    match options.on {
        On::Qemu => on_qemu(options, &system, sockets, &signals, format),
        On::Kvm => {
            let prepared = OnKvm::new(&system, wanted(options), &signals);
            match (prepared, signals.caught()) {
                // Whatever it made is gone.
                (_, Some(signal)) => Ok(Status::Signal(signal)),
                (prepared, None) => {
                    let prepared = match options.tell_frames {
                        true => prepared?.telling_frames(),
                        false => prepared?,
                    };
                    follow(prepared, &system, None, sockets, &signals, format)
                }
            }
        }
    }
}

/// Runs a system on a board of QEMU.
fn on_qemu(
    options: &RunOptions,
    system: &System,
    sockets: Option<Consoles>,
    signals: &Signals,
    format: Format,
) -> Result<Status, Failure> {
    let console = options.console.as_deref().map(|name| system.find_vm(name)).transpose()?;
    let found = hypervisor::find(options.hypervisor.as_deref())?;
    if let Some(out) = &options.image_only {
        let image = system.image(&found.load()?)?;
        image::write(out, &image.bytes)?;
        return image_report::image_written(out, &image, format == Format::Json);
    }
    let prepared = OnQemu::new(system, &found, wanted(options))?;
    follow(prepared, system, console, sockets, signals, format)
}

/// Follows a run to its end, and shows its summary.
fn follow(
    mut prepared: impl Prepared,
    system: &System,
    console: Option<usize>,
    sockets: Option<Consoles>,
    signals: &Signals,
    format: Format,
) -> Result<Status, Failure> {
    if let Some(signal) = signals.caught() {
        return Ok(Status::Signal(signal));
    }
    let names: Vec<&str> = system.plan.vms.iter().map(|vm| vm.name.as_str()).collect();
    let (ran, end) = attend(prepared.start()?, &names, signals, console, sockets, format)?;
    let summary = prepared.judge(ran, end)?;
    format.print(
        || of_run(&summary, system),
        || json::print(&summary.document()),
        || text::text(&summary),
    )?;
    Ok(match signals.caught() {
        Some(signal) if end == End::Interrupted => Status::Signal(signal),
        _ if summary.is_ok() => Status::Yes,
        _ => Status::No,
    })
}

/// The run that `options` ask for.
fn wanted(options: &RunOptions) -> Options {
    let clock = match &options.cachescope {
        Some(folder) => {
            Clock::Cachescope { folder: folder.clone(), options: options.cachescope_option.clone() }
        }
        None if options.short_turns => Clock::ShortTurns,
        None if options.deterministic => Clock::Deterministic,
        None => Clock::Host,
    };
    Options {
        clock,
        trace: options.trace.clone(),
        live: None,
        until_off: options.until_off,
        timeout: options.timeout,
        log: options.log.clone(),
        arguments: options.qemu_arg.clone(),
    }
}

/// Shows the console until the run is over.
fn attend(
    mut running: Running,
    names: &[&str],
    signals: &Signals,
    console: Option<usize>,
    mut sockets: Option<Consoles>,
    format: Format,
) -> Result<(Ran, End), Failure> {
    let mut view = View::new(names.iter().copied(), format != Format::Text);
    let mut keyboard = None;
    if let Some(vm) = console {
        output::error(&format!(
            "console of `{}`: Ctrl-] q leaves, Ctrl-] n shows the next VM, Ctrl-] a all, Ctrl-] ? helps\n",
            names[vm]
        ));
        keyboard = Some(Interactive::new(vm, running.input(), sockets.is_some())?);
    }
    let end = loop {
        if signals.caught().is_some() {
            break End::Interrupted;
        }
        if keyboard.as_ref().is_some_and(Interactive::left) {
            break End::Left;
        }
        match running.next(TICK) {
            Next::Output(chunk) => {
                view.show(&chunk.bytes)?;
                if let Some(sockets) = &mut sockets {
                    sockets.show(&chunk.bytes);
                    if running.known().ready {
                        sockets.listen(|| running.input());
                    }
                }
                if let Some(keyboard) = &mut keyboard
                    && running.known().ready
                {
                    keyboard.open();
                }
            }
            Next::Idle => view.idle()?,
            Next::Ended => break End::Itself,
        }
    };
    let ran = match end {
        End::Itself => running.finish(GRACE),
        // What was counted until then is written.
        End::Left | End::Interrupted => running.end(GRACE),
    };
    view.end()?;
    Ok((ran, end))
}
