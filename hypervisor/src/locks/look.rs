//! Kicks: a PCPU notices that tasks of its VCPU got resources.

use core::sync::atomic::Ordering::Acquire;

use abi::hypercall::LOCK_INTERRUPT;

use crate::pcpu::{Assignment, Pcpu};
use crate::vm::GicEnv;

/// Changes that [`look`] found.
pub struct News {
    /// The scheduler was told that the VCPU entered or left sections.
    pub decided: bool,
    /// The interrupt that reports grants is pending now.
    pub raised: bool,
}

/// Handles a kick of this CPU: tasks of its VCPU may have got resources.
#[inline(never)]
pub fn look(at: &Assignment, pcpu: &'static Pcpu) -> News {
    let sections = &at.vcpu.sections;
    let news = sections.should_tell();
    let raised = sections.untold.load(Acquire);
    if raised {
        // Before raising the interrupt: another grant may come meanwhile.
        sections.untold.swap(false, Acquire);
        at.vm.gic.raise_private(&GicEnv::at(at, pcpu), at.vcpu.index, LOCK_INTERRUPT);
    }
    // Not the fast path: others may wait for the granted resources.
    if let Some(inside) = news {
        pcpu.change_gcs(at, inside);
    }
    News { decided: news.is_some(), raised }
}
