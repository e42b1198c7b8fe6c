//! One physical CPU: what it runs, its trace, and what it does without a guest.

use core::sync::atomic::{AtomicU64, Ordering};

use bulkhead_abi::trace::{Kind, Record};
use spin::Once;

use crate::arch::{cpu, gicv3, regs};
use crate::exits;
use crate::timer::{Deadlines, Purpose};
use crate::trace::Ring;
use crate::vm::{Vcpu, Vm};

/// The VCPU that a PCPU runs, and its VM.
#[derive(Clone, Copy)]
pub struct Assignment {
    /// The VM.
    pub vm: &'static Vm,
    /// Its VCPU.
    pub vcpu: &'static Vcpu,
}

/// State of one physical CPU. All of it may be read by any CPU; only its own
/// CPU changes trace and counters.
pub struct Pcpu {
    /// Index in the plan.
    pub index: usize,
    /// Affinity, for interrupts to this CPU.
    pub mpidr: u64,
    assignment: Once<Assignment>,
    /// Trace ring.
    pub trace: Ring,
    deadlines: Deadlines,
    exits: AtomicU64,
    interrupts: AtomicU64,
}

impl Pcpu {
    /// A CPU that has no VCPU.
    pub fn new(index: usize, mpidr: u64) -> Self {
        Self {
            index,
            mpidr,
            assignment: Once::new(),
            trace: Ring::new(),
            deadlines: Deadlines::none(),
            exits: AtomicU64::new(0),
            interrupts: AtomicU64::new(0),
        }
    }

    /// Gives the CPU its VCPU; done once, at boot.
    pub fn assign(&self, assignment: Assignment) {
        self.assignment.call_once(|| assignment);
    }

    /// The VCPU of this CPU.
    #[inline(always)]
    pub fn assignment(&self) -> Option<&Assignment> {
        self.assignment.get()
    }

    /// Records an event of the VCPU that runs here.
    #[inline(always)]
    pub fn record(&self, at: &Assignment, kind: Kind, argument: u64) {
        self.trace.write(Record::new(
            cpu::now_unordered(),
            kind,
            at.vm.index as u8,
            at.vcpu.index as u8,
            argument,
        ));
    }

    /// Counts a synchronous exit.
    #[inline(always)]
    pub fn count_exit(&self) {
        self.exits.store(self.exits.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Counts an exit by an interrupt.
    #[inline(always)]
    pub fn count_interrupt(&self) {
        self.interrupts.store(self.interrupts.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// `(synchronous exits, exits by interrupts)` since the start.
    pub fn counts(&self) -> (u64, u64) {
        (self.exits.load(Ordering::Relaxed), self.interrupts.load(Ordering::Relaxed))
    }

    /// Makes the CPU look at its VCPU: it may have to start, stop or take an interrupt.
    pub fn kick(&self) {
        gicv3::send_sgi(self.mpidr, KICK);
    }

    /// Sets the deadline for a purpose of this CPU, the one that runs the code: an absolute
    /// time of the system counter.
    pub fn set_deadline(&self, purpose: Purpose, deadline: u64) {
        self.deadlines.set(purpose, deadline);
        self.program_timer();
    }

    /// Takes a deadline of this CPU that has passed.
    pub fn take_deadline(&self) -> Option<Purpose> {
        let due = self.deadlines.take_due(cpu::now());
        if due.is_none() {
            self.program_timer();
        }
        due
    }

    /// Lets the timer of this CPU fire at the first deadline.
    fn program_timer(&self) {
        match self.deadlines.first() {
            Some(deadline) => {
                regs::cnthp_cval_el2::write(deadline);
                regs::cnthp_ctl_el2::write(1);
            }
            None => regs::cnthp_ctl_el2::write(0),
        }
        cpu::isb();
    }

    /// Runs the VCPU when it is to run, serves interrupts, sleeps otherwise.
    pub fn idle(&'static self) -> ! {
        loop {
            if let Some(assignment) = self.assignment() {
                assignment.vm.run_if_started(assignment, self);
            }
            if !exits::serve_interrupt(self) {
                cpu::wait_for_interrupt();
            }
        }
    }
}

/// The software-generated interrupt that means "look at your VCPU".
pub const KICK: u32 = 0;

/// The software-generated interrupt that means "start the timer of the console".
pub const CONSOLE_TIMER: u32 = 1;

/// The software-generated interrupt that means "the colour serial port of your VM needs you".
pub const COLOR_SERIAL: u32 = 2;
