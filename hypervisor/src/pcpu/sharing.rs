//! Turns of the VCPUs of a PCPU.
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

use abi::trace::{Kind, NO_LIMIT};

use super::{Assignment, Pcpu};
use crate::arch::gic::Lists;
use crate::arch::{cpu, registers, regs};
use crate::exits;
use crate::lock::Own;
use crate::locks;
use crate::machine;
use crate::scheduler::{self, Change, Event, Scheduler};
use crate::timer::{NEVER, Purpose};
use crate::vm::{GicEnv, Power, VirtualTimer, bell, color_serial, port};

impl Pcpu {
    /// Returns true if the VCPU is loaded.
    #[inline(always)]
    pub fn has_loaded(&self, at: &Assignment) -> bool {
        self.loaded().is_some_and(|loaded| core::ptr::eq(loaded, at))
    }

    /// Somebody kicked this CPU: looks for VCPUs that have to start, stop or take an interrupt. `now`: the
    /// time of the kick.
    pub fn look(&'static self, mut now: u64) {
        for at in self.assignments() {
            let kicks = at.vcpu.attention.take_kicks();
            let wake = match at.vcpu.power() {
                Power::Off => false,
                Power::Starting => true,
                Power::On => {
                    let news = locks::look(at, self);
                    if news.decided {
                        now = cpu::now();
                    }
                    self.look_at(at, news.raised, now) || at.vm.is_stopping()
                }
            };
            if wake {
                self.count_for(at, now);
                self.wake(at, now);
            } else if !at.vcpu.is_ready() {
                self.waits_on(at, kicks, now);
                if locks::end_of_waiting(at, self) {
                    now = cpu::now();
                }
            }
        }
        self.limit_gcs();
    }

    /// The CPU was interrupted for a VCPU, the last time at `now`. If the VCPU goes on waiting, it pays for
    /// that.
    #[inline(never)]
    pub fn waits_on(&'static self, at: &Assignment, kicks: u8, now: u64) {
        if self.is_shared() && !at.vcpu.is_ready() {
            for _ in 0..kicks {
                self.decide_rarely(Event::Kick(at.slot), Some(at), now);
            }
        }
    }

    /// Calls [`Attention::look`](crate::vdev::gic::Attention::look) for a kick that came at `now`, and returns true if that does.
    #[inline(never)]
    fn look_at(&'static self, at: &Assignment, raised: bool, now: u64) -> bool {
        let is_due = || at.vcpu.work.is_busy() || self.has_interrupt(at);
        let attend = || {
            let notes = self.attend(at);
            self.count_for(at, now);
            notes
        };
        at.vcpu.attention.look(raised, attend, is_due)
    }

    /// Does the noted work of a VCPU that is loaded, or waits. Returns true if it had something to do when that was noted.
    #[inline(never)]
    fn attend(&'static self, at: &Assignment) -> Option<bool> {
        let notes = at.vm.gic.attend(&GicEnv::at(at, self), at.vcpu.index);
        if self.has_loaded(at) {
            at.vcpu.timer.apply(self);
        }
        machine::attend(at.vm);
        bell::attend(at, self);
        port::attend(at, self);
        color_serial::attend(at, self);
        notes
    }

    /// Returns the VCPU of this CPU to which an interrupt of an assigned device goes, or another one of
    /// its VM; `None` if the VM has none here.
    pub fn owner(&self, intid: u32) -> Option<&'static Assignment> {
        let (mut owner, mut target) = (None, None);
        for at in self.assignments().iter().filter(|at| at.vm.gic.owns(intid)) {
            let mut target = || *target.get_or_insert_with(|| at.vm.gic.target(intid));
            if owner.is_none() || target() == Some(at.vcpu.index) {
                owner = Some(at);
            }
        }
        owner
    }

    /// An interrupt of an assigned device of the VM came at `now`, and the VCPU that gets it does not execute: it comes here
    /// again only after the VCPUs of the VM have executed. For which of them it came is not certain, because their
    /// guest can send it elsewhere while it is on its way. So a device interrupts other VCPUs at most twice for each time
    /// that its own get the PCPU, whatever their guest does.
    #[inline(never)]
    pub fn mask(&'static self, at: &Assignment, intid: u32, now: u64) {
        for it in self.assignments() {
            if core::ptr::eq(it.vm, at.vm) && !self.is_next(it) {
                it.vm.gic.mask(&GicEnv::any(it.vm), it.vcpu.index, intid);
                self.count_for(at, now);
                if it.vcpu.power() == Power::On {
                    self.wake(it, now);
                }
            }
        }
        self.waits_on(at, 1, now);
    }

    /// A VCPU may have got an interrupt: wakes it if it has, and is on. `now`: the time of the interrupt.
    #[inline]
    pub fn notice(&'static self, at: &Assignment, now: u64) {
        if self.is_shared() && at.vcpu.power() == Power::On && self.has_interrupt(at) {
            self.wake(at, now);
        }
    }

    fn has_interrupt(&'static self, at: &Assignment) -> bool {
        self.is_shared() && at.vm.gic.is_due(&GicEnv::at(at, self), at.vcpu.index)
    }

    /// The VCPU that runs waits for an interrupt. Does not return if it has to.
    pub fn wait(&'static self, at: &Assignment) {
        self.wait_until(NEVER, at);
    }

    /// The same, until a time of the counter at the latest.
    #[inline(never)]
    pub fn wait_until(&'static self, time: u64, at: &Assignment) {
        if at.vcpu.attention.is_noted() {
            self.attend(at);
            // What list registers say is read next.
            cpu::isb();
            if at.vcpu.work.is_busy() {
                self.idle() // which does the work
            }
        }
        if !at.vm.gic.has_pending(&GicEnv::of(at), at.vcpu.index) {
            self.block(at);
            // Nothing else tells when it is over.
            let timer = registers::loaded_timer().filter(|_| !self.timer_enabled.load(Relaxed));
            let end = time.min(timer.unwrap_or(NEVER)).min(port::due(at));
            if end != NEVER {
                self.set_alarm(at, end);
            }
            if at.vcpu.attention.wait() {
                let kicks = at.vcpu.attention.take_kicks();
                if self.look_at(at, false, cpu::now()) {
                    self.wake(at, cpu::now());
                } else {
                    // This took time after the switch began, as a kick takes it. One that was sent for
                    // these notes finds none.
                    self.waits_on(at, kicks.max(1), cpu::now());
                }
            }
            self.go_on(at);
        }
    }

    /// The VCPU that runs asks for less power until an interrupt comes for it. Returns if there is one, or
    /// where the CPU has nothing else to do.
    #[inline(never)]
    pub fn stand_by(&'static self, at: &Assignment) {
        if at.makes_room {
            self.wait(at);
        } else if !at.vm.gic.has_pending(&GicEnv::of(at), at.vcpu.index) {
            cpu::wait_for_interrupt();
        }
    }

    /// Decides if it is time for that. The caller sets the timer.
    #[inline(always)]
    pub fn tick(&'static self, now: u64) {
        if self.deadlines.of(Purpose::Scheduling) <= now {
            self.decide(Event::Tick, None, now);
        }
    }

    /// The time has come when a virtual timer fires whose VCPU is not loaded.
    pub fn alarm(&'static self, now: u64) {
        for at in self.assignments() {
            if at.vcpu.alarm.load(Relaxed) <= now {
                at.vcpu.alarm.store(NEVER, Relaxed);
                self.count_for(at, now);
                self.wake(at, now);
            }
        }
        self.set_first_alarm();
    }

    /// The alarm of a VCPU was withdrawn: the timer shall not interrupt others for it.
    #[inline(never)]
    fn set_first_alarm(&'static self) {
        let alarms = self.assignments().iter().map(|at| at.vcpu.alarm.load(Relaxed));
        self.set_deadline(Purpose::Alarm, alarms.min().unwrap_or(NEVER));
    }

    /// A VCPU has something to do. `now`: the time of the event that told so. From then on time is its own if it is
    /// the one to run.
    pub fn wake(&'static self, at: &Assignment, now: u64) {
        if !at.vcpu.is_ready() {
            at.vcpu.set_ready(true);
            at.vcpu.attention.leave();
            color_serial::wake(at);
            if at.vcpu.alarm.load(Relaxed) != NEVER {
                at.vcpu.alarm.store(NEVER, Relaxed);
                self.set_first_alarm();
            }
            at.vcpu.stolen.begin(now);
            if self.has_loaded(at) {
                // It goes on itself.
                self.blocked.set_own(None);
            }
            self.decide(Event::Wake(at.slot), Some(at), now);
            self.program_timer(self.first_deadline());
            self.count_for(at, now);
        }
    }

    /// The VCPU, which runs, has nothing to do any more.
    pub fn block(&'static self, at: &Assignment) {
        at.vcpu.set_ready(false);
        self.blocked.set_own(self.assignments().get(at.slot));
        self.decide(Event::Block(at.slot), Some(at), cpu::now());
        self.program_timer(self.first_deadline());
    }

    /// Tells the scheduler, if this CPU has one, and notes what it decides. The VCPU that runs
    /// goes on until [`Pcpu::go_on`], and the timer stays as it is. `at`: the VCPU to which it happens.
    #[inline(never)]
    fn decide(&'static self, event: Event, at: Option<&Assignment>, now: u64) {
        let Some(scheduler) = self.scheduler.own() else {
            return self.decide_regulated(event, at, now);
        };
        self.record_at(now, at, scheduler::kind(event), 0);
        let mut guard = scheduler.lock();
        let (change, timer) = guard.step_unregulated(event, now);
        let has_news = guard.has_news();
        drop(guard);
        self.deadlines.set(Purpose::Scheduling, timer);
        if let Some(change) = change {
            self.change(change, now);
        }
        if has_news {
            self.tell_news(scheduler, now);
        }
    }

    /// [`Pcpu::decide`] for events that are rare, and sets the timer.
    #[inline(never)]
    fn decide_rarely(&'static self, event: Event, at: Option<&Assignment>, now: u64) {
        self.decide(event, at, now);
        self.program_timer(self.first_deadline());
    }

    /// VCPUs have to wait in global critical sections, or were in some for too long.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_news(&'static self, scheduler: &Own<Scheduler>, now: u64) {
        loop {
            let news = scheduler.lock().take_news();
            let Some((kind, slot)) = news else { return };
            let at = self.assignments().get(slot);
            self.record_rare(now, at, kind, 0);
            if let Some(at) = at.filter(|_| kind == Kind::EndGcs) {
                locks::revoke(at);
            }
        }
    }

    /// Goes the short way of [`Pcpu::change_gcs`]. Returns true if the state allowed that. `now`: a time just before.
    #[inline(always)]
    pub fn change_gcs_of_running(&'static self, at: &Assignment, inside: bool, now: u64) -> bool {
        let Some(scheduler) = self.scheduler.own() else { return false };
        let quick = now < self.deadlines.of(Purpose::Scheduling)
            && scheduler.lock().change_gcs(at.slot, inside, now);
        if quick {
            self.record_at(now, Some(at), gcs_kind(inside), 0);
        }
        quick
    }

    /// A VCPU is in global critical sections from now on, or not any more.
    #[inline(never)]
    pub fn change_gcs(&'static self, at: &Assignment, inside: bool) {
        let now = cpu::now();
        if !self.is_shared() {
            return;
        }
        self.record_at(now, Some(at), gcs_kind(inside), 0);
        let event = if inside { Event::EnterGcs(at.slot) } else { Event::LeaveGcs(at.slot) };
        self.decide_rarely(event, None, now);
    }

    /// A VCPU of another PCPU waits for a resource that one of this PCPU has: from now on it matters how long that one has it.
    #[inline(never)]
    fn limit_gcs(&'static self) {
        if self.is_shared() && self.assignments().iter().any(|at| at.vcpu.sections.is_inside()) {
            self.decide_rarely(Event::Tick, None, cpu::now());
        }
    }

    /// Another VCPU is to run than before, or none.
    #[inline(always)]
    pub(super) fn change(&'static self, change: Change, now: u64) {
        if let Some(at) = self.next.own() {
            at.vcpu.attention.leave();
            at.vcpu.stolen.begin(now);
        }
        let next = change.run.and_then(|slot| self.assignments().get(slot));
        self.record_at(now, next, change.kind(), change.budget);
        if let Some(at) = next {
            // The caller sets the timer. Nobody else is interrupted for what a VCPU has to tell late.
            let due = port::due(at);
            if due != self.deadlines.of(Purpose::Telling) {
                self.deadlines.set(Purpose::Telling, due);
            }
            at.vm.tell_stolen(at.vcpu.index, at.vcpu.stolen.end(now));
        }
        self.next.set_own(next);
    }

    /// Returns if the VCPU, which runs, is the one to run, and was so all the time; otherwise runs the one to run.
    #[inline(always)]
    pub fn go_on(&'static self, at: &Assignment) {
        match self.next.own() {
            // It may have been another one's turn meanwhile.
            Some(next) if core::ptr::eq(next, at) && at.vcpu.attention.is_running() => {}
            _ => self.idle(),
        }
    }

    /// Runs a VCPU: its guest, or what EL2 has to do for it. Returns when something else may have
    /// to be done first, and true if this VCPU has more to do.
    pub fn run(&'static self, at: &'static Assignment) -> bool {
        let loaded = self.loaded();
        if !loaded.is_some_and(|loaded| core::ptr::eq(loaded, at)) {
            let power = at.vcpu.power();
            if power == Power::Off {
                // It may have a restart of its VM to do, which needs no registers.
                return at.vcpu.work.is_busy() && at.vm.work(at, self);
            }
            let starts = power == Power::Starting;
            if starts && !self.start(at) {
                return true;
            }
            self.load(at, loaded);
            if starts {
                cpu::invalidate_guest_translations();
            } else if at.has_sibling {
                // Translations are cached by VM: for the VCPUs of one, on CPUs of their own.
                cpu::invalidate_own_translations();
            }
            if !self.is_shared() {
                self.record(at, Kind::VcpuRun, NO_LIMIT);
            } else if let Some(blocked) = self.blocked.own() {
                self.enters(at, blocked);
            }
        }
        if at.vcpu.attention.run() {
            self.attend(at);
        }
        at.vm.enter(at, self)
    }

    /// The VCPU is about to execute, in the place of one that blocked.
    #[inline(never)]
    fn enters(&'static self, at: &Assignment, blocked: &Assignment) {
        self.blocked.set_own(None);
        let now = cpu::now();
        self.count_switch_for(blocked, now);
        if let Some(scheduler) = self.any_scheduler() {
            scheduler.lock().enter(now);
            self.record_at(now, Some(at), Kind::Enter, 0);
        }
    }

    /// The scheduler of this CPU, if it has one.
    fn any_scheduler(&self) -> Option<&'static Own<Scheduler>> {
        self.scheduler.own().or_else(|| self.regulation.own().map(|it| &it.scheduler))
    }

    /// Starts a VCPU; out of line, because that is rare. Returns false if the VM stops.
    #[inline(never)]
    fn start(&'static self, at: &'static Assignment) -> bool {
        at.vm.start_vcpu(at, self)
    }

    /// Returns true if the VCPU is the one to run.
    #[inline]
    pub fn is_next(&self, at: &Assignment) -> bool {
        self.next.own().is_some_and(|next| core::ptr::eq(next, at))
    }

    /// Puts a VCPU's registers into this CPU; those of the one before are kept with it.
    #[inline(always)]
    fn load(&'static self, at: &'static Assignment, before: Option<&'static Assignment>) {
        let mut interrupts = false;
        if let Some(before) = before {
            // Before it can be the next one's.
            if cpu::error_pending_after_accesses() {
                exits::late_error(self);
            }
            before.vcpu.context.save();
            interrupts = Lists::save(&before.vcpu.lists);
            if !before.vcpu.is_ready()
                && let Some(timer) = before.vcpu.context.timer()
            {
                self.set_alarm(before, timer);
            }
        }
        let vcpu = at.vcpu;
        vcpu.context.load();
        Lists::load(&vcpu.lists);
        self.loaded.set_own(Some(at));
        // Without an interrupt in a list register the VCPU before has none in its hands.
        let before = before.filter(|_| interrupts).map(|at| &at.vcpu.timer);
        VirtualTimer::pass(before, &vcpu.timer, self);
    }

    /// The VCPU, which waits, wakes at this time: its timer fires though that does not interrupt this CPU, because another
    /// VCPU is loaded or the interrupt is disabled, which it may not be for as long as the VCPU waits; or it waits for no
    /// longer.
    #[inline(never)]
    pub fn set_alarm(&'static self, at: &Assignment, time: u64) {
        at.vcpu.alarm.store(time.min(at.vcpu.alarm.load(Relaxed)), Relaxed);
        self.advance_deadline(Purpose::Alarm, time);
    }

    /// The VCPU that is loaded is off: nothing of it is kept.
    pub fn forget(&'static self) {
        if let Some(at) = self.loaded() {
            at.vcpu.attention.leave();
        }
        if cpu::error_pending_after_accesses() {
            // It stops anyway.
            cpu::take_error();
        }
        regs::cntv_ctl_el0::write(0);
        self.loaded.set_own(None);
    }
}

/// Returns the kind of record for a VCPU that enters global critical sections, or leaves the last one.
fn gcs_kind(inside: bool) -> Kind {
    if inside { Kind::StartGcs } else { Kind::FinishGcs }
}
