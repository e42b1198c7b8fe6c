//! The analysed, simulated and executed results of each task.

use std::collections::BTreeMap;

use report::proof::{Responses, Task, Term};
use trace::Header;
use verdict::{TaskVerdict, VcpuVerdict, Verdict};

use crate::explain::{part, reason};
use crate::load::System;
use crate::responses::Key;

/// Returns the described tasks, in the order of VMs, VCPUs and priorities, with their bounds, and
/// the place of each.
pub fn tasks(
    system: &System,
    header: &Header,
    with: &Verdict,
    without: Option<&Verdict>,
) -> (Vec<Task>, BTreeMap<Key, usize>) {
    let (mut tasks, mut places) = (Vec::new(), BTreeMap::new());
    for (id, vcpu) in header.vcpus() {
        let vm = usize::from(id.vm);
        let described = system.description.as_ref().and_then(|it| it.vms.get(vm));
        for (named, number) in vcpu.tasks.iter().zip(0..) {
            let accesses = described
                .and_then(|vm| vm.tasks.iter().find(|task| task.name.value == named.name))
                .and_then(|task| task.accesses.as_ref())
                .map(|accesses| accesses.value);
            let name = header.vm_name(id.vm);
            let find = |verdict| find(verdict, &name, usize::from(id.vcpu), &named.name);
            let (with, without) = (find(with), without.and_then(find));
            places.insert((id, number), tasks.len());
            tasks.push(Task {
                vm,
                vcpu: usize::from(id.vcpu),
                name: named.name.clone(),
                wcet_ns: with.map(|(_, task)| task.wcet_ns),
                period_ns: named.period_ns,
                deadline_ns: named.deadline_ns,
                accesses,
                bound_without_ns: without.and_then(|(_, task)| task.wcrt_ns),
                reason_without: without.and_then(|(vcpu, task)| reason(vcpu, task)),
                bound_with_ns: with.and_then(|(_, task)| task.wcrt_ns),
                reason_with: with.and_then(|(vcpu, task)| reason(vcpu, task)),
                terms: with.map(|(_, task)| terms(task)).unwrap_or_default(),
                simulated: None,
                without: None,
                with: None,
            });
        }
    }
    (tasks, places)
}

/// Adds responses to their tasks.
pub fn add(
    tasks: &mut [Task],
    places: &BTreeMap<Key, usize>,
    found: BTreeMap<Key, Responses>,
    of: impl Fn(&mut Task) -> &mut Option<Responses>,
) {
    for (key, responses) in found {
        if let Some(task) = places.get(&key).and_then(|&place| tasks.get_mut(place)) {
            *of(task) = Some(responses);
        }
    }
}

fn find<'a>(
    verdict: &'a Verdict,
    vm: &str,
    vcpu: usize,
    task: &str,
) -> Option<(&'a VcpuVerdict, &'a TaskVerdict)> {
    verdict.tasks().find(|(it, of)| it.vm == vm && it.vcpu == vcpu && of.task == task)
}

fn terms(task: &TaskVerdict) -> Vec<Term> {
    let terms = task.terms.iter();
    terms.map(|term| Term { name: part(term), time_ns: term.time_ns }).collect()
}
