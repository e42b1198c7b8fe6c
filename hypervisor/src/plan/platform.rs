//! Reads `/platform`.

use alloc::format;
use alloc::vec::Vec;

use super::node::Reader;
use super::{GicV3, MAX_CPUS, PlanError, Platform, Serial};

pub fn read(node: &Reader<'_>) -> Result<Platform, PlanError> {
    node.only(
        &["board", "gic-version", "#address-cells", "#size-cells"],
        &["memory", "hypervisor", "cpus", "interrupt-controller", "serial"],
    )?;
    let memory: Vec<_> = node
        .children("memory")?
        .iter()
        .map(|bank| {
            bank.only(&["device_type", "reg"], &[])?;
            bank.range("reg")
        })
        .collect::<Result<_, _>>()?;
    let hypervisor = node.child("hypervisor")?;
    hypervisor.only(&["reg"], &[])?;
    let cpus = cpus(&node.child("cpus")?)?;
    if node.number("gic-version")? != 3 {
        return Err(node.error("gic-version", "this build drives GICv3 only, expected <3>"));
    }
    let gic = gic(&node.child("interrupt-controller")?)?;
    let serial = serial(&node.child("serial")?, cpus.len())?;
    Ok(Platform {
        board: node.text("board")?.into(),
        memory,
        hypervisor: hypervisor.range("reg")?,
        cpus,
        gic,
        serial,
    })
}

fn cpus(node: &Reader<'_>) -> Result<Vec<u64>, PlanError> {
    node.only(&["#address-cells", "#size-cells"], &["cpu"])?;
    let cpus: Vec<_> = node
        .children("cpu")?
        .iter()
        .map(|cpu| {
            cpu.only(&["reg"], &[])?;
            cpu.long("reg")
        })
        .collect::<Result<_, _>>()?;
    if cpus.is_empty() || cpus.len() > MAX_CPUS {
        return Err(node.node_error(format!("{} CPUs, expected 1 to {MAX_CPUS}", cpus.len())));
    }
    for (index, mpidr) in cpus.iter().enumerate() {
        if cpus[..index].contains(mpidr) {
            return Err(node.node_error(format!("two CPUs have the affinity {mpidr:#x}")));
        }
    }
    Ok(cpus)
}

/// Reads a GICv3 node, of the machine or of a VM.
pub fn gic(node: &Reader<'_>) -> Result<GicV3, PlanError> {
    node.only(&["compatible", "reg"], &[])?;
    node.expect_text("compatible", "arm,gic-v3")?;
    let [distributor, redistributors] = node.ranges("reg")?;
    Ok(GicV3 { distributor, redistributors })
}

fn serial(node: &Reader<'_>, cpus: usize) -> Result<Serial, PlanError> {
    node.only(&["compatible", "reg", "interrupts", "pcpu"], &[])?;
    node.expect_text("compatible", "arm,pl011")?;
    let interrupt = node.number("interrupts")?;
    if !(32..1020).contains(&interrupt) {
        return Err(node.error("interrupts", format!("is {interrupt}, expected 32 to 1019")));
    }
    let pcpu = pcpu(node, cpus)?;
    Ok(Serial { registers: node.range("reg")?, interrupt, pcpu })
}

/// Reads `pcpu`, which must be one of `cpus` PCPUs.
pub fn pcpu(node: &Reader<'_>, cpus: usize) -> Result<usize, PlanError> {
    let pcpu = node.number("pcpu")? as usize;
    if pcpu >= cpus {
        return Err(
            node.error("pcpu", format!("is {pcpu}, but the platform has PCPUs 0 to {}", cpus - 1))
        );
    }
    Ok(pcpu)
}
