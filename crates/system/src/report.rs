//! A summary of a system for people and machines: the shares of VMs, and how much of them the tasks
//! use. Field names carry their units.

mod budget;
mod planned;

use serde::Serialize;
use units::{Bytes, Duration};

use crate::description::{Bandwidth, Server, System, Task, Vm, Wcet};
use crate::plan::{Budget, CounterSource, Plan, Vcpu};
use crate::platform::AnalysisOnly;

pub use budget::MemoryBudgetReport;
pub use planned::{PlannedVcpu, PlannedVm, hypervisor_colors, indices, planned_vms};

/// The summary.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Report {
    /// Name of the system.
    pub system: String,
    /// The machine.
    pub platform: PlatformReport,
    /// The VMs, in the order of their indices.
    pub vms: Vec<VmReport>,
    /// True if a VCPU has more work than time, even with the whole cache: then no plan meets the
    /// deadlines.
    pub overloaded: bool,
}

/// The machine.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PlatformReport {
    /// Name of the board.
    pub name: String,
    /// Description of the machine in one line.
    pub about: String,
    /// Instruction set.
    pub architecture: String,
    /// The reason why it cannot boot a plan, if it cannot.
    pub analysis_only: Option<String>,
    /// Number of PCPUs.
    pub pcpus: usize,
    /// RAM in all.
    pub memory_bytes: u64,
    /// RAM of the hypervisor, if there is a plan.
    pub hypervisor_bytes: Option<u64>,
    /// The colours of the hypervisor's own code and data, if they are limited.
    pub hypervisor_colors: Option<Vec<usize>>,
    /// RAM without an owner, if there is a plan.
    pub free_bytes: Option<u64>,
    /// PCPU that serves the console, if there is a plan.
    pub console_pcpu: Option<u32>,
    /// The cache that page colours divide, if there is one.
    pub shared_cache: Option<CacheReport>,
    /// The counter of memory accesses, if there is one.
    pub bandwidth: Option<BandwidthReport>,
}

/// A shared cache.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct CacheReport {
    /// Level.
    pub level: u64,
    /// Size.
    pub size_bytes: u64,
    /// Page colours; 1 if they cannot divide it.
    pub colors: u32,
    /// True if the cache registers of the CPUs describe it.
    pub in_registers: bool,
}

/// The counter of memory accesses, and the time of an access.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct BandwidthReport {
    /// `pmu`, `cycles` or `cachescope`.
    pub counter: &'static str,
    /// Number of the event of the PMU.
    pub event: Option<u16>,
    /// Width of the counter.
    pub counter_bits: u32,
    /// Bytes that one access moves; none where no accesses to memory are counted.
    pub access_bytes: Option<u64>,
    /// Longest time that one access of another PCPU can delay one access, if it is known.
    pub access_latency_ns: Option<u64>,
}

/// A VM.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct VmReport {
    /// Name.
    pub name: String,
    /// RAM.
    pub memory_bytes: u64,
    /// Start of its RAM in the machine, or of the area of its colours, if there is a plan.
    pub memory_at: Option<u64>,
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
    /// The VCPUs, in the order of their indices.
    pub vcpus: Vec<VcpuReport>,
}

/// A VCPU.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct VcpuReport {
    /// PCPU on which it runs, if there is a plan.
    pub pcpu: Option<u32>,
    /// The server under which it shares a PCPU, if it does.
    pub server: Option<ServerReport>,
    /// Memory accesses of its own, if they are limited.
    pub memory_budget: Option<MemoryBudgetReport>,
    /// Tasks on it.
    pub tasks: Vec<TaskReport>,
    /// Part of the time that the tasks need with as few cache colours as are
    /// described, in millionths, rounded up.
    pub utilization_ppm: u64,
    /// As `utilization_ppm`, with the largest described number of colours.
    pub utilization_best_ppm: u64,
    /// Part of the time that its budget gives it, in millionths, rounded down.
    pub budget_ppm: Option<u64>,
    /// True if the tasks need more time than there is, even at best.
    pub overloaded: bool,
}

/// The server of a VCPU that shares its PCPU with others.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ServerReport {
    /// `periodic`, `deferrable`, `sporadic` or `background`.
    pub class: &'static str,
    /// Processor time in each period; none in the background.
    pub budget_ns: Option<u64>,
    /// The period.
    pub period_ns: Option<u64>,
    /// Priority on the PCPU, if there is a plan or it was given; a larger number is a higher
    /// priority.
    pub priority: Option<u64>,
}

/// A task.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct TaskReport {
    /// Name.
    pub name: String,
    /// Time between two releases.
    pub period_ns: u64,
    /// Time from release to deadline.
    pub deadline_ns: u64,
    /// Worst-case execution time with as few cache colours as are described.
    pub wcet_ns: u64,
    /// Worst-case execution time with as many colours as are described.
    pub wcet_best_ns: u64,
    /// The most memory accesses of one job, if they are known.
    pub accesses: Option<u64>,
    /// Priority; a larger number is a higher priority.
    pub priority: Option<u64>,
}

impl Report {
    /// Returns the summary of a system and, if it can be booted, its plan.
    pub fn new(system: &System, plan: Option<&Plan>) -> Self {
        let vms: Vec<_> = system
            .vms
            .iter()
            .enumerate()
            .map(|(index, vm)| report_vm(index, vm, system, plan))
            .collect();
        Self {
            system: system.name.clone(),
            platform: report_platform(system, plan),
            overloaded: vms.iter().flat_map(|vm| &vm.vcpus).any(|vcpu| vcpu.overloaded),
            vms,
        }
    }
}

fn report_platform(system: &System, plan: Option<&Plan>) -> PlatformReport {
    let platform = &system.platform.value;
    let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
    let memory = sum(&mut platform.memory.iter().map(|bank| bank.size.0));
    PlatformReport {
        name: platform.name.clone(),
        about: platform.about.clone(),
        architecture: platform.architecture.to_string(),
        analysis_only: platform.boot.as_ref().err().map(|AnalysisOnly(reason)| reason.clone()),
        pcpus: platform.cpus.len(),
        memory_bytes: memory,
        hypervisor_bytes: plan.map(|plan| plan.hypervisor_bytes().0),
        hypervisor_colors: system.hypervisor_colors.as_ref().map(|colors| indices(colors.value)),
        free_bytes: plan.map(|plan| {
            let vms = sum(&mut plan.vms.iter().map(|vm| plan.host_bytes(vm).0));
            memory.saturating_sub(plan.hypervisor_bytes().0).saturating_sub(vms)
        }),
        console_pcpu: plan.map(|plan| plan.platform.serial.pcpu.0),
        shared_cache: platform.last_level_cache().map(|cache| CacheReport {
            level: cache.level,
            size_bytes: cache.shape.bytes(),
            colors: platform.colors().map_or(1, |geometry| geometry.colors()),
            in_registers: cache.in_registers,
        }),
        bandwidth: platform.bandwidth.as_ref().map(|it| BandwidthReport {
            counter: it.source.as_str(),
            event: match it.source {
                CounterSource::Pmu { event } => Some(event),
                _ => None,
            },
            counter_bits: it.bits,
            access_bytes: it.access.map(Bytes::get),
            access_latency_ns: it.latency.map(Duration::as_nanos),
        }),
    }
}

fn report_vm(index: usize, vm: &Vm, system: &System, plan: Option<&Plan>) -> VmReport {
    let counter = system.platform.value.bandwidth.as_ref();
    let memory_budget = |bandwidth: &Bandwidth| {
        let counter = counter?;
        Some(MemoryBudgetReport::new(bandwidth.budget(counter)?, counter.access))
    };
    let planned = plan.and_then(|plan| plan.vms.get(index));
    let vcpu = |at: usize| {
        let tasks: Vec<&Task> = vm.tasks.iter().filter(|task| task.vcpu == at).collect();
        let planned = planned.and_then(|vm| vm.vcpus.get(at));
        let server = vm.vcpus.get(at).and_then(|vcpu| vcpu.server.as_ref());
        let budget = server.and_then(|server| server.class.value.budget());
        let share = budget.map_or(Budget::WHOLE, Budget::share);
        VcpuReport {
            pcpu: planned.map(|vcpu| vcpu.pcpu.0),
            server: server.map(|server| report_server(server, planned)),
            memory_budget: vm
                .vcpus
                .get(at)
                .and_then(|vcpu| memory_budget(vcpu.bandwidth.as_ref()?)),
            budget_ppm: budget.map(|budget| (budget.share() / (Budget::WHOLE / 1_000_000)) as u64),
            utilization_ppm: utilization_ppm(&tasks, Wcet::longest),
            utilization_best_ppm: utilization_ppm(&tasks, Wcet::shortest),
            overloaded: is_overloaded(&tasks, share),
            tasks: tasks.into_iter().map(report_task).collect(),
        }
    };
    VmReport {
        name: vm.name.value.clone(),
        memory_bytes: vm.memory.value.0,
        memory_at: planned.and_then(|vm| Some(vm.memory.first()?.host.0)),
        colors: vm.colors.as_ref().map(|colors| indices(colors.value)),
        vllc: vm.vllc,
        extra_colors: vm.extra.as_ref().map(|extra| indices(extra.colors.value)),
        extra_memory_bytes: vm.extra.as_ref().map(|extra| extra.memory.value.0),
        color_serial: vm.extra.as_ref().is_some_and(|extra| extra.serial),
        warm_up: vm.lifecycle.warm_up,
        memory_budget: vm.bandwidth.as_ref().and_then(memory_budget),
        compensation_periods: vm.compensation.as_ref().map(|it| it.value.periods),
        flush_task_switch: vm.compensation.as_ref().is_some_and(|it| it.value.flush_task_switch),
        critical: vm.critical.is_some(),
        devices: vm.devices.len(),
        vcpus: (0..vm.vcpus.len()).map(vcpu).collect(),
    }
}

fn report_server(server: &Server, planned: Option<&Vcpu>) -> ServerReport {
    let budget = server.class.value.budget();
    let given = server.priority.as_ref().map(|priority| priority.value);
    let planned = planned.and_then(|vcpu| vcpu.server).map(|server| server.priority.into());
    ServerReport {
        class: server.class.value.as_str(),
        budget_ns: budget.map(|it| it.budget.as_nanos()),
        period_ns: budget.map(|it| it.period.as_nanos()),
        priority: planned.or(given),
    }
}

fn report_task(task: &Task) -> TaskReport {
    TaskReport {
        name: task.name.value.clone(),
        period_ns: task.period.as_nanos(),
        deadline_ns: task.deadline.as_nanos(),
        wcet_ns: task.wcet.longest().as_nanos(),
        wcet_best_ns: task.wcet.shortest().as_nanos(),
        accesses: task.accesses.as_ref().map(|accesses| accesses.value),
        priority: task.priority.as_ref().map(|priority| priority.value),
    }
}

/// Sum of execution time by period in millionths; rounded up, once for each task.
fn utilization_ppm(tasks: &[&Task], wcet: impl Fn(&Wcet) -> Duration) -> u64 {
    let part = |task: &&Task| {
        let scaled = u128::from(wcet(&task.wcet).0) * 1_000_000;
        scaled.div_ceil(u128::from(task.period.0)) as u64
    };
    tasks.iter().map(part).fold(0, u64::saturating_add)
}

/// Returns true if the sum is certainly above this share of [`Budget::WHOLE`], which was rounded
/// down: each part is, too.
fn is_overloaded(tasks: &[&Task], share: u128) -> bool {
    let part = |task: &&Task| Budget { budget: task.wcet.shortest(), period: task.period }.share();
    let rounded = u128::from(share < Budget::WHOLE);
    tasks.iter().map(part).fold(0, u128::saturating_add) > share + rounded
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn report(tasks: &[(&str, &str)]) -> Report {
        let mut text = String::from(
            "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nmemory = \"64MiB\"\nkernel = \"k\"\n",
        );
        for (index, (wcet, period)) in tasks.iter().enumerate() {
            text += &format!(
                "[[vm.task]]\nname = \"t{index}\"\nwcet = {wcet}\nperiod = \"{period}\"\n"
            );
        }
        let system = System::from_toml("a.toml", &text, Path::new(""))
            .unwrap_or_else(|errors| panic!("{errors}"));
        Report::new(&system, None)
    }

    #[test]
    fn exactly_all_of_the_time_is_not_too_much() {
        let thirds = [("\"1ms\"", "3ms"); 3];
        let one = report(&thirds);
        assert!(!one.overloaded);
        assert_eq!(one.vms[0].vcpus[0].utilization_ppm, 1_000_002);
        let more = report(&[thirds[0], thirds[0], thirds[0], ("\"1ns\"", "1s")]);
        assert!(more.overloaded);
    }

    #[test]
    fn colors_shorten_the_best_case_only() {
        let vcpu = &report(&[("{ 1 = \"4ms\", 8 = \"2ms\" }", "5ms")]).vms[0].vcpus[0];
        assert_eq!((vcpu.utilization_ppm, vcpu.utilization_best_ppm), (800_000, 400_000));
    }
}
