//! Rings: a VM interrupts the readers of a channel that it writes (`abi::bell`).
//!
//! The writer pays for a ring with its own time: it counts in the limit of the channel, and notes with a VCPU
//! of each reader that there was one. The limit has a lock that only VCPUs of the writer take. The interrupt
//! is left to the VCPU of the reader ([`attend`]), so that no VM takes a lock of another one, and however
//! many rings there are, a reader that does not execute is kicked as often as for anything else
//! ([`policy::pace`]).

use core::sync::atomic::Ordering;

use abi::bell;
use policy::rate::Rate;
use policy::time::Instant;

use super::{GicEnv, Vm};
use crate::arch::cpu;
use crate::lock::Mutex;
use crate::machine;
use crate::pcpu::{Assignment, Pcpu};
use crate::plan;

/// A channel that a VM writes, and for which it rings.
pub struct Rings {
    /// Offset of its register.
    register: u64,
    limit: Rate,
    /// The VMs that read the channel, one bit each.
    readers: u64,
    used: Mutex<Used>,
}

/// The used part of the limit. It survives restarts of the writer.
struct Used {
    /// The time from which on the writer may ring again.
    from: i64,
    refused: u32,
}

impl Rings {
    /// Makes those of a channel.
    pub fn new(ring: &plan::Ring) -> Self {
        let plan::Ring { channel, limit, readers } = *ring;
        let used = Mutex::new(Used { from: Rate::START, refused: 0 });
        Self { register: bell::register(channel), limit, readers, used }
    }

    /// Returns true if the limit lets one more ring pass.
    fn pass(&self) -> bool {
        let mut used = self.used.lock();
        let now = Instant(cpu::now());
        let passes = Rate::may_enter(used.from, now);
        if passes {
            used.from = self.limit.enter(used.from, now);
        } else {
            used.refused = used.refused.wrapping_add(1);
        }
        passes
    }
}

/// Serves an access of the guest to its bell; `None` if there is no such register.
#[inline(never)]
pub fn access(vm: &Vm, offset: u64, bytes: u64, write: Option<u64>) -> Option<u64> {
    let rings = vm.rings.iter().find(|rings| rings.register == offset && bytes >= 4)?;
    if write.is_none() {
        return Some(rings.used.lock().refused.into());
    }
    if rings.pass() {
        machine::ring(rings.readers);
    }
    Some(0)
}

/// Somebody rang for the VM, of which one VCPU has to know.
#[inline(never)]
pub fn ring(vm: &Vm) {
    vm.rung.store(true, Ordering::SeqCst);
    machine::call_one(vm);
}

/// A VCPU of a VM, which executes or waits on this CPU, takes the interrupt to which others rang.
#[inline(always)]
pub fn attend(at: &Assignment, pcpu: &Pcpu) {
    if at.vm.rung.load(Ordering::Relaxed) {
        take(at, pcpu);
    }
}

#[inline(never)]
fn take(at: &Assignment, pcpu: &Pcpu) {
    if at.vm.rung.swap(false, Ordering::SeqCst)
        && let Some((_, intid)) = at.vm.plan.bell
    {
        at.vm.gic.raise(&GicEnv::at(at, pcpu), intid);
    }
}
