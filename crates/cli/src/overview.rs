//! What is in a system, in a few lines.

use bulkhead_system::plan::{Plan, Vm};
use bulkhead_system::report::Report;
use bulkhead_system::units::Duration;
use serde::Serialize;

use crate::table::table;

/// A plan for people.
pub fn plan(plan: &Plan) -> String {
    let row = |vm: &Vm| {
        let pcpus: Vec<String> = vm.vcpus.iter().map(|vcpu| vcpu.pcpu.to_string()).collect();
        vec![
            vm.name.clone(),
            vm.vcpus.len().to_string(),
            pcpus.join(" "),
            vm.memory_size().to_string(),
            vm.devices.len().to_string(),
            vm.boot.kernel.file.clone(),
        ]
    };
    let rows: Vec<_> = plan.vms.iter().map(row).collect();
    let platform = &plan.platform;
    let vms = table(&["VM", ">VCPUs", "PCPUs", ">memory", ">devices", "kernel"], &rows);
    format!(
        "system `{}` on {}: {} PCPUs, hypervisor {}\n\n{vms}",
        plan.name,
        platform.board,
        platform.cpus.len(),
        platform.hypervisor.size,
    )
}

/// The machine if it cannot boot, and the tasks of a description, for people.
pub fn report(report: &Report) -> String {
    let mut text = String::new();
    if let Some(reason) = &report.platform.analysis_only {
        let (system, about) = (&report.system, &report.platform.about);
        text.push_str(&format!("\nsystem `{system}` on {about}: no plan, {reason}\n"));
    }
    let mut rows = Vec::new();
    for vm in &report.vms {
        for (index, vcpu) in vm.vcpus.iter().enumerate() {
            for task in &vcpu.tasks {
                rows.push(vec![
                    vm.name.clone(),
                    index.to_string(),
                    task.name.clone(),
                    Duration(task.period_ns).to_string(),
                    Duration(task.deadline_ns).to_string(),
                    Duration(task.wcet_ns).to_string(),
                    task.priority.map_or("-".into(), |priority| priority.to_string()),
                ]);
            }
        }
    }
    if !rows.is_empty() {
        let heading = ["VM", ">VCPU", "task", ">period", ">deadline", ">WCET", ">priority"];
        text.push_str(&format!("\n{}", table(&heading, &rows)));
    }
    for vm in &report.vms {
        for (index, vcpu) in vm.vcpus.iter().enumerate().filter(|(_, vcpu)| vcpu.overloaded) {
            text.push_str(&format!(
                "\nVCPU {index} of VM `{}` has more work than time: {} % at best\n",
                vm.name,
                percent(vcpu.utilization_best_ppm)
            ));
        }
    }
    text
}

fn percent(ppm: u64) -> String {
    format!("{}.{:04}", ppm / 10_000, ppm % 10_000)
}

/// The VMs of a plan for machines.
pub fn vms(plan: &Plan) -> Vec<VmDocument<'_>> {
    plan.vms.iter().map(VmDocument::new).collect()
}

/// A VM of a plan as `--json` shows it.
#[derive(Serialize)]
pub struct VmDocument<'a> {
    name: &'a str,
    pcpus: Vec<u32>,
    memory_bytes: u64,
    devices: usize,
    kernel: &'a str,
    initrd: Option<&'a str>,
}

impl<'a> VmDocument<'a> {
    fn new(vm: &'a Vm) -> Self {
        Self {
            name: &vm.name,
            pcpus: vm.vcpus.iter().map(|vcpu| vcpu.pcpu.0).collect(),
            memory_bytes: vm.memory_size().get(),
            devices: vm.devices.len(),
            kernel: &vm.boot.kernel.file,
            initrd: vm.boot.initrd.as_ref().map(|initrd| initrd.file.as_str()),
        }
    }
}
