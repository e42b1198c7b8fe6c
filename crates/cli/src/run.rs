//! `bulkhead run`: builds the image, boots it on QEMU and tells what happened.

mod counts;
mod image_report;
mod interactive;
mod keys;
mod summary;
mod terminal;
mod view;

use std::time::Duration;

use bulkhead_qemu::{Exit, Next, Time};
use lab::board::board;
use lab::boot::{Prepared, Ran, Running, Start};
use lab::cachescope::{self, Cachescope, SHORT_TURNS};
use lab::deadlines::{Tasks, Times};
use lab::hypervisor;
use lab::load::{self, System};
use lab::record::{What, read_trace};
use lab::workspace::Workspace;

use crate::arguments::RunOptions;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::signals::Signals;
use crate::status::Status;
use interactive::Interactive;
use summary::{End, Summary};
use view::View;

/// How often the loop looks for signals and keys.
const TICK: Duration = Duration::from_millis(50);
/// How long QEMU may take to end after its console is closed, or when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Runs the command.
pub fn run(options: &RunOptions, as_json: bool) -> Result<Status, Failure> {
    let signals = Signals::catch()?;
    let mut system = load::plan(&options.file)?;
    for (vm, arguments) in &options.append {
        system.append(vm, arguments)?;
    }
    let console = options.console.as_deref().map(|name| system.find_vm(name)).transpose()?;
    let found = hypervisor::find(options.hypervisor.as_deref())?;
    let image = system.image(&found.load()?)?;
    if let Some(out) = &options.image_only {
        bulkhead_image::write(out, &image.bytes)?;
        return image_report::image_written(out, &image, as_json);
    }
    if options.cachescope.is_none() && !options.short_turns {
        cachescope::check_not_needed(&system)?;
    }
    board(&system)?;
    let place = Workspace::new(&found, &system.plan.name)?;
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
    let prepared = Prepared::new(&system, &image.bytes, &place)?;
    drop(image);
    if let Some(signal) = signals.caught() {
        return Ok(Status::Signal(signal));
    }

    let marks = match &options.trace {
        None if is_described(&system) && prepared.can_record() => Some(place.scratch()?),
        _ => None,
    };
    let recorded_to = match (&options.trace, &marks) {
        (Some(path), _) => Some((path.clone(), What::All)),
        (None, marks) => marks.as_ref().map(|it| (it.path().join("marks.trace"), What::Marks)),
    };
    let log = options.log.clone().unwrap_or_else(|| place.log());
    let times = times(options, scope.as_ref());
    let prepared = prepared.with_cachescope(scope);
    let running = prepared.start(Start {
        time: if options.deterministic { Time::Deterministic } else { Time::Real },
        timeout: options.timeout,
        log: log.clone(),
        keep_log: false,
        record: recorded_to.as_ref().map(|(path, what)| (path.as_path(), *what)),
        arguments: &options.qemu_arg,
    })?;
    let names: Vec<&str> = system.plan.vms.iter().map(|vm| vm.name.as_str()).collect();
    let (run, end) = attend(running, &names, &signals, console, as_json)?;
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
    let scope = prepared.cachescope().filter(|_| options.cachescope.is_some());
    let counts = scope.map(Cachescope::counts);
    let trace = match (&run.recorded, &recorded_to) {
        (Some(Ok(_)), Some((path, _))) => read_trace(path).ok(),
        _ => None,
    };
    let tasks = Tasks::new(&system, trace.as_ref(), &run.known, times);
    let name = &system.plan.name;
    let summary = Summary::new(name, (run.known, tasks), end, &run.outcome, counts, &log)
        .with_trace(run.recorded.filter(|_| options.trace.is_some()));
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

/// Shows the console until the run is over.
fn attend(
    mut running: Running,
    names: &[&str],
    signals: &Signals,
    console: Option<usize>,
    as_json: bool,
) -> Result<(Ran, End), Failure> {
    let mut view = View::new(names.iter().copied(), as_json);
    let mut keyboard = None;
    if let Some(vm) = console {
        output::error(&format!(
            "console of `{}`: Ctrl-] q leaves, Ctrl-] n shows the next VM, Ctrl-] a all, Ctrl-] ? helps\n",
            names[vm]
        ));
        keyboard = Some(Interactive::new(vm, running.input())?);
    }
    let end = loop {
        if let Some(signal) = signals.caught() {
            break End::Signal(signal);
        }
        if keyboard.as_ref().is_some_and(Interactive::left) {
            break End::Left;
        }
        match running.next(TICK) {
            Next::Output(chunk) => {
                view.show(&chunk.bytes)?;
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
        End::Left | End::Signal(_) => running.end(GRACE),
    };
    view.end()?;
    Ok((ran, end))
}
