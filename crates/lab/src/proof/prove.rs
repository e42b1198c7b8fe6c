//! Proves that a system is isolated: planned, simulated and executed, with the results in a folder.

use std::path::PathBuf;
use std::time::Duration;

use planner::completion;
use report::proof::Proof;
use report::site::Kind;
use report::verdicts::Verdicts;

use super::document::Document;
use super::execute::Prepared;
use super::folder::{Folder, PAGE, PLAN, PLAN_WITHOUT, RESULTS};
use super::{Evidence, bin_ns, measured, origin, plain};
use crate::failure::Failure;
use crate::hypervisor;
use crate::load::{self, System};
use crate::simulate::simulate_worst;
use crate::site::refuse_other_results;
use crate::verdicts::of_proof;
use crate::watch::Watch;

/// The machine that runs the system.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum On {
    /// QEMU, in the time of the cache model.
    #[default]
    Model,
    /// Linux and KVM on this machine, whose times are measured, not promised.
    Kvm,
}

/// Options of a proof.
#[derive(Clone, Debug)]
pub struct Options {
    /// The description.
    pub file: PathBuf,
    /// The machine that runs the system.
    pub on: On,
    /// The folder for the results, if not beside the description.
    pub output: Option<PathBuf>,
    /// Names of VMs, and text that is appended to their command lines.
    pub append: Vec<(String, String)>,
    /// A run that takes longer is stopped.
    pub timeout: Duration,
    /// Simulated time.
    pub simulate: units::Duration,
    /// Options of cachescope, `KEY=VALUE`.
    pub cachescope_options: Vec<String>,
    /// The hypervisor, if not the one that was built.
    pub hypervisor: Option<PathBuf>,
    /// True if bounds are also written as theorems, which Coq checks if it is installed.
    pub certificate: bool,
    /// True if Coq also compiles proofs again that it compiled for an earlier check.
    pub compile_proofs: bool,
}

/// A proof whose results are written.
#[derive(Debug)]
pub struct Proven {
    /// The proof.
    pub proof: Proof,
    /// The verdicts.
    pub verdicts: Verdicts,
    /// The results for programs (JSON).
    pub results: String,
    /// The path of the page for people; `None`: a run was stopped, and earlier results are kept.
    pub page: Option<PathBuf>,
}

/// Proves that a system is isolated. `None`: `watch` stopped the proof, and no file was changed.
pub fn prove(options: &Options, watch: &dyn Watch) -> Result<Option<Proven>, Failure> {
    watch.step("check and plan");
    let mut system = described(options)?;
    let (mut plain, notes) = plain(&system);
    for (vm, arguments) in &options.append {
        for system in std::iter::once(&mut system).chain(&mut plain) {
            system.append(vm, arguments)?;
        }
    }
    let hypervisor = match options.on {
        On::Model => Some(hypervisor::find(options.hypervisor.as_deref())?),
        On::Kvm => None,
    };
    let default = options.file.with_extension("proof");
    let output = options.output.as_ref().unwrap_or(&default);
    refuse_other_results(output, Kind::Prove, Some(&system.plan.name))?;
    let mut folder = Folder::create(output)?;
    let bin = bin_ns(&system);
    let prepare = |system, name| -> Result<Machine<'_>, Failure> {
        let (folder, options) = (folder.of_run(name)?, &options.cachescope_options);
        Ok(match &hypervisor {
            Some(found) => {
                Machine::Model(Box::new(Prepared::new(system, found, &folder, bin, options)?))
            }
            None => Machine::Kvm(measured::Prepared::new(system, folder)?),
        })
    };
    let with = prepare(&system, "with")?;
    let without = plain.as_ref().map(|plain| prepare(plain, "without")).transpose()?;

    watch.step("simulate the plan");
    let Some(simulated) = simulate_worst(&system, options.simulate, watch)? else {
        return Ok(None);
    };
    let run = |machine: &Machine<'_>| match machine {
        Machine::Model(prepared) => prepared.run(options.timeout, watch),
        Machine::Kvm(prepared) => prepared.run(options.timeout, watch),
    };
    let remarks = match &with {
        Machine::Model(_) => None,
        Machine::Kvm(prepared) => Some(prepared.remarks.clone()),
    };
    watch.step("run without isolation");
    let without = without.as_ref().map(run).transpose()?.flatten();
    if watch.stops() {
        return Ok(None);
    }
    watch.step("run with the plan");
    let Some(with) = run(&with)? else {
        return Ok(None);
    };

    let mut theorems = None;
    if options.certificate {
        watch.step("check the bounds with Coq");
        theorems = super::theorems::theorems(&system, &folder, options.compile_proofs, watch)?;
        if theorems.is_none() {
            return Ok(None);
        }
    }

    watch.step("write the report");
    let (plain, measured) = (plain.as_ref(), remarks.as_deref());
    let evidence = Evidence { system: &system, plain, measured, simulated, with, without };
    let (mut proof, rows) = evidence.proof(notes, theorems)?;
    proof.origin = origin::origin(options, &evidence, hypervisor.as_ref(), &folder)?;
    // A proof that was stopped says nothing of the system, and an earlier one does.
    let keeps_earlier = evidence.with.is_timed_out && folder.has_earlier();
    if keeps_earlier {
        proof.notes.push(format!(
            "{} and all that is beside it are kept as they were, because the run with the plan was stopped",
            folder.place(PAGE).display()
        ));
    }
    let page = (!keeps_earlier).then(|| folder.place(PAGE).display().to_string());
    let results = write(&folder, &system, plain, &proof, page)?;
    if watch.stops() {
        return Ok(None);
    }
    if !keeps_earlier {
        folder.finish()?;
    }
    let file = options.file.display().to_string();
    let verdicts = of_proof(&file, &proof, &system, rows);
    let page = (!keeps_earlier).then(|| folder.place(PAGE));
    Ok(Some(Proven { proof, verdicts, results, page }))
}

/// A machine that runs a system.
enum Machine<'a> {
    Model(Box<Prepared<'a>>),
    Kvm(measured::Prepared<'a>),
}

/// The described system, which has tasks.
fn described(options: &Options) -> Result<System, Failure> {
    let (system, _) = load::plan_with(&options.file, |_| Ok(completion::Options::default()))?;
    let file = options.file.display();
    let Some(described) = &system.description else {
        return Err(Failure::new(
            "is-a-plan",
            format!(
                "{file} is a plan, which has no tasks\nhelp: name the description that it was made from"
            ),
        ));
    };
    if described.platform.value.kvm && options.on == On::Model {
        let name = &described.platform.value.name;
        let text = format!(
            "the VMs of `{name}` run under KVM, and not on the model of caches and bus\n\
             help: `bulkhead prove {file} --on kvm` measures them on this machine"
        );
        return Err(Failure::new("only-under-kvm", text));
    }
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
    page: Option<String>,
) -> Result<String, Failure> {
    for (name, system) in [(PLAN, Some(system)), (PLAN_WITHOUT, plain)] {
        // Under KVM there is no plan as a file.
        let Some(system) = system.filter(|_| !proof.measured) else { continue };
        let mut plan = system.plan.clone();
        let place = folder.place(name);
        plan.move_files(&system.folder, load::folder(&place)).map_err(|error| {
            Failure::file("output", format!("cannot write {}: {error}", place.display()))
        })?;
        folder.write(name, plan.to_dts().as_bytes())?;
    }
    let document = Document::new(proof, page);
    let mut results =
        serde_json::to_string_pretty(&document).map_err(|it| Failure::file("output", it))?;
    results.push('\n');
    folder.write(RESULTS, results.as_bytes())?;
    folder.write(PAGE, proof.html().as_bytes())?;
    Ok(results)
}
