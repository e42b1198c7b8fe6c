//! The tracks: their identities, and how they lie below each other.

use std::collections::BTreeMap;

use super::messages::{CounterDescriptor, TrackDescriptor, UNIT_TIME_NS};
use crate::timeline::Jobs;
use crate::{Header, Source, VcpuId};

const PCPUS: u64 = 1;
const VM: u64 = 1 << 8;
const PCPU: u64 = 1 << 16;
const VCPU: u64 = 1 << 32;
const BUDGET: u64 = 2 << 32;
const TASK: u64 = 3 << 32;

fn number(vcpu: VcpuId) -> u64 {
    u64::from(vcpu.vm) << 16 | u64::from(vcpu.vcpu) << 8
}

pub fn pcpu(pcpu: usize) -> u64 {
    PCPU + pcpu as u64
}

pub fn vcpu(vcpu: VcpuId) -> u64 {
    VCPU | number(vcpu)
}

pub fn budget(vcpu: VcpuId) -> u64 {
    BUDGET | number(vcpu)
}

pub fn task(vcpu: VcpuId, task: u8) -> u64 {
    TASK | number(vcpu) | u64::from(task)
}

/// Returns true if there is a track with the budget of a VCPU.
pub fn has_budget(header: &Header, id: VcpuId) -> bool {
    let server = header.vcpu(id).and_then(|vcpu| vcpu.server.as_ref());
    server.is_some_and(|server| server.budget_ns.is_some())
}

/// Returns all tracks, parents before their children.
pub fn all<S: Source>(trace: &S, jobs: &Jobs) -> Vec<TrackDescriptor> {
    let header = trace.header();
    let name = format!("{} ({})", header.name, header.origin);
    let mut tracks = vec![TrackDescriptor::new(PCPUS, None, name, 0)];
    for index in 0..trace.pcpus() {
        let name = format!("PCPU {index}");
        tracks.push(TrackDescriptor::new(pcpu(index), Some(PCPUS), name, index));
    }
    // Tasks may set marks that the header does not know.
    let mut tasks: BTreeMap<VcpuId, Vec<u8>> = BTreeMap::new();
    for ((id, task), _) in jobs.tasks() {
        tasks.entry(id).or_default().push(task);
    }
    for (index, vm) in header.vms.iter().enumerate() {
        let vm_track = VM + index as u64;
        tracks.push(TrackDescriptor::new(vm_track, None, vm.name.clone(), 1 + index));
    }
    for (id, of) in header.vcpus() {
        let mut name = format!("{} on PCPU {}", header.vcpu_name(id), of.pcpu);
        if let Some(server) = &of.server {
            name.push_str(&format!(" ({server})"));
        }
        let (track, rank) = (vcpu(id), usize::from(id.vcpu));
        tracks.push(TrackDescriptor::new(track, Some(VM + u64::from(id.vm)), name, rank));
        if has_budget(header, id) {
            let counter = Some(CounterDescriptor { unit: Some(UNIT_TIME_NS) });
            let name = format!("budget of {}", header.vcpu_name(id));
            let descriptor = TrackDescriptor::new(budget(id), Some(track), name, 0);
            tracks.push(TrackDescriptor { counter, ..descriptor });
        }
        for &number in tasks.get(&id).into_iter().flatten() {
            let (name, rank) = (header.task_name(id, number), 1 + usize::from(number));
            tracks.push(TrackDescriptor::new(task(id, number), Some(track), name, rank));
        }
    }
    tracks
}
