//! Puts hypervisor, plan and guest files together.

use std::path::Path;

use abi::image::{ConsoleKind, PLAN_BLOB};
use system::address::{Ipa, Region};
use system::plan::{Plan, SerialKind, Vm};
use units::Bytes;

use crate::arm64;
use crate::error::Error;
use crate::guest_dt::{self, Shared};
use crate::guest_file;
use crate::hypervisor::Hypervisor;
use crate::payload::{Blob, EarlyConsole, pack};

/// Boot loaders put an arm64 `Image` at a multiple of this, and QEMU keeps the
/// first one of the RAM for itself: the image may start this much into its region.
const LOAD_SLACK: u64 = 2 << 20;

/// An image, ready to be written or booted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Image {
    /// The bytes of the whole image.
    pub bytes: Vec<u8>,
    /// Bytes of the hypervisor; the payload follows.
    pub hypervisor_bytes: u64,
    /// Names and sizes in bytes of the blobs, in their order in the image.
    pub blobs: Vec<(String, u64)>,
}

/// Builds the image of `plan`.
///
/// `folder` is where relative paths of the plan start, `cpu` the `compatible`
/// string of the machine's CPUs for the device trees of the guests (a generic
/// one if it is not known).
pub fn build(
    plan: &Plan,
    folder: &Path,
    hypervisor: &Hypervisor,
    cpu: Option<&str>,
) -> Result<Image, Error> {
    let plan_dtb = plan.to_dtb();
    let mut blobs = vec![Blob { name: PLAN_BLOB.into(), data: plan_dtb }];
    for index in 0..plan.vms.len() {
        blobs.extend(guest_blobs(plan, index, folder, cpu)?);
    }
    let serial = &plan.platform.serial;
    let console =
        EarlyConsole { kind: console_kind(serial.kind), address: serial.registers.start.0 };
    let payload = pack(console, &blobs)?;

    let mut bytes = hypervisor.memory().to_vec();
    bytes.extend(&payload);
    let total = bytes.len() as u64;
    arm64::set_image_size(&mut bytes, total);
    check_region(plan, &bytes)?;
    Ok(Image {
        bytes,
        hypervisor_bytes: hypervisor.memory().len() as u64,
        blobs: blobs.into_iter().map(|blob| (blob.name, blob.data.len() as u64)).collect(),
    })
}

fn guest_blobs(
    plan: &Plan,
    index: usize,
    folder: &Path,
    cpu: Option<&str>,
) -> Result<Vec<Blob>, Error> {
    let vm = &plan.vms[index];
    let kernel = guest_file::kernel(vm, folder)?;
    let initrd = guest_file::initrd(vm, folder)?;
    let mut placed = vec![("kernel", Region::new(vm.boot.kernel.load, kernel.memory_bytes))];
    let initrd_bytes = initrd.as_ref().map(|initrd| initrd.memory_bytes);
    if let (Some(file), Some(bytes)) = (&vm.boot.initrd, initrd_bytes) {
        placed.push(("initrd", Region::new(file.load, bytes)));
    }
    let device_tree = match vm.boot.device_tree {
        None => None,
        Some(load) if load.0 % 8 != 0 => {
            return Err(Error::DeviceTreeAlignment { vm: vm.name.clone(), load });
        }
        Some(load) => {
            let shared = Shared {
                channels: plan.channels_of(index),
                lines: plan.serial_lines_of(index).collect(),
                links: plan.links_of(index).collect(),
            };
            let cache = plan.last_level_cache(vm);
            let tree = guest_dt::generate(vm, cache, cpu, initrd_bytes, &shared)
                .map_err(|problem| Error::DeviceTree { vm: vm.name.clone(), problem })?;
            placed.push(("device tree", Region::new(load, tree.len() as u64)));
            Some(tree)
        }
    };
    check_placement(vm, &placed)?;

    let blob = |node: &str, data| Blob { name: format!("{}/{node}", vm.name), data };
    let mut blobs = vec![blob("kernel", kernel.data)];
    blobs.extend(initrd.map(|initrd| blob("initrd", initrd.data)));
    blobs.extend(device_tree.map(|tree| blob("device-tree", tree)));
    Ok(blobs)
}

/// Everything must lie in one region of RAM, and nothing upon something else.
fn check_placement(vm: &Vm, placed: &[(&'static str, Region<Ipa>)]) -> Result<(), Error> {
    for (index, &(what, region)) in placed.iter().enumerate() {
        if !vm.memory.iter().any(|memory| memory.ipa_region().contains(&region)) {
            let ram: Vec<String> =
                vm.memory.iter().map(|memory| memory.ipa_region().to_string()).collect();
            return Err(Error::OutsideRam {
                vm: vm.name.clone(),
                what,
                size: region.size,
                region,
                ram: ram.join(", "),
            });
        }
        if let Some(&(first, first_region)) =
            placed[..index].iter().find(|(_, other)| other.overlaps(&region))
        {
            return Err(Error::Overlap {
                vm: vm.name.clone(),
                first,
                first_region,
                second: what,
                second_region: region,
            });
        }
    }
    Ok(())
}

fn check_region(plan: &Plan, image: &[u8]) -> Result<(), Error> {
    let text_offset = arm64::Header::read(image).map_or(0, |header| header.text_offset);
    let bytes = image.len() as u64;
    let needed = bytes.saturating_add(LOAD_SLACK).saturating_add(text_offset);
    let given = plan.platform.hypervisor.size;
    if needed > given.get() {
        return Err(Error::HypervisorRegion { image: Bytes(bytes), needed: Bytes(needed), given });
    }
    Ok(())
}

fn console_kind(kind: SerialKind) -> ConsoleKind {
    match kind {
        SerialKind::Pl011 => ConsoleKind::Pl011,
        SerialKind::Cadence => ConsoleKind::Cadence,
    }
}
