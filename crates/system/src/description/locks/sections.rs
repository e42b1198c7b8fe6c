//! Reads the `sections` of a task.

use units::Duration;

use super::{Known, Section};
use crate::description::{Located, Wcet};
use crate::diagnostic::Diagnostic;
use crate::document::Fields;
use crate::suggest;

/// Most critical sections of a task.
const SECTIONS_MAX: usize = 64;

/// Returns the critical sections of a task in their order; none, if there are none. `vm` is the
/// index of its VM.
pub(in crate::description) fn read(
    task: &Fields<'_>,
    vm: usize,
    known: &Known,
) -> Option<Vec<Section>> {
    let tables = task.inline_tables("sections");
    if let Some(more) = tables.get(SECTIONS_MAX) {
        let message = format!("a task can have {SECTIONS_MAX} critical sections");
        let help = "remove the sections from here on";
        task.add(Diagnostic::new("out-of-range", message).at(more.place(), "one more").help(help));
    }
    let sections: Vec<_> = tables.iter().map(|at| section(at, vm, known)).collect();
    sections.into_iter().collect()
}

fn section(at: &Fields<'_>, vm: usize, known: &Known) -> Option<Section> {
    let resource = at.required("resource", at.string("resource"), "\"bus\"");
    let length = at.required("length", at.quantity::<Duration>("length"), "\"1ms\"");
    let after = at.quantity::<Duration>("after");
    at.finish();
    let resource = resource.and_then(|name| resource_of(at, &name, vm, known));
    let length = length?;
    if length.value == Duration(0) {
        at.add(
            Diagnostic::new("out-of-range", "the critical section is empty")
                .at(&length.place, "here")
                .help("give the longest time that the task executes in it"),
        );
    }
    let after = after.map_or(Duration(0), |after| after.value);
    let (length, place) = (length.value, at.place().clone());
    Some(Section { resource: resource?, after, length, delay: Duration(0), place })
}

/// Returns the resource of this name, which the VM must have the right to.
fn resource_of(at: &Fields<'_>, name: &Located<String>, vm: usize, known: &Known) -> Option<usize> {
    let Some((index, resource)) = known.find(&name.value) else {
        // One whose name cannot be read may be the one that is meant.
        if !known.is_complete() {
            return None;
        }
        let names: Vec<&str> = known.names().collect();
        let message = format!("there is no resource `{}`", name.value.escape_debug());
        let help = match names.is_empty() {
            true => "describe it under a header `[[resource]]`".into(),
            false => suggest::help(&name.value, &names),
        };
        at.add(Diagnostic::new("unknown-name", message).at(&name.place, "here").help(help));
        return None;
    };
    if let Some(resource) = resource.filter(|resource| !resource.vms.contains(&vm)) {
        let message = format!("the VM of this task may not open `{}`", resource.name.value);
        let help = match resource.inter_vm {
            true => "add the VM to the `vms` of the resource",
            false => "it belongs to one VM: list both in `vms`, if they are to share it",
        };
        at.add(
            Diagnostic::new("no-right", message)
                .at(&name.place, "asks for it")
                .also(&resource.name.place, "the resource")
                .help(help),
        );
    }
    Some(index)
}

/// All segments of a job fit into its execution time.
pub(in crate::description) fn check_lengths(
    task: &Fields<'_>,
    sections: &[Section],
    wcet: &Located<Wcet>,
) {
    let mut sum = 0u64;
    for section in sections {
        sum = sum.saturating_add(section.after.0).saturating_add(section.length.0);
        if sum > wcet.value.shortest().0 {
            let message = format!(
                "the task takes {}, but {} until the end of this section",
                wcet.value.shortest(),
                Duration(sum)
            );
            task.add(
                Diagnostic::new("out-of-range", message)
                    .at(&section.place, "ends after the job")
                    .also(&wcet.place, "the execution time")
                    .help(
                        "the execution time contains all critical sections, and what comes between",
                    ),
            );
            return;
        }
    }
}
