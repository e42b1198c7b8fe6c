//! VCPUs to PCPUs.

use std::cmp::Reverse;

use analysis::{Kind, Server};
use bulkhead_system::description::{Located, System, Vcpu};
use bulkhead_system::diagnostic::{Diagnostic, Errors};
use bulkhead_system::plan::Class;

use crate::vcpus_to_pcpus::vcpus_to_pcpus;

/// Steps of the search for PCPUs: enough to try all ways for a dozen VCPUs.
const STEPS: u64 = 100_000;

/// Where a VCPU is in the description.
type At = (usize, usize);

/// Gives every VCPU its PCPU. Those without server have one for themselves.
pub(super) fn place(system: &mut System) -> Result<(), Errors> {
    let count = system.platform.value.cpus.len();
    let all: Vec<At> = (0..system.vms.len())
        .flat_map(|vm| (0..system.vms[vm].vcpus.len()).map(move |vcpu| (vm, vcpu)))
        .collect();
    let vcpu = |system: &System, (vm, vcpu): At| system.vms[vm].vcpus[vcpu].clone();
    let given = |at: At| vcpu(system, at).pcpu.and_then(|pcpu| usize::try_from(pcpu.value).ok());
    // VCPUs without server first: the lowest PCPUs that nobody was given, as without a planner.
    let mut alone: Vec<usize> = Vec::new();
    let mut found: Vec<(At, usize)> = Vec::new();
    let mut free = (0..count).filter(|pcpu| !all.iter().any(|&at| given(at) == Some(*pcpu)));
    for &at in all.iter().filter(|&&at| vcpu(system, at).server.is_none()) {
        match given(at) {
            Some(pcpu) => alone.push(pcpu),
            None => {
                // That there are too few is reported when the plan is made.
                let Some(pcpu) = free.next() else { return Ok(()) };
                alone.push(pcpu);
                found.push((at, pcpu));
            }
        }
    }
    let shared: Vec<usize> = (0..count).filter(|pcpu| !alone.contains(pcpu)).collect();
    let mut servers: Vec<(At, Server)> =
        all.iter().filter_map(|&at| Some((at, server(&vcpu(system, at))?))).collect();
    // Priorities as in the plan: given ones, then the shorter period.
    servers.sort_by_key(|(at, server)| {
        let given = vcpu(system, *at).server.and_then(|server| server.priority);
        (Reverse(given.map_or(0, |priority| priority.value)), server.period())
    });
    let pinned: Vec<Option<usize>> = servers
        .iter()
        .map(|(at, _)| {
            given(*at).map(|pcpu| shared.iter().position(|it| *it == pcpu).unwrap_or(count))
        })
        .collect();
    let only: Vec<Server> = servers.iter().map(|(_, server)| *server).collect();
    let placed = match vcpus_to_pcpus(&only, &pinned, shared.len(), STEPS) {
        Ok(Some(placed)) => placed,
        // What is given does not fit: that is said when the plan is made, and by `check`.
        _ if pinned.iter().all(Option::is_some) => return Ok(()),
        _ => return Err(too_much(system, &servers, shared.len()).into()),
    };
    found.extend(servers.iter().zip(placed).map(|((at, _), pcpu)| (*at, shared[pcpu])));
    // Those of the background go where there is least.
    for &at in &all {
        let it = vcpu(system, at);
        let background = it.server.is_some_and(|server| server.class.value == Class::Background);
        if background && it.pcpu.is_none() {
            let load = |pcpu: &usize| found.iter().filter(|(_, on)| on == pcpu).count();
            if let Some(&pcpu) = shared.iter().min_by_key(|pcpu| load(pcpu)) {
                found.push((at, pcpu));
            }
        }
    }
    for ((vm, vcpu), pcpu) in found {
        let place = system.vms[vm].name.place.clone();
        let vcpu = &mut system.vms[vm].vcpus[vcpu];
        vcpu.pcpu.get_or_insert_with(|| Located::new(pcpu as u64, &place));
    }
    Ok(())
}

/// The server of a VCPU as the analysis sees it.
fn server(vcpu: &Vcpu) -> Option<Server> {
    let class = vcpu.server.as_ref()?.class.value;
    let kind = match class {
        Class::Periodic(_) => Kind::Periodic,
        Class::Deferrable(_) => Kind::Deferrable,
        Class::Sporadic(_) => Kind::Sporadic,
        Class::Background => return None,
    };
    let given = class.budget()?;
    Server::new(kind, given.budget, given.period).ok()
}

fn too_much(system: &System, servers: &[(At, Server)], pcpus: usize) -> Diagnostic {
    let largest = servers.iter().max_by_key(|(_, server)| {
        analysis::utilization::Share::up(server.budget(), server.period())
    });
    let needs: Vec<String> = servers
        .iter()
        .map(|((vm, vcpu), server)| {
            let name = &system.vms[*vm].name.value;
            format!("VCPU {vcpu} of `{name}` {} of {}", server.budget(), server.period())
        })
        .collect();
    let message = format!(
        "no way was found to share {pcpus} PCPUs such that all VCPUs get their budgets: {}",
        needs.join(", ")
    );
    let mistake = Diagnostic::new("cannot-plan", message);
    let help = "give VCPUs of one PCPU periods that divide each other, shorten execution times, or \
                give VMs fewer VCPUs";
    match largest {
        Some(((vm, _), _)) => mistake.at(&system.vms[*vm].name.place, "needs most").help(help),
        None => mistake.help(help),
    }
}
