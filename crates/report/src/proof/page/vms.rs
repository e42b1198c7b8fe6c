//! The VMs in both runs: their ends, and the things for which they had to wait.

use super::Part;
use super::label::{self, escape};
use super::units::{count, counted, ms, percent};
use crate::proof::{Proof, Run, VmRun};

/// Most rows.
const VMS_MAX: usize = 200;

/// Returns the part, if there was a run of which something is known. A real machine does not tell who waits for the bus.
pub fn part(proof: &Proof) -> Option<Part> {
    let runs = [&proof.without, &proof.with];
    if proof.measured {
        return None;
    }
    if runs.iter().all(|run| run.as_ref().is_none_or(|run| run.vms.is_empty())) {
        return None;
    }
    let known = |run: &&Run| run.vms.iter().any(|vm| vm.exits.is_some());
    let exits = runs.into_iter().flatten().any(|run| known(&run));
    let rows: String = proof
        .vms
        .iter()
        .enumerate()
        .take(VMS_MAX)
        .map(|(place, vm)| {
            let cells: String = runs.iter().map(|run| cells(run.as_ref(), place, exits)).collect();
            let class = label::class(Some(place));
            let name = escape(&vm.name);
            format!(
                "<tr><th scope=\"row\"><span class=\"swatch {class}\"></span>{name}</th>{cells}</tr>\n"
            )
        })
        .collect();
    let (exits, width) = match exits {
        true => ("<th scope=\"col\" class=\"n\">exits</th>", 5),
        false => ("", 4),
    };
    let columns = format!(
        "<th scope=\"col\" class=\"first\">ended</th>{exits}<th scope=\"col\" class=\"n\">waited for the bus, ms</th><th scope=\"col\" class=\"n\">of the run</th>\
         <th scope=\"col\" class=\"n\">lines moved</th>"
    );
    let html = format!(
        "<p>A VM waits for the memory bus when others use it: colours do not help against that, \
         limits of accesses do. Lines are those that were moved to and from memory. The runs need not be of the same length: compare parts.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of VMs in both runs\">\n<table>\n<caption>VMs in both runs</caption>\n\
         <thead><tr><td></td><th scope=\"colgroup\" colspan=\"{width}\" class=\"group\">without isolation</th>\
         <th scope=\"colgroup\" colspan=\"{width}\" class=\"group\">with the plan</th></tr>\n\
         <tr><th scope=\"col\">VM</th>{columns}{columns}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    );
    Some(Part { id: "vms", nav: "VMs", title: "The VMs in both runs", html })
}

/// Returns the cells with the known facts about a VM in a run.
fn cells(run: Option<&Run>, place: usize, exits: bool) -> String {
    let vm = run.and_then(|run| Some((run.vms.get(place)?, run.time_ns)));
    let unknown = || String::from("–");
    let number = |of: fn(&VmRun) -> Option<u64>, show: fn(u64) -> String| {
        vm.and_then(|(vm, _)| of(vm)).map_or_else(unknown, show)
    };
    let state = vm.map(|(vm, _)| match vm.restarts {
        0 => escape(&vm.state),
        restarts => format!("{}, {}", escape(&vm.state), counted(restarts, "restart")),
    });
    let exits = match exits {
        true => format!("<td class=\"n\">{}</td>", number(|vm| vm.exits, count)),
        false => String::new(),
    };
    let of_run = vm.and_then(|(vm, time)| percent(vm.bus_wait_ns?, time));
    format!(
        "<td class=\"first\">{}</td>{}<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
        state.filter(|it| !it.is_empty()).unwrap_or_else(unknown),
        exits,
        number(|vm| vm.bus_wait_ns, ms),
        of_run.map_or_else(unknown, |it| format!("{it} %")),
        number(|vm| vm.memory_lines, count)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_part_of_the_run_and_what_is_not_known_is_a_dash() {
        let vm = VmRun {
            state: "off".into(),
            restarts: 2,
            bus_wait_ns: Some(500_000),
            ..VmRun::default()
        };
        let run = Run { time_ns: 10_000_000, vms: vec![vm], ..Run::default() };
        let html = cells(Some(&run), 0, false);
        for part in [">off, 2\u{a0}restarts<", ">0.500<", ">5.0 %<", ">–<"] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert_eq!(cells(Some(&run), 1, true).matches(">–<").count(), 5);
    }
}
