//! `bulkhead run`: builds the image, boots it on QEMU and tells what happened.

pub mod boards;
pub mod cachescope;
mod deadlines;
pub mod hypervisor;
mod image_report;
mod interactive;
mod keys;
mod lines;
mod messages;
pub mod responses;
pub mod signals;
mod summary;
pub mod tally;
mod terminal;
mod view;
pub mod workspace;

use std::fs::File;
use std::io::BufReader;
use std::time::Duration;

use ::trace::Trace;
use bulkhead_qemu::{Exit, Machine, Next, Options, Outcome, Session, Time};

use crate::arguments::RunOptions;
use crate::failure::Failure;
use crate::input::{self, System};
use crate::json;
use crate::output;
use crate::status::Status;
use crate::trace::record::{Recording, What};
use cachescope::{Cachescope, SHORT_TURNS};
use deadlines::{Tasks, Times};
use interactive::Interactive;
use signals::Signals;
use summary::{End, Summary};
use tally::{Known, Tally};
use view::View;

/// How often the loop looks for signals and keys.
const TICK: Duration = Duration::from_millis(50);
/// How long QEMU may take to end after its console is closed, or when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Runs the command.
pub fn run(options: &RunOptions, as_json: bool) -> Result<Status, Failure> {
    let signals = Signals::catch()?;
    let mut system = input::plan(&options.file)?;
    for (vm, arguments) in &options.append {
        let vm = find_vm(&system, vm)?;
        append(system.plan.vms[vm].boot.bootargs.get_or_insert_default(), arguments);
    }
    let console = options.console.as_deref().map(|name| find_vm(&system, name)).transpose()?;
    let found = hypervisor::find(options.hypervisor.as_deref())?;
    let image = system.image(&found.load()?)?;
    if let Some(out) = &options.image_only {
        bulkhead_image::write(out, &image.bytes)?;
        return image_report::image_written(out, &image, as_json);
    }
    if options.cachescope.is_none() && !options.short_turns {
        cachescope::check_not_needed(&system)?;
    }
    let board = boards::board(&system)?;
    let place = workspace::Workspace::new(&found, &system.plan.name)?;
    let turns = options.short_turns.then(|| place.scratch()).transpose()?;
    let scope = match (&turns, &options.cachescope) {
        (Some(folder), _) => {
            Some(Cachescope::prepare(folder.path(), &system, &found)?.with_options(&SHORT_TURNS))
        }
        (None, Some(folder)) => {
            let scope = Cachescope::prepare(folder, &system, &found)?;
            Some(scope.with_options(&options.cachescope_option))
        }
        (None, None) => None,
    };
    let path = place.image(&image.bytes)?;
    drop(image);
    if let Some(signal) = signals.caught() {
        return Ok(Status::Signal(signal));
    }

    let marks = match &options.trace {
        None if is_described(&system) && board.memory_bytes.is_some() => Some(place.scratch()?),
        _ => None,
    };
    let recorded_to = match (&options.trace, &marks) {
        (Some(path), _) => Some((path.clone(), What::All)),
        (None, marks) => marks.as_ref().map(|it| (it.path().join("marks.trace"), What::Marks)),
    };
    let recording = recorded_to.as_ref();
    let recording =
        recording.map(|(path, what)| Recording::start(path, &system, &board, *what)).transpose()?;
    let mut arguments: Vec<String> = scope.iter().flat_map(Cachescope::arguments).collect();
    arguments.extend(recording.iter().flat_map(Recording::arguments));
    arguments.extend(options.qemu_arg.iter().cloned());
    let log_file = options.log.clone().unwrap_or_else(|| place.log());
    let qemu = Options {
        program: None,
        time: if options.deterministic { Time::Deterministic } else { Time::Real },
        timeout: options.timeout,
        log_file: Some(log_file.clone()),
        keep_log: false,
        arguments,
    };
    let session = Machine::start(&board, path.path(), &qemu)?;
    let names: Vec<&str> = system.plan.vms.iter().map(|vm| vm.name.as_str()).collect();
    let run = attend(session, &names, &signals, console, as_json)?;
    if let Exit::Code(code @ 1..) = run.outcome.exit
        && !run.known.spoke
    {
        let why = match run.outcome.stderr.trim() {
            "" => String::new(),
            said => format!("\nQEMU says: {said}"),
        };
        let text = format!("QEMU did not start the machine: it ended with exit status {code}{why}");
        return Err(Failure::new("qemu", text));
    }
    let counts = options.cachescope.as_ref().and(scope.as_ref()).map(Cachescope::counts);
    let recorded = recording.map(Recording::finish);
    let trace = match (&recorded, &recorded_to) {
        (Some(Ok(_)), Some((path, _))) => {
            File::open(path).ok().and_then(|file| Trace::read(BufReader::new(file)).ok())
        }
        _ => None,
    };
    let tasks = Tasks::new(&system, trace.as_ref(), &run.known, times(options, scope.as_ref()));
    let name = &system.plan.name;
    let summary = Summary::new(name, (run.known, tasks), run.end, &run.outcome, counts, &log_file)
        .with_trace(recorded.filter(|_| options.trace.is_some()));
    if as_json {
        json::print(&summary.document(options.until_off))?;
    } else {
        output::print(&summary.text(options.until_off))?;
    }
    Ok(summary.status(options.until_off))
}

/// Whether the description has tasks, whose deadlines are to be watched.
fn is_described(system: &System) -> bool {
    system.description.iter().flat_map(|it| &it.vms).any(|vm| !vm.tasks.is_empty())
}

/// How exact the times of such a run are.
fn times(options: &RunOptions, scope: Option<&Cachescope>) -> Times {
    let model = scope.is_some_and(Cachescope::is_model_time);
    match options.deterministic {
        true if options.short_turns || model => Times::Exact,
        true => Times::Turns,
        false => Times::Host,
    }
}

/// What is left of a run.
struct Run {
    known: Known,
    end: End,
    outcome: Outcome,
}

/// Shows the console until the run is over.
fn attend(
    mut session: Session,
    names: &[&str],
    signals: &Signals,
    console: Option<usize>,
    as_json: bool,
) -> Result<Run, Failure> {
    let mut tally = Tally::new(names.iter().map(|&name| name.to_owned()));
    let mut view = View::new(names.iter().copied(), as_json);
    let mut keyboard = None;
    if let Some(vm) = console {
        output::error(&format!(
            "console of `{}`: Ctrl-] q leaves, Ctrl-] n shows the next VM, Ctrl-] a all, Ctrl-] ? helps\n",
            names[vm]
        ));
        keyboard = Some(Interactive::new(vm, session.input())?);
    }
    let end = loop {
        if let Some(signal) = signals.caught() {
            break End::Signal(signal);
        }
        if keyboard.as_ref().is_some_and(Interactive::left) {
            break End::Left;
        }
        match session.next(TICK) {
            Next::Output(chunk) => {
                tally.feed(&chunk);
                view.show(&chunk.bytes)?;
                if let Some(keyboard) = &mut keyboard
                    && tally.is_ready()
                {
                    keyboard.open();
                }
            }
            Next::Idle => view.idle()?,
            Next::Ended => break End::Itself,
        }
    };
    let outcome = match end {
        End::Itself => session.finish(GRACE),
        // What was counted until then is written.
        End::Left | End::Signal(_) => session.end(GRACE),
    };
    view.end()?;
    Ok(Run { known: tally.end(), end, outcome })
}

/// Appends arguments to a command line.
pub fn append(bootargs: &mut String, arguments: &str) {
    if !bootargs.is_empty() {
        bootargs.push(' ');
    }
    bootargs.push_str(arguments);
}

/// The number of the VM of this name.
pub fn find_vm(system: &System, name: &str) -> Result<usize, Failure> {
    let names: Vec<&str> = system.plan.vms.iter().map(|vm| vm.name.as_str()).collect();
    names.iter().position(|other| *other == name).ok_or_else(|| {
        let (known, file) = (names.join("`, `"), system.file.display());
        Failure::new(
            "unknown-vm",
            format!("there is no VM `{name}` in {file}\nhelp: its VMs are `{known}`"),
        )
    })
}
