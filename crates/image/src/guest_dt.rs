//! Generates the device tree that a guest finds in `x0`.
//!
//! The tree describes what the plan gives to the VM and nothing else: its
//! VCPUs, last-level cache, RAM, virtual GIC, timer, virtual PL011s, the doorbell
//! of vColoring, the bell, network cards, assigned devices and channels. Node and property names are those of the bindings in the Linux kernel,
//! so that an unmodified Linux boots from it.

use abi::plan::words::{NETWORK_CARD, VIRTUAL_UART};
use abi::{bell, channel, doorbell};
use dtoolkit::ToPropertyValue;
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};
use policy::color::Cache;
use system::address::{Address, IntId};
use system::plan::{Channel, Device, Link, SerialLine, VirtualDevice, Vm};

/// Interrupts of the generic timer of the VCPU: secure EL1, EL1, virtual, EL2.
/// The guest has the virtual one; the binding fixes the order of all four.
const TIMER_INTERRUPTS: [IntId; 4] = [IntId(29), IntId(30), IntId(27), IntId(26)];
/// Rate of the clock that PrimeCell devices are given, in hertz, as on QEMU virt.
const PERIPHERAL_CLOCK_HZ: u32 = 24_000_000;
/// The `compatible` string of a CPU whose model is not known.
const GENERIC_CPU: &str = "arm,armv8";

const PHANDLE_GIC: u32 = 1;
const PHANDLE_CLOCK: u32 = 2;
const PHANDLE_CACHE: u32 = 3;

/// Level of the last-level cache: that of the boards that the hypervisor drives.
const LAST_LEVEL: u32 = 2;

/// The things that a VM shares with other VMs.
#[derive(Clone, Debug, Default)]
pub struct Shared<'a> {
    /// The channels that it reads, or writes (true), with their indices in the plan.
    pub channels: Vec<(usize, &'a Channel, bool)>,
    /// Its serial lines, and at which end of each it is.
    pub lines: Vec<(&'a SerialLine, usize)>,
    /// The same of its links.
    pub links: Vec<(&'a Link, usize)>,
}

/// Returns the device tree of `vm`, flattened.
///
/// `cache` is the last-level cache that the VM sees, if the plan names one, `cpu`
/// the `compatible` string of the CPUs, if it is known, `initrd_bytes` the size of
/// the initial RAM disk, if the VM has one, `shared` what it shares with other VMs. Fails if a device has an interrupt that
/// a device tree cannot express; the error is a sentence.
pub fn generate(
    vm: &Vm,
    cache: Option<Cache>,
    cpu: Option<&str>,
    initrd_bytes: Option<u64>,
    shared: &Shared<'_>,
) -> Result<Vec<u8>, String> {
    let mut tree = DeviceTree::new();
    tree.root = root(vm, cache, cpu.unwrap_or(GENERIC_CPU), initrd_bytes, shared)?;
    Ok(tree.to_dtb())
}

fn root(
    vm: &Vm,
    cache: Option<Cache>,
    cpu: &str,
    initrd_bytes: Option<u64>,
    Shared { channels, lines, links }: &Shared<'_>,
) -> Result<DeviceTreeNode, String> {
    let mut root = node("")
        .with("#address-cells", 2u32)
        .with("#size-cells", 2u32)
        .with("compatible", "bulkhead,guest")
        .with("model", vm.name.as_str())
        .with("interrupt-parent", PHANDLE_GIC);
    let serials = serials(vm, lines);
    if !serials.is_empty() {
        let path = |it: &VirtualDevice| format!("/serial@{:x}", it.registers.start.0);
        let add = |aliases: DeviceTreeNode, (number, serial): &(usize, VirtualDevice)| {
            aliases.with(&format!("serial{number}"), path(serial))
        };
        root.add_child(serials.iter().fold(node("aliases"), add));
    }
    root.add_child(chosen(vm, initrd_bytes));
    root.add_child(cpus(vm, cache, cpu));
    root.add_child(
        node("psci").with("compatible", vec!["arm,psci-1.0", "arm,psci-0.2"]).with("method", "hvc"),
    );
    for memory in &vm.memory {
        root.add_child(
            node(format!("memory@{:x}", memory.ipa.0))
                .with("device_type", "memory")
                .with("reg", reg(memory.ipa, memory.size.get())),
        );
    }
    root.add_child(gic(vm));
    root.add_child(timer()?);
    root.add_child(
        node("apb-pclk")
            .with("compatible", "fixed-clock")
            .with("#clock-cells", 0u32)
            .with("clock-frequency", PERIPHERAL_CLOCK_HZ)
            .with("clock-output-names", "clk24mhz")
            .with("phandle", PHANDLE_CLOCK),
    );
    for (_, serial) in serials {
        root.add_child(
            node(format!("serial@{:x}", serial.registers.start.0))
                .with("compatible", vec![VIRTUAL_UART, "arm,primecell"])
                .with("reg", reg(serial.registers.start, serial.registers.size.get()))
                .with("interrupts", interrupt(serial.interrupt)?)
                .with("clocks", [PHANDLE_CLOCK, PHANDLE_CLOCK])
                .with("clock-names", vec!["uartclk", "apb_pclk"]),
        );
    }
    if let Some(pool) = &vm.pool {
        root.add_child(
            node(format!("coloring@{:x}", pool.doorbell.start.0))
                .with("compatible", doorbell::COMPATIBLE)
                .with("reg", reg(pool.doorbell.start, pool.doorbell.size.get())),
        );
    }
    for (link, end) in links {
        root.add_child(
            node(format!("virtio_mmio@{:x}", link.registers.start.0))
                .with("compatible", NETWORK_CARD)
                .with("label", link.name.as_str())
                .with("reg", reg(link.registers.start, link.registers.size.get()))
                .with("interrupts", interrupt(link.interrupts[*end])?)
                .flag("dma-coherent"),
        );
    }
    for device in &vm.devices {
        root.add_child(assigned(device)?);
    }
    if let Some(bell) = &vm.bell {
        let mut child = node(format!("bell@{:x}", bell.registers.start.0))
            .with("compatible", bell::COMPATIBLE)
            .with("reg", reg(bell.registers.start, bell.registers.size.get()));
        if channels.iter().any(|(_, channel, writes)| channel.rings.is_some() && !writes) {
            let [kind, number, _] = interrupt(bell.interrupt)?;
            child = child.with("interrupts", [kind, number, RISING_EDGE]);
        }
        root.add_child(child);
    }
    for (index, channel, writes) in channels {
        let mut child = node(format!("channel@{:x}", channel.memory.ipa.0))
            .with("compatible", channel::COMPATIBLE)
            .with("label", channel.name.as_str())
            .with("reg", reg(channel.memory.ipa, channel.memory.size.get()));
        if *writes {
            child = child.flag(channel::WRITES);
            if channel.rings.is_some() {
                child = child.with(bell::RING, bell::register(*index) as u32);
            }
        }
        root.add_child(child);
    }
    root.add_child(node("hypervisor").with("compatible", "bulkhead,hypervisor"));
    Ok(root)
}

/// Returns the virtual PL011s with the numbers that Linux takes for them: ttyAMA0 for the console, ttyAMA1 for colours, and
/// the next ones for serial lines.
fn serials(vm: &Vm, lines: &[(&SerialLine, usize)]) -> Vec<(usize, VirtualDevice)> {
    let mut serials = Vec::new();
    serials.extend(vm.serial.map(|it| (0, it)));
    serials.extend(vm.color_serial.map(|it| (1, it)));
    let ends = lines.iter().map(|(line, end)| VirtualDevice {
        registers: line.registers,
        interrupt: line.interrupts[*end],
    });
    let first = if vm.color_serial.is_some() { 2 } else { 1 };
    serials.extend((first..).zip(ends));
    serials
}

fn chosen(vm: &Vm, initrd_bytes: Option<u64>) -> DeviceTreeNode {
    let mut chosen = node("chosen");
    if let Some(bootargs) = &vm.boot.bootargs {
        chosen = chosen.with("bootargs", bootargs.as_str());
    }
    if vm.serial.is_some() {
        chosen = chosen.with("stdout-path", "serial0:115200n8");
    }
    if let (Some(initrd), Some(bytes)) = (&vm.boot.initrd, initrd_bytes) {
        chosen = chosen
            .with("linux,initrd-start", initrd.load.0)
            .with("linux,initrd-end", initrd.load.0.saturating_add(bytes));
    }
    chosen
}

fn cpus(vm: &Vm, cache: Option<Cache>, compatible: &str) -> DeviceTreeNode {
    let mut cpus = node("cpus").with("#address-cells", 1u32).with("#size-cells", 0u32);
    for index in 0..vm.vcpus.len() {
        let mut cpu = node(format!("cpu@{index:x}"))
            .with("device_type", "cpu")
            .with("compatible", compatible)
            .with("reg", index as u32)
            .with("enable-method", "psci");
        if cache.is_some() {
            cpu = cpu.with("next-level-cache", PHANDLE_CACHE);
        }
        cpus.add_child(cpu);
    }
    if let Some(cache) = cache {
        cpus.add_child(last_level_cache(cache));
    }
    cpus
}

fn last_level_cache(cache: Cache) -> DeviceTreeNode {
    node(format!("l{LAST_LEVEL}-cache"))
        .with("compatible", "cache")
        .with("cache-level", LAST_LEVEL)
        .flag("cache-unified")
        .with("cache-size", cache.bytes() as u32)
        .with("cache-line-size", cache.line_bytes())
        .with("cache-sets", cache.sets() as u32)
        .with("phandle", PHANDLE_CACHE)
}

fn gic(vm: &Vm) -> DeviceTreeNode {
    let frames = vm.gic.frames();
    let base = frames[0].1.start.0;
    let reg: Vec<u32> =
        frames.iter().flat_map(|(_, frame)| reg(frame.start, frame.size.get())).collect();
    node(format!("interrupt-controller@{base:x}"))
        .with("compatible", vm.gic.compatible())
        .with("#interrupt-cells", 3u32)
        .with("#address-cells", 0u32)
        .flag("interrupt-controller")
        .with("reg", reg)
        .with("phandle", PHANDLE_GIC)
}

fn timer() -> Result<DeviceTreeNode, String> {
    let mut interrupts = Vec::new();
    for intid in TIMER_INTERRUPTS {
        interrupts.extend(interrupt(intid)?);
    }
    // The hypervisor does not stop the counter while a VCPU waits.
    Ok(node("timer")
        .with("compatible", "arm,armv8-timer")
        .with("interrupts", interrupts)
        .flag("always-on"))
}

fn assigned(device: &Device) -> Result<DeviceTreeNode, String> {
    let registers = &device.registers;
    let compatible: Vec<&str> = device.compatible.iter().map(String::as_str).collect();
    let name = node_name(compatible.first().copied().unwrap_or_default());
    let mut device_node = node(format!("{name}@{:x}", registers.ipa.0));
    if !compatible.is_empty() {
        device_node = device_node.with("compatible", compatible.clone());
    }
    device_node = device_node.with("reg", reg(registers.ipa, registers.size.get()));
    if let Some(interrupts) = &device.interrupts {
        device_node = device_node.with("interrupts", interrupt(interrupts.guest)?);
    }
    if compatible.contains(&VIRTUAL_UART) {
        device_node = device_node
            .with("clocks", [PHANDLE_CLOCK, PHANDLE_CLOCK])
            .with("clock-names", vec!["uartclk", "apb_pclk"]);
    } else if compatible.contains(&"arm,primecell") {
        device_node = device_node.with("clocks", PHANDLE_CLOCK).with("clock-names", "apb_pclk");
    }
    Ok(device_node)
}

/// Returns a node name out of a `compatible` string: `arm,pl031` becomes `pl031`.
fn node_name(compatible: &str) -> String {
    let model = compatible.rsplit(',').next().unwrap_or_default();
    let name: String = model
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "._+-".contains(*c))
        .take(31)
        .collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { "device".into() }
}

/// Address and size, two cells each.
fn reg(start: impl Address, size: u64) -> [u32; 4] {
    let start = start.get();
    [(start >> 32) as u32, start as u32, (size >> 32) as u32, size as u32]
}

/// The triggers of an interrupt, in the GIC's binding.
const RISING_EDGE: u32 = 1;
const LEVEL_HIGH: u32 = 4;

/// Returns the three cells of the GIC's binding for a level-sensitive interrupt.
fn interrupt(intid: IntId) -> Result<[u32; 3], String> {
    match intid.0 {
        16..=31 => Ok([1, intid.0 - 16, LEVEL_HIGH]),
        32..=1019 => Ok([0, intid.0 - 32, LEVEL_HIGH]),
        _ => Err(format!("interrupt {intid} is neither private (16..31) nor shared (32..1019)")),
    }
}

fn node(name: impl Into<String>) -> DeviceTreeNode {
    DeviceTreeNode::new_unchecked(name)
}

/// Properties in the order in which they are written down.
trait With {
    fn with(self, name: &str, value: impl ToPropertyValue) -> Self;
    fn flag(self, name: &str) -> Self;
}

impl With for DeviceTreeNode {
    fn with(mut self, name: &str, value: impl ToPropertyValue) -> Self {
        self.add_property(DeviceTreeProperty::new_unchecked(name, value));
        self
    }

    fn flag(self, name: &str) -> Self {
        self.with(name, [0u8; 0])
    }
}
