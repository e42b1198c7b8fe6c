//! What is in a system, in a few lines.

mod bandwidth;

use policy::color::{Color, ColorSet};
use report::text::table;
use serde::Serialize;
use system::plan::{Channel, Plan, Pool, Vcpu, Vm};
use system::report::{MemoryBudgetReport, Report};
use units::{Bytes, Duration};

/// A plan for people.
pub fn plan(plan: &Plan) -> String {
    format!("{}{}", vms_of(plan), servers(plan))
}

/// The machine, the VMs of a plan, and what they may access, for people.
pub fn vms_of(plan: &Plan) -> String {
    let colored = plan.vms.iter().any(|vm| vm.colors().is_some());
    let extra = plan.vms.iter().any(|vm| vm.pool.is_some());
    let row = |vm: &Vm| {
        let pcpus: Vec<String> = vm.vcpus.iter().map(|vcpu| vcpu.pcpu.to_string()).collect();
        let mut row = vec![
            vm.name.clone(),
            vm.vcpus.len().to_string(),
            pcpus.join(" "),
            vm.memory_size().to_string(),
        ];
        row.extend(colored.then(|| vm.colors().map_or("all".into(), |set| set.to_string())));
        row.extend(extra.then(|| vm.pool.map_or("-".into(), pool)));
        row.extend([vm.devices.len().to_string(), vm.boot.kernel.file.clone()]);
        row
    };
    let rows: Vec<_> = plan.vms.iter().map(row).collect();
    let platform = &plan.platform;
    let mut heading = vec!["VM", ">VCPUs", "PCPUs", ">memory"];
    heading.extend(colored.then_some("colours"));
    heading.extend(extra.then_some("extra colours"));
    heading.extend([">devices", "kernel"]);
    let vms = table(&heading, &rows);
    let own = platform.hypervisor_area;
    let own = own.map_or(String::new(), |area| format!(", in colours {}", area.colors));
    let (channels, budgets) = (channels(plan), bandwidth::budgets(plan));
    format!(
        "system `{}` on {}: {} PCPUs, hypervisor {}{own}\n\n{vms}{channels}{budgets}",
        plan.name,
        platform.board,
        platform.cpus.len(),
        platform.hypervisor.size,
    )
}

/// The channels between VMs, if there are some.
fn channels(plan: &Plan) -> String {
    let name = |vm: &u32| plan.vms.get(*vm as usize).map_or("?", |vm| vm.name.as_str());
    let row = |channel: &Channel| {
        let readers: Vec<&str> = channel.to.iter().map(name).collect();
        let (size, ipa) = (channel.memory.size.to_string(), channel.memory.ipa.to_string());
        let rings = channel.rings.map_or("-".into(), |it| it.to_string());
        vec![channel.name.clone(), name(&channel.from).into(), readers.join(" "), size, ipa, rings]
    };
    let rows: Vec<_> = plan.channels.iter().map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => {
            let heads = ["channel", "from", "to", ">size", ">address", "rings"];
            format!("\n{}", table(&heads, &rows))
        }
    }
}

/// How VCPUs share PCPUs, if some do: by PCPU, the highest priority first.
fn servers(plan: &Plan) -> String {
    let mut rows = Vec::new();
    for vm in &plan.vms {
        for (index, vcpu) in vm.vcpus.iter().enumerate() {
            let Some(server) = vcpu.server else { continue };
            let budget = server.class.budget();
            let time = |time: Option<Duration>| time.map_or("-".into(), |time| time.to_string());
            let row = vec![
                vcpu.pcpu.to_string(),
                vm.name.clone(),
                index.to_string(),
                server.class.as_str().into(),
                time(budget.map(|budget| budget.budget)),
                time(budget.map(|budget| budget.period)),
                server.priority.to_string(),
            ];
            rows.push(((vcpu.pcpu, vcpu.order()), row));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    rows.sort_by_key(|(order, _)| *order);
    let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
    let heading = [">PCPU", "VM", ">VCPU", "server", ">budget", ">period", ">priority"];
    format!("\n{}", table(&heading, &rows))
}

/// The extra colours of a VM and the size of their pool.
fn pool(pool: Pool) -> String {
    format!("{} ({})", pool.area.colors, pool.size())
}

/// The machine if it cannot boot, and the tasks of a description, for people.
pub fn report(report: &Report) -> String {
    let mut text = String::new();
    if let Some(reason) = &report.platform.analysis_only {
        let (system, about) = (&report.system, &report.platform.about);
        text.push_str(&format!("\nsystem `{system}` on {about}: no plan, {reason}\n"));
    }
    let tasks = || report.vms.iter().flat_map(|vm| &vm.vcpus).flat_map(|vcpu| &vcpu.tasks);
    let counted = tasks().any(|task| task.accesses.is_some());
    let mut rows = Vec::new();
    for vm in &report.vms {
        for (index, vcpu) in vm.vcpus.iter().enumerate() {
            for task in &vcpu.tasks {
                let mut row = vec![
                    vm.name.clone(),
                    index.to_string(),
                    task.name.clone(),
                    Duration(task.period_ns).to_string(),
                    Duration(task.deadline_ns).to_string(),
                    Duration(task.wcet_ns).to_string(),
                ];
                let number = |number: Option<u64>| number.map_or("-".into(), |it| it.to_string());
                row.extend(counted.then(|| number(task.accesses)));
                row.push(number(task.priority));
                rows.push(row);
            }
        }
    }
    if !rows.is_empty() {
        let mut heading = vec!["VM", ">VCPU", "task", ">period", ">deadline", ">WCET"];
        heading.extend(counted.then_some(">accesses"));
        heading.push(">priority");
        text.push_str(&format!("\n{}", table(&heading, &rows)));
    }
    for vm in &report.vms {
        for (index, vcpu) in vm.vcpus.iter().enumerate().filter(|(_, vcpu)| vcpu.overloaded) {
            text.push_str(&format!(
                "\nVCPU {index} of VM `{}` has more work than time: {} % at best{}\n",
                vm.name,
                percent(vcpu.utilization_best_ppm),
                vcpu.budget_ppm.map_or(String::new(), |ppm| format!(" of {} %", percent(ppm)))
            ));
        }
    }
    text
}

fn percent(ppm: u64) -> String {
    format!("{}.{:04}", ppm / 10_000, ppm % 10_000)
}

/// The colours of the hypervisor's own code and data for machines, if it has some.
pub fn hypervisor_colors(plan: &Plan) -> Option<Vec<usize>> {
    plan.platform.hypervisor_area.map(|area| indices(area.colors))
}

/// The VMs of a plan for machines.
pub fn vms(plan: &Plan) -> Vec<VmDocument<'_>> {
    let access = plan.platform.bandwidth_counter.as_ref().and_then(|counter| counter.access);
    (0..plan.vms.len()).map(|index| VmDocument::new(plan, index, access)).collect()
}

/// A VM of a plan as `--json` shows it.
#[derive(Serialize)]
pub struct VmDocument<'a> {
    name: &'a str,
    pcpus: Vec<u32>,
    vcpus: Vec<VcpuDocument>,
    memory_bytes: u64,
    colors: Option<Vec<usize>>,
    vllc: bool,
    extra_colors: Option<Vec<usize>>,
    extra_memory_bytes: Option<u64>,
    color_serial: bool,
    /// True if accesses to addresses at which it has nothing fail, and do not stop it.
    aborts: bool,
    warm_up: bool,
    memory_budget: Option<MemoryBudgetReport>,
    compensation_periods: Option<u32>,
    flush_task_switch: bool,
    critical: bool,
    devices: usize,
    /// Names of the channels that it writes, and of those that it reads.
    writes: Vec<&'a str>,
    reads: Vec<&'a str>,
    kernel: &'a str,
    initrd: Option<&'a str>,
}

impl<'a> VmDocument<'a> {
    fn new(plan: &'a Plan, index: usize, access: Option<Bytes>) -> Self {
        let (vm, channels) = (&plan.vms[index], plan.channels_of(index));
        let names = |of_writer: bool| {
            let channels = channels.iter().filter(|(_, _, writes)| *writes == of_writer);
            channels.map(|(_, channel, _)| channel.name.as_str()).collect()
        };
        Self {
            name: &vm.name,
            pcpus: vm.vcpus.iter().map(|vcpu| vcpu.pcpu.0).collect(),
            vcpus: vm.vcpus.iter().map(|vcpu| VcpuDocument::new(vcpu, access)).collect(),
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
}

/// A VCPU of a plan as `--json` shows it.
#[derive(Serialize)]
pub struct VcpuDocument {
    pcpu: u32,
    server: Option<&'static str>,
    budget_ns: Option<u64>,
    period_ns: Option<u64>,
    priority: Option<u32>,
    memory_budget: Option<MemoryBudgetReport>,
}

impl VcpuDocument {
    fn new(vcpu: &Vcpu, access: Option<Bytes>) -> Self {
        let budget = vcpu.server.and_then(|server| server.class.budget());
        Self {
            pcpu: vcpu.pcpu.0,
            server: vcpu.server.map(|server| server.class.as_str()),
            budget_ns: budget.map(|it| it.budget.as_nanos()),
            period_ns: budget.map(|it| it.period.as_nanos()),
            priority: vcpu.server.map(|server| server.priority),
            memory_budget: vcpu.memory_budget.map(|it| MemoryBudgetReport::new(it, access)),
        }
    }
}

fn indices(colors: ColorSet) -> Vec<usize> {
    colors.iter().map(Color::index).collect()
}
