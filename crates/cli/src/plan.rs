//! `bulkhead plan`: makes a plan out of a description.

use std::path::{Path, PathBuf};

use analysis::verdict::Verdict;
use bulkhead_system::description::{self, System, Vm};
use policy::color::{Color, ColorSet};
use serde::Serialize;

use crate::arguments::PlanOptions;
use crate::check::bounds;
use crate::failure::Failure;
use crate::input;
use crate::json;
use crate::output;
use crate::overview;
use crate::status::Status;
use crate::table::table;

/// Runs the command.
pub fn plan(options: &PlanOptions, as_json: bool) -> Result<Status, Failure> {
    let mut system = input::plan(&options.file)?;
    let target = match options.output.as_deref() {
        Some(path) if path == Path::new("-") => None,
        Some(path) => Some(path.to_owned()),
        None => Some(beside(&options.file)?),
    };
    if let Some(target) = &target {
        system.plan.move_files(&system.folder, input::folder(target))?;
    }
    let described = system.description.as_deref();
    let verdict = described.map(|described| Verdict::of_plan(&system.plan, Some(described)));
    let dts = system.plan.to_dts();
    let replaced = target.as_ref().is_some_and(|target| target.exists());
    if let Some(target) = &target {
        bulkhead_image::write(target, dts.as_bytes())?;
    }
    match target {
        _ if as_json => json::print(&Document {
            ok: verdict.as_ref().is_none_or(|verdict| verdict.schedulable),
            name: &system.plan.name,
            plan_file: target.map(|target| target.display().to_string()),
            replaced,
            plan_dts: &dts,
            analysis: verdict.as_ref(),
            tasks: described.map(tasks).unwrap_or_default(),
        })?,
        None => output::print(&dts)?,
        Some(target) => {
            let verb = if replaced { "replaced" } else { "wrote" };
            let colors = described.map(colors).unwrap_or_default();
            let bounds = verdict.as_ref().map(bounds::show).unwrap_or_default();
            output::print(&format!(
                "{verb} {}\n\n{}{colors}{bounds}",
                target.display(),
                overview::plan(&system.plan)
            ))?;
        }
    }
    // A plan is written also where deadlines can be missed: it can be run and looked at.
    Ok(match verdict {
        Some(verdict) if !verdict.schedulable => Status::No,
        _ => Status::Yes,
    })
}

/// The tasks that have colours of their own, for people: the guest has to give them memory of
/// these colours.
fn colors(system: &System) -> String {
    let mut rows = Vec::new();
    for vm in &system.vms {
        for task in &vm.tasks {
            let Some(own) = &task.colors else { continue };
            let guest = Task::new(vm, task).guest_colors;
            let guest: Option<ColorSet> =
                guest.map(|all| all.into_iter().filter_map(|it| Color::new(it as u8)).collect());
            rows.push(vec![
                vm.name.value.clone(),
                task.vcpu.to_string(),
                task.name.value.clone(),
                own.value.to_string(),
                guest.map_or("-".into(), |guest| guest.to_string()),
            ]);
        }
    }
    match rows.is_empty() {
        true => String::new(),
        false => {
            let heading = ["VM", ">VCPU", "task", "colours", "in the guest"];
            format!("\n{}", table(&heading, &rows))
        }
    }
}

fn tasks(system: &System) -> Vec<Task<'_>> {
    let tasks = system.vms.iter().flat_map(|vm| vm.tasks.iter().map(move |task| (vm, task)));
    tasks.map(|(vm, task)| Task::new(vm, task)).collect()
}

/// Where a task runs, and with which colours.
#[derive(Serialize)]
struct Task<'a> {
    vm: &'a str,
    vcpu: usize,
    task: &'a str,
    /// Its own colours of the machine, if it has some.
    colors: Option<Vec<usize>>,
    /// The same as a guest with a virtual cache sees them.
    guest_colors: Option<Vec<usize>>,
}

impl<'a> Task<'a> {
    fn new(vm: &'a Vm, task: &'a description::Task) -> Self {
        let own = task.colors.as_ref().map(|colors| colors.value);
        let indices = |set: ColorSet| set.iter().map(Color::index).collect();
        let of_vm = vm.colors.as_ref().filter(|_| vm.vllc);
        let guest = own
            .zip(of_vm)
            .map(|(own, of_vm)| own.iter().map(|color| of_vm.value.rank(color) as usize).collect());
        Self {
            vm: &vm.name.value,
            vcpu: task.vcpu,
            task: &task.name.value,
            colors: own.map(indices),
            guest_colors: guest,
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    name: &'a str,
    plan_file: Option<String>,
    replaced: bool,
    plan_dts: &'a str,
    analysis: Option<&'a Verdict>,
    tasks: Vec<Task<'a>>,
}

/// The plan's place if none is given: `demo.plan.dts` beside `demo.toml`.
fn beside(description: &Path) -> Result<PathBuf, Failure> {
    if input::ending(description) != Some("toml") {
        return Err(Failure::new(
            "is-a-plan",
            format!(
                "{} is a plan already\nhelp: name an output with `-o FILE` to write it anew",
                description.display()
            ),
        ));
    }
    Ok(description.with_extension("plan.dts"))
}
