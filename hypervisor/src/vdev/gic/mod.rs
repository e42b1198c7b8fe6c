//! Virtual GICv3 (Arm IHI 0069) with one security state and affinity routing, or virtual GICv2 (Arm
//! IHI 0048) with one security state: what the machine has.
//!
//! The guest uses the CPU interface of the hardware (`ICV_*`, GICV); what traps is its access to
//! distributor, redistributors and the registers that generate SGIs. One lock per VM guards the
//! state (`state.rs`); list registers are touched only by the PCPU on which their VCPU is loaded. A
//! change is made in the state first; then every VCPU that it *concerns* brings its list registers
//! up to date (`sync.rs`): the VCPU of this PCPU at once, another one before it executes again, or
//! at once after a kick if it executes, or if it waits and becomes ready (`attention.rs`). One path
//! takes no lock: a private physical interrupt while a list register is free and nothing waits for
//! one.
//!
//! # Invariants
//!
//! - An interrupt is in the state or in one list register, never in both; its pending state moves
//!   there and back. `listed` may outlive the list register: only folding it tells.
//! - EL2 owns a physical interrupt (pending or active in the state, or in a list register) exactly
//!   as long as it is physically active. Otherwise the physical controller keeps its state; it is
//!   enabled there exactly if the guest could take it now.
//! - While interrupts wait for a list register, those in list registers were more urgent, and a
//!   maintenance interrupt is due when the guest has taken the last pending one of them or, if none
//!   was pending, has ended an active one.
//! - A VCPU that withdraws an interrupt notes this after the state has changed, so that a
//!   concurrent injection is found. Until a VCPU that executes has looked, GICD_CTLR.RWP reads 1.
//!
//! # CAVEATS
//!
//! - No LPIs, no ITS, no message-based SPIs, no 1-of-N routing (TYPER.No1N):
//!   GICD_IROUTER.Interrupt_Routing_Mode is RES0.
//! - An active interrupt keeps its list register. A guest that nests as many interrupts as there
//!   are list registers gets the next one when one ends.
//! - An interrupt made active through ISACTIVER does not block lower priorities and is ended
//!   through ICACTIVER only.
//! - The trigger of PPIs is fixed to level; ICFGR1 ignores writes.
//! - Reading the pending or active state of an interrupt that another VCPU holds shows what was
//!   last known and makes that VCPU refresh it, if it executes.
//! - A physical level that falls after it was acknowledged is delivered once all the same: the list
//!   register keeps it.
//! - An edge or SGI that arrives while the same one is pending in a list register of another PCPU
//!   counts as arriving after its acknowledgement if the guest acknowledges it before that PCPU has
//!   taken the kick.
//! - A shared interrupt in a list register of a VCPU that is ready while others execute in its
//!   place, and which is sent to another VCPU, reaches that VCPU only when the first one executes.
//! - GICv2: a shared interrupt with several targets goes to one of them. The second sender of an
//!   SGI waits until the guest is done with that of the first, not only has acknowledged it.
//! - A sleeping redistributor (GICR_WAKER) still forwards interrupts.

mod attention;
mod bank;
mod bank_read;
mod bank_write;
mod banked;
mod candidates;
mod config;
mod distributor;
mod env;
mod inject;
mod lifecycle;
mod list_register;
mod mmio;
mod redistributor;
mod senders;
mod sgi;
mod state;
mod sync;
mod table;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::lock::{Mutex, MutexGuard};
pub use attention::{Attention, Place};
pub use config::{ConfigError, GicConfig};
pub use env::{Env, Physical};
pub use list_register::{LISTS_MAX, ListRegister, ListRegisters};
pub use mmio::Frame;

use bank::bits;
use state::State;
use table::Table;

/// Maximum number of VCPUs of one VM.
pub const VCPUS_MAX: usize = 8;
/// Bytes of the distributor's registers.
pub const DISTRIBUTOR_BYTES: u64 = 0x1_0000;
/// Bytes of the registers of one redistributor.
pub const REDISTRIBUTOR_BYTES: u64 = 0x2_0000;

/// The interrupt controller of one VM.
///
/// VCPUs are numbered from 0; VCPU i has affinity 0.0.0.i. Numbers that do not
/// exist are ignored.
#[derive(Debug)]
pub struct VGic {
    vcpus: Table<Vcpu>,
    /// Guest INTID for each physical INTID from 32; 0 where not assigned.
    guest_intids: Vec<u16>,
    /// Number of banks of shared interrupts.
    shared_banks: usize,
    state: Mutex<State>,
}

/// State of a VCPU that is read without the lock.
#[derive(Debug)]
struct Vcpu {
    /// The VCPU is started and no interrupt waits for a list register. Others clear it
    /// ([`VGic::take_lock_for`]); all write it under the lock.
    direct: AtomicBool,
    /// Templates of list registers for its private interrupts from INTID 16; empty for those
    /// without a physical interrupt.
    templates: [AtomicU64; 16],
}

impl VGic {
    /// Makes an interrupt controller in its reset state. Only this function allocates.
    pub fn new(config: &GicConfig) -> Result<Self, ConfigError> {
        let state = State::new(config)?;
        let guest_intids = config.guest_intids()?;
        let vcpus = (0..config.vcpus)
            .map(|_| Vcpu {
                direct: AtomicBool::new(false),
                templates: [const { AtomicU64::new(0) }; 16],
            })
            .collect::<Vec<_>>()
            .into();
        let shared_banks = state.banks.len() - config.vcpus;
        let gic = Self { vcpus, guest_intids, shared_banks, state: Mutex::new(state) };
        gic.refresh_all_templates();
        Ok(gic)
    }

    /// Returns the number of VCPUs.
    pub fn vcpus(&self) -> usize {
        self.vcpus.len()
    }

    /// Not inlined: the function has many callers.
    #[inline(never)]
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Recomputes the templates for the private interrupts of `vcpu`.
    fn refresh_templates(&self, state: &State, vcpu: usize) {
        for n in bits(state.banks[vcpu].hardware) {
            let entry = state.compose(vcpu, n, n as u32).pending();
            if let Some(template) = self.vcpus[vcpu].templates.get(n - 16) {
                template.store(entry.bits(), Ordering::Relaxed);
            }
        }
    }

    fn refresh_all_templates(&self) {
        let state = self.lock();
        for vcpu in 0..self.vcpus.len() {
            self.refresh_templates(&state, vcpu);
        }
    }

    /// Brings the list registers of all VCPUs in `concerned` up to date: those of `me`, loaded on
    /// this PCPU, at once, the others by a note, and by a kick if the change matters now.
    fn finish<E: Env>(
        &self,
        env: &E,
        mut state: MutexGuard<'_, State>,
        me: Option<usize>,
        concerned: u32,
    ) {
        let mut others = concerned & state.online;
        if others == 0 {
            return;
        }
        if let Some(me) = me
            && others & 1 << me != 0
        {
            others |= self.sync(env, &mut state, me) & state.online;
            others &= !(1 << me);
        }
        let kicked = state.call(env, others);
        drop(state);
        for vcpu in bits(kicked) {
            env.kick(vcpu);
        }
    }

    /// Brings the list registers of `vcpu`, loaded on this PCPU, up to date;
    /// returns the other VCPUs that are concerned.
    fn sync<E: Env>(&self, env: &E, state: &mut State, vcpu: usize) -> u32 {
        let synced = state.sync(env, vcpu);
        self.vcpus[vcpu].direct.store(!synced.crowded, Ordering::Relaxed);
        synced.concerned
    }
}
