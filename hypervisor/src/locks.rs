//! Global critical sections: the calls of guests for them, and the resources that VMs share.
//!
//! `policy::lock::table` decides who owns a resource. The table is behind one lock for all PCPUs,
//! which serves them in order and is held for a constant number of instructions, in which a PCPU
//! takes no other lock. Waiters are one bit for each VCPU and task: there is room for all of them,
//! and the next owner is found in constant time. A call takes the lock only if it can change
//! something. A call without the right, about a resource that is not open, not held or not granted,
//! is refused before, from constant data or from the state of the VCPU. Each request counts as an
//! entry into a section, whatever the answer is, and [`policy::rate`] limits the entries.
//! Opening and closing a resource is not limited, but waits for the lock in order.
//!
//! A task that has to wait is the guest's matter. When the task gets the resource, the PCPU of its
//! VCPU is kicked and makes an interrupt of the VCPU pending; then the guest asks which task got
//! which resource. Even if the guest masks the interrupt, the PCPU tells its scheduler that the
//! VCPU is in a global critical section, so that the VCPU has priority and may overrun. Only the
//! PCPU of a VCPU tells that scheduler. When a VCPU goes off, its resources go to the next waiters,
//! which are told that the owner died.
//!
//! When the running VCPU enters or leaves a section and nothing else has changed, it stays the one
//! to run: this is noted without a decision (`policy::cpu::fast`). All other cases take
//! one path that is small and slower.
//!
//! No guest is trusted to leave its sections ([`policy::lock::hold`]). After `hold-ns` of execution
//! in sections without a pause the VCPU counts as outside: its priority is its normal one again,
//! its overrun ends, and its resources go to the next waiters. A guest that keeps its described
//! lengths never reaches the limit: a task requests a resource only while its VCPU executes
//! outside, so that each task is in at most one section until then (vMPCP, Eq. 1). The timer is set
//! for this limit only if another VCPU is affected: after a decision on the same PCPU, or after a
//! kick by a VCPU of another PCPU that begins to wait.
//!
//! A PCPU whose only VCPU may open resources has a scheduler for these rules, and its WFI traps.

mod calls;
mod leave;
mod look;
mod make;
mod sections;

use alloc::vec::Vec;
use core::sync::atomic::AtomicU16;
use core::sync::atomic::Ordering::{Relaxed, Release};

use policy::lock::table::{Holdings, Resource, Table, VMS};
use policy::lock::{RESOURCES_MAX, VCPUS_MAX, Who};

use crate::arch::percpu::StaticRef;
use crate::lock::Mutex;
use crate::machine;
use crate::vm::{Vcpu, Vm};

pub use calls::call;
pub use leave::{close, end_of_waiting, revoke, stop};
pub use look::look;
pub use make::make;
pub use sections::Sections;

/// The resources that VMs share, and their owners.
pub struct Locks {
    table: Mutex<Table<Vec<Resource>, Vec<Holdings>>>,
    /// Names of the resources, as guests pass them, and the VMs that may open them, one bit each.
    names: Vec<([u64; 2], u8)>,
    /// The resources that each VM has open, one bit each; they change only while the lock of the
    /// table is held.
    open: [AtomicU16; VMS],
    /// The VCPUs by their rank.
    homes: [Home; VCPUS_MAX],
}

const _: () = assert!(RESOURCES_MAX <= u16::BITS as usize);

impl Locks {
    /// Calls `act` with the table. `act` must take no lock and tell no CPU: the caller acts on the
    /// result afterwards.
    #[inline(always)]
    fn with<T>(&self, act: impl FnOnce(&mut Table<Vec<Resource>, Vec<Holdings>>) -> T) -> T {
        act(&mut self.table.lock())
    }

    /// Returns true if a VM may open a resource.
    fn may_open(&self, vm: usize, resource: usize) -> bool {
        self.names.get(resource).is_some_and(|(_, vms)| vms >> (vm % VMS) & 1 != 0)
    }

    /// Returns true if a VM has a resource open.
    #[inline(always)]
    fn has_open(&self, vm: usize, resource: usize) -> bool {
        resource < RESOURCES_MAX && self.open[vm % VMS].load(Relaxed) >> resource & 1 != 0
    }

    /// Marks the VCPU of a task that got a resource for which it waited, and returns the VCPU. The
    /// lock of the table is held. The VCPU's own CPU raises the interrupt that tells the guest, so
    /// that this CPU waits for no lock of another VM.
    #[cold]
    #[inline(never)]
    fn grant(&self, who: Who) -> Option<&'static Vcpu> {
        let (_, vcpu) = self.vcpu(who)?;
        let sections = &vcpu.sections;
        sections.granted.store(true, Release);
        sections.untold.store(true, Release);
        // Last: a CPU that sees that the VCPU is in a section also sees that there is something to
        // tell.
        sections.holds.store(true, Release);
        Some(vcpu)
    }

    /// Returns the VCPU of a task, and its VM.
    fn vcpu(&self, who: Who) -> Option<(&'static Vm, &'static Vcpu)> {
        let home = self.homes.get(who.vcpu())?;
        let &vm = machine::vms().get(usize::from(home.vm))?;
        Some((vm, vm.vcpus.get(usize::from(home.vcpu))?))
    }
}

/// The place of a VCPU: index of its VM, and its own index there.
#[derive(Clone, Copy, Default)]
struct Home {
    vm: u8,
    vcpu: u8,
}

/// Empty if the VMs share no resources.
static LOCKS: StaticRef<Locks> = StaticRef::empty();

/// Publishes the resources. Called once, at boot.
pub fn publish(locks: Option<&'static Locks>) {
    LOCKS.set(locks);
}

/// Returns true if a VM may open a resource.
pub fn are_open_to(vm: &Vm) -> bool {
    LOCKS.own().is_some_and(|locks| (0..locks.names.len()).any(|it| locks.may_open(vm.index, it)))
}

/// Kicks the CPU of a VCPU of which a task got a resource for which it waited. The kick comes even
/// if the guest has masked the interrupt, because the VCPU is in a section now.
#[inline(always)]
fn tell(granted: Option<&Vcpu>) {
    if let Some(vcpu) = granted {
        vcpu.pcpu.kick();
    }
}
