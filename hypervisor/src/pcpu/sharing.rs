//! How the VCPUs of a PCPU take turns.
//!
//! One VCPU is *loaded*: its registers are in the CPU. It stays so while nothing else runs,
//! also when it waits for an interrupt. What is not loaded is kept with the VCPU
//! ([`Vcpu`](crate::vm::Vcpu)); interrupts that come for it go into the list registers that
//! are kept, and its virtual timer becomes an alarm of the hypervisor's timer.
//!
//! All that a VCPU does is done while it is the one to run: it starts, it is parked when its
//! VM stops, and the VCPU that was the last restarts the VM. What takes long of that is done in
//! chunks ([`work`](crate::vm::work)), each of which may be the last one for now.

use core::sync::atomic::Ordering::Relaxed;

use bulkhead_abi::trace::{Kind, NO_LIMIT};

use super::{Assignment, Pcpu};
use crate::arch::gicv3::Lists;
use crate::arch::{cpu, regs};
use crate::scheduler::Event;
use crate::timer::{NEVER, Purpose};
use crate::vm::{GicEnv, Power};

impl Pcpu {
    /// Whether the VCPU is loaded.
    #[inline(always)]
    pub fn has_loaded(&self, at: &Assignment) -> bool {
        self.loaded().is_some_and(|loaded| core::ptr::eq(loaded, at))
    }

    /// Somebody kicked this CPU: looks for VCPUs that have to start, stop or take an interrupt.
    pub fn look(&'static self) {
        for at in self.assignments() {
            let wake = match at.vcpu.power() {
                Power::Off => false,
                Power::Starting => true,
                Power::On => {
                    at.vm.gic.kicked(&GicEnv::at(at, self), at.vcpu.index);
                    at.vm.is_stopping() || self.has_interrupt(at)
                }
            };
            if wake {
                self.decide(Event::Wake(at.slot));
            }
        }
        if let Some(loaded) = self.loaded() {
            loaded.vcpu.timer.apply(self);
        }
    }

    /// A VCPU may have got an interrupt: wakes it if it has.
    #[inline]
    pub fn notice(&'static self, at: &Assignment) {
        if self.is_shared() && self.has_interrupt(at) {
            self.decide(Event::Wake(at.slot));
        }
    }

    fn has_interrupt(&'static self, at: &Assignment) -> bool {
        self.is_shared() && at.vm.gic.is_due(&GicEnv::at(at, self), at.vcpu.index)
    }

    /// The VCPU that runs waits for an interrupt. Does not return if it has to.
    #[inline(never)]
    pub fn wait(&'static self, at: &Assignment) {
        if !at.vm.gic.has_pending(&GicEnv::of(at), at.vcpu.index) {
            self.decide(Event::Block(at.slot));
            self.go_on(at);
        }
    }

    /// A VCPU has something to do.
    pub fn wake(&'static self, at: &Assignment) {
        self.decide(Event::Wake(at.slot));
    }

    /// A VCPU is off.
    pub fn block(&'static self, at: &Assignment) {
        self.decide(Event::Block(at.slot));
    }

    /// The time for a decision has come.
    pub fn tick(&'static self) {
        self.decide(Event::Tick);
    }

    /// The time has come when a virtual timer fires whose VCPU is not loaded.
    pub fn alarm(&'static self) {
        let now = cpu::now();
        let mut next = NEVER;
        for at in self.assignments() {
            let alarm = at.vcpu.alarm.load(Relaxed);
            if alarm <= now {
                self.decide(Event::Wake(at.slot));
            } else {
                next = next.min(alarm);
            }
        }
        self.set_deadline(Purpose::Alarm, next);
    }

    /// Tells the scheduler, if this CPU has one. The VCPU that runs goes on until
    /// [`Pcpu::go_on`].
    #[inline(never)]
    fn decide(&'static self, event: Event) {
        let Some(scheduler) = self.scheduler.get() else { return };
        let mut scheduler = scheduler.lock();
        let all = self.assignments();
        let now = cpu::now();
        if let Event::Wake(slot) = event {
            if scheduler.is_ready(slot) {
                return;
            }
            if let Some(at) = all.get(slot) {
                at.vcpu.alarm.store(NEVER, Relaxed);
                at.vcpu.stolen.begin(now);
            }
        }
        let before = scheduler.run();
        scheduler.decide(event, now, |kind, slot, argument| {
            self.record_at(now, slot.and_then(|slot| all.get(slot)), kind, argument);
        });
        let run = scheduler.run();
        if run != before {
            if let Some(at) = before.and_then(|slot| all.get(slot)) {
                at.vcpu.stolen.begin(now);
            }
            let next = run.and_then(|slot| all.get(slot));
            if let Some(at) = next {
                at.vm.tell_stolen(at.vcpu.index, at.vcpu.stolen.end(now));
            }
            self.next.set(next);
        }
        self.deadlines.set(Purpose::Scheduling, scheduler.timer().unwrap_or(NEVER));
        if event != Event::Tick {
            self.program_timer(); // who ticks does that last
        }
    }

    /// Returns if the VCPU, which runs, is the one to run; runs another one otherwise.
    #[inline(always)]
    pub fn go_on(&'static self, at: &Assignment) {
        match self.next.get() {
            Some(next) if core::ptr::eq(next, at) => {}
            _ => self.idle(),
        }
    }

    /// Runs a VCPU: its guest, or what EL2 has to do for it. Returns if something else may have
    /// to be done first; `true`: this VCPU has more to do.
    pub fn run(&'static self, at: &'static Assignment) -> bool {
        let power = at.vcpu.power();
        if power == Power::Off {
            // It may have a restart of its VM to do, which needs no registers.
            return at.vcpu.work.is_busy() && at.vm.work(at, self);
        }
        if !self.has_loaded(at) {
            if let Some(loaded) = self.loaded() {
                self.unload(loaded);
            }
            let starts = power == Power::Starting;
            if starts && !at.vm.start_vcpu(at, self) {
                self.forget();
                return true;
            }
            self.load(at);
            if starts {
                cpu::invalidate_guest_translations();
            } else if at.has_sibling {
                // Translations are cached by VM: for the VCPUs of one, on CPUs of their own.
                cpu::invalidate_own_translations();
            }
            if !self.is_shared() {
                self.record(at, Kind::VcpuRun, NO_LIMIT);
            }
        }
        at.vm.enter(at, self)
    }

    /// Puts a VCPU's registers into this CPU.
    fn load(&'static self, at: &'static Assignment) {
        let vcpu = at.vcpu;
        vcpu.context.load();
        Lists::load(&vcpu.lists);
        self.loaded.set(Some(at));
        vcpu.timer.load(self);
    }

    /// Takes a VCPU's registers out of this CPU.
    fn unload(&'static self, at: &Assignment) {
        let vcpu = at.vcpu;
        let timer = vcpu.context.save();
        Lists::save(&vcpu.lists);
        // Without an interrupt in a list register it has none in its hands.
        if !Lists::LOADED.are_empty() {
            vcpu.timer.save(self.index);
        }
        let Some(scheduler) = self.scheduler.get() else { return };
        if let Some(timer) = timer.filter(|_| !scheduler.lock().is_ready(at.slot)) {
            vcpu.alarm.store(timer, Relaxed);
            self.advance_deadline(Purpose::Alarm, timer);
        }
    }

    /// The VCPU that is loaded is off: nothing of it is kept.
    pub fn forget(&'static self) {
        regs::cntv_ctl_el0::write(0);
        self.loaded.set(None);
    }
}
