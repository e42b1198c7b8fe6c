//! Reads `/platform`.

use alloc::vec::Vec;

use policy::color::{ColorSet, Stripe};

use super::vm::ram;
use super::{GicV3, Llc, MAX_CPUS, Node, Platform, Problem, Refusal, Serial, memory};
use crate::arch::page_table::PAGE_BYTES;

#[inline(never)]
pub fn read(node: Node<'_>) -> Result<Platform<'_>, Refusal<'_>> {
    node.only(
        &["board", "gic-version", "#address-cells", "#size-cells"],
        &[
            "memory",
            "hypervisor",
            "cpus",
            "interrupt-controller",
            "serial",
            "llc",
            "bandwidth-counter",
        ],
    )?;
    let mut memory = Vec::new();
    for bank in node.children() {
        if bank.is("memory") {
            bank.only(&["device_type", "reg"], &[])?;
            memory.push(bank.range("reg")?);
        }
    }
    let cpus = cpus(node.child("cpus")?)?;
    if node.number("gic-version")? != 3 {
        let problem = Problem::Text("this build drives GICv3 only, expected <3>");
        return Err(node.error("gic-version", problem));
    }
    let gic = gic(node.child("interrupt-controller")?)?;
    let serial = serial(node.child("serial")?, cpus.len())?;
    let llc = match node.optional_child("llc")? {
        Some(node) => Some(llc(node)?),
        None => None,
    };
    let counter = match node.optional_child("bandwidth-counter")? {
        Some(node) => Some(memory::counter(node, cpus.len())?),
        None => None,
    };
    let hypervisor = node.child("hypervisor")?;
    hypervisor.only(&["reg", "colors", "host-reg"], &[])?;
    let own = match (hypervisor.value("colors"), hypervisor.value("host-reg")) {
        (None, None) => None,
        (None, _) => return Err(hypervisor.error("host-reg", Problem::Text("needs colors"))),
        _ => Some(ram(hypervisor, llc.map_or(0, |llc| llc.color_mask))?),
    };
    Ok(Platform {
        llc,
        counter,
        own,
        board: node.text("board")?,
        memory,
        hypervisor: hypervisor.range("reg")?,
        cpus,
        gic,
        serial,
    })
}

fn llc(node: Node<'_>) -> Result<Llc, Refusal<'_>> {
    const SHAPE: [&str; 4] = ["cache-size", "ways", "line-size", "slices"];
    node.only(
        &["cache-size", "ways", "line-size", "slices", "color-mask", "not-in-registers"],
        &[],
    )?;
    let mut shape = [0; 4];
    for (value, property) in shape.iter_mut().zip(SHAPE) {
        *value = node.number(property)?;
    }
    let in_registers = node.value("not-in-registers").is_none();
    let color_mask = node.long("color-mask")?;
    if Stripe::new(PAGE_BYTES, color_mask, ColorSet::first(1), 0).is_err() {
        return Err(node.error("color-mask", Problem::Text("must be a few bits above the page")));
    }
    Ok(Llc { shape, color_mask, in_registers })
}

fn cpus(node: Node<'_>) -> Result<Vec<u64>, Refusal<'_>> {
    node.only(&["#address-cells", "#size-cells"], &["cpu"])?;
    let mut cpus = Vec::new();
    for cpu in node.children() {
        cpu.only(&["reg"], &[])?;
        let mpidr = cpu.long("reg")?;
        if cpus.contains(&mpidr) {
            return Err(node.node_error(Problem::SameAffinity(mpidr)));
        }
        cpus.push(mpidr);
    }
    if cpus.is_empty() || cpus.len() > MAX_CPUS {
        return Err(node.node_error(Problem::Count(cpus.len(), "CPUs")));
    }
    Ok(cpus)
}

/// Reads a GICv3 node, of the machine or of a VM.
pub fn gic(node: Node<'_>) -> Result<GicV3, Refusal<'_>> {
    node.only(&["compatible", "reg"], &[])?;
    node.expect_text("compatible", &["arm,gic-v3"])?;
    Ok(GicV3 {
        distributor: node.range_of("reg", 0, 2)?,
        redistributors: node.range_of("reg", 1, 2)?,
    })
}

fn serial(node: Node<'_>, cpus: usize) -> Result<Serial, Refusal<'_>> {
    node.only(&["compatible", "reg", "interrupts", "pcpu"], &[])?;
    node.expect_text("compatible", &["arm,pl011"])?;
    let interrupt = shared_interrupt(node, "interrupts", node.number("interrupts")?)?;
    let pcpu = node.number("pcpu")? as usize;
    if pcpu >= cpus {
        return Err(node.error("pcpu", Problem::NoPcpu(pcpu, cpus)));
    }
    Ok(Serial { registers: node.range("reg")?, interrupt, pcpu })
}

/// Refuses what is not the INTID of a shared interrupt.
pub fn shared_interrupt<'a>(
    node: Node<'a>,
    property: &'static str,
    number: u32,
) -> Result<u32, Refusal<'a>> {
    if (32..1020).contains(&number) {
        return Ok(number);
    }
    Err(node.error(property, Problem::Interrupt(number)))
}
