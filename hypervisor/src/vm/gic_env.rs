//! The machine under the interrupt controller of a VM.

use super::Vm;
use super::virtual_timer::{self, ACTIVE, ENABLED, VIRTUAL_TIMER};
use crate::arch::gic::{self, Lists};
use crate::arch::percpu;
use crate::pcpu::{Assignment, Pcpu};
use crate::vdev::gic::{Attention, Env, Physical, Place};

/// The machine for a VM's interrupt controller, as this CPU reaches it.
#[derive(Clone, Copy)]
pub struct GicEnv {
    vm: &'static Vm,
    current: Option<usize>,
    lists: Lists,
}

impl GicEnv {
    /// Makes the environment of a VM that this CPU may or may not run. A VCPU of it that is loaded
    /// here but does not execute gets a note, like those of other CPUs.
    pub fn any(vm: &'static Vm) -> Self {
        let current = percpu::this()
            .and_then(Pcpu::loaded)
            .filter(|at| core::ptr::eq(at.vm, vm) && at.vcpu.attention.place() == Place::Running)
            .map(|at| at.vcpu.index);
        Self { vm, current, lists: Lists::LOADED }
    }

    /// Makes the environment of the VCPU that this CPU has loaded.
    #[inline(always)]
    pub fn of(at: &Assignment) -> Self {
        Self { vm: at.vm, current: Some(at.vcpu.index), lists: Lists::LOADED }
    }

    /// Makes the environment of a VCPU of this CPU.
    #[inline]
    pub fn at(at: &Assignment, pcpu: &Pcpu) -> Self {
        let loaded = pcpu.has_loaded(at);
        let lists = if loaded { Lists::LOADED } else { Lists::saved(&at.vcpu.lists) };
        Self { lists, ..Self::of(at) }
    }

    fn pcpu(&self, vcpu: usize) -> Option<&'static Pcpu> {
        self.vm.vcpus.get(vcpu).map(|vcpu| vcpu.pcpu)
    }

    /// Returns the registers that currently control the interrupt of the virtual timer of `vcpu`.
    ///
    /// On a CPU with several VCPUs only that CPU knows: another CPU might change the timer of
    /// another VM. With a GICv2 each CPU reaches only its own.
    fn private(&self, vcpu: usize) -> Option<gic::Private> {
        let pcpu = self.pcpu(vcpu)?;
        let here = percpu::this()
            .filter(|this| core::ptr::eq(*this, pcpu))
            .and_then(Pcpu::loaded)
            .is_some_and(|at| core::ptr::eq(at.vm, self.vm) && at.vcpu.index == vcpu);
        if here || !pcpu.is_shared() && !gic::is_v2() { gic::private(pcpu.index) } else { None }
    }

    /// Changes the state of the interrupt of a virtual timer. If this is left to another CPU, the
    /// VCPU finds the change when it executes again; a VCPU that waits has an alarm in any case.
    #[inline(never)]
    fn set_private(&self, vcpu: usize, part: u8, on: bool) {
        let Some(target) = self.vm.vcpus.get(vcpu) else { return };
        let private = self.private(vcpu);
        if part == ENABLED || private.is_none() {
            target.timer.set(part, on);
        }
        match private {
            Some(_) if part == ENABLED => virtual_timer::enable(target.pcpu, on),
            Some(private) => private.set_active(VIRTUAL_TIMER, on),
            None if part == ENABLED && target.attention.tell(false) => target.pcpu.kick(),
            None => {}
        }
    }
}

impl Env for GicEnv {
    type Lists = Lists;

    #[inline(always)]
    fn lists(&self) -> &Lists {
        &self.lists
    }

    #[inline(always)]
    fn current(&self) -> Option<usize> {
        self.current
    }

    #[inline]
    fn attention(&self, vcpu: usize) -> Option<&Attention> {
        self.vm.vcpus.get(vcpu).map(|vcpu| &vcpu.attention)
    }

    fn kick(&self, vcpu: usize) {
        if let Some(pcpu) = self.pcpu(vcpu) {
            pcpu.kick();
        }
    }

    fn set_enabled(&self, interrupt: Physical, enabled: bool) {
        match interrupt {
            Physical::Private { vcpu, .. } => self.set_private(vcpu, ENABLED, enabled),
            Physical::Shared { intid } => {
                if let Some(shared) = gic::shared() {
                    shared.set_enabled(intid, enabled);
                }
            }
        }
    }

    fn settle(&self) {
        if let Some(shared) = gic::shared() {
            shared.settle();
        }
    }

    fn set_pending(&self, interrupt: Physical, pending: bool) {
        match interrupt {
            Physical::Private { vcpu, intid } => {
                // An interrupt that software made pending would stay pending for the VCPU that is
                // loaded next.
                let foreign = pending && self.pcpu(vcpu).is_some_and(Pcpu::is_shared);
                if !foreign && let Some(private) = self.private(vcpu) {
                    private.set_pending(intid, pending);
                }
            }
            Physical::Shared { intid } => {
                if let Some(shared) = gic::shared() {
                    shared.set_pending(intid, pending);
                }
            }
        }
    }

    fn is_pending(&self, interrupt: Physical) -> bool {
        match interrupt {
            Physical::Private { vcpu, intid } => {
                self.private(vcpu).is_some_and(|private| private.is_pending(intid))
            }
            Physical::Shared { intid } => {
                gic::shared().is_some_and(|shared| shared.is_pending(intid))
            }
        }
    }

    fn set_active(&self, interrupt: Physical, active: bool) {
        match interrupt {
            Physical::Private { vcpu, .. } => self.set_private(vcpu, ACTIVE, active),
            Physical::Shared { intid } => {
                if let Some(shared) = gic::shared() {
                    shared.set_active(intid, active);
                }
            }
        }
    }

    fn set_edge_triggered(&self, intid: u32, edge: bool) {
        if let Some(shared) = gic::shared() {
            shared.set_edge_triggered(intid, edge);
        }
    }

    fn set_target(&self, intid: u32, vcpu: usize) {
        if let (Some(shared), Some(pcpu)) = (gic::shared(), self.pcpu(vcpu)) {
            shared.set_target(intid, pcpu.mpidr);
        }
    }
}
