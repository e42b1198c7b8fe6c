//! Reads `/vms/vm@i`.

mod device;

use alloc::vec::Vec;

use abi::console::HYPERVISOR;
use abi::limits::NAME_MAX;
use abi::plan::{names, words};
use abi::{bell, doorbell};
use policy::bandwidth::Account;
use policy::color::Area;
use policy::rate::Rate;
use policy::restart::Restarts;
use policy::time::Instant;

use super::binding::shared_interrupt;
use super::platform::guest_gic;
use super::ram::{colored, ram};
use super::{
    Clock, Counter, End, GuestGic, LinkEnd, Llc, MAX_CPUS, MemoryBudget, Node, Platform, Problem,
    Ram, Range, Refusal, SerialEnd, Server, VmBudget, memory, server,
};
use crate::arch::page_table::PAGE_BYTES;
use crate::payload::BlobName;

pub use device::Device;

/// Colours besides its own that tasks of a VM can ask for (vCache, section 4.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Coloring {
    /// The page on which the guest asks (IPA).
    pub doorbell: Range,
    /// The frames: as if they were RAM from address 0 on.
    pub pool: Ram,
}

/// Something that is copied into a VM before it starts.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// Its node, for messages.
    pub node: Node<'a>,
    /// Its name in the image.
    pub blob: BlobName<'a>,
    /// IPA of its first byte.
    pub address: u64,
}

/// The start of a VM.
#[derive(Debug)]
pub struct Boot<'a> {
    /// Its node, for messages.
    pub node: Node<'a>,
    /// IPA of the first instruction.
    pub entry: u64,
    /// Kernel, initial RAM disk, device tree.
    pub loads: Vec<Load<'a>>,
    /// IPA of the device tree, passed in `x0`; 0 without one.
    pub device_tree: u64,
}

/// A virtual CPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Vcpu {
    /// Index of the PCPU that runs it.
    pub pcpu: usize,
    /// Its share of the PCPU; none: it has the PCPU for itself.
    pub server: Option<Server>,
    /// Budget of memory accesses; none: as many as it likes, or its VM may.
    pub memory: Option<MemoryBudget>,
    /// Most ticks that it may execute in global critical sections until it executes outside; 0: it may
    /// be in none.
    pub hold: u64,
    /// Limit on entries into them, in ticks; none: it never enters one.
    pub rate: Option<Rate>,
}

/// A virtual machine.
#[derive(Debug)]
pub struct Vm<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its node, for messages.
    pub node: Node<'a>,
    /// After which ends the VM starts again from its images.
    pub restarts: Restarts,
    /// True if accesses to addresses at which it has nothing fail, in place of stopping it.
    pub aborts: bool,
    /// With a virtual last-level cache: it has `2^share` times fewer sets than the machine's.
    pub cache_share: Option<u8>,
    /// True if all RAM is mapped at the start; otherwise a page is when it is first touched.
    pub warm_up: bool,
    /// Budget of the memory accesses of all its VCPUs together, if that is limited.
    pub memory_budget: Option<VmBudget>,
    /// True if its accesses count for the compensation of others.
    pub critical: bool,
    /// The machine's last-level cache, if the plan names it.
    pub llc: Option<Llc>,
    /// Colours that its tasks can ask for.
    pub coloring: Option<Coloring>,
    /// Its VCPUs.
    pub vcpus: Vec<Vcpu>,
    /// RAM.
    pub memory: Vec<Ram>,
    /// Virtual interrupt controller.
    pub gic: GuestGic,
    /// Virtual PL011: registers (IPA) and INTID.
    pub serial: Option<(Range, u32)>,
    /// Virtual PL011 on which closed guests ask for colours: registers (IPA) and INTID.
    pub color_serial: Option<(Range, u32)>,
    /// The bell: registers (IPA) and INTID.
    pub bell: Option<(Range, u32)>,
    /// Assigned devices.
    pub devices: Vec<Device>,
    /// Channels to and from other VMs.
    pub channels: Vec<End>,
    /// Its ends of serial lines.
    pub serial_lines: Vec<SerialEnd>,
    /// Its ends of links.
    pub links: Vec<LinkEnd>,
    /// Its start.
    pub boot: Boot<'a>,
}

impl Vm<'_> {
    /// Memory of the machine that belongs to it: RAM, then the pool of extra colours.
    pub fn areas(&self) -> impl Iterator<Item = &Ram> {
        self.memory.iter().chain(self.coloring.iter().map(|coloring| &coloring.pool))
    }

    /// Returns the RAM of a VM with colours, and the use of the frames of its area.
    #[inline(never)]
    pub fn colored(&self) -> Option<(&Ram, Area)> {
        let ram = self.memory.first().filter(|ram| ram.colors.is_some())?;
        let pool_frames = self.coloring.map_or(0, |coloring| coloring.pool.pages());
        Some((ram, Area::new(ram.pages(), pool_frames)))
    }

    /// Returns where VCPUs that share PCPUs or have budgets read how much time was stolen from them (IPA): behind all
    /// that the plan gives to the guest.
    pub fn time_page(&self) -> Option<u64> {
        let waits = |vcpu: &Vcpu| vcpu.server.is_some() || vcpu.memory.is_some();
        if self.memory_budget.is_none() && !self.vcpus.iter().any(waits) {
            return None;
        }
        let serial = self.emulated().map(|(range, _)| range);
        let ranges = self.memory.iter().map(|ram| ram.guest);
        let ranges = ranges.chain(self.devices.iter().map(|device| device.registers.guest));
        let ranges = ranges.chain(self.channels.iter().map(|channel| channel.memory.guest));
        let ranges = ranges.chain(self.gic.frames()).chain(serial);
        let ranges = ranges.chain(self.coloring.iter().map(|coloring| coloring.doorbell));
        ranges.map(Range::end).max().map(|end| end.next_multiple_of(PAGE_BYTES))
    }

    /// Returns true if the memory accesses of the VM, or those of one of its VCPUs, are limited.
    pub fn is_limited(&self) -> bool {
        self.memory_budget.is_some() || self.vcpus.iter().any(|vcpu| vcpu.memory.is_some())
    }

    /// Returns true if the accesses of one of its VCPUs are counted. `compensates`: some VM gets credits
    /// for those of critical ones.
    pub fn counts(&self, vcpu: &Vcpu, compensates: bool) -> bool {
        vcpu.memory.is_some() || self.memory_budget.is_some() || self.critical && compensates
    }

    /// The account of the accesses of one of its VCPUs, if they are limited; periods are counted
    /// from `start`.
    pub fn account(&self, vcpu: &Vcpu, start: Instant) -> Option<Account> {
        match vcpu.memory {
            Some(own) => own.account(start),
            None => self.memory_budget.map(|_| Account::shared()),
        }
    }

    /// Returns true if the VM gets credits for accesses that critical VMs do not make.
    pub fn is_compensated(&self) -> bool {
        self.memory_budget.is_some_and(|budget| budget.compensation.is_some())
    }

    /// The PCPUs of some of its VCPUs, one bit each.
    pub fn cpus(&self, of: impl Fn(&Vcpu) -> bool) -> u64 {
        let vcpus = self.vcpus.iter().filter(|vcpu| of(vcpu));
        vcpus.fold(0, |cpus, vcpu| cpus | 1 << vcpu.pcpu)
    }

    /// Its devices that the hypervisor emulates, and that have an interrupt.
    fn emulated(&self) -> impl Iterator<Item = (Range, u32)> {
        let lines = self.serial_lines.iter().map(|end| (end.registers, end.interrupt));
        let links = self.links.iter().map(|end| (end.registers, end.interrupt));
        let own = self.serial.iter().chain(&self.color_serial).chain(&self.bell).copied();
        own.chain(lines).chain(links)
    }

    /// INTIDs of its devices that the hypervisor emulates.
    pub fn device_interrupts(&self) -> impl Iterator<Item = u32> {
        self.emulated().map(|(_, interrupt)| interrupt)
    }
}

/// Reads a VM of this machine.
#[inline(never)]
pub fn read<'a>(
    node: Node<'a>,
    platform: &Platform<'a>,
    clock: Clock,
) -> Result<Vm<'a>, Refusal<'a>> {
    let (llc, counter) = (platform.llc, platform.counter.as_ref());
    node.only(
        &[
            names::REG,
            names::ADDRESS_CELLS,
            names::SIZE_CELLS,
            names::VM_NAME,
            names::ON_CRASH,
            names::ON_RESET,
            names::RESTART_LIMIT,
            names::ABORTS,
            names::VLLC,
            names::WARM_UP,
            names::MEMORY_BUDGET,
            names::MEMORY_PERIOD_NS,
            names::COMPENSATION,
            names::FLUSH_TASK_SWITCH,
            names::CRITICAL,
        ],
        &[
            names::VCPUS,
            names::MEMORY,
            names::INTERRUPT_CONTROLLER,
            names::SERIAL,
            names::DEVICE,
            names::BOOT,
            names::COLORING,
            names::COLOR_SERIAL,
            names::BELL,
        ],
    )?;
    let color_mask = llc.map_or(0, |llc| llc.color_mask);
    let name = node.text(names::VM_NAME)?;
    if let Some(problem) = wrong_name(name) {
        return Err(node.error(names::VM_NAME, Problem::Text(problem)));
    }
    let (mut memory, mut devices) = (Vec::new(), Vec::new());
    for child in node.children() {
        if child.is(names::MEMORY) {
            memory.push(ram(child, color_mask)?);
        } else if child.is(names::DEVICE) {
            devices.push(device::read(child)?);
        }
    }
    let serial = emulated(node, names::SERIAL, &UART)?;
    let coloring = match node.optional_child(names::COLORING)? {
        Some(node) => Some(coloring(node, &memory, color_mask)?),
        None => None,
    };
    let color_serial = emulated(node, names::COLOR_SERIAL, &UART)?;
    if color_serial.is_some() && coloring.is_none() {
        let problem = Problem::Text("needs the node coloring");
        return Err(node.nth(names::COLOR_SERIAL, 0).node_error(problem));
    }
    let bell = emulated(node, names::BELL, &[bell::COMPATIBLE])?;
    if bell.is_some_and(|(page, _)| page.bytes != PAGE_BYTES) {
        let problem = Problem::Text("must be one page");
        return Err(node.nth(names::BELL, 0).error(names::REG, problem));
    }
    let memory_budget = memory::of_vm(node, counter, clock)?;
    let vcpus = vcpus(node.child(names::VCPUS)?, counter, clock, memory_budget.is_some())?;
    Ok(Vm {
        name,
        node,
        restarts: Restarts {
            after_crash: restarts(node, names::ON_CRASH)?,
            after_reset: restarts(node, names::ON_RESET)?,
            limit: node.number(names::RESTART_LIMIT)?,
        },
        aborts: flag(node, names::ABORTS)?,
        cache_share: cache_share(node, &memory, color_mask)?,
        warm_up: flag(node, names::WARM_UP)?,
        llc,
        coloring,
        memory_budget,
        critical: memory::critical(node, counter)?,
        vcpus,
        memory,
        gic: guest_gic(node.child(names::INTERRUPT_CONTROLLER)?, &platform.gic)?,
        serial,
        color_serial,
        bell,
        devices,
        channels: Vec::new(),
        serial_lines: Vec::new(),
        links: Vec::new(),
        boot: boot(node.child(names::BOOT)?, name)?,
    })
}

/// Returns the mistake in the name of a VM or of something that VMs share.
#[inline(never)]
pub(super) fn wrong_name(name: &str) -> Option<&'static str> {
    let usable = |c: &u8| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if !(1..=NAME_MAX).contains(&name.len()) || !name.as_bytes().iter().all(usable) {
        return Some("must have 1 to 15 characters of a-z 0-9 - _");
    }
    // Such a VM would carry the hypervisor's label on the console.
    (name == HYPERVISOR).then_some("is the name of the hypervisor, choose another")
}

/// Returns true if the VM restarts after this event.
fn restarts<'a>(node: Node<'a>, property: &'static str) -> Result<bool, Refusal<'a>> {
    node.text(property)?;
    Ok(node.expect_text(property, &words::EVENTS)? != 0)
}

/// Properties of a VCPU.
const VCPU: [&str; 12] = [
    names::REG,
    names::PCPU,
    names::SERVER,
    names::BUDGET_NS,
    names::PERIOD_NS,
    names::OVERRUN_NS,
    names::HOLD_NS,
    names::SECTIONS_INTERVAL_NS,
    names::SECTIONS_EARLY_NS,
    names::PRIORITY,
    names::MEMORY_BUDGET,
    names::MEMORY_PERIOD_NS,
];

/// `together`: the VM has a memory budget for all of them.
fn vcpus<'a>(
    node: Node<'a>,
    counter: Option<&Counter>,
    clock: Clock,
    together: bool,
) -> Result<Vec<Vcpu>, Refusal<'a>> {
    node.only(&[names::ADDRESS_CELLS, names::SIZE_CELLS], &[names::VCPU])?;
    let mut vcpus = Vec::new();
    for vcpu in node.children() {
        vcpu.only(&VCPU, &[])?;
        let server = server::read(vcpu, clock)?;
        let memory = memory::budget(vcpu, counter, clock)?;
        if together && memory.is_some() {
            let text = "the VM has a budget for all of its VCPUs together";
            return Err(vcpu.error(names::MEMORY_BUDGET, Problem::Text(text)));
        }
        let (hold, rate) = (server::hold(vcpu, clock)?, server::rate(vcpu, clock)?);
        vcpus.push(Vcpu { pcpu: vcpu.number(names::PCPU)? as usize, server, memory, hold, rate });
    }
    if vcpus.is_empty() || vcpus.len() > MAX_CPUS {
        return Err(node.node_error(Problem::Count(vcpus.len(), "VCPUs")));
    }
    Ok(vcpus)
}

fn coloring<'a>(node: Node<'a>, memory: &[Ram], color_mask: u64) -> Result<Coloring, Refusal<'a>> {
    node.only(
        &[names::COMPATIBLE, names::REG, names::COLORS, names::HOST_REG, names::FRAMES],
        &[],
    )?;
    node.expect_text(names::COMPATIBLE, &[doorbell::COMPATIBLE])?;
    if memory.iter().all(|ram| ram.colors.is_none()) {
        return Err(node.node_error(Problem::Text(NEEDS_COLORS)));
    }
    let doorbell = node.range(names::REG)?;
    if doorbell.bytes != doorbell::PAGE_BYTES {
        return Err(node.error(names::REG, Problem::Text("must be one page")));
    }
    let bytes = u64::from(node.number(names::FRAMES)?) * PAGE_BYTES;
    if bytes == 0 {
        return Err(node.error(names::FRAMES, Problem::Text("must not be <0>")));
    }
    Ok(Coloring { doorbell, pool: colored(node, Range { start: 0, bytes }, color_mask)? })
}

const NEEDS_COLORS: &str = "needs RAM with colors";

/// A property that is `<1>` or not there.
fn flag<'a>(node: Node<'a>, property: &'static str) -> Result<bool, Refusal<'a>> {
    match node.value(property) {
        None => Ok(false),
        Some([0, 0, 0, 1]) => Ok(true),
        Some(_) => Err(node.error(property, Problem::Text("must be <1>, or not there"))),
    }
}

/// The property `vllc`: how many times smaller the guest's last-level cache is, as a
/// power of two.
fn cache_share<'a>(
    node: Node<'a>,
    memory: &[Ram],
    color_mask: u64,
) -> Result<Option<u8>, Refusal<'a>> {
    if !flag(node, names::VLLC)? {
        return Ok(None);
    }
    let refuse = |text| Err(node.error(names::VLLC, Problem::Text(text)));
    let Some((ram, colors)) = memory.iter().find_map(|ram| Some((ram, ram.colors?))) else {
        return refuse(NEEDS_COLORS);
    };
    let count = colors.len();
    if !count.is_power_of_two() {
        return refuse("needs 1, 2, 4, ... colours");
    }
    if color_mask & PAGE_BYTES == 0 || ram.guest.start & (u64::from(count) * PAGE_BYTES - 1) != 0 {
        return refuse("needs colours of one page, and RAM aligned to one page of each");
    }
    Ok(Some((color_mask.count_ones() - count.trailing_zeros()) as u8))
}

/// `compatible` of a virtual PL011.
const UART: [&str; 1] = [words::VIRTUAL_UART];

/// Reads a device that the hypervisor emulates.
fn emulated<'a>(
    node: Node<'a>,
    name: &'static str,
    compatible: &'static [&'static str],
) -> Result<Option<(Range, u32)>, Refusal<'a>> {
    let Some(node) = node.optional_child(name)? else { return Ok(None) };
    node.only(&[names::COMPATIBLE, names::REG, names::INTERRUPTS], &[])?;
    node.expect_text(names::COMPATIBLE, compatible)?;
    let interrupt = shared_interrupt(node, names::INTERRUPTS, node.number(names::INTERRUPTS)?)?;
    Ok(Some((node.range(names::REG)?, interrupt)))
}

fn boot<'a>(node: Node<'a>, vm: &'a str) -> Result<Boot<'a>, Refusal<'a>> {
    node.only(
        &[names::ENTRY, names::BOOTARGS],
        &[names::KERNEL, names::INITRD, names::DEVICE_TREE],
    )?;
    node.child(names::KERNEL)?;
    let mut loads = Vec::new();
    let mut device_tree = 0;
    for name in [names::KERNEL, names::INITRD, names::DEVICE_TREE] {
        if let Some(load) = node.optional_child(name)? {
            load.only(&[names::FILE, names::LOAD], &[])?;
            let address = load.long(names::LOAD)?;
            if name == names::DEVICE_TREE {
                device_tree = address;
            }
            loads.push(Load { node: load, blob: BlobName::of(vm, name), address });
        }
    }
    Ok(Boot { node, entry: node.long(names::ENTRY)?, loads, device_tree })
}
