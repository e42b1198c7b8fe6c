mod sharing;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use abi::trace::Kind;

use crate::arch::cpu;
use crate::arch::gic::SavedLists;
use crate::arch::percpu::StaticRef;
use crate::exits::interrupt;
use crate::lock::Own;
use crate::machine::Machine;
use crate::scheduler::{Event, Scheduler};
use crate::timer::{Deadlines, NEVER, Purpose};
use crate::vm::{Vcpu, Vm};

pub const KICK: u32 = 0;
pub const CONSOLE_TIMER: u32 = 1;

#[derive(Clone, Copy)]
pub struct Assignment {
    pub vm: &'static Vm,
    pub vcpu: &'static Vcpu,
    pub has_sibling: bool,
    pub makes_room: bool,
    pub slot: usize,
}

pub struct Regulation {
    pub scheduler: Own<Scheduler>,
}

pub struct Pcpu {
    pub index: usize,
    pub mpidr: u64,
    pub machine: &'static Machine,
    pub lists: SavedLists,
    pub assignments: StaticRef<Vec<Assignment>>,
    pub scheduler: StaticRef<Own<Scheduler>>,
    regulation: StaticRef<Regulation>,
    loaded: StaticRef<Assignment>,
    next: StaticRef<Assignment>,
    deadlines: Deadlines,
    blocked: StaticRef<Assignment>,
    pub timer_enabled: AtomicBool,
    /// When something was recorded the last time: no part of what is modelled.
    recorded: std::sync::atomic::AtomicU64,
}

/// The stack is left, and the CPU looks what is to run.
pub struct Idle;

impl Pcpu {
    pub fn new(index: usize, machine: &'static Machine) -> Self {
        Self {
            index,
            mpidr: index as u64,
            machine,
            lists: SavedLists::default(),
            assignments: StaticRef::empty(),
            scheduler: StaticRef::empty(),
            regulation: StaticRef::empty(),
            loaded: StaticRef::empty(),
            next: StaticRef::empty(),
            deadlines: Deadlines::none(),
            blocked: StaticRef::empty(),
            timer_enabled: AtomicBool::new(false),
            recorded: std::sync::atomic::AtomicU64::new(0),
        }
    }

    pub fn assignments(&self) -> &'static [Assignment] {
        self.assignments.own().map_or(&[], Vec::as_slice)
    }

    pub fn loaded(&self) -> Option<&'static Assignment> {
        self.loaded.own()
    }

    pub fn is_shared(&self) -> bool {
        true
    }

    pub fn record(&self, _: &Assignment, _: Kind, _: u64) {}

    pub fn record_at(&self, now: u64, _: Option<&Assignment>, kind: Kind, _: u64) {
        let before = self.recorded.swap(now, Relaxed);
        assert!(before <= now, "{kind:?} at {now} comes after what was at {before}");
    }

    pub fn record_rare(&self, _: u64, _: Option<&Assignment>, _: Kind, _: u64) {}

    pub fn kick(&self) {
        self.machine.kick(self);
    }

    pub fn set_deadline(&self, purpose: Purpose, deadline: u64) {
        self.deadlines.set(purpose, deadline);
    }

    pub fn advance_deadline(&self, purpose: Purpose, deadline: u64) {
        self.set_deadline(purpose, deadline.min(self.deadlines.of(purpose)));
    }

    pub fn take_deadline(&self, purpose: Purpose, now: u64) -> bool {
        self.deadlines.take(purpose, now)
    }

    pub fn first_deadline(&self) -> u64 {
        self.deadlines.first()
    }

    pub fn program_timer(&self, _: u64) {}

    pub fn is_overflow(&self, _: u32) -> bool {
        false
    }

    pub fn overflow(&'static self, _: u32) {}

    pub fn overflow_in_el2(&'static self) {}

    pub fn mark_accesses(&self) {}

    pub fn count_for(&self, _: &Assignment, _: u64) {}

    fn count_switch_for(&self, _: &Assignment, _: u64) {}

    fn decide_regulated(&'static self, _: Event, _: Option<&Assignment>, _: u64) {}

    pub fn idle(&'static self) -> ! {
        resume_unwind(Box::new(Idle))
    }

    /// [`Pcpu::idle`] of the hypervisor.
    pub fn serve(&'static self) {
        let alarms = self.assignments().iter().map(|at| at.vcpu.alarm.load(Relaxed));
        let first = alarms.min().unwrap_or(NEVER);
        assert_eq!(self.deadlines.of(Purpose::Alarm), first, "an alarm of nobody, or none");
        let busy = self.next.own().is_some_and(|at| self.run(at));
        if !interrupt::serve_interrupt(self) && !busy {
            self.machine.wait_for_interrupt(self);
        }
    }

    /// At boot.
    pub fn boot(&'static self) {
        self.timer_enabled.store(false, Relaxed);
        for at in self.assignments() {
            self.wake(at, cpu::now());
        }
    }
}
