//! Bao: the `config.c` that is compiled into it.

use std::fmt::Write;

use system::plan::{Plan, VirtualGic, Vm};

use crate::colors;
use crate::text::{Comment, identifier, names, quoted};
use crate::{Draft, Part};

/// The interrupt of the virtual timer, which each VM has.
const VIRTUAL_TIMER: u32 = 27;

pub fn part(plan: &Plan) -> Part {
    let mut part = Part::default();
    let mut body = "#include <config.h>\n\n".to_owned();
    for (index, vm) in plan.vms.iter().enumerate() {
        let (name, file) = (identifier(index, &vm.name), quoted(&vm.boot.kernel.file));
        let _ = writeln!(body, "VM_IMAGE({name}, {file})");
    }
    let beside = names(&plan.vms, |vm| vm.boot.initrd.is_some() || vm.boot.device_tree.is_some());
    part.left.extend(beside.map(|vms| {
        format!("device tree and RAM disk in one file with the kernel: Bao loads no other ({vms})")
    }));
    let console = names(&plan.vms, |vm| vm.serial.is_some());
    part.left.extend(console.map(|vms| format!("a UART of the machine for the console ({vms})")));
    body += "\nstruct config config = {\n";
    if let Some(geometry) = colors::geometry(plan) {
        let (count, bytes) = (geometry.colors(), geometry.color_bytes() / 1024);
        part.left.push(format!(
            "check that Bao, which computes colours itself, has {count} colours of {bytes} KiB: a \
             colour of Bao is as large as a way of the first-level cache"
        ));
        if let Some(area) = plan.platform.hypervisor_area {
            let _ = writeln!(body, "    .hyp = {{ .colors = {:#x} }},", area.colors.bits());
        }
    }
    let _ = writeln!(body, "    .vmlist_size = {},", plan.vms.len());
    body += "    .vmlist = (struct vm_config[]) {\n";
    for (index, vm) in plan.vms.iter().enumerate() {
        body += &machine(index, vm);
    }
    body += "    },\n};\n";
    part.files.push(Draft::new("config.c", Comment::C, body));
    part
}

fn machine(index: usize, vm: &Vm) -> String {
    let name = identifier(index, &vm.name);
    let cpus = vm.vcpus.iter().fold(0u64, |mask, vcpu| mask | 1 << vcpu.pcpu.0);
    let mut text = format!(
        "        {{\n            .image = VM_IMAGE_BUILTIN({name}, {}),\n            .entry = {},\n            \
         .cpu_affinity = {cpus:#x},\n",
        vm.boot.kernel.load, vm.boot.entry,
    );
    if let Some(colors) = vm.colors() {
        let _ = writeln!(text, "            .colors = {:#x},", colors.bits());
    }
    let _ = writeln!(
        text,
        "            .platform = {{\n                .cpu_num = {},\n                .region_num = {},\n                \
         .regions = (struct vm_mem_region[]) {{",
        vm.vcpus.len(),
        vm.memory.len(),
    );
    for memory in &vm.memory {
        let (base, size) = (memory.ipa, memory.size.get());
        let _ = writeln!(text, "                    {{ .base = {base}, .size = {size:#x} }},");
    }
    let _ = writeln!(
        text,
        "                }},\n                .dev_num = {},\n                .devs = (struct vm_dev_region[]) {{",
        vm.devices.len() + 1,
    );
    for device in &vm.devices {
        let registers = device.registers;
        let _ = write!(
            text,
            "                    {{ .pa = {}, .va = {}, .size = {:#x}",
            registers.host,
            registers.ipa,
            registers.size.get(),
        );
        if let Some(interrupts) = device.interrupts {
            let host = interrupts.host;
            let _ = write!(text, ", .interrupt_num = 1, .interrupts = (irqid_t[]) {{ {host} }}");
        }
        text += " },\n";
    }
    let gic = match vm.gic {
        VirtualGic::V2 { gicd, gicc } => {
            format!(".gicd_addr = {}, .gicc_addr = {}", gicd.start, gicc.start)
        }
        VirtualGic::V3 { gicd, gicr } => {
            format!(".gicd_addr = {}, .gicr_addr = {}", gicd.start, gicr.start)
        }
    };
    let _ = writeln!(
        text,
        "                    {{ .interrupt_num = 1, .interrupts = (irqid_t[]) {{ {VIRTUAL_TIMER} }} }},\n                \
         }},\n                .arch = {{ .gic = {{ {gic} }} }},\n            }},\n        }},",
    );
    text
}
