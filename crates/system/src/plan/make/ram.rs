//! Where in the machine the RAM of the VMs lies.

use policy::color::Geometry;

use super::RAM;
use crate::description::{System, Vm};
use crate::diagnostic::Diagnostic;
use crate::plan::coloring::{area, frames, frames_needed, period};
use crate::plan::{Coloring, Memory};
use crate::units::{Bytes, PhysicalAddress, Region};

/// Alignment of planned RAM: the hypervisor can map it in blocks.
const ALIGNMENT: Bytes = Bytes::mib(2);

type Part = Region<PhysicalAddress>;

/// The RAM of each VM: where it is given, else in the first place that is large
/// enough. What is given is judged later, with the whole plan. `llc` is there if
/// a VM has colours.
pub(super) fn place(
    system: &System,
    hypervisor: Part,
    llc: Option<Geometry>,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<Memory> {
    let banks = &system.platform.value.memory;
    if let Some(size) = &system.hypervisor_memory
        && !banks.iter().any(|bank| bank.contains(&hypervisor))
    {
        let message = format!("{} do not fit at {}", size.value, hypervisor.start);
        let banks: Vec<String> = banks.iter().map(|bank| bank.to_string()).collect();
        let help = format!("the machine has RAM at {}", banks.join(" and "));
        mistakes.push(Diagnostic::new("no-memory", message).at(&size.place, "here").help(help));
        return Vec::new();
    }
    let mut usable = banks.clone();
    take(&mut usable, hypervisor);

    let memory = |vm: &Vm| Memory {
        ipa: RAM,
        size: vm.memory.value,
        host: vm.memory_at.as_ref().map_or(PhysicalAddress(0), |at| at.value),
        coloring: vm.colors.as_ref().zip(llc).map(|(colors, llc)| Coloring {
            colors: colors.value,
            area: area(llc, colors.value, frames_needed(vm.memory.value)),
        }),
    };
    let given = |vm: &&Vm| vm.memory_at.is_some();
    let mut placed: Vec<Memory> = system.vms.iter().filter(given).map(memory).collect();
    let place_one = |vm: &Vm| {
        let mut memory = memory(vm);
        if vm.memory_at.is_some() {
            return memory;
        }
        let alignment = memory.coloring.and(llc).map_or(ALIGNMENT, period);
        let mut free = usable.clone();
        for other in placed.iter().filter(|other| !memory.is_apart_by_colors(other)) {
            take(&mut free, other.host_region());
        }
        let parts = || free.iter().filter_map(|part| aligned(part, alignment));
        match parts().find(|part| part.size >= memory.host_region().size) {
            Some(part) => memory.host = part.start,
            None => {
                let largest = parts().map(|part| part.size).max().unwrap_or_default();
                mistakes.push(no_room(system, hypervisor, vm, memory.coloring.zip(llc), largest));
            }
        }
        placed.push(memory);
        memory
    };
    system.vms.iter().map(place_one).collect()
}

/// What is left of `part` from the first aligned address on.
fn aligned(part: &Part, alignment: Bytes) -> Option<Part> {
    let start = part.start.0.checked_next_multiple_of(alignment.0)?;
    Some(Region::new(start, part.end().0.checked_sub(start)?))
}

/// Removes a region from the free parts.
fn take(free: &mut Vec<Part>, taken: Part) {
    let rest = free.iter().flat_map(|part| {
        if !part.overlaps(&taken) {
            return vec![*part];
        }
        let between = |start: u64, end: u64| Region::new(start, end.saturating_sub(start));
        vec![
            between(part.start.0, taken.start.0.max(part.start.0)),
            between(taken.end().0.min(part.end().0), part.end().0),
        ]
    });
    *free = rest.filter(|part| part.size > Bytes(0)).collect();
}

fn no_room(
    system: &System,
    hypervisor: Part,
    vm: &Vm,
    colored: Option<(Coloring, Geometry)>,
    largest: Bytes,
) -> Diagnostic {
    let platform = &system.platform.value;
    let sum = |sizes: &mut dyn Iterator<Item = Bytes>| {
        Bytes(sizes.fold(0, |sum: u64, size| sum.saturating_add(size.0)))
    };
    let machine = sum(&mut platform.memory.iter().map(|bank| bank.size));
    let has = format!("`{}` has {machine}: {} for the hypervisor", platform.name, hypervisor.size);
    let (name, size) = (&vm.name.value, vm.memory.value);
    let (message, help) = match colored {
        None => {
            let wanted = sum(&mut system.vms.iter().map(|vm| vm.memory.value));
            (
                format!(
                    "`{name}` needs {size} of RAM in one piece, but at most {largest} are free"
                ),
                format!("{has}, {wanted} wanted by VMs; make a VM smaller"),
            )
        }
        Some((Coloring { colors, area }, llc)) => {
            let of_each = |area| frames(llc, colors, area) / u64::from(colors.len());
            let (needed, free) = (of_each(area), of_each(largest));
            (
                format!(
                    "`{name}` needs {needed} frames of each of its colours ({colors}) in one \
                     piece of RAM, but at most {free} are free"
                ),
                format!(
                    "{has}; {size} in these colours take an area of {area}: give the VM \
                     more colours, or less memory"
                ),
            )
        }
    };
    Diagnostic::new("no-memory", message).at(&vm.memory.place, "does not fit").help(help)
}
