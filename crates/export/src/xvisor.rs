//! Xvisor: VCPUs and RAM of each guest, to be put into its device tree, and a node for that of
//! the machine, which says where the colours are.

use std::fmt::Write;

use policy::color::{Geometry, Run};
use system::plan::{Memory, Plan, Server, Vcpu, Vm};

use crate::colors::{self, PAGE};
use crate::text::{Comment, quoted};
use crate::{Draft, Part};

/// Priorities of VCPUs are 0 to this; a larger number is a higher priority.
const PRIORITY_MAX: usize = 7;

pub fn part(plan: &Plan) -> Part {
    let mut part = Part::default();
    for pcpu in 0..plan.platform.cpus.len() as u32 {
        let levels = priorities(plan, pcpu).len();
        if levels > PRIORITY_MAX + 1 {
            part.impossible.push(format!(
                "the VCPUs of PCPU {pcpu} have {levels} priorities, and there are {}",
                PRIORITY_MAX + 1
            ));
        }
    }
    if let Some(geometry) = colors::geometry(plan) {
        part.files.push(Draft::new("host.dtsi", Comment::C, host(geometry)));
    }
    for vm in &plan.vms {
        part.files.push(Draft::new(format!("{}.dts", vm.name), Comment::C, guest(plan, vm)));
        let kernel = &vm.boot.kernel;
        part.left.push(format!(
            "at Xvisor's prompt: `vfs guest_load {} {} {}`",
            vm.name, kernel.load, kernel.file
        ));
        if vm.colors().is_some_and(|set| set.runs().count() > 1) {
            part.missing.push(format!(
                "colours of `{}` that change from page to page: they are not contiguous, and \
                 each run of them is a part of its RAM",
                vm.name
            ));
        }
    }
    if plan.platform.hypervisor_area.is_some() {
        part.missing.push("colours of the hypervisor".into());
    }
    part.left.push("interrupt controller, console and devices of the guests".into());
    part
}

/// Returns the priorities of the servers of a PCPU, lowest first.
fn priorities(plan: &Plan, pcpu: u32) -> Vec<u32> {
    let here = plan.vms.iter().flat_map(|vm| &vm.vcpus).filter(|vcpu| vcpu.pcpu.0 == pcpu);
    let mut all: Vec<u32> = here.filter_map(|it| Some(it.server?.priority)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the node that makes the colours of Xvisor those of the plan.
fn host(geometry: Geometry) -> String {
    let (first, count) = (geometry.color_bytes().trailing_zeros(), geometry.colors());
    format!(
        "/ {{\n\tcachecolor {{\n\t\tcompatible = \"generic,cachecolor\";\n\t\tfirst_color_bit = <{first}>;\n\t\t\
         num_color_bits = <{}>;\n\t\tcolor_order = <{}>;\n\t}};\n}};\n",
        count.trailing_zeros(),
        PAGE.trailing_zeros(),
    )
}

fn guest(plan: &Plan, vm: &Vm) -> String {
    let mut text = format!(
        "/dts-v1/;\n\n/ {{\n\tmodel = {};\n\tdevice_type = \"guest\";\n\tpsci_version = <2>;\n\n\tvcpus {{\n",
        quoted(&vm.name),
    );
    for (index, vcpu) in vm.vcpus.iter().enumerate() {
        text += &virtual_cpu(plan, vm, index, vcpu);
    }
    text += "\t};\n\n\taspace {\n";
    for (index, memory) in vm.memory.iter().enumerate() {
        for (part, (start, size, colors)) in ram(memory).iter().enumerate() {
            let kind = if colors.is_some() { "colored_ram" } else { "alloced_ram" };
            let _ = writeln!(
                text,
                "\t\tmem{index}-{part} {{\n\t\t\tmanifest_type = \"real\";\n\t\t\taddress_type = \"memory\";\n\t\t\t\
                 device_type = \"{kind}\";\n\t\t\tguest_physical_addr = {};\n\t\t\tphysical_size = {};",
                cells(*start),
                cells(*size),
            );
            if let Some(run) = colors {
                let (first, count) = (run.first.index(), run.len);
                let _ =
                    writeln!(text, "\t\t\tfirst_color = <{first}>;\n\t\t\tnum_colors = <{count}>;");
            }
            text += "\t\t};\n";
        }
    }
    text += "\t};\n};\n";
    text
}

fn virtual_cpu(plan: &Plan, vm: &Vm, index: usize, vcpu: &Vcpu) -> String {
    let mut text = format!(
        "\t\tvcpu{index} {{\n\t\t\tdevice_type = \"vcpu\";\n\t\t\tcompatible = \"armv8,generic\";\n\t\t\t\
         start_pc = {};\n\t\t\tgentimer_virt_irq = <27>;\n\t\t\tgentimer_phys_irq = <30>;\n\t\t\t\
         affinity = <{}>;\n",
        cells(vm.boot.entry.0),
        vcpu.pcpu,
    );
    if let Some(Server { class, priority, .. }) = vcpu.server {
        let levels = priorities(plan, vcpu.pcpu.0);
        let level = levels.iter().position(|it| *it == priority).unwrap_or(0);
        let _ = writeln!(text, "\t\t\tpriority = <{level}>;");
        if let Some(it) = class.budget() {
            let (slice, period) = (wide(it.budget.0), wide(it.period.0));
            let _ = writeln!(
                text,
                "\t\t\ttime_slice = {slice};\n\t\t\tdeadline = {period};\n\t\t\tperiodicity = {period};"
            );
        }
    }
    if index > 0 {
        text += "\t\t\tpoweroff;\n";
    }
    text + "\t\t};\n"
}

/// RAM in pieces of contiguous colours, each about as large as its share of them.
fn ram(memory: &Memory) -> Vec<(u64, u64, Option<Run>)> {
    let Some(colors) = memory.colors() else {
        return vec![(memory.ipa.0, memory.size.get(), None)];
    };
    let mut left = colors.len();
    let (mut start, mut pages) = (memory.ipa.0, memory.size.get() / PAGE);
    let mut pieces = Vec::new();
    for run in colors.runs() {
        let count = u32::from(run.len);
        // The last one gets all that is left.
        let part = (u128::from(pages) * u128::from(count) / u128::from(left)) as u64;
        (left, pages) = (left - count, pages - part);
        if part > 0 {
            pieces.push((start, part * PAGE, Some(run)));
        }
        start += part * PAGE;
    }
    pieces
}

/// Returns an address or a size: one cell, or two where it needs them.
fn cells(value: u64) -> String {
    match u32::try_from(value) {
        Ok(value) => format!("<{value:#x}>"),
        Err(_) => wide(value),
    }
}

/// Returns a value of two cells.
fn wide(value: u64) -> String {
    format!("<{:#x} {:#x}>", value >> 32, value & 0xffff_ffff)
}
