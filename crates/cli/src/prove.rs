//! `bulkhead prove`: that a system is isolated, shown without and with its plan: checked, planned, simulated and
//! run.

mod caches;
mod described;
mod document;
mod execute;
mod folder;
mod isolation;
mod judge;
mod lanes;
mod options;
mod origin;
mod responses;
mod sections;
mod show;
mod steps;
mod tasks;
mod traffic;

use std::path::PathBuf;

use ::trace::Trace;
use analysis::verdict::Verdict;
use bulkhead_report::proof::{Check, Proof, Run, VmRun};
use bulkhead_system::plan;

pub use options::ProveOptions;

use crate::check::bounds;
use crate::failure::Failure;
use crate::input::{self, System};
use crate::output;
use crate::run::hypervisor;
use crate::run::signals::Signals;
use crate::run::{append, find_vm};
use crate::sim;
use crate::status::Status;
use crate::trace::header::header;
use crate::trace::replay;
use document::Document;
use execute::{Executed, Prepared};
use folder::{Folder, PAGE, RESULTS};
use lanes::Window;
use responses::responses;
use steps::Steps;

/// Runs the command.
pub fn prove(options: &ProveOptions, as_json: bool) -> Result<Status, Failure> {
    let signals = Signals::catch()?;
    let steps = Steps::new();
    steps.begin("check and plan");
    let mut system = described(options)?;
    let mut plain = plain(&system)?;
    for (vm, arguments) in &options.append {
        let vm = find_vm(&system, vm)?;
        for system in std::iter::once(&mut system).chain(&mut plain) {
            append(system.plan.vms[vm].boot.bootargs.get_or_insert_default(), arguments);
        }
    }
    let found = hypervisor::find(options.hypervisor.as_deref())?;
    let default = options.file.with_extension("proof");
    let folder = Folder::create(options.output.as_ref().unwrap_or(&default))?;
    let bin = traffic::bin_ns(&system);
    let prepare = |system, name| Prepared::new(system, &found, &folder.of_run(name)?, bin, options);
    let prepared = prepare(&system, "with")?;
    let prepared_plain = plain.as_ref().map(|plain| prepare(plain, "without")).transpose()?;

    let verdict = verdict(&system);
    let verdict_without = plain.as_ref().map(self::verdict);
    let names: Vec<String> = system.plan.vms.iter().map(|vm| vm.name.clone()).collect();
    let header = header(&system.plan, system.description.as_deref(), 0);
    let (tasks, places) = tasks::tasks(&system, &header, &verdict, verdict_without.as_ref());
    steps.begin("simulate the plan");
    let simulated = sim::simulate_worst(&system, options.simulate)?;

    let mut executed = Vec::new();
    for (what, prepared) in
        [("run without isolation", prepared_plain), ("run with the plan", Some(prepared))]
    {
        steps.begin(what);
        let run = prepared.map(|it| it.run(options.timeout, &signals, &steps)).transpose()?;
        if let Some(signal) = signals.caught() {
            return Ok(Status::Signal(signal));
        }
        executed.push(run.flatten());
    }
    steps.begin("write the report");
    let (Some(with), Some(without)) = (executed.pop().flatten(), executed.pop()) else {
        return Err(Failure::new("run", "a run has no result"));
    };

    let mut proof = Proof {
        name: system.plan.name.clone(),
        platform: described::platform(&system, &with.counts),
        vms: described::vms(&system),
        tasks,
        check_without: verdict_without.as_ref().map(check).unwrap_or_default(),
        check_with: check(&verdict),
        traffic: traffic::traffic(
            &system,
            &with.trace,
            without.as_ref().map(|run| run.folder.as_path()),
        )?,
        origin: origin::origin(options, &system, &found.path)?,
        ..Proof::default()
    };
    tasks::add(&mut proof.tasks, &places, responses(&simulated, None), |task| &mut task.simulated);
    tasks::add(&mut proof.tasks, &places, responses(&with.trace, Some(&with.known)), |task| {
        &mut task.with
    });
    let of_run = |run: &Executed, window: &Window| -> Result<Run, Failure> {
        let cache = caches::cache(run, &names)?;
        let beyond = caches::beyond(run, &names)?;
        let vms = run.known.vms.iter().zip(beyond).map(|(vm, beyond)| VmRun {
            state: match &vm.ended {
                Some((state, reason)) => format!("{state} ({reason})"),
                None => "running".into(),
            },
            restarts: vm.report.as_ref().map_or(0, |report| report.restarts),
            exits: vm.report.as_ref().map(|report| report.exits),
            bus_wait_ns: beyond.bus_wait_ns,
            memory_lines: beyond.memory_lines,
        });
        let described = system.description.as_deref();
        let sections =
            described.map(|described| sections::sections(&run.trace, described, &places));
        Ok(Run {
            time_ns: length(&run.trace),
            timeline: Some(lanes::timeline(&run.trace, window)),
            cache: Some(cache),
            vms: vms.collect(),
            sections: sections.unwrap_or_default(),
            notes: run.problems.clone(),
        })
    };
    let mut window = Window::of(&with.trace);
    if let Some(without) = &without {
        let found = responses(&without.trace, Some(&without.known));
        tasks::add(&mut proof.tasks, &places, found, |task| &mut task.without);
        window = Window::of(&without.trace);
        proof.without = Some(of_run(without, &window)?);
        window.reason = "the same time as in the run without isolation".into();
    }
    proof.with = Some(of_run(&with, &window)?);
    let window = Window::of(&simulated);
    proof.simulation = Some(Run {
        time_ns: length(&simulated),
        timeline: Some(lanes::timeline(&simulated, &window)),
        ..Run::default()
    });
    proof.failures = with.problems.clone();
    proof.failures.extend(judge::failures(&proof));
    match replay::wrong_decisions(&system.plan, &with.trace)? {
        Some(wrong) => proof.failures.extend(wrong),
        None => proof
            .notes
            .push("nothing is decided at run time: each VCPU has a PCPU for itself".into()),
    }
    if plain.is_none() {
        proof.notes.push(
            "the system has neither colours nor limits of memory accesses: there is nothing to compare it with".into(),
        );
    }
    proof.holds = proof.failures.is_empty();

    write(&folder, &system, plain.as_ref(), &proof)?;
    let (page, results) = (folder.place(PAGE), folder.file(RESULTS));
    let results = std::fs::read(&results)?;
    folder.finish()?;
    drop(steps);
    match as_json {
        true => output::print(&String::from_utf8_lossy(&results))?,
        false => output::print(&format!("{}report: {}\n", show::show(&proof), page.display()))?,
    }
    Ok(if proof.holds { Status::Yes } else { Status::No })
}

/// The described system, which has tasks.
fn described(options: &ProveOptions) -> Result<System, Failure> {
    let system = input::plan(&options.file)?;
    let file = options.file.display();
    let Some(described) = &system.description else {
        return Err(Failure::new(
            "is-a-plan",
            format!(
                "{file} is a plan, which has no tasks\nhelp: name the description that it was made from"
            ),
        ));
    };
    if described.vms.iter().all(|vm| vm.tasks.is_empty()) {
        return Err(Failure::new(
            "no-tasks",
            format!(
                "there are no tasks in {file}: nothing could be late\nhelp: describe them under `[[vm.task]]`"
            ),
        ));
    }
    Ok(system)
}

/// The same system without isolation, if it has some.
fn plain(system: &System) -> Result<Option<System>, Failure> {
    let without = system.description.as_deref().and_then(isolation::without);
    let Some(without) = without else { return Ok(None) };
    Ok(Some(System {
        file: system.file.clone(),
        folder: system.folder.clone(),
        plan: plan::make(&without)?,
        platform: system.platform.clone(),
        description: Some(Box::new(without)),
    }))
}

fn verdict(system: &System) -> Verdict {
    Verdict::of_plan(&system.plan, system.description.as_deref())
}

fn check(verdict: &Verdict) -> Check {
    Check { schedulable: Some(verdict.schedulable), notes: bounds::notes(verdict) }
}

fn length(trace: &Trace) -> u64 {
    trace.clock().length_ns(trace.last().saturating_sub(trace.zero()))
}

/// Writes plans, results and page.
fn write(
    folder: &Folder,
    system: &System,
    plain: Option<&System>,
    proof: &Proof,
) -> Result<(), Failure> {
    for (name, system) in [("with.plan.dts", Some(system)), ("without.plan.dts", plain)] {
        let Some(system) = system else { continue };
        let mut plan = system.plan.clone();
        let place: PathBuf = folder.place(name);
        plan.move_files(&system.folder, input::folder(&place))?;
        folder.write(name, plan.to_dts().as_bytes())?;
    }
    let document = Document::new(proof, folder.place(PAGE).display().to_string());
    let mut results =
        serde_json::to_vec_pretty(&document).map_err(|it| Failure::new("output", it))?;
    results.push(b'\n');
    folder.write(RESULTS, &results)?;
    folder.write(PAGE, proof.html().as_bytes())
}
