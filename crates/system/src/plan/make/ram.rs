//! Where in the machine the RAM of the VMs lies.

use crate::description::System;
use crate::diagnostic::Diagnostic;
use crate::units::{Address, Bytes, PhysicalAddress, Region};

/// Alignment of planned RAM: the hypervisor can map it in blocks.
const ALIGNMENT: u64 = 2 << 20;

/// The start of each VM's RAM: where it is given, else the first place that
/// is large enough. What is given is judged later, with the whole plan.
pub(super) fn place(
    system: &System,
    hypervisor: Region<PhysicalAddress>,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<PhysicalAddress> {
    let mut free = system.platform.value.memory.clone();
    if let Some(size) = &system.hypervisor_memory
        && !free.iter().any(|bank| bank.contains(&hypervisor))
    {
        let message = format!("{} do not fit at {}", size.value, hypervisor.start);
        let banks: Vec<String> = free.iter().map(|bank| bank.to_string()).collect();
        let help = format!("the machine has RAM at {}", banks.join(" and "));
        mistakes.push(Diagnostic::new("no-memory", message).at(&size.place, "here").help(help));
        return vec![hypervisor.start; system.vms.len()];
    }
    take(&mut free, hypervisor);
    for vm in &system.vms {
        if let Some(at) = &vm.memory_at {
            take(&mut free, Region { start: at.value, size: vm.memory.value });
        }
    }
    let place_one = |vm: &crate::description::Vm| {
        if let Some(at) = &vm.memory_at {
            return at.value;
        }
        let size = vm.memory.value;
        if let Some(region) = free.iter().find_map(|part| fit(part, size)) {
            take(&mut free, region);
            return region.start;
        }
        mistakes.push(no_room(system, hypervisor, vm, &free));
        PhysicalAddress(0)
    };
    system.vms.iter().map(place_one).collect()
}

/// The first aligned region of `size` in `part`.
fn fit(part: &Region<PhysicalAddress>, size: Bytes) -> Option<Region<PhysicalAddress>> {
    let start = part.start.0.checked_next_multiple_of(ALIGNMENT)?;
    let region = Region::new(start, size);
    (part.contains(&region)).then_some(region)
}

/// Removes a region from the free parts.
fn take(free: &mut Vec<Region<PhysicalAddress>>, taken: Region<PhysicalAddress>) {
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
    hypervisor: Region<PhysicalAddress>,
    vm: &crate::description::Vm,
    free: &[Region<PhysicalAddress>],
) -> Diagnostic {
    let platform = &system.platform.value;
    let usable = |part: &Region<PhysicalAddress>| {
        let start = part.start.get().next_multiple_of(ALIGNMENT);
        part.end().0.saturating_sub(start)
    };
    let largest = Bytes(free.iter().map(usable).max().unwrap_or(0));
    let sum = |sizes: &mut dyn Iterator<Item = Bytes>| {
        Bytes(sizes.fold(0, |sum: u64, size| sum.saturating_add(size.0)))
    };
    let machine = sum(&mut platform.memory.iter().map(|bank| bank.size));
    let wanted = sum(&mut system.vms.iter().map(|vm| vm.memory.value));
    let message = format!(
        "`{}` needs {} of RAM in one piece, but at most {largest} are free",
        vm.name.value, vm.memory.value
    );
    let help = format!(
        "`{}` has {machine}: {} for the hypervisor, {wanted} wanted by VMs; make a VM smaller",
        platform.name, hypervisor.size
    );
    Diagnostic::new("no-memory", message).at(&vm.memory.place, "does not fit").help(help)
}
