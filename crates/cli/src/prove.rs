//! `bulkhead prove`: that a system is isolated, shown without and with its plan: checked, planned, simulated and
//! run.

mod document;
mod folder;
mod options;
mod origin;
mod show;
mod steps;

use bulkhead_report::proof::Proof;
use lab::Watch;
use lab::hypervisor;
use lab::load::{self, System};
use lab::proof::{Evidence, Prepared, bin_ns, plain};
use lab::simulate::simulate_worst;

pub use options::ProveOptions;

use crate::failure::Failure;
use crate::output;
use crate::signals::Signals;
use crate::status::Status;
use document::Document;
use folder::{Folder, PAGE, PLAN, PLAN_WITHOUT, RESULTS};
use steps::Steps;

/// Runs the command.
pub fn prove(options: &ProveOptions, as_json: bool) -> Result<Status, Failure> {
    let signals = Signals::catch()?;
    let steps = Steps::new();
    steps.begin("check and plan");
    let mut system = described(options)?;
    let (mut plain, notes) = plain(&system);
    for (vm, arguments) in &options.append {
        for system in std::iter::once(&mut system).chain(&mut plain) {
            system.append(vm, arguments)?;
        }
    }
    let hypervisor = hypervisor::find(options.hypervisor.as_deref())?;
    let default = options.file.with_extension("proof");
    let mut folder = Folder::create(options.output.as_ref().unwrap_or(&default))?;
    let bin = bin_ns(&system);
    let prepare = |system, name| -> Result<Prepared<'_>, Failure> {
        let (folder, options) = (folder.of_run(name)?, &options.cachescope_option);
        Ok(Prepared::new(system, &hypervisor, &folder, bin, options)?)
    };
    let with = prepare(&system, "with")?;
    let without = plain.as_ref().map(|plain| prepare(plain, "without")).transpose()?;

    steps.begin("simulate the plan");
    let simulated = simulate_worst(&system, options.simulate)?;
    let watch = Watcher { signals: &signals, steps: &steps };
    let run = |prepared: &Prepared| prepared.run(options.timeout, &watch);
    steps.begin("run without isolation");
    let without = without.as_ref().map(run).transpose()?.flatten();
    if let Some(signal) = signals.caught() {
        return Ok(interrupted(steps, folder, signal));
    }
    steps.begin("run with the plan");
    let Some(with) = run(&with)? else {
        return Ok(signals.caught().map_or(Status::No, |it| interrupted(steps, folder, it)));
    };

    steps.begin("write the report");
    let evidence = Evidence { system: &system, plain: plain.as_ref(), simulated, with, without };
    let mut proof = evidence.proof(notes)?;
    proof.origin = origin::origin(options, &evidence, &hypervisor.path, &folder)?;
    let results = write(&folder, &system, plain.as_ref(), &proof)?;
    folder.finish()?;
    drop(steps);
    match as_json {
        true => output::print(&results)?,
        false => {
            let page = folder.place(PAGE);
            output::print(&format!("{}report: {}\n", show::show(&proof), page.display()))?;
        }
    }
    Ok(if proof.holds { Status::Yes } else { Status::No })
}

/// Looks for signals and shows that time passes.
struct Watcher<'a> {
    signals: &'a Signals,
    steps: &'a Steps,
}

impl Watch for Watcher<'_> {
    fn stops(&self) -> bool {
        self.signals.stops()
    }

    fn tick(&self) {
        self.steps.tick();
    }
}

/// Says that a `signal` ended it, when the line of `steps` is gone and `folder` is what it was.
fn interrupted(steps: Steps, folder: Folder, signal: i32) -> Status {
    drop((steps, folder));
    output::error("interrupted: nothing is proven, and no file was changed\n");
    Status::Signal(signal)
}

/// The described system, which has tasks.
fn described(options: &ProveOptions) -> Result<System, Failure> {
    let system = load::plan(&options.file)?;
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

/// Writes plans, results and page; returns the results.
fn write(
    folder: &Folder,
    system: &System,
    plain: Option<&System>,
    proof: &Proof,
) -> Result<String, Failure> {
    for (name, system) in [(PLAN, Some(system)), (PLAN_WITHOUT, plain)] {
        let Some(system) = system else { continue };
        let mut plan = system.plan.clone();
        plan.move_files(&system.folder, load::folder(&folder.place(name)))?;
        folder.write(name, plan.to_dts().as_bytes())?;
    }
    let document = Document::new(proof, folder.place(PAGE).display().to_string());
    let mut results =
        serde_json::to_string_pretty(&document).map_err(|it| Failure::new("output", it))?;
    results.push('\n');
    folder.write(RESULTS, results.as_bytes())?;
    folder.write(PAGE, proof.html().as_bytes())?;
    Ok(results)
}
