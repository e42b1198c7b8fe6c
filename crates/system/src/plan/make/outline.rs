//! The outline of a plan for a machine that is only analysed.

use units::Bytes;

use super::ram::{Placed, pool_frames};
use super::{RAM, assemble, closed, pcpus};
use crate::address::{IntId, Ipa, PhysicalAddress, Region};
use crate::description::{System, Vm};
use crate::diagnostic::Errors;
use crate::plan::{Area, Coloring, Gic, Memory, Plan, Pool, SerialKind};
use crate::platform::{BootSupport, Console};

/// Stands for registers and RAM that have no address.
const NOWHERE: Region<PhysicalAddress> = Region { start: PhysicalAddress(0), size: Bytes(0) };

/// Returns VCPUs, servers, budgets, colours and resources as a plan has them, for a machine that is
/// only analysed: a simulation needs no more. All addresses are 0, so that this is no plan that a
/// hypervisor could run or [`super::check`] accepts, and it may be larger than one.
///
/// # Errors
///
/// As [`super::assign`].
pub fn outline(system: &System) -> Result<Plan, Errors> {
    closed(system)?;
    let mut mistakes = Vec::new();
    let pcpus = pcpus::assign(system, &mut mistakes);
    Errors::unless_none(mistakes, ())?;
    let support = BootSupport {
        gic: Gic::V3 { gicd: NOWHERE, gicr: NOWHERE },
        console: Console { kind: SerialKind::Pl011, registers: NOWHERE, interrupt: IntId(0) },
        power_off: None,
        image_base: PhysicalAddress(0),
    };
    let vms = system.vms.iter().map(|vm| (memory(vm), pool(vm))).collect();
    let channels = system.channels.iter().map(|_| PhysicalAddress(0)).collect();
    let placed = Placed { hypervisor: None, vms, channels };
    Ok(assemble(system, &support, (NOWHERE, None), &pcpus, placed))
}

/// Returns the pool of a VM, which lies nowhere.
fn pool(vm: &Vm) -> Option<Pool> {
    let extra = vm.extra.as_ref()?;
    let region = Region { size: extra.memory.value, ..NOWHERE };
    let area = Area { colors: extra.colors.value, region };
    Some(Pool { doorbell: Region { start: Ipa(0), size: Bytes(0) }, area, frames: pool_frames(vm) })
}

/// Returns RAM of a VM that lies nowhere.
pub(super) fn memory(vm: &Vm) -> Memory {
    let size = vm.memory.value;
    let coloring = vm.colors.as_ref().map(|colors| Coloring { colors: colors.value, area: size });
    Memory { ipa: RAM, size, host: PhysicalAddress(0), coloring }
}
