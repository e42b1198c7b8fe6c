//! All that a plan gives each VM and VCPU, as a document. It is known without a description, too.

use policy::color::{Color, ColorSet};
use serde::Serialize;
use units::Bytes;

use super::budget::MemoryBudgetReport;
use crate::plan::{Plan, Vcpu};

/// A VM of a plan.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PlannedVm<'a> {
    /// Name.
    pub name: &'a str,
    /// The PCPUs of its VCPUs, in the order of these.
    pub pcpus: Vec<u32>,
    /// Its VCPUs, in the order of their indices.
    pub vcpus: Vec<PlannedVcpu>,
    /// RAM.
    pub memory_bytes: u64,
    /// Its colours of the shared cache, if it does not have all.
    pub colors: Option<Vec<usize>>,
    /// True if it sees a last-level cache that consists of its colours only.
    pub vllc: bool,
    /// Colours that its tasks can request, if there are some.
    pub extra_colors: Option<Vec<usize>>,
    /// Size of the pool of frames of these colours.
    pub extra_memory_bytes: Option<u64>,
    /// True if it has a serial port on which closed guests request colours.
    pub color_serial: bool,
    /// True if accesses to addresses at which it has nothing fail, and do not stop it.
    pub aborts: bool,
    /// True if all of its RAM is mapped before it starts.
    pub warm_up: bool,
    /// Memory accesses of all of its VCPUs together, if they are limited.
    pub memory_budget: Option<MemoryBudgetReport>,
    /// Number of periods after which it gives up credits, if it gets some.
    pub compensation_periods: Option<u32>,
    /// True if it gives them up at switches of tasks in critical guests, too.
    pub flush_task_switch: bool,
    /// True if its accesses count for the compensation of others.
    pub critical: bool,
    /// Number of assigned devices.
    pub devices: usize,
    /// Names of the channels that it writes.
    pub writes: Vec<&'a str>,
    /// Names of the channels that it reads.
    pub reads: Vec<&'a str>,
    /// The file of its kernel.
    pub kernel: &'a str,
    /// The file of its initial RAM disk, if it has one.
    pub initrd: Option<&'a str>,
}

/// A VCPU of a plan.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PlannedVcpu {
    /// PCPU on which it runs.
    pub pcpu: u32,
    /// The kind of its server; none has its PCPU for itself.
    pub server: Option<&'static str>,
    /// Processor time in each period, if the server has a budget.
    pub budget_ns: Option<u64>,
    /// The period of the server.
    pub period_ns: Option<u64>,
    /// The priority of the server; a larger number is a higher priority.
    pub priority: Option<u32>,
    /// Memory accesses of its own, if they are limited.
    pub memory_budget: Option<MemoryBudgetReport>,
}

/// The VMs of a plan, in the order of their indices.
pub fn planned_vms(plan: &Plan) -> Vec<PlannedVm<'_>> {
    (0..plan.vms.len()).map(|index| planned_vm(plan, index)).collect()
}

/// The colours of the hypervisor's own code and data, if they are limited.
pub fn hypervisor_colors(plan: &Plan) -> Option<Vec<usize>> {
    plan.platform.hypervisor_area.map(|area| indices(area.colors))
}

/// The numbers of colours, in ascending order.
pub fn indices(colors: ColorSet) -> Vec<usize> {
    colors.iter().map(Color::index).collect()
}

fn planned_vm(plan: &Plan, index: usize) -> PlannedVm<'_> {
    let (vm, channels) = (&plan.vms[index], plan.channels_of(index));
    let access = plan.platform.bandwidth_counter.as_ref().and_then(|counter| counter.access);
    let names = |of_writer: bool| {
        let channels = channels.iter().filter(|(_, _, writes)| *writes == of_writer);
        channels.map(|(_, channel, _)| channel.name.as_str()).collect()
    };
    PlannedVm {
        name: &vm.name,
        pcpus: vm.vcpus.iter().map(|vcpu| vcpu.pcpu.0).collect(),
        vcpus: vm.vcpus.iter().map(|vcpu| planned_vcpu(vcpu, access)).collect(),
        memory_bytes: vm.memory_size().get(),
        colors: vm.colors().map(indices),
        vllc: vm.vllc,
        extra_colors: vm.pool.map(|pool| indices(pool.area.colors)),
        extra_memory_bytes: vm.pool.map(|pool| pool.size().get()),
        color_serial: vm.color_serial.is_some(),
        aborts: vm.lifecycle.aborts,
        warm_up: vm.lifecycle.warm_up,
        memory_budget: vm.memory_budget.map(|it| MemoryBudgetReport::new(it, access)),
        compensation_periods: vm.compensation.map(|it| it.periods),
        flush_task_switch: vm.compensation.is_some_and(|it| it.flush_task_switch),
        critical: vm.critical,
        devices: vm.devices.len(),
        writes: names(true),
        reads: names(false),
        kernel: &vm.boot.kernel.file,
        initrd: vm.boot.initrd.as_ref().map(|initrd| initrd.file.as_str()),
    }
}

fn planned_vcpu(vcpu: &Vcpu, access: Option<Bytes>) -> PlannedVcpu {
    let budget = vcpu.server.and_then(|server| server.class.budget());
    PlannedVcpu {
        pcpu: vcpu.pcpu.0,
        server: vcpu.server.map(|server| server.class.as_str()),
        budget_ns: budget.map(|it| it.budget.as_nanos()),
        period_ns: budget.map(|it| it.period.as_nanos()),
        priority: vcpu.server.map(|server| server.priority),
        memory_budget: vcpu.memory_budget.map(|it| MemoryBudgetReport::new(it, access)),
    }
}
