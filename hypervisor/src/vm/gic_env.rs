//! The machine under the interrupt controller of a VM.

use super::{Power, Vm};
use crate::arch::gicv3::{self, Lists};
use crate::arch::percpu;
use crate::pcpu::{Assignment, Pcpu};
use crate::vdev::gic::{Env, Physical};

/// What a VM's interrupt controller needs of the machine, seen from this CPU.
#[derive(Clone, Copy)]
pub struct GicEnv {
    vm: &'static Vm,
    current: Option<usize>,
}

impl GicEnv {
    /// For a VM that this CPU may or may not run.
    pub fn any(vm: &'static Vm) -> Self {
        let current = percpu::this()
            .and_then(Pcpu::assignment)
            .filter(|at| core::ptr::eq(at.vm, vm) && at.vcpu.power() == Power::On)
            .map(|at| at.vcpu.index);
        Self { vm, current }
    }

    /// For the VCPU that this CPU runs.
    #[inline(always)]
    pub fn of(at: &Assignment) -> Self {
        Self { vm: at.vm, current: Some(at.vcpu.index) }
    }

    fn pcpu(&self, vcpu: usize) -> Option<&'static Pcpu> {
        self.vm.vcpus.get(vcpu).map(|vcpu| vcpu.pcpu)
    }

    fn private(&self, vcpu: usize) -> Option<gicv3::Redistributor> {
        gicv3::private(self.pcpu(vcpu)?.index)
    }
}

impl Env for GicEnv {
    type Lists = Lists;

    #[inline(always)]
    fn lists(&self) -> &Lists {
        &Lists
    }

    #[inline(always)]
    fn current(&self) -> Option<usize> {
        self.current
    }

    fn kick(&self, vcpu: usize) {
        if let Some(pcpu) = self.pcpu(vcpu) {
            pcpu.kick();
        }
    }

    fn set_enabled(&self, interrupt: Physical, enabled: bool) {
        match interrupt {
            Physical::Private { vcpu, intid } => {
                if let Some(private) = self.private(vcpu) {
                    private.set_enabled(intid, enabled);
                }
            }
            Physical::Shared { intid } => {
                if let Some(shared) = gicv3::shared() {
                    shared.set_enabled(intid, enabled);
                }
            }
        }
    }

    fn set_pending(&self, interrupt: Physical, pending: bool) {
        match interrupt {
            Physical::Private { vcpu, intid } => {
                if let Some(private) = self.private(vcpu) {
                    private.set_pending(intid, pending);
                }
            }
            Physical::Shared { intid } => {
                if let Some(shared) = gicv3::shared() {
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
                gicv3::shared().is_some_and(|shared| shared.is_pending(intid))
            }
        }
    }

    fn set_active(&self, interrupt: Physical, active: bool) {
        match interrupt {
            Physical::Private { vcpu, intid } => {
                if let Some(private) = self.private(vcpu) {
                    private.set_active(intid, active);
                }
            }
            Physical::Shared { intid } => {
                if let Some(shared) = gicv3::shared() {
                    shared.set_active(intid, active);
                }
            }
        }
    }

    fn set_edge_triggered(&self, intid: u32, edge: bool) {
        if let Some(shared) = gicv3::shared() {
            shared.set_edge_triggered(intid, edge);
        }
    }

    fn set_target(&self, intid: u32, vcpu: usize) {
        if let (Some(shared), Some(pcpu)) = (gicv3::shared(), self.pcpu(vcpu)) {
            shared.set_target(intid, pcpu.mpidr);
        }
    }
}
