//! Reads `/platform`.

use alloc::vec::Vec;

use policy::color::{ColorSet, Stripe};

use super::vm::ram;
use super::{
    Clock, Gic, GuestGic, Llc, MAX_CPUS, Mapping, Node, Platform, Problem, Range, Refusal, Serial,
    memory,
};
use crate::arch::page_table::PAGE_BYTES;

/// Longest time that taking turns may cost, in nanoseconds.
const PRICE_MAX: u64 = 10_000_000;

#[inline(never)]
pub fn read<'a>(node: Node<'a>, clock: Clock) -> Result<Platform<'a>, Refusal<'a>> {
    node.only(
        &["board", "gic-version", "switch-ns", "wait-ns", "#address-cells", "#size-cells"],
        &[
            "memory",
            "hypervisor",
            "cpus",
            "interrupt-controller",
            "power-off",
            "serial",
            "llc",
            "bandwidth-counter",
        ],
    )?;
    let (mut memory, mut power_off) = (Vec::new(), None);
    for child in node.children() {
        if child.is("memory") {
            child.only(&["device_type", "reg"], &[])?;
            memory.push(child.range("reg")?);
        } else if child.is("power-off") && power_off.replace(self::power_off(child)?).is_some() {
            return Err(node.node_error(Problem::NodeTwice("power-off")));
        }
    }
    let (cpus, spin_table) = cpus(node.child("cpus")?)?;
    let gic = gic(node.child("interrupt-controller")?)?;
    if node.number("gic-version")? != gic.version() {
        let problem = Problem::Text("is not that of the interrupt-controller");
        return Err(node.error("gic-version", problem));
    }
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
        prices: [price(node, "switch-ns", clock)?, price(node, "wait-ns", clock)?],
        board: node.string("board")?,
        memory,
        hypervisor: hypervisor.range("reg")?,
        cpus,
        spin_table,
        power_off,
        gic,
        serial,
    })
}

/// What a VCPU pays when it blocks, and when it wakes, in ticks, rounded up; 0 if the plan does not say.
fn price<'a>(node: Node<'a>, property: &'static str, clock: Clock) -> Result<u64, Refusal<'a>> {
    if node.value(property).is_none() {
        return Ok(0);
    }
    match node.long(property)? {
        time @ 1..=PRICE_MAX => Ok(clock.ticks(time) + 1),
        _ => Err(node.error(property, Problem::Text("must be 1 ns to 10 ms"))),
    }
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

/// Affinities, and the spin table.
fn cpus(node: Node<'_>) -> Result<(Vec<u64>, Vec<u64>), Refusal<'_>> {
    node.only(&["#address-cells", "#size-cells"], &["cpu"])?;
    let (mut cpus, mut spin_table) = (Vec::new(), Vec::new());
    for cpu in node.children() {
        cpu.only(&["reg", "enable-method", "cpu-release-addr"], &[])?;
        if cpu.value("enable-method").is_some() {
            cpu.expect_text("enable-method", &["spin-table"])?;
            let release = cpu.long("cpu-release-addr")?;
            if !release.is_multiple_of(8) {
                let problem = Problem::Text("must be a multiple of 8");
                return Err(cpu.error("cpu-release-addr", problem));
            }
            spin_table.push(release);
        }
        let mpidr = cpu.long("reg")?;
        if cpus.contains(&mpidr) {
            return Err(node.node_error(Problem::SameAffinity(mpidr)));
        }
        cpus.push(mpidr);
    }
    if cpus.is_empty() || cpus.len() > MAX_CPUS {
        return Err(node.node_error(Problem::Count(cpus.len(), "CPUs")));
    }
    if !spin_table.is_empty() && spin_table.len() != cpus.len() {
        return Err(node.node_error(Problem::Text("all CPUs must be started in the same way")));
    }
    Ok((cpus, spin_table))
}

/// Reads what turns the machine off.
fn power_off(node: Node<'_>) -> Result<Range, Refusal<'_>> {
    node.only(&["compatible", "reg"], &[])?;
    node.expect_text("compatible", &["brcm,bcm2835-pm"])?;
    node.range("reg")
}

/// What a GICv2 and a GICv3 are called.
const GICS: [&str; 2] = ["arm,gic-400", "arm,gic-v3"];

/// Reads the machine's interrupt controller.
fn gic(node: Node<'_>) -> Result<Gic, Refusal<'_>> {
    node.only(&["compatible", "reg"], &[])?;
    let version = node.expect_text("compatible", &GICS)?;
    let frame = |index| node.range_of("reg", index, if version == 0 { 4 } else { 2 });
    Ok(match version {
        0 => {
            Gic::V2 { distributor: frame(0)?, cpu: frame(1)?, control: frame(2)?, guest: frame(3)? }
        }
        _ => Gic::V3 { distributor: frame(0)?, redistributors: frame(1)? },
    })
}

/// Reads the interrupt controller of a VM on a machine with this one.
pub fn guest_gic<'a>(node: Node<'a>, host: &Gic) -> Result<GuestGic, Refusal<'a>> {
    node.only(&["compatible", "reg"], &[])?;
    let version = node.expect_text("compatible", &GICS)?;
    let (distributor, other) = (node.range_of("reg", 0, 2)?, node.range_of("reg", 1, 2)?);
    match *host {
        Gic::V2 { guest, .. } if version == 0 => Ok(GuestGic {
            distributor,
            redistributors: Range { start: 0, bytes: 0 },
            cpu: Some(Mapping { guest: other, host: guest.start }),
        }),
        Gic::V3 { .. } if version == 1 => {
            Ok(GuestGic { distributor, redistributors: other, cpu: None })
        }
        _ => Err(node.error("compatible", Problem::Text("must be that of the machine"))),
    }
}

/// UARTs that there are drivers for. Which of them it is, is in the header of the image too.
const UARTS: [&str; 2] = ["arm,pl011", "xlnx,zynqmp-uart"];

fn serial(node: Node<'_>, cpus: usize) -> Result<Serial, Refusal<'_>> {
    node.only(&["compatible", "reg", "interrupts", "pcpu"], &[])?;
    node.expect_text("compatible", &UARTS)?;
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
    Err(node.error(property, Problem::Interrupt(number.into())))
}
