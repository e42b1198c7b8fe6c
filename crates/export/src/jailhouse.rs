//! Jailhouse: the configuration of a cell for each VM. Cache colours as in the branch
//! `wip/cache-coloring`; without colours, the files suit the main branch too.

use std::fmt::Write;

use system::plan::{DeviceInterrupts, Gic, Memory, Plan, Vm};

use crate::colors::{self, Run};
use crate::text::{Comment, names, quoted};
use crate::{Draft, Part};

/// The first interrupt of the first irqchip, and how many each has.
const PINS: (u32, u32) = (32, 128);

pub fn part(plan: &Plan) -> Part {
    let mut part = Part::default();
    let geometry = colors::geometry(plan);
    if let Some(geometry) = geometry {
        part.left.push(format!(
            "take the branch `wip/cache-coloring`, and say max_cache_colors = {} in the root cell",
            colors::page_colors(geometry)
        ));
    }
    part.left.push(
        "PCPU and RAM of the root cell, which starts the others: the plan has none for it".into(),
    );
    let console = names(&plan.vms, |vm| vm.serial.is_some());
    part.left.extend(console.map(|vms| format!("a UART of the machine for the console ({vms})")));
    if plan.platform.hypervisor_area.is_some() {
        part.missing.push("colours of the hypervisor".into());
    }
    for vm in &plan.vms {
        let runs = geometry.zip(vm.colors()).map(|(geometry, colors)| {
            let way = geometry.cache().way_bytes();
            for memory in vm.memory.iter().filter(|memory| memory.coloring.is_some()) {
                if !memory.host.0.is_multiple_of(way) {
                    part.impossible.push(format!(
                        "the RAM of `{}` begins at {}, and coloured RAM has to begin at a multiple \
                         of {way:#x}, the size of a way",
                        vm.name, memory.host
                    ));
                }
            }
            colors::page_runs(colors, geometry)
        });
        let runs = runs.unwrap_or_default();
        if runs.len() > 1 {
            part.impossible.push(format!(
                "the colours of `{}` are not contiguous, and those of a cell have to be",
                vm.name
            ));
        }
        for device in &vm.devices {
            let other = |it: &DeviceInterrupts| it.guest != it.host;
            if let Some(DeviceInterrupts { guest, host }) = device.interrupts.filter(other) {
                part.missing.push(format!(
                    "interrupt {host} as number {guest} in `{}`: it keeps its number",
                    vm.name
                ));
            }
        }
        part.left.push(loading(vm));
        part.files.push(Draft::new(
            format!("{}.c", vm.name),
            Comment::C,
            cell(plan, vm, runs.first()),
        ));
    }
    part
}

fn loading(vm: &Vm) -> String {
    let mut files = vec![&vm.boot.kernel];
    files.extend(&vm.boot.initrd);
    let files: Vec<String> =
        files.iter().map(|file| format!("{} -a {}", file.file, file.load)).collect();
    format!(
        "`jailhouse cell load {} {}`; for Linux, `jailhouse cell linux` makes its device tree",
        vm.name,
        files.join(" ")
    )
}

/// The branch with colours is older than the field `architecture`.
fn cell(plan: &Plan, vm: &Vm, run: Option<&Run>) -> String {
    let cpus = vm.vcpus.iter().fold(0u64, |mask, vcpu| mask | 1 << vcpu.pcpu.0);
    let regions = vm.memory.len() + vm.devices.len();
    let irqchips = irqchips(plan, vm);
    let mut text = format!(
        "#include <jailhouse/types.h>\n#include <jailhouse/cell-config.h>\n\nstruct {{\n\t\
         struct jailhouse_cell_desc cell;\n\t__u64 cpus[1];\n\t\
         struct jailhouse_memory mem_regions[{regions}];\n"
    );
    if run.is_some() {
        text += "\tstruct jailhouse_cache cache_regions[1];\n";
    }
    if !irqchips.is_empty() {
        let _ = writeln!(text, "\tstruct jailhouse_irqchip irqchips[{}];", irqchips.len());
    }
    let _ = write!(
        text,
        "}} __attribute__((packed)) config = {{\n\t.cell = {{\n\t\t\
         .signature = JAILHOUSE_CELL_DESC_SIGNATURE,\n\t\t.revision = JAILHOUSE_CONFIG_REVISION,\n\
         #ifdef JAILHOUSE_ARM64\n\t\t.architecture = JAILHOUSE_ARM64,\n#endif\n\t\t.name = {},\n\t\t.flags = JAILHOUSE_CELL_PASSIVE_COMMREG,\n\t\t\
         .cpu_set_size = sizeof(config.cpus),\n\t\t.num_memory_regions = ARRAY_SIZE(config.mem_regions),\n",
        quoted(&vm.name),
    );
    if run.is_some() {
        text += "\t\t.num_cache_regions = ARRAY_SIZE(config.cache_regions),\n";
    }
    if !irqchips.is_empty() {
        text += "\t\t.num_irqchips = ARRAY_SIZE(config.irqchips),\n";
    }
    let _ = write!(
        text,
        "\t\t.cpu_reset_address = {},\n\t}},\n\t.cpus = {{ {cpus:#x} }},\n\t.mem_regions = {{\n",
        vm.boot.entry,
    );
    for memory in &vm.memory {
        text += &ram(memory, run);
    }
    for device in &vm.devices {
        let registers = device.registers;
        let flags = "JAILHOUSE_MEM_READ | JAILHOUSE_MEM_WRITE | JAILHOUSE_MEM_IO";
        text += &region(registers.host.0, registers.ipa.0, registers.size.get(), flags);
    }
    text += "\t},\n";
    if let Some(Run { first, count }) = run {
        let _ = writeln!(
            text,
            "\t.cache_regions = {{\n\t\t{{ .start = {first}, .size = {count} }},\n\t}},"
        );
    }
    if !irqchips.is_empty() {
        let _ = writeln!(text, "\t.irqchips = {{\n{}\t}},", irqchips.concat());
    }
    text + "};\n"
}

fn ram(memory: &Memory, run: Option<&Run>) -> String {
    let mut flags = "JAILHOUSE_MEM_READ | JAILHOUSE_MEM_WRITE | JAILHOUSE_MEM_EXECUTE | \
                     JAILHOUSE_MEM_DMA | JAILHOUSE_MEM_LOADABLE"
        .to_owned();
    if run.is_some() && memory.coloring.is_some() {
        flags += " | JAILHOUSE_MEM_COLORED";
    }
    region(memory.host.0, memory.ipa.0, memory.size.get(), &flags)
}

fn region(host: u64, ipa: u64, size: u64, flags: &str) -> String {
    format!(
        "\t\t{{\n\t\t\t.phys_start = {host:#x},\n\t\t\t.virt_start = {ipa:#x},\n\t\t\t\
         .size = {size:#x},\n\t\t\t.flags = {flags},\n\t\t}},\n"
    )
}

/// Returns the interrupts of the devices, as bits of as many irqchips as they need.
fn irqchips(plan: &Plan, vm: &Vm) -> Vec<String> {
    let (first, count) = PINS;
    let interrupts = vm.devices.iter().filter_map(|device| device.interrupts);
    let mut pins: Vec<u32> =
        interrupts.filter_map(|interrupt| interrupt.host.0.checked_sub(first)).collect();
    pins.sort_unstable();
    let chip = |pins: &[u32]| {
        let base = pins[0] / count * count;
        let mut words = [0u32; 4];
        for pin in pins {
            words[((pin - base) / 32) as usize] |= 1 << ((pin - base) % 32);
        }
        let words: Vec<String> = words.iter().map(|word| format!("{word:#x}")).collect();
        let address = match plan.platform.gic {
            Gic::V2 { gicd, .. } | Gic::V3 { gicd, .. } => gicd.start,
        };
        format!(
            "\t\t{{ .address = {address}, .pin_base = {}, .pin_bitmap = {{ {} }} }},\n",
            first + base,
            words.join(", "),
        )
    };
    pins.chunk_by(|a, b| a / count == b / count).map(chip).collect()
}
