//! Reads `/vms/vm@i`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::node::Reader;
use super::platform::gic;
use super::{Boot, Device, Load, MAX_CPUS, Mapping, PlanError, Policy, Range, Vm};

const POLICIES: [&str; 2] = ["stop", "restart"];

pub fn read(node: &Reader<'_>) -> Result<Vm, PlanError> {
    node.only(
        &[
            "reg",
            "#address-cells",
            "#size-cells",
            "vm-name",
            "on-crash",
            "on-reset",
            "restart-limit",
        ],
        &["vcpus", "memory", "interrupt-controller", "serial", "device", "boot"],
    )?;
    let name = node.text("vm-name")?;
    let usable = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    // A VM called like the hypervisor would carry its label on the console.
    let taken = name == "bulkhead";
    if name.is_empty() || name.len() > 15 || !name.chars().all(usable) || taken {
        return Err(node.error("vm-name", "must have 1 to 15 characters of a-z 0-9 - _"));
    }
    let memory = node.children("memory")?;
    Ok(Vm {
        name: name.into(),
        node: node.path().into(),
        on_crash: policy(node, "on-crash")?,
        on_reset: policy(node, "on-reset")?,
        restart_limit: node.number("restart-limit")?,
        vcpus: vcpus(&node.child("vcpus")?)?,
        memory: memory.iter().map(ram).collect::<Result<_, _>>()?,
        gic: gic(&node.child("interrupt-controller")?)?,
        serial: node.optional_child("serial")?.map(|serial| self::serial(&serial)).transpose()?,
        devices: node.children("device")?.iter().map(device).collect::<Result<_, _>>()?,
        boot: boot(&node.child("boot")?, name)?,
    })
}

fn policy(node: &Reader<'_>, property: &'static str) -> Result<Policy, PlanError> {
    let index = node.choice(property, &POLICIES)?;
    Ok([Policy::Stop, Policy::Restart][index])
}

fn vcpus(node: &Reader<'_>) -> Result<Vec<usize>, PlanError> {
    node.only(&["#address-cells", "#size-cells"], &["vcpu"])?;
    let vcpus: Vec<usize> = node
        .children("vcpu")?
        .iter()
        .map(|vcpu| {
            vcpu.only(&["reg", "pcpu"], &[])?;
            vcpu.number("pcpu").map(|pcpu| pcpu as usize)
        })
        .collect::<Result<_, _>>()?;
    if vcpus.is_empty() || vcpus.len() > MAX_CPUS {
        return Err(node.node_error(format!("{} VCPUs, expected 1 to {MAX_CPUS}", vcpus.len())));
    }
    Ok(vcpus)
}

fn mapping(node: &Reader<'_>) -> Result<Mapping, PlanError> {
    let guest: Range = node.range("reg")?;
    let host = node.range("host-reg")?;
    if guest.bytes != host.bytes {
        return Err(node.error(
            "host-reg",
            format!(
                "has {:#x} bytes, but reg has {:#x}: they must be equal",
                host.bytes, guest.bytes
            ),
        ));
    }
    Ok(Mapping { guest, host: host.start })
}

fn ram(node: &Reader<'_>) -> Result<Mapping, PlanError> {
    node.only(&["device_type", "reg", "host-reg"], &[])?;
    mapping(node)
}

fn shared_interrupt(
    node: &Reader<'_>,
    property: &'static str,
    number: u32,
) -> Result<u32, PlanError> {
    if (32..1020).contains(&number) {
        return Ok(number);
    }
    Err(node.error(property, format!("is {number}, expected 32 to 1019")))
}

fn serial(node: &Reader<'_>) -> Result<(Range, u32), PlanError> {
    node.only(&["compatible", "reg", "interrupts"], &[])?;
    node.expect_text("compatible", "arm,pl011")?;
    let interrupt = shared_interrupt(node, "interrupts", node.number("interrupts")?)?;
    Ok((node.range("reg")?, interrupt))
}

fn device(node: &Reader<'_>) -> Result<Device, PlanError> {
    node.only(&["compatible", "reg", "host-reg", "interrupts", "host-interrupts"], &[])?;
    let numbers = |property| -> Result<Vec<u32>, PlanError> {
        if node.value(property).is_none() {
            return Ok(Vec::new());
        }
        let list = node.list(property)?;
        list.into_iter().map(|number| shared_interrupt(node, property, number)).collect()
    };
    let guest = numbers("interrupts")?;
    let host = numbers("host-interrupts")?;
    if guest.len() != host.len() {
        return Err(node.error(
            "host-interrupts",
            format!("has {} interrupts, but interrupts has {}", host.len(), guest.len()),
        ));
    }
    Ok(Device { registers: mapping(node)?, interrupts: guest.into_iter().zip(host).collect() })
}

fn boot(node: &Reader<'_>, vm: &str) -> Result<Boot, PlanError> {
    node.only(&["entry", "bootargs"], &["kernel", "initrd", "device-tree"])?;
    node.child("kernel")?;
    let mut loads = Vec::new();
    let mut device_tree = 0;
    for name in ["kernel", "initrd", "device-tree"] {
        if let Some(load) = node.optional_child(name)? {
            load.only(&["file", "load"], &[])?;
            let address = load.long("load")?;
            if name == "device-tree" {
                device_tree = address;
            }
            let blob: String = format!("{vm}/{name}");
            loads.push(Load { blob, address });
        }
    }
    Ok(Boot { entry: node.long("entry")?, loads, device_tree })
}
