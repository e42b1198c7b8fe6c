//! One physical CPU: its VCPUs, its trace, its timer, and its work without a guest.

mod regulation;
mod sharing;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use abi::trace::{Kind, Record};
use policy::lock::hold::Hold;
use policy::server;
use policy::time::{Duration, Instant};
use regulation::{Regulation, Side};

use crate::arch::percpu::StaticRef;
use crate::arch::{cpu, gic, guest_state, regs};
use crate::exits;
use crate::lock::Own;
use crate::locks;
use crate::plan;
use crate::scheduler::Scheduler;
use crate::timer::{Deadlines, Purpose};
use crate::trace::Ring;
use crate::vm::{Vcpu, Vm};

/// A VCPU that a PCPU runs, and its VM.
#[derive(Clone, Copy)]
pub struct Assignment {
    /// The VM.
    pub vm: &'static Vm,
    /// Its VCPU.
    pub vcpu: &'static Vcpu,
    /// True if other VCPUs of the VM run on the PCPU.
    has_sibling: bool,
    /// True if it leaves the PCPU while it waits.
    pub makes_room: bool,
    /// Its number in the PCPU's scheduler.
    slot: usize,
    /// Indices of the VM and of the VCPU in it, for the trace.
    names: (u8, u8),
}

impl Assignment {
    /// Returns true if the VCPU may hold resources that VMs share.
    fn may_hold(&self, vcpu: &plan::Vcpu) -> bool {
        vcpu.hold > 0 && locks::are_open_to(self.vm)
    }
}

/// State of one physical CPU. All of it may be read by any CPU; only its own CPU changes it.
pub struct Pcpu {
    /// Index in the plan.
    pub index: usize,
    /// Affinity, for interrupts to this CPU.
    pub mpidr: u64,
    /// Its VCPUs, the one with the highest priority first.
    assignments: StaticRef<Vec<Assignment>>,
    /// True if VCPUs share it, or may leave it unused.
    shared: AtomicBool,
    /// Decides which of them runs, if they share it and no accesses are counted.
    scheduler: StaticRef<Own<Scheduler>>,
    /// The same, and counts, if they have memory budgets.
    regulation: StaticRef<Regulation>,
    /// The VCPU whose registers are in the CPU.
    loaded: StaticRef<Assignment>,
    /// The VCPU to run.
    next: StaticRef<Assignment>,
    /// Trace ring.
    pub trace: Ring,
    deadlines: Deadlines,
    /// This VCPU has blocked, and pays until the next one is entered.
    blocked: StaticRef<Assignment>,
    /// True if the interrupt of the virtual timer is enabled here.
    pub timer_enabled: AtomicBool,
}

impl Pcpu {
    /// A CPU that has no VCPU.
    pub fn new(index: usize, mpidr: u64) -> Self {
        Self {
            index,
            mpidr,
            assignments: StaticRef::empty(),
            shared: AtomicBool::new(false),
            scheduler: StaticRef::empty(),
            regulation: StaticRef::empty(),
            loaded: StaticRef::empty(),
            next: StaticRef::empty(),
            trace: Ring::new(),
            deadlines: Deadlines::none(),
            blocked: StaticRef::empty(),
            timer_enabled: AtomicBool::new(false),
        }
    }

    /// Gives the CPU its VCPUs; done once, at boot, before it runs one. The first period of
    /// servers and memory budgets starts at `epoch`. `ceilings`: VCPUs in global critical sections go first.
    #[inline(never)]
    pub fn assign(
        &'static self,
        vms: &[&'static Vm],
        epoch: u64,
        platform: &plan::Platform<'_>,
        ceilings: bool,
    ) {
        let mut all = Vec::new();
        for &vm in vms {
            let own = |vcpu: &&Vcpu| core::ptr::eq(vcpu.pcpu, self);
            let has_sibling = vm.vcpus.iter().filter(own).count() > 1;
            for vcpu in vm.vcpus.iter().filter(own) {
                let Some(plan) = vm.plan.vcpus.get(vcpu.index) else { continue };
                let priority = plan.server.map(|server| server.priority);
                let names = (vm.index as u8, vcpu.index as u8);
                let makes_room = plan.server.is_some();
                let assignment = Assignment { vm, vcpu, has_sibling, makes_room, slot: 0, names };
                all.push((assignment, priority, plan));
                // Behind those that go before it. `Vec::insert` would need a routine that nothing else does.
                for at in (1..all.len()).rev() {
                    if all[at - 1].1 >= priority {
                        break;
                    }
                    all.swap(at - 1, at);
                }
            }
        }
        let start = Instant(epoch);
        let server = |vcpu: &plan::Vcpu| match vcpu.server {
            Some(server) => server.policy(start),
            None => server::Policy::Background,
        };
        let compensates = vms.iter().any(|vm| vm.plan.is_compensated());
        // Also where VCPUs of other VMs wait for resources that one of these has.
        let is_shared = all.iter().any(|(at, _, vcpu)| vcpu.server.is_some() || at.may_hold(vcpu));
        let is_regulated = all.iter().any(|(at, _, vcpu)| at.vm.plan.counts(vcpu, compensates));
        let is_critical = all.iter().any(|(at, ..)| at.vm.plan.critical);
        let sides = if is_critical { Side::all(vms, epoch) } else { Vec::new() };
        let vcpus = all.iter().map(|(at, _, vcpu)| {
            at.vcpu.sections.allow(vcpu.rate);
            let hold = if vcpu.hold > 0 { Hold::new(Duration(vcpu.hold)) } else { Hold::UNLIMITED };
            (server(vcpu), at.vm.plan.account(vcpu, start), hold)
        });
        let scheduler = Scheduler::new(vcpus, ceilings, platform.prices.map(Duration));
        let all = all.into_iter().enumerate();
        let all = all.map(|(slot, (it, ..))| Assignment { slot, ..it }).collect();
        let all: &'static Vec<_> = Box::leak(Box::new(all));
        self.assignments.set(Some(all));
        let Some(scheduler) = scheduler.filter(|_| is_shared || is_regulated) else {
            return self.next.set(all.first());
        };
        // Nobody else writes there yet.
        let frequency = regs::cntfrq_el0::read();
        self.trace.write(Record::new(epoch, Kind::Epoch, 0, 0, frequency));
        self.shared.store(true, Ordering::Relaxed);
        match &platform.counter {
            Some(plan) if is_regulated => {
                let regulation = Regulation::new(scheduler, plan, self.index, epoch, sides);
                self.regulation.set(Some(Box::leak(Box::new(regulation))));
            }
            _ => self.scheduler.set(Some(Box::leak(Box::new(Own::new(scheduler))))),
        }
    }

    /// Its VCPUs, the one with the highest priority first.
    #[inline(always)]
    pub fn assignments(&self) -> &'static [Assignment] {
        self.assignments.own().map_or(&[], Vec::as_slice)
    }

    /// Returns true if VCPUs run on this CPU.
    pub fn has_vcpus(&self) -> bool {
        !self.assignments().is_empty()
    }

    /// The VCPU whose registers are in this CPU. It runs, or waits.
    #[inline(always)]
    pub fn loaded(&self) -> Option<&'static Assignment> {
        self.loaded.own()
    }

    /// Returns true if VCPUs share this CPU, or may leave it unused.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        self.shared.load(Ordering::Relaxed)
    }

    /// Records an event of a VCPU of this CPU, one that is not often.
    pub fn record(&self, at: &Assignment, kind: Kind, argument: u64) {
        self.record_rare(cpu::now_unordered(), Some(at), kind, argument);
    }

    /// Records like [`Pcpu::record_at`], with less code where it is called.
    #[inline(never)]
    pub fn record_rare(&self, time: u64, at: Option<&Assignment>, kind: Kind, argument: u64) {
        self.record_at(time, at, kind, argument);
    }

    /// Records an event of a VCPU of this CPU, or of none.
    #[inline(always)]
    pub fn record_at(&self, time: u64, at: Option<&Assignment>, kind: Kind, argument: u64) {
        let (vm, vcpu) = at.map_or((0, 0), |at| at.names);
        self.trace.write(Record::new(time, kind, vm, vcpu, argument));
    }

    /// Makes the CPU look at its VCPUs: they may have to start, stop or take an interrupt.
    pub fn kick(&self) {
        gic::send_sgi(self.mpidr, KICK);
    }

    /// Sets the deadline for a purpose of this CPU, the one that runs the code: an absolute
    /// time of the system counter, or [`NEVER`](crate::timer::NEVER).
    #[inline(never)]
    pub fn set_deadline(&self, purpose: Purpose, deadline: u64) {
        self.deadlines.set(purpose, deadline);
        self.program_timer(self.first_deadline());
    }

    /// The same, unless there is an earlier deadline.
    pub fn advance_deadline(&self, purpose: Purpose, deadline: u64) {
        self.set_deadline(purpose, deadline.min(self.deadlines.of(purpose)));
    }

    /// The deadline of a purpose of this CPU, or [`NEVER`](crate::timer::NEVER).
    pub fn deadline(&self, purpose: Purpose) -> u64 {
        self.deadlines.of(purpose)
    }

    /// Takes a deadline of this CPU if it has passed. Returns true if it has.
    #[inline(always)]
    pub fn take_deadline(&self, purpose: Purpose, now: u64) -> bool {
        self.deadlines.take(purpose, now)
    }

    /// The first deadline of this CPU, or [`NEVER`](crate::timer::NEVER).
    #[inline(always)]
    pub fn first_deadline(&self) -> u64 {
        self.deadlines.first()
    }

    /// Lets the timer of this CPU, which is always on, fire at the first deadline.
    #[inline(always)]
    pub fn program_timer(&self, first: u64) {
        regs::cnthp_cval_el2::write(first);
        cpu::isb();
    }

    /// Runs the VCPU that is to run, serves interrupts, sleeps otherwise.
    pub fn idle(&'static self) -> ! {
        loop {
            let busy = self.next.own().is_some_and(|at| self.run(at));
            if !exits::serve_interrupt(self) && !busy {
                // Without a deadline the timer is off: in deterministic time, QEMU goes straight to the deadline of the next
                // timer, and does not come back from the end of time.
                guest_state::switch_off_useless_timer();
                cpu::wait_for_interrupt();
                guest_state::switch_on_timer();
                // It ends the wait too, and would end all others.
                if cpu::error_pending() {
                    exits::late_error(self);
                }
            }
        }
    }
}

/// The software-generated interrupt that means "look at your VCPUs".
pub const KICK: u32 = 0;

/// The software-generated interrupt that means "start the timer of the console".
pub const CONSOLE_TIMER: u32 = 1;
