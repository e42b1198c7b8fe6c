//! RAM and arguments of the guest, from the device tree or patched into the file.

use core::fmt;
use core::sync::atomic::AtomicU64;

use abi::doorbell::COMPATIBLE;
use abi::limits::{CHANNELS_MAX, LINKS_MAX, SERIAL_LINES_MAX};
use abi::plan::words::{NETWORK_CARD, VIRTUAL_UART};
use abi::{bell, channel, guest};
use dtoolkit::fdt::{Fdt, FdtNode};
use dtoolkit::standard::NodeStandard;
use dtoolkit::{Node, Property};

use crate::arch::lock::InterruptLock;
use crate::arch::{self, RAM_BASE};
use crate::bootargs::BootArguments;
use crate::{println, psci};

#[derive(Clone, Copy)]
struct Given {
    arguments: &'static str,
    ram_bytes: Option<u64>,
    doorbell: Option<u64>,
    bell: Option<BellNode>,
    cache: Option<CacheNode>,
    channels: [Option<ChannelNode>; CHANNELS_MAX],
    /// Page and interrupt of the ends of serial lines.
    serial_lines: [Option<(u64, u32)>; SERIAL_LINES_MAX],
    /// Page and interrupt of the network cards.
    cards: [Option<(u64, u32)>; LINKS_MAX],
}

/// A channel as the device tree describes it.
#[derive(Clone, Copy, Debug)]
struct ChannelNode {
    name: &'static str,
    address: u64,
    bytes: u64,
    /// Offset of its register in the page of the bell, if the VM may ring for it.
    ring: Option<u32>,
}

/// The bell as the device tree describes it.
#[derive(Clone, Copy, Debug)]
struct BellNode {
    page: u64,
    interrupt: Option<u32>,
}

/// The last-level cache as the device tree describes it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CacheNode {
    /// `cache-size`: bytes.
    pub size: u32,
    /// `cache-line-size`: bytes of a line.
    pub line: u32,
    /// `cache-sets`.
    pub sets: u32,
}

impl Given {
    const fn new(arguments: &'static str) -> Self {
        let channels = [None; CHANNELS_MAX];
        let serial_lines = [None; SERIAL_LINES_MAX];
        let (ram_bytes, doorbell, bell, cache) = (None, None, None, None);
        let cards = [None; LINKS_MAX];
        Self { arguments, ram_bytes, doorbell, bell, cache, channels, serial_lines, cards }
    }
}

static GIVEN: InterruptLock<Given> = InterruptLock::new(Given::new(""));

/// A device tree that cannot be used.
#[derive(Debug)]
pub struct BadDeviceTree(dtoolkit::error::FdtParseError);

impl fmt::Display for BadDeviceTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device tree: {}", self.0)
    }
}

/// Takes RAM size and arguments from `tree`; arguments from `patched` if the tree has none.
pub fn set(tree: Option<&'static [u8]>, patched: &'static [u8]) -> Result<(), BadDeviceTree> {
    let patched = patched.split(|&byte| byte == 0).next().unwrap_or_default();
    let arguments = core::str::from_utf8(patched).unwrap_or("");
    let mut given = Given::new(arguments);
    let tree = tree.map(Fdt::new).transpose().map_err(BadDeviceTree);
    if let Ok(Some(tree)) = tree {
        let bootargs = tree
            .find_node("/chosen")
            .and_then(|chosen| chosen.property("bootargs"))
            .and_then(|property| property.value_as::<&str>().ok());
        given.arguments = bootargs.unwrap_or(given.arguments);
        given.ram_bytes = ram_bytes(&tree);
        given.doorbell = doorbell(&tree);
        given.bell = bell_node(&tree);
        given.cache = cache(&tree);
        let root = tree.root();
        let channels = root.find_compatible(channel::COMPATIBLE).filter_map(channel_node);
        for (place, node) in given.channels.iter_mut().zip(channels) {
            *place = Some(node);
        }
        let lines = root.find_compatible(VIRTUAL_UART).filter_map(serial_line_node);
        for (place, node) in given.serial_lines.iter_mut().zip(lines) {
            *place = Some(node);
        }
        let card = |node: FdtNode<'static>| Some((page(&node)?, shared_interrupt(&node)?));
        let cards = root.find_compatible(NETWORK_CARD).filter_map(card);
        for (place, node) in given.cards.iter_mut().zip(cards) {
            *place = Some(node);
        }
    }
    GIVEN.with(|slot| *slot = given);
    tree.map(drop)
}

fn ram_bytes(tree: &Fdt<'static>) -> Option<u64> {
    let mut regions = tree.memory().ok()?.reg().ok()??;
    regions.find_map(|region| {
        let address: u64 = region.address().ok()?;
        if address == RAM_BASE as u64 { region.size().ok() } else { None }
    })
}

fn doorbell(tree: &Fdt<'static>) -> Option<u64> {
    let root = tree.root();
    let node = root.find_compatible(COMPATIBLE).next()?;
    node.reg().ok()??.next()?.address().ok()
}

fn bell_node(tree: &Fdt<'static>) -> Option<BellNode> {
    let root = tree.root();
    let node = root.find_compatible(bell::COMPATIBLE).next()?;
    Some(BellNode { page: page(&node)?, interrupt: shared_interrupt(&node) })
}

/// Returns the start of the registers of a device.
fn page(node: &FdtNode<'static>) -> Option<u64> {
    node.reg().ok()??.next()?.address().ok()
}

/// The interrupt of a device. The binding of the GIC: a shared interrupt, its number, its trigger.
fn shared_interrupt(node: &FdtNode<'static>) -> Option<u32> {
    let interrupts = node.property("interrupts")?;
    let number = interrupts.value().get(4..8)?;
    Some(32 + u32::from_be_bytes(number.try_into().ok()?))
}

/// A PL011 that is neither the console nor the port for colours.
fn serial_line_node(node: FdtNode<'static>) -> Option<(u64, u32)> {
    let page = page(&node)?;
    let is_line = page != guest::UART && page != guest::COLOR_UART;
    is_line.then_some((page, shared_interrupt(&node)?))
}

fn cache(tree: &Fdt<'static>) -> Option<CacheNode> {
    let cpus = tree.find_node("/cpus")?;
    let node = cpus.find_compatible("cache").next()?;
    let number = |name| node.property(name)?.value_as::<u32>().ok();
    Some(CacheNode {
        size: number("cache-size")?,
        line: number("cache-line-size")?,
        sets: number("cache-sets")?,
    })
}

fn channel_node(node: FdtNode<'static>) -> Option<ChannelNode> {
    let region = node.reg().ok()??.next()?;
    Some(ChannelNode {
        name: node.property("label")?.value_as::<&str>().ok()?,
        address: region.address().ok()?,
        bytes: region.size().ok()?,
        ring: node.property(bell::RING).and_then(|offset| offset.value_as::<u32>().ok()),
    })
}

/// The memory of the channel with this name, if the device tree has it.
pub fn channel(name: &str) -> Option<&'static [AtomicU64]> {
    let channels = GIVEN.with(|given| given.channels);
    let node = channels.into_iter().flatten().find(|node| node.name == name)?;
    arch::channel::words(node.address, node.bytes)
}

/// Page, and offset in it, of the register on which the VM rings for the channel with this name, if it may.
pub fn ring(name: &str) -> Option<(u64, u32)> {
    let (channels, bell) = GIVEN.with(|given| (given.channels, given.bell));
    let node = channels.into_iter().flatten().find(|node| node.name == name)?;
    Some((bell?.page, node.ring?))
}

/// INTID of the interrupt that tells of a ring for a channel that the VM reads.
pub fn bell_interrupt() -> Option<u32> {
    GIVEN.with(|given| given.bell)?.interrupt
}

/// Page and INTID of the end of the serial line with this number, in the order of the device tree.
pub fn serial_line(number: usize) -> Option<(u64, u32)> {
    *GIVEN.with(|given| given.serial_lines).get(number)?
}

/// Page and INTID of the network card with this number, in the order of the device tree.
pub fn network_card(number: usize) -> Option<(u64, u32)> {
    *GIVEN.with(|given| given.cards).get(number)?
}

/// The last-level cache, if the device tree has a node for it.
pub fn cache_of_tree() -> Option<CacheNode> {
    GIVEN.with(|given| given.cache)
}

/// Address of the doorbell for colours, if the device tree has one.
pub fn doorbell_of_tree() -> Option<u64> {
    GIVEN.with(|given| given.doorbell)
}

/// Bytes of RAM from [`RAM_BASE`] as the device tree says.
pub fn ram_bytes_of_tree() -> Option<u64> {
    GIVEN.with(|given| given.ram_bytes)
}

/// The text `key=...` of the boot arguments.
pub fn text(key: &str) -> Option<&'static str> {
    BootArguments::new(GIVEN.with(|given| given.arguments)).get(key)
}

/// The number `key=...` of the boot arguments, or `default`. If it is no number, says so and turns
/// the machine off.
pub fn number(key: &'static str, default: u64) -> u64 {
    match BootArguments::new(GIVEN.with(|given| given.arguments)).number(key) {
        Ok(number) => number.unwrap_or(default),
        Err(error) => {
            println!("rt: {error}");
            psci::system_off()
        }
    }
}
