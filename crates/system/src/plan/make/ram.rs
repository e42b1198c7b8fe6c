//! Places the RAM of the VMs, their pools, and the hypervisor's own areas in its colours.

mod space;

use policy::color::{ColorSet, Geometry};
use space::{Space, Wanted};
use units::Bytes;

use super::{DOORBELL, RAM};
use crate::address::{PhysicalAddress, Region};
use crate::description::{System, Vm};
use crate::diagnostic::Diagnostic;
use crate::plan::coloring::{area, frames_needed};
use crate::plan::{Area, Coloring, Frames, Memory, PAGE, Pool};

/// RAM of the hypervisor in its colours: code, data and heap, which grow with the
/// number of CPUs and VMs.
const HYPERVISOR_COLORED: Bytes = Bytes::mib(4);

/// The places.
#[derive(Default)]
pub(super) struct Placed {
    /// The area of the hypervisor, if it has colours.
    pub hypervisor: Option<Area>,
    /// RAM and pool of each VM.
    pub vms: Vec<(Memory, Option<Pool>)>,
    /// Memory of each channel.
    pub channels: Vec<PhysicalAddress>,
}

/// Places RAM where it is given, and everything else in the first place that is large enough. Given
/// places are checked later, with the whole plan. `llc` is the cache, if there are colours.
pub(super) fn place(
    system: &System,
    hypervisor: Region<PhysicalAddress>,
    llc: Option<Geometry>,
    mistakes: &mut Vec<Diagnostic>,
) -> Placed {
    let banks = &system.platform.value.memory;
    if let Some(size) = &system.hypervisor_memory
        && !banks.iter().any(|bank| bank.contains(&hypervisor))
    {
        let message = format!("{} do not fit at {}", size.value, hypervisor.start);
        let banks: Vec<String> = banks.iter().map(|bank| bank.to_string()).collect();
        let help = format!("the machine has RAM at {}", banks.join(" and "));
        mistakes.push(Diagnostic::new("no-memory", message).at(&size.place, "here").help(help));
        return Placed::default();
    }
    let given: Vec<_> = system.vms.iter().filter_map(|vm| given(vm, llc)).collect();
    let channels = system.channels.iter().filter_map(|channel| {
        let start = channel.memory_at.as_ref()?.value;
        Some(Frames { region: Region { start, size: channel.size.value }, colors: None })
    });
    let taken = given.iter().map(Memory::frames).chain(channels).collect();
    let mut space = Space::new(system, hypervisor, llc, taken);
    let mut find = |wanted: &Wanted<'_>| match space.take(wanted) {
        Ok(start) => start,
        Err(mistake) => {
            mistakes.push(*mistake);
            PhysicalAddress(0)
        }
    };

    let hypervisor = system.hypervisor_colors.as_ref().zip(llc).map(|(colors, llc)| {
        let bytes = area(llc, colors.value, HYPERVISOR_COLORED.0 / PAGE.0);
        let start = find(&Wanted {
            owner: "the hypervisor".into(),
            size: HYPERVISOR_COLORED,
            bytes,
            colors: Some(colors.value),
            place: &colors.place,
        });
        Area { colors: colors.value, region: Region { start, size: bytes } }
    });
    let vms = system.vms.iter().map(|vm| {
        let memory = given_or(vm, llc, |memory| {
            find(&Wanted {
                owner: format!("`{}`", vm.name.value),
                size: memory.size,
                bytes: memory.host_region().size,
                colors: memory.colors(),
                place: &vm.memory.place,
            })
        });
        let pool = vm.extra.as_ref().zip(llc).map(|(extra, llc)| {
            let (colors, frames) = (extra.colors.value, pool_frames(vm));
            let bytes = area(llc, colors, frames.into());
            let start = find(&Wanted {
                owner: format!("the pool of `{}`", vm.name.value),
                size: extra.memory.value,
                bytes,
                colors: Some(colors),
                place: &extra.memory.place,
            });
            let area = Area { colors, region: Region { start, size: bytes } };
            Pool { doorbell: Region::new(DOORBELL.0, DOORBELL.1), area, frames }
        });
        (memory, pool)
    });
    let vms = vms.collect();
    let channels = system.channels.iter().map(|channel| {
        let wanted = Wanted {
            owner: format!("channel `{}`", channel.name.value),
            size: channel.size.value,
            bytes: channel.size.value,
            colors: None,
            place: &channel.size.place,
        };
        channel.memory_at.as_ref().map_or_else(|| find(&wanted), |at| at.value)
    });
    Placed { hypervisor, vms, channels: channels.collect() }
}

/// RAM of a VM, if the description says where it lies.
fn given(vm: &Vm, llc: Option<Geometry>) -> Option<Memory> {
    vm.memory_at.as_ref().map(|at| memory(vm, llc, at.value))
}

/// RAM of a VM: where the description says, else where `find` does.
fn given_or(
    vm: &Vm,
    llc: Option<Geometry>,
    find: impl FnOnce(Memory) -> PhysicalAddress,
) -> Memory {
    given(vm, llc).unwrap_or_else(|| {
        let memory = memory(vm, llc, PhysicalAddress(0));
        Memory { host: find(memory), ..memory }
    })
}

fn memory(vm: &Vm, llc: Option<Geometry>, host: PhysicalAddress) -> Memory {
    let coloring = |colors: ColorSet, llc| Coloring {
        colors,
        area: area(llc, colors, frames_needed(vm.memory.value, pool_frames(vm))),
    };
    Memory {
        ipa: RAM,
        size: vm.memory.value,
        host,
        coloring: vm.colors.as_ref().zip(llc).map(|(colors, llc)| coloring(colors.value, llc)),
    }
}

/// Frames of the pool of a VM; as many as a plan can say if there are more, which
/// no machine has.
pub(super) fn pool_frames(vm: &Vm) -> u32 {
    let frames = vm.extra.as_ref().map_or(0, |extra| extra.memory.value.0 / PAGE.0);
    u32::try_from(frames).unwrap_or(u32::MAX)
}
