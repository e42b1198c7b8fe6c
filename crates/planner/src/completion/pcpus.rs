//! VCPUs to PCPUs.

use std::cmp::Reverse;

use analysis::{Duration, Server};
use system::address::Pcpu;
use system::description::{Located, System, Vcpu};
use system::plan::{self, Budget, Class};
use verdict::{PcpuVerdict, VcpuVerdict};

use super::apart;
use super::problem::most_waits;
use crate::vcpus_to_pcpus;

/// Steps of the search for PCPUs: all ways for eight VCPUs on four PCPUs or so.
const STEPS: u64 = 10_000;

/// The place of a VCPU in the description: indices of VM and VCPU.
pub(super) type At = (usize, usize);

/// VCPUs that do not fit onto PCPUs.
#[derive(Debug)]
pub(super) struct Crowd {
    /// The PCPUs that they can share.
    pub pcpus: usize,
    /// The VCPUs, by VM and index, and the budgets that they need.
    pub needs: Vec<(usize, usize, Budget)>,
}

/// Returns all VCPUs of a system.
pub(super) fn all(system: &System) -> Vec<At> {
    let of_vm = |vm: usize| (0..system.vms[vm].vcpus.len()).map(move |vcpu| (vm, vcpu));
    (0..system.vms.len()).flat_map(of_vm).collect()
}

/// Returns the PCPU that was given to a VCPU.
pub(super) fn given(system: &System, at: At) -> Option<usize> {
    vcpu(system, at).pcpu.as_ref().and_then(|it| usize::try_from(it.value).ok())
}

/// Returns the VCPUs with budgets of a PCPU, the highest priority first.
pub(super) fn members(system: &System, pcpu: usize) -> Vec<At> {
    let mut here: Vec<At> = all(system)
        .into_iter()
        .filter(|&at| given(system, at) == Some(pcpu) && server(vcpu(system, at)).is_some())
        .collect();
    here.sort_by_key(|&at| order(system, at));
    here
}

/// Puts a VCPU that has no PCPU yet onto this one.
pub(super) fn put(system: &mut System, (vm, vcpu): At, pcpu: usize) {
    let place = system.vms[vm].name.place.clone();
    let vcpu = &mut system.vms[vm].vcpus[vcpu];
    vcpu.pcpu.get_or_insert_with(|| Located::new(pcpu as u64, &place));
}

/// Gives VCPUs without server PCPUs of their own: the lowest that nobody was given, as without a
/// planner. Returns the PCPUs for the others, or `None` if there are too few.
pub(super) fn reserve(system: &mut System) -> Option<Vec<usize>> {
    let all = all(system);
    let count = system.platform.value.cpus.len();
    let taken: Vec<usize> = all.iter().filter_map(|&at| given(system, at)).collect();
    let mut free = (0..count).filter(|pcpu| !taken.contains(pcpu));
    let mut alone = Vec::new();
    for &at in all.iter().filter(|&&at| vcpu(system, at).server.is_none()) {
        alone.push((at, given(system, at).or_else(|| free.next())?));
    }
    alone.iter().for_each(|&(at, pcpu)| put(system, at, pcpu));
    Some((0..count).filter(|pcpu| !alone.iter().any(|(_, own)| own == pcpu)).collect())
}

/// Puts VCPUs of the background where there is least of others.
pub(super) fn place_background(system: &mut System, shared: &[usize]) {
    for at in all(system) {
        let server = vcpu(system, at).server.as_ref();
        let background = server.is_some_and(|server| server.class.value == Class::Background);
        if !background || given(system, at).is_some() {
            continue;
        }
        let all = all(system);
        let load =
            |pcpu: &usize| all.iter().filter(|&&it| given(system, it) == Some(*pcpu)).count();
        if let Some(&pcpu) = shared.iter().min_by_key(|pcpu| load(pcpu)) {
            put(system, at, pcpu);
        }
    }
}

/// Gives every VCPU its PCPU. Those without server have one for themselves. The tasks of the
/// VMs that are `planned` are in time wherever their VCPUs get their budgets.
pub(super) fn place(system: &mut System, planned: &[usize]) -> Result<(), Box<Crowd>> {
    let count = system.platform.value.cpus.len();
    let all = all(system);
    // That there are too few is reported when the plan is made.
    let Some(shared) = reserve(system) else { return Ok(()) };
    let mut servers: Vec<(At, Server)> =
        all.iter().filter_map(|&at| Some((at, server(vcpu(system, at))?))).collect();
    servers.sort_by_key(|(at, _)| order(system, *at));
    let pinned: Vec<Option<usize>> = servers
        .iter()
        .map(|(at, _)| {
            given(system, *at).map(|pcpu| shared.iter().position(|it| *it == pcpu).unwrap_or(count))
        })
        .collect();
    let only: Vec<Server> = servers.iter().map(|(_, server)| *server).collect();
    let members: Vec<At> = servers.iter().map(|(at, _)| *at).collect();
    // What is late on a PCPU of its own is late everywhere.
    let alone_in_time = |at: &At| judge(system, &[*at]).iter().all(in_time);
    let is_late: Vec<bool> = members.iter().map(|at| !alone_in_time(at)).collect();
    // Those of the VMs that are planned have room enough wherever they get their budgets, unless the hypervisor takes
    // time for each neighbour: then that is looked at first.
    let delicate = |all: bool| -> Vec<bool> {
        let pairs = members.iter().zip(&is_late);
        pairs.map(|(at, late)| !late && (all || !planned.contains(&at.0))).collect()
    };
    let late = late(system);
    let fit = |on: &[usize], delicate: &[bool], apart: bool| {
        let at: Vec<At> = on.iter().map(|&index| members[index]).collect();
        priorities_fit(system, &at)
            && !(apart && apart::is_mixed(system, &at))
            && vcpus_to_pcpus::budgets_fit(&only, on, late)
            && (!on.iter().any(|&index| delicate[index])
                || judge(system, &at)
                    .iter()
                    .zip(on)
                    .all(|(it, &index)| in_time(it) || !delicate[index]))
    };
    let place = |all: bool, apart: bool| {
        let delicate = delicate(all);
        let fit = |on: &[usize]| fit(on, &delicate, apart);
        vcpus_to_pcpus::place(&only, &pinned, shared.len(), STEPS, fit)
    };
    let has_overheads = system.platform.value.overheads.is_some();
    let ways = [(true, true), (false, true), (true, false), (false, false)];
    let ways = ways
        .into_iter()
        .filter(|(all, apart)| (has_overheads || !all) && (!apart || apart::matters(system)));
    let placed = match ways.filter_map(|(all, apart)| place(all, apart).ok()?).next() {
        Some(placed) => placed,
        // What is given does not fit: that is said when the plan is made, and by `check`.
        _ if pinned.iter().all(Option::is_some) => return Ok(()),
        _ => {
            let need = |&(vm, index): &At| {
                let server = vcpu(system, (vm, index)).server.as_ref()?;
                Some((vm, index, server.class.value.budget()?))
            };
            let needs = members.iter().filter_map(need).collect();
            return Err(Box::new(Crowd { pcpus: shared.len(), needs }));
        }
    };
    for (at, pcpu) in members.iter().zip(placed) {
        put(system, *at, shared[pcpu]);
    }
    place_background(system, &shared);
    Ok(())
}

/// Returns the longest time for which the hypervisor serves no interrupt, if it is known.
pub(super) fn late(system: &System) -> Duration {
    verdict::costs(system, most_waits(system)).map_or(Duration(0), |costs| costs.late)
}

pub(super) fn vcpu(system: &System, (vm, vcpu): At) -> &Vcpu {
    &system.vms[vm].vcpus[vcpu]
}

/// Returns the priority that was given to a VCPU; 0 if none was.
fn priority(system: &System, at: At) -> u64 {
    let given = vcpu(system, at).server.as_ref().and_then(|server| server.priority.as_ref());
    given.map_or(0, |priority| priority.value)
}

/// Returns the key by which the VCPUs of a PCPU are ordered, as in the plan: given priorities, then
/// the shorter period, then the order of the description.
pub(super) fn order(system: &System, at: At) -> ((Reverse<u64>, Duration), At) {
    (vcpu(system, at).order(), at)
}

/// Returns true if all VCPUs of a PCPU have a priority, each its own, or none has.
pub(super) fn priorities_fit(system: &System, on: &[At]) -> bool {
    let has = |at: &&At| {
        vcpu(system, **at).server.as_ref().is_some_and(|server| server.priority.is_some())
    };
    let given: Vec<u64> = on.iter().filter(has).map(|at| priority(system, *at)).collect();
    given.is_empty() || given.len() == on.len() && given.is_sorted_by(|a, b| a > b)
}

/// Returns the analysis of these VCPUs on one PCPU, in the order of their priorities; VCPUs of the
/// background class are below them.
pub(super) fn judge(system: &System, on: &[At]) -> Vec<VcpuVerdict> {
    let pcpus = || system.vms.iter().flat_map(|vm| &vm.vcpus).map(|vcpu| vcpu.pcpu.as_ref());
    let used = |pcpu: u32| pcpus().flatten().any(|it| it.value == u64::from(pcpu));
    // Until VCPUs have PCPUs, it may be any.
    let pcpu = on.first().and_then(|at| vcpu(system, *at).pcpu.as_ref());
    let console = u64::from(plan::console(system.platform.value.cpus.len(), used));
    let console = pcpu.is_some_and(|pcpu| pcpu.value == console);
    let background = |at: &At| {
        let it = vcpu(system, *at);
        let class = it.server.as_ref().map(|server| server.class.value);
        let same =
            pcpu.is_some_and(|pcpu| it.pcpu.as_ref().is_some_and(|own| own.value == pcpu.value));
        same && class == Some(Class::Background) && !on.contains(at)
    };
    let all = (0..system.vms.len())
        .flat_map(|vm| (0..system.vms[vm].vcpus.len()).map(move |vcpu| (vm, vcpu)));
    let members: Vec<At> = on.iter().copied().chain(all.filter(background)).collect();
    let ranks = (1..=members.len() as u32).rev();
    let vcpus = members.iter().zip(ranks).filter_map(|(&(vm, index), priority)| {
        let class = vcpu(system, (vm, index)).server.as_ref()?.class.value;
        let overrun = system.overrun(vm, index);
        let server = Some(plan::Server { class, priority, overrun });
        let (hold, entries) = (system.hold(vm, index), system.entries(vm, index));
        let vcpu = plan::Vcpu { pcpu: Pcpu(0), server, memory_budget: None, hold, entries };
        Some((vm, index, vcpu))
    });
    let mut verdict = PcpuVerdict::of(system, &vcpus.collect::<Vec<_>>(), console).vcpus;
    verdict.truncate(on.len());
    verdict
}

pub(super) fn in_time(vcpu: &VcpuVerdict) -> bool {
    vcpu.tasks.iter().all(|task| task.ok)
}

/// Returns the server of a VCPU as the analysis sees it.
pub(super) fn server(vcpu: &Vcpu) -> Option<Server> {
    let Class::Reserved(kind, given) = vcpu.server.as_ref()?.class.value else { return None };
    Server::new(kind, given.budget, given.period).ok()
}
