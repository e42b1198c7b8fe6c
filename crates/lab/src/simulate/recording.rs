//! Writes the events of a simulation as a trace.

use std::io::{self, Write};

use sim::Release;
use system::description::System;
use system::plan::Plan;
use trace::{Header, Origin, Recorder, TaskHeader, VcpuHeader, VcpuId, VmHeader, simulation};

use crate::header;

/// Starts the file. `described` is the description behind the plan, if it is known: it has the resources.
pub fn start<W: Write>(
    out: W,
    plan: &Plan,
    described: Option<&System>,
    model: &model::Model,
) -> io::Result<Recorder<W>> {
    let vms = plan.vms.iter().enumerate().map(|(index, vm)| {
        let vcpus = vm.vcpus.iter().enumerate().map(|(number, vcpu)| VcpuHeader {
            pcpu: vcpu.pcpu.0 as usize,
            server: vcpu.server.map(header::server),
            tasks: tasks(model, index, number),
        });
        VmHeader { name: vm.name.clone(), vcpus: vcpus.collect() }
    });
    let header = Header {
        name: plan.name.clone(),
        origin: Origin::Simulator,
        frequency_hz: simulation::FREQUENCY_HZ,
        pcpus: model.pcpus.len(),
        vms: vms.collect(),
        resources: described.map(resources).unwrap_or_default(),
    };
    let id = |vcpu: &model::Vcpu| VcpuId { vm: vcpu.vm as u8, vcpu: vcpu.index as u8 };
    let ids: Vec<_> = model.pcpus.iter().map(|vcpus| vcpus.iter().map(id).collect()).collect();
    Recorder::new(out, &header, &ids)
}

/// A simulation counts local resources, too.
fn resources(system: &System) -> Vec<String> {
    system.resources.iter().map(|it| it.name.value.clone()).collect()
}

/// Returns the simulated tasks of a VCPU. A task that has no end has no period.
fn tasks(model: &model::Model, vm: usize, index: usize) -> Vec<TaskHeader> {
    let is_it = |vcpu: &model::Vcpu| vcpu.vm == vm && vcpu.index == index;
    let Some((pcpu, at, _)) = model.vcpus().find(|(.., vcpu)| is_it(vcpu)) else {
        return Vec::new();
    };
    let known = |ns: u64| (ns < u64::MAX).then_some(ns);
    let task = |task: &sim::Task| TaskHeader {
        name: task.name.clone(),
        period_ns: (task.release == Release::Periodic).then_some(task.period).and_then(known),
        deadline_ns: known(task.deadline),
    };
    model.system.pcpus[pcpu].vcpus[at].tasks.iter().map(task).collect()
}
