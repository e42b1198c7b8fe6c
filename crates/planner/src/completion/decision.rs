//! The decisions of a plan, one by one.

use std::fmt::Write as _;

use serde::Serialize;
use system::description::{Amount, Bandwidth, System};

use super::change::exact;
use super::pcpus::{At, all, vcpu};
use super::priorities;
use super::whole::open::Open;

/// A decision that a description leaves open, by the indices of VMs, VCPUs and tasks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Decision {
    /// Budget and period of a VCPU.
    Server(At),
    /// The PCPU of a VCPU.
    Pcpu(At),
    /// The order of the VCPUs of a PCPU.
    Order(usize),
    /// The VCPU of a task.
    Task(At),
    /// The colours of a VM.
    Colors(usize),
    /// The limit of memory accesses of a VM, or of one of its VCPUs.
    Limit(usize, Option<usize>),
    /// The number of VCPUs of a VM.
    Number(usize),
    /// The kind of the server of a VCPU.
    Kind(At),
    /// The overrun of a VCPU: it may or not.
    Overrun(At),
    /// The protocol of locks.
    Locks,
}

/// A decision that differs between two plans.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Changed {
    /// The decision: ``the PCPU of VCPU 0 of `linux` ``.
    pub decision: String,
    /// The old value.
    pub old: String,
    /// The new value.
    pub new: String,
}

/// Returns the decisions that a description leaves open, in its order.
pub(super) fn open(system: &System) -> Vec<Decision> {
    let mut decisions = Vec::new();
    for at in all(system) {
        let it = vcpu(system, at);
        if it.server.as_ref().is_some_and(|server| server.open) {
            decisions.push(Decision::Server(at));
        }
        if it.pcpu.is_none() {
            decisions.push(Decision::Pcpu(at));
        }
    }
    for (index, vm) in system.vms.iter().enumerate() {
        let tasks = vm.tasks.iter().enumerate().filter(|(_, task)| task.vcpu_open);
        decisions.extend(tasks.map(|(task, _)| Decision::Task((index, task))));
        if vm.colors_open.is_some() {
            decisions.push(Decision::Colors(index));
        }
        let is_open = |limit: &Option<Bandwidth>| limit.as_ref().is_some_and(Bandwidth::is_open);
        if is_open(&vm.bandwidth) {
            decisions.push(Decision::Limit(index, None));
        }
        let own = vm.vcpus.iter().enumerate().filter(|(_, vcpu)| is_open(&vcpu.bandwidth));
        decisions.extend(own.map(|(vcpu, _)| Decision::Limit(index, Some(vcpu))));
    }
    decisions
}

/// Returns the orders of VCPUs that a description leaves open, PCPU by PCPU: a search changes that
/// of periods only where it has to.
pub(super) fn orders(system: &System) -> Vec<Decision> {
    match priorities::can_differ(system, &Open::of(system)) {
        true => (0..system.platform.value.cpus.len()).map(Decision::Order).collect(),
        false => Vec::new(),
    }
}

/// Returns the numbers of VCPUs that a description leaves open, and the kinds of servers, overrun
/// and protocol of locks; `numbered` is the description with these numbers.
pub(super) fn choices(system: &System, numbered: &System) -> Vec<Decision> {
    let numbers = (0..system.vms.len()).filter(|&vm| system.vms[vm].vcpus_open.is_some());
    let mut decisions: Vec<Decision> = numbers.map(Decision::Number).collect();
    decisions.extend(system.locks_open.is_some().then_some(Decision::Locks));
    for at in all(numbered) {
        let Some(server) = vcpu(numbered, at).server.as_ref() else { continue };
        decisions.extend(server.kind_open.is_some().then_some(Decision::Kind(at)));
        decisions.extend(server.overrun_open.is_some().then_some(Decision::Overrun(at)));
    }
    decisions
}

impl Decision {
    /// Returns the decision in words: ``the budget of VCPU 0 of `linux` ``.
    pub fn words(self, system: &System) -> String {
        let vm = |vm: usize| &system.vms[vm].name.value;
        let of_vcpu = |(index, vcpu): At| format!("VCPU {vcpu} of `{}`", vm(index));
        match self {
            Self::Server(at) => format!("the budget of {}", of_vcpu(at)),
            Self::Pcpu(at) => format!("the PCPU of {}", of_vcpu(at)),
            Self::Order(pcpu) => format!("the order of VCPUs on PCPU {pcpu}"),
            Self::Task((index, task)) => {
                let task = &system.vms[index].tasks[task].name.value;
                format!("the VCPU of task `{task}` of `{}`", vm(index))
            }
            Self::Colors(index) => format!("the colours of `{}`", vm(index)),
            Self::Limit(index, None) => format!("the limit of `{}`", vm(index)),
            Self::Limit(index, Some(vcpu)) => format!("the limit of {}", of_vcpu((index, vcpu))),
            Self::Number(index) => format!("the number of VCPUs of `{}`", vm(index)),
            Self::Kind(at) => format!("the server of {}", of_vcpu(at)),
            Self::Overrun(at) => format!("the overrun of {}", of_vcpu(at)),
            Self::Locks => "the protocol of locks".into(),
        }
    }

    /// Returns the decided value in a complete description.
    pub fn value(self, planned: &System) -> String {
        match self {
            Self::Server(at) => {
                let server = vcpu(planned, at).server.as_ref();
                match server.and_then(|server| server.class.value.budget()) {
                    Some(it) => format!("{} in {}", exact(it.budget), exact(it.period)),
                    None => "none".into(),
                }
            }
            Self::Pcpu(at) => match &vcpu(planned, at).pcpu {
                Some(pcpu) => format!("PCPU {}", pcpu.value),
                None => "none".into(),
            },
            Self::Order(pcpu) => {
                let decided = priorities::explicit(planned, pcpu);
                let of =
                    |(vm, vcpu): At| format!("VCPU {vcpu} of `{}`", planned.vms[vm].name.value);
                match decided.is_empty() {
                    true => "by period".into(),
                    false => decided.into_iter().map(of).collect::<Vec<_>>().join(", "),
                }
            }
            Self::Task((vm, task)) => format!("VCPU {}", planned.vms[vm].tasks[task].vcpu),
            Self::Colors(vm) => colors(planned, vm),
            Self::Number(vm) => planned.vms[vm].vcpus.len().to_string(),
            Self::Kind(at) => {
                let server = vcpu(planned, at).server.as_ref();
                server.map_or("none", |server| server.class.value.as_str()).into()
            }
            Self::Overrun(at) => {
                let may = vcpu(planned, at).server.as_ref().is_some_and(|it| it.overrun.is_some());
                if may { "allowed" } else { "none" }.into()
            }
            Self::Locks => planned.locks.as_str().into(),
            Self::Limit(vm, index) => {
                let limit = limit(planned, vm, index);
                limit.map_or("none".into(), |limit| match limit.amount.value {
                    Amount::Accesses(accesses) => {
                        format!("{accesses} accesses in {}", exact(limit.period.value))
                    }
                    _ => "open".into(),
                })
            }
        }
    }
}

/// Returns the colours of a VM, with those of its tasks where these differ.
fn colors(planned: &System, vm: usize) -> String {
    let vm = &planned.vms[vm];
    let Some(all) = &vm.colors else { return "none".into() };
    let mut text = all.value.to_string();
    for task in &vm.tasks {
        if let Some(own) = task.colors.as_ref().filter(|own| own.value != all.value) {
            let _ = write!(text, ", `{}` {}", task.name.value, own.value);
        }
    }
    text
}

/// Returns the limit of memory accesses of a VM, or of one of its VCPUs.
pub(super) fn limit(system: &System, vm: usize, vcpu: Option<usize>) -> Option<&Bandwidth> {
    let vm = &system.vms[vm];
    match vcpu {
        Some(vcpu) => vm.vcpus[vcpu].bandwidth.as_ref(),
        None => vm.bandwidth.as_ref(),
    }
}

/// Returns the decisions that differ.
pub(super) fn changed(open: &System, old: &System, new: &System) -> Vec<Changed> {
    let each = self::open(open).into_iter().chain(orders(open)).filter_map(|decision| {
        let (before, after) = (decision.value(old), decision.value(new));
        let decision = decision.words(open);
        (before != after).then_some(Changed { decision, old: before, new: after })
    });
    each.collect()
}
