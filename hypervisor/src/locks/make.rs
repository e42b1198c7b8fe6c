//! The resources of the plan, made at boot.

use alloc::vec::Vec;
use core::sync::atomic::AtomicU16;
use core::sync::atomic::Ordering::Relaxed;

use abi::hypercall::resource_name;
use policy::lock::table::{Holdings, Resource, Table, VMS};
use policy::lock::{VCPUS_MAX, rank};

use super::{Home, Locks};
use crate::lock::Mutex;
use crate::plan;
use crate::vm::Vm;

/// Makes the resources of the plan. Called once, at boot.
#[inline(never)]
pub fn make(plan: &plan::Locks<'_>, vms: &[&'static Vm]) -> Option<Locks> {
    if plan.resources.is_empty() {
        return None;
    }
    // Loops, because chains of iterators would compile to much more code.
    let (mut count, mut all) = (0, [Home::default(); VCPUS_MAX]);
    let mut priorities = [0; VCPUS_MAX];
    for vm in vms {
        for (index, vcpu) in vm.plan.vcpus.iter().enumerate() {
            if let (Some(home), Some(priority)) = (all.get_mut(count), priorities.get_mut(count)) {
                *home = Home { vm: vm.index as u8, vcpu: index as u8 };
                *priority = vcpu.server.map_or(0, |server| server.priority);
                count += 1;
            }
        }
    }
    let mut ranks = [0; VCPUS_MAX];
    rank(priorities.get(..count).unwrap_or_default(), &mut ranks);
    let mut homes = all;
    let mut vcpus = Vec::new();
    vcpus.resize(count, Holdings::default());
    for (home, rank) in all.into_iter().zip(ranks).take(count) {
        let Home { vm, vcpu } = home;
        let place = usize::from(rank);
        if let Some(vcpu) = vms.get(usize::from(vm)).and_then(|vm| vm.vcpus.get(usize::from(vcpu)))
            && let (Some(home_of), Some(holdings)) = (homes.get_mut(place), vcpus.get_mut(place))
        {
            vcpu.sections.rank.store(rank, Relaxed);
            (*home_of, *holdings) = (home, Holdings::new(vm.into()));
        }
    }
    let mut resources = Vec::new();
    let mut names = Vec::new();
    for resource in &plan.resources {
        resources.push(Resource::new(resource.vms));
        names.push((resource_name(resource.name.as_bytes()).unwrap_or_default(), resource.vms));
    }
    let open = [const { AtomicU16::new(0) }; VMS];
    Some(Locks { table: Mutex::new(Table::new(resources, vcpus)), names, open, homes })
}
