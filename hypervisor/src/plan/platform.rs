//! Reads `/platform`.

use alloc::vec::Vec;

use abi::limits::{PRICE_MAX_NS, WORD_BYTES};
use abi::plan::{names, words};
use policy::color::{ColorSet, Stripe};

use super::binding::shared_interrupt;
use super::ram::ram;
use super::{Clock, Counter, MAX_CPUS, Mapping, Node, Problem, Ram, Range, Refusal, memory};
use crate::arch::page_table::PAGE_BYTES;

/// Addresses of the machine's interrupt controller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Gic {
    /// GICv2.
    V2 {
        /// GICD: distributor.
        distributor: Range,
        /// GICC: CPU interface.
        cpu: Range,
        /// GICH: control of the virtual CPU interface.
        control: Range,
        /// GICV: virtual CPU interface, for guests.
        guest: Range,
    },
    /// GICv3.
    V3 {
        /// Distributor.
        distributor: Range,
        /// Redistributors of all CPUs.
        redistributors: Range,
    },
}

impl Gic {
    /// Version of the architecture.
    pub fn version(&self) -> u32 {
        match self {
            Self::V2 { .. } => 2,
            Self::V3 { .. } => 3,
        }
    }

    /// All its registers. `own`: only those that the hypervisor itself uses.
    pub fn frames(&self, own: bool) -> impl Iterator<Item = Range> {
        let frames = match *self {
            Self::V2 { distributor, cpu, control, guest } => {
                [Some(distributor), Some(cpu), Some(control), Some(guest).filter(|_| !own)]
            }
            Self::V3 { distributor, redistributors } => {
                [Some(distributor), Some(redistributors), None, None]
            }
        };
        frames.into_iter().flatten()
    }
}

/// Addresses of a VM's interrupt controller (IPA), which has the version of the machine's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct GuestGic {
    /// Distributor.
    pub distributor: Range,
    /// Redistributors of a GICv3; of a GICv2 an empty range at 0.
    pub redistributors: Range,
    /// CPU interface of a GICv2, where the guest finds the machine's virtual one.
    pub cpu: Option<Mapping>,
}

impl GuestGic {
    /// Its registers: the distributor, then the redistributors or the CPU interface.
    pub fn frames(&self) -> [Range; 2] {
        [self.distributor, self.cpu.map_or(self.redistributors, |cpu| cpu.guest)]
    }
}

/// The UART of the machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Serial {
    /// Registers.
    pub registers: Range,
    /// INTID.
    pub interrupt: u32,
    /// Index of the PCPU that serves it.
    pub pcpu: usize,
}

/// The machine.
#[derive(Debug)]
pub struct Platform<'a> {
    /// Name of the board.
    pub board: &'a [u8],
    /// RAM banks.
    pub memory: Vec<Range>,
    /// RAM of the hypervisor: where it is loaded.
    pub hypervisor: Range,
    /// The frames in which it runs instead, if it has colours.
    pub own: Option<Ram>,
    /// MPIDR affinity of each PCPU.
    pub cpus: Vec<u64>,
    /// Address of the word at which each PCPU waits for the address of its start; empty if PSCI starts them.
    pub spin_table: Vec<u64>,
    /// Power management of the BCM2835 family, if it turns the machine off in place of PSCI.
    pub power_off: Option<Range>,
    /// Interrupt controller.
    pub gic: Gic,
    /// Console.
    pub serial: Serial,
    /// Last-level cache, if VMs have colours.
    pub llc: Option<Llc>,
    /// The counter of memory accesses, if some are to be counted.
    pub counter: Option<Counter>,
    /// Ticks of its budget that a VCPU pays where VCPUs share a PCPU: when it blocks; and when it wakes, for
    /// interrupts that came because of it while it waited.
    pub prices: [u64; 2],
}

/// The shared last-level cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Llc {
    /// Bytes, ways, bytes of a line, slices.
    pub shape: [u32; 4],
    /// Address bits that are the colour.
    pub color_mask: u64,
    /// True if the cache registers of the CPUs describe it.
    pub in_registers: bool,
}

#[inline(never)]
pub fn read<'a>(node: Node<'a>, clock: Clock) -> Result<Platform<'a>, Refusal<'a>> {
    node.only(
        &[
            names::BOARD,
            names::GIC_VERSION,
            names::SWITCH_NS,
            names::KICK_NS,
            names::ADDRESS_CELLS,
            names::SIZE_CELLS,
        ],
        &[
            names::MEMORY,
            names::HYPERVISOR,
            names::CPUS,
            names::INTERRUPT_CONTROLLER,
            names::POWER_OFF,
            names::SERIAL,
            names::LLC,
            names::BANDWIDTH_COUNTER,
        ],
    )?;
    let (mut memory, mut power_off) = (Vec::new(), None);
    for child in node.children() {
        if child.is(names::MEMORY) {
            child.only(&[names::DEVICE_TYPE, names::REG], &[])?;
            memory.push(child.range(names::REG)?);
        } else if child.is(names::POWER_OFF) && power_off.replace(self::power_off(child)?).is_some()
        {
            return Err(node.node_error(Problem::NodeTwice(names::POWER_OFF)));
        }
    }
    let (cpus, spin_table) = cpus(node.child(names::CPUS)?)?;
    let gic = gic(node.child(names::INTERRUPT_CONTROLLER)?)?;
    if node.number(names::GIC_VERSION)? != gic.version() {
        let problem = Problem::Text("is not that of the interrupt-controller");
        return Err(node.error(names::GIC_VERSION, problem));
    }
    let serial = serial(node.child(names::SERIAL)?, cpus.len())?;
    let llc = match node.optional_child(names::LLC)? {
        Some(node) => Some(llc(node)?),
        None => None,
    };
    let counter = match node.optional_child(names::BANDWIDTH_COUNTER)? {
        Some(node) => Some(memory::counter(node, cpus.len(), serial.interrupt)?),
        None => None,
    };
    let hypervisor = node.child(names::HYPERVISOR)?;
    hypervisor.only(&[names::REG, names::COLORS, names::HOST_REG], &[])?;
    let own = match (hypervisor.value(names::COLORS), hypervisor.value(names::HOST_REG)) {
        (None, None) => None,
        (None, _) => return Err(hypervisor.error(names::HOST_REG, Problem::Text("needs colors"))),
        _ => Some(ram(hypervisor, llc.map_or(0, |llc| llc.color_mask))?),
    };
    Ok(Platform {
        llc,
        counter,
        own,
        prices: [price(node, names::SWITCH_NS, clock)?, price(node, names::KICK_NS, clock)?],
        board: node.string(names::BOARD)?,
        memory,
        hypervisor: hypervisor.range(names::REG)?,
        cpus,
        spin_table,
        power_off,
        gic,
        serial,
    })
}

/// Returns the price that a VCPU pays when it blocks, or for each kick while it waits, in ticks, rounded up; 0 without one.
fn price<'a>(node: Node<'a>, property: &'static str, clock: Clock) -> Result<u64, Refusal<'a>> {
    if node.value(property).is_none() {
        return Ok(0);
    }
    match node.long(property)? {
        time @ 1..=PRICE_MAX_NS => Ok(clock.ticks(time) + 1),
        _ => Err(node.error(property, Problem::Text("must be 1 ns to 10 ms"))),
    }
}

fn llc(node: Node<'_>) -> Result<Llc, Refusal<'_>> {
    const SHAPE: [&str; 4] = [names::CACHE_SIZE, names::WAYS, names::LINE_SIZE, names::SLICES];
    node.only(
        &[
            names::CACHE_SIZE,
            names::WAYS,
            names::LINE_SIZE,
            names::SLICES,
            names::COLOR_MASK,
            names::NOT_IN_REGISTERS,
        ],
        &[],
    )?;
    let mut shape = [0; 4];
    for (value, property) in shape.iter_mut().zip(SHAPE) {
        *value = node.number(property)?;
    }
    let in_registers = node.value(names::NOT_IN_REGISTERS).is_none();
    let color_mask = node.long(names::COLOR_MASK)?;
    if Stripe::new(PAGE_BYTES, color_mask, ColorSet::first(1), 0).is_err() {
        return Err(
            node.error(names::COLOR_MASK, Problem::Text("must be a few bits above the page"))
        );
    }
    Ok(Llc { shape, color_mask, in_registers })
}

/// Affinities, and the spin table.
fn cpus(node: Node<'_>) -> Result<(Vec<u64>, Vec<u64>), Refusal<'_>> {
    node.only(&[names::ADDRESS_CELLS, names::SIZE_CELLS], &[names::CPU])?;
    let (mut cpus, mut spin_table) = (Vec::new(), Vec::new());
    for cpu in node.children() {
        cpu.only(&[names::REG, names::ENABLE_METHOD, names::CPU_RELEASE_ADDR], &[])?;
        if cpu.value(names::ENABLE_METHOD).is_some() {
            cpu.expect_text(names::ENABLE_METHOD, &[words::SPIN_TABLE])?;
            let release = cpu.long(names::CPU_RELEASE_ADDR)?;
            if !release.is_multiple_of(WORD_BYTES) {
                let problem = Problem::Text("must be a multiple of 8");
                return Err(cpu.error(names::CPU_RELEASE_ADDR, problem));
            }
            spin_table.push(release);
        }
        let mpidr = cpu.long(names::REG)?;
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

/// Reads the registers that turn the machine off.
fn power_off(node: Node<'_>) -> Result<Range, Refusal<'_>> {
    node.only(&[names::COMPATIBLE, names::REG], &[])?;
    node.expect_text(names::COMPATIBLE, &words::POWER_OFFS)?;
    node.range(names::REG)
}

/// Reads the machine's interrupt controller.
fn gic(node: Node<'_>) -> Result<Gic, Refusal<'_>> {
    node.only(&[names::COMPATIBLE, names::REG], &[])?;
    let version = node.expect_text(names::COMPATIBLE, &words::GICS)?;
    let frame = |index| node.range_of(names::REG, index, if version == 0 { 4 } else { 2 });
    Ok(match version {
        0 => {
            Gic::V2 { distributor: frame(0)?, cpu: frame(1)?, control: frame(2)?, guest: frame(3)? }
        }
        _ => Gic::V3 { distributor: frame(0)?, redistributors: frame(1)? },
    })
}

/// Reads the interrupt controller of a VM on a machine with this one.
pub fn guest_gic<'a>(node: Node<'a>, host: &Gic) -> Result<GuestGic, Refusal<'a>> {
    node.only(&[names::COMPATIBLE, names::REG], &[])?;
    let version = node.expect_text(names::COMPATIBLE, &words::GICS)?;
    let (distributor, other) = (node.range_of(names::REG, 0, 2)?, node.range_of(names::REG, 1, 2)?);
    match *host {
        Gic::V2 { guest, .. } if version == 0 => Ok(GuestGic {
            distributor,
            redistributors: Range { start: 0, bytes: 0 },
            cpu: Some(Mapping { guest: other, host: guest.start }),
        }),
        Gic::V3 { .. } if version == 1 => {
            Ok(GuestGic { distributor, redistributors: other, cpu: None })
        }
        _ => Err(node.error(names::COMPATIBLE, Problem::Text("must be that of the machine"))),
    }
}

fn serial(node: Node<'_>, cpus: usize) -> Result<Serial, Refusal<'_>> {
    node.only(&[names::COMPATIBLE, names::REG, names::INTERRUPTS, names::PCPU], &[])?;
    // Which of them it is, is in the header of the image too.
    node.expect_text(names::COMPATIBLE, &words::UARTS)?;
    let interrupt = shared_interrupt(node, names::INTERRUPTS, node.number(names::INTERRUPTS)?)?;
    let pcpu = node.number(names::PCPU)? as usize;
    if pcpu >= cpus {
        return Err(node.error(names::PCPU, Problem::NoPcpu(pcpu, cpus)));
    }
    Ok(Serial { registers: node.range(names::REG)?, interrupt, pcpu })
}
