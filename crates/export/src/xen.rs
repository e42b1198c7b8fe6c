//! Xen: a file for `xl create` for each VM, options of Xen, and a script for what `xl` sets
//! while domains run.

use std::fmt::Write;

use system::plan::{Class, OnEvent, Plan, Server, Vcpu, Vm};

use crate::colors::{self, Run};
use crate::text::{Comment, names, quoted, word};
use crate::{Draft, Part};

/// Period of a VCPU that has a PCPU of its own, in microseconds; the budget is the whole period.
const ALONE_US: u64 = 10_000;
/// The RTDS parameters of a VCPU without a budget: period and the least budget, in microseconds;
/// the VCPU also gets time that is left.
const BACKGROUND_US: (u64, u64) = (10_000, 10);

pub fn part(plan: &Plan) -> Part {
    let mut part = Part::default();
    let shared = plan.vms.iter().flat_map(|vm| &vm.vcpus).any(|vcpu| vcpu.server.is_some());
    part.files.push(Draft::new("xen-options.txt", HASH, options(plan, shared, &mut part.missing)));
    for vm in &plan.vms {
        part.files.push(Draft::new(format!("{}.cfg", vm.name), HASH, domain(plan, vm)));
    }
    part.files.push(Draft::new("start.sh", SHELL, start(plan, shared)));
    part.left.push(
        "PCPU and memory of Dom0, which `xl` runs in: the plan has none for it, and it shares \
         PCPU 0"
            .into(),
    );
    let devices = names(&plan.vms, |vm| !vm.devices.is_empty());
    part.left.extend(devices.map(|vms| format!("a device tree with the devices ({vms})")));
    for vm in &plan.vms {
        for (index, vcpu) in vm.vcpus.iter().enumerate() {
            part.missing.extend(rounded(vm, index, vcpu));
        }
    }
    part
}

const HASH: Comment = Comment::Hash { first: "" };
const SHELL: Comment = Comment::Hash { first: "#!/bin/sh" };

/// Options for the command line of Xen.
fn options(plan: &Plan, shared: bool, missing: &mut Vec<String>) -> String {
    // The VCPU of Dom0 is there first, and under `null` a PCPU has one VCPU.
    let mut beside_dom0 = plan.vms.iter().flat_map(|vm| {
        let vcpus = vm.vcpus.iter().enumerate();
        vcpus.filter(|(_, it)| it.pcpu.0 == 0).map(|(index, _)| (index, &vm.name))
    });
    let scheduler = match (shared, beside_dom0.next()) {
        (true, _) => "rtds",
        (false, None) => "null",
        (false, Some((vcpu, vm))) => {
            missing.push(format!(
                "PCPUs of their own: under Xen's scheduler `null` VCPU {vcpu} of `{vm}` would never run, \
                 because Dom0 has PCPU 0; under `credit2` they share it. Leave PCPU 0 to Dom0 in the plan"
            ));
            "credit2"
        }
    };
    let mut options =
        vec![format!("sched={scheduler}"), "dom0_max_vcpus=1".into(), "dom0_vcpus_pin".into()];
    if let Some(geometry) = colors::geometry(plan) {
        let cache = geometry.cache();
        options.push("llc-coloring=on".into());
        options.push(format!("llc-size={}", cache.bytes()));
        options.push(format!("llc-nr-ways={}", cache.bytes() / cache.way_bytes()));
        let list = |set| ranges(&colors::page_runs(set, geometry)).join(",");
        let free = colors::free(plan, geometry);
        if let Some(area) = plan.platform.hypervisor_area {
            options.push(format!("xen-llc-colors={}", list(area.colors)));
        }
        if free.is_empty() {
            missing.push("colours for Dom0: none is left, so that Dom0 evicts lines of VMs".into());
        } else {
            options.push(format!("dom0-llc-colors={}", list(free)));
        }
    }
    options.join(" ") + "\n"
}

/// Returns the file of a domain.
fn domain(plan: &Plan, vm: &Vm) -> String {
    let mut text = String::new();
    let mut set = |key: &str, value: String| {
        let _ = writeln!(text, "{key} = {value}");
    };
    let event = |event| match event {
        OnEvent::Stop => quoted("destroy"),
        OnEvent::Restart => quoted("restart"),
    };
    set("name", quoted(&vm.name));
    set("kernel", quoted(&vm.boot.kernel.file));
    if let Some(initrd) = &vm.boot.initrd {
        set("ramdisk", quoted(&initrd.file));
    }
    if let Some(bootargs) = &vm.boot.bootargs {
        set("cmdline", quoted(bootargs));
    }
    set("memory", vm.memory_size().get().div_ceil(1 << 20).to_string());
    set("vcpus", vm.vcpus.len().to_string());
    let pcpus: Vec<String> = vm.vcpus.iter().map(|it| quoted(&it.pcpu.to_string())).collect();
    set("cpus", format!("[ {} ]", pcpus.join(", ")));
    set("gic_version", quoted(&format!("v{}", plan.platform.gic.version())));
    if vm.serial.is_some() {
        set("vuart", quoted("sbsa_uart"));
    }
    if let Some((colors, geometry)) = vm.colors().zip(colors::geometry(plan)) {
        let runs = ranges(&colors::page_runs(colors, geometry));
        let runs: Vec<String> = runs.iter().map(|run| quoted(run)).collect();
        set("llc_colors", format!("[ {} ]", runs.join(", ")));
    }
    set("on_crash", event(vm.lifecycle.on_crash));
    set("on_reboot", event(vm.lifecycle.on_reset));
    text
}

fn ranges(runs: &[Run]) -> Vec<String> {
    runs.iter().map(|run| run.range()).collect()
}

/// Starts all domains, each paused until its VCPUs have their budgets.
fn start(plan: &Plan, shared: bool) -> String {
    let mut text = "set -eu\ncd \"$(dirname \"$0\")\"\n".to_owned();
    for vm in &plan.vms {
        let _ = writeln!(text, "xl create -p {}", word(&format!("{}.cfg", vm.name)));
        if shared {
            let _ = write!(text, "xl sched-rtds -d {}", word(&vm.name));
            for (index, vcpu) in vm.vcpus.iter().enumerate() {
                let (period, budget, extra) = times(vcpu);
                let extra = u32::from(extra);
                let _ = write!(text, " -v {index} -p {period} -b {budget} -e {extra}");
            }
            text.push('\n');
        }
    }
    for vm in &plan.vms {
        let _ = writeln!(text, "xl unpause {}", word(&vm.name));
    }
    text
}

/// Period and budget in microseconds, and whether it gets time that others leave: the share
/// is never less than that of the plan.
fn times(vcpu: &Vcpu) -> (u64, u64, bool) {
    match vcpu.server.map(|server| server.class) {
        None => (ALONE_US, ALONE_US, false),
        Some(Class::Background) => (BACKGROUND_US.0, BACKGROUND_US.1, true),
        Some(Class::Reserved(_, it)) => {
            // A period below 1 us is none that a plan can have: budgets are at least that.
            let period = (it.period.0 / 1_000).max(1);
            (period, it.budget.0.div_ceil(1_000).min(period), false)
        }
    }
}

/// Times that are no whole microseconds.
fn rounded(vm: &Vm, index: usize, vcpu: &Vcpu) -> Option<String> {
    let Server { class, .. } = vcpu.server?;
    let it = class.budget()?;
    let whole = it.period.0.is_multiple_of(1_000) && it.budget.0.is_multiple_of(1_000);
    let (period, budget, _) = times(vcpu);
    (!whole).then(|| {
        format!(
            "{} in {} for VCPU {index} of `{}`: Xen counts microseconds, it gets {budget} us in \
             {period} us",
            it.budget, it.period, vm.name
        )
    })
}
