//! VCPUs that execute, wait, or are ready while others execute in their place: as the sharing of a PCPU
//! does it.

use super::vm::Vm;
use crate::vdev::gic::{Frame, Physical, Place};

impl Vm {
    /// Returns where a VCPU is.
    pub fn place_of(&self, vcpu: usize) -> Place {
        self.machine.cpus[vcpu].attention.place()
    }

    /// A VCPU is entered, if it does not execute.
    pub fn run(&self, vcpu: usize) {
        let cpu = &self.machine.cpus[vcpu];
        if cpu.attention.is_running() {
            return;
        }
        if cpu.attention.run() {
            self.attend(vcpu);
        }
        cpu.kicks.set(0);
    }

    /// Another VCPU executes in place of one that did.
    pub fn preempt(&self, vcpu: usize) {
        let cpu = &self.machine.cpus[vcpu];
        if cpu.attention.is_running() {
            cpu.kicks.set(cpu.kicked.get().into());
            cpu.attention.leave();
        }
    }

    /// The guest waits for an interrupt, if it executes.
    pub fn wait(&self, vcpu: usize) {
        let attention = &self.machine.cpus[vcpu].attention;
        if !attention.is_running() {
            return;
        }
        if attention.is_noted() {
            self.attend(vcpu);
        }
        if !self.on(vcpu, || self.gic.has_pending(&self.machine, vcpu)) {
            self.preempt(vcpu);
            if attention.wait() {
                self.look(vcpu);
            }
        }
    }

    /// Its PCPU takes a kick.
    pub fn take_kick(&self, vcpu: usize) {
        self.look(vcpu);
    }

    /// A physical interrupt, of a timer or a device, at the PCPU of a VCPU.
    pub fn take_physical(&self, vcpu: usize, intid: u32) {
        self.on(vcpu, || self.gic.hardware_interrupt(&self.machine, vcpu, intid));
        if self.is_waiting(vcpu) && self.on(vcpu, || self.gic.is_due(&self.machine, vcpu)) {
            self.wake(vcpu);
        }
        if let Physical::Shared { intid } = Physical::of(vcpu, intid)
            && self.place_of(vcpu) != Place::Running
        {
            self.gic.mask(&self.machine, vcpu, intid);
            if self.is_waiting(vcpu) {
                self.wake(vcpu);
            }
        }
    }

    /// Returns true if the distributor says that a withdrawal is not effective yet. `vcpu` asks.
    pub fn withdraws(&self, vcpu: usize) -> bool {
        self.read(vcpu, Frame::Distributor, 0, 4) >> 31 != 0
    }

    pub fn is_waiting(&self, vcpu: usize) -> bool {
        matches!(self.place_of(vcpu), Place::Waiting | Place::Settled)
    }

    fn attend(&self, vcpu: usize) -> Option<bool> {
        let cpu = &self.machine.cpus[vcpu];
        if cpu.attention.is_running() {
            cpu.kicks.set(0);
        }
        self.on(vcpu, || self.gic.attend(&self.machine, vcpu))
    }

    fn look(&self, vcpu: usize) {
        let is_due = || self.on(vcpu, || self.gic.is_due(&self.machine, vcpu));
        let attention = &self.machine.cpus[vcpu].attention;
        if attention.look(false, || self.attend(vcpu), is_due) {
            self.wake(vcpu);
        }
    }

    /// A VCPU that waits becomes ready.
    fn wake(&self, vcpu: usize) {
        self.machine.cpus[vcpu].attention.leave();
    }
}
