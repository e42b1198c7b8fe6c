//! VCPUs that lose their resources, which go to the next waiters, and VMs that close theirs.

use core::sync::atomic::Ordering::Relaxed;

use policy::lock::table::VMS;

use super::{LOCKS, tell};
use crate::pcpu::{Assignment, Pcpu};
use crate::vm::Vm;

/// Revokes the resources of a VCPU of this CPU that waits inside a section without a pending
/// interrupt, because its guest ignores the grant interrupt. Returns true if there were any: the
/// scheduler was told.
#[inline(never)]
pub fn end_of_waiting(at: &Assignment, pcpu: &'static Pcpu) -> bool {
    let inside = at.vcpu.sections.is_inside();
    if inside {
        leave(at, false);
        pcpu.change_gcs(at, false);
    }
    inside
}

/// Passes the resources of a VCPU of this CPU to the next waiters after it was in sections for too
/// long. The scheduler already treats the VCPU as outside.
#[inline(never)]
pub fn revoke(at: &Assignment) {
    leave(at, false);
}

/// Passes the resources of a VCPU of this CPU that goes off to the next waiters.
#[inline(never)]
pub fn stop(at: &Assignment, pcpu: &'static Pcpu) {
    let told = at.vcpu.sections.told.load(Relaxed);
    leave(at, true);
    if told {
        pcpu.change_gcs(at, false);
    }
}

/// Passes the resources of a VCPU to the next waiters. `stops`: its tasks no longer wait for
/// resources either.
#[inline(never)]
fn leave(at: &Assignment, stops: bool) {
    let sections = &at.vcpu.sections;
    sections.inside.store(false, Relaxed);
    sections.told.store(false, Relaxed);
    let Some(locks) = LOCKS.own() else { return };
    let rank = sections.rank();
    for resource in 0..locks.names.len() {
        let next = locks.with(|table| {
            let next = table.leave(rank, resource, stops);
            sections.holds.store(!stops && table.in_gcs(rank), Relaxed);
            next.and_then(|next| locks.grant(next))
        });
        tell(next);
    }
    if stops {
        locks.with(|table| {
            table.forget(rank);
            sections.granted.store(false, Relaxed);
            sections.untold.store(false, Relaxed);
            sections.holds.store(false, Relaxed);
        });
    }
}

/// Closes all resources of a VM, all VCPUs of which are off.
pub fn close(vm: &Vm) {
    if let Some(locks) = LOCKS.own() {
        locks.with(|table| {
            table.close_all(vm.index);
            locks.open[vm.index % VMS].store(0, Relaxed);
        });
    }
}
