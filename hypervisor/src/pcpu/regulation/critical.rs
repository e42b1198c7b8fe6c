//! The accesses of critical VCPUs of this PCPU are told to the VMs that get credits for the rest
//! (XenThrottle, section 3.4).
//!
//! They are told at the end of each period of such a VM, whose budget the credit becomes at once.
//! A report that is too late for the whole next period gives no credit. Accesses
//! between the end of a period and the time when EL2 notices it count for the period before.
//!
//! Credits are given up when this PCPU goes over to a critical VCPU; and if the plan says so, when
//! the guest of one has another address space than at the end of the period before: at that end,
//! because a guest that changes its address space does not come to EL2. Trapping that
//! (HCR_EL2.TVM) would cost a guest more than a period of credits gives others.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use policy::bandwidth;
use policy::time::Instant;

use crate::arch::regs;
use crate::lock::Own;
use crate::pcpu::{Assignment, Pcpu};
use crate::vm::Vm;

/// A VM that gets credits, as a PCPU with critical VCPUs sees it.
pub(in crate::pcpu) struct Side {
    vm: &'static Vm,
    /// Accesses of critical VCPUs in the current period so far.
    counted: Own<bandwidth::Side>,
    /// True if it gives credits up when guests switch tasks.
    flush_task_switch: bool,
    /// Address space of the critical guest at the start of the period.
    table: AtomicU64,
}

impl Side {
    /// Makes one side for each VM that gets credits.
    pub fn all(vms: &[&'static Vm], start: u64) -> Vec<Self> {
        let mut all = Vec::new();
        for &vm in vms {
            let Some(budget) = vm.plan.memory_budget else { continue };
            let Some(compensation) = budget.compensation else { continue };
            all.push(Self {
                vm,
                counted: Own::new(bandwidth::Side::new(budget.budget.period, Instant(start))),
                flush_task_switch: compensation.flush_task_switch,
                table: AtomicU64::new(0),
            });
        }
        all
    }
}

impl Pcpu {
    /// A VCPU of this CPU ran and has made accesses: tells it where a period has ended. Returns when
    /// the next one does.
    #[inline(never)]
    pub(super) fn report(
        &self,
        sides: &[Side],
        ran: Option<&Assignment>,
        accesses: u64,
        now: u64,
    ) -> u64 {
        let critical = ran.filter(|ran| ran.vm.plan.critical);
        let mut next = u64::MAX;
        for side in sides {
            let mut counted = side.counted.lock();
            let told = counted.count(if critical.is_some() { accesses } else { 0 }, Instant(now));
            next = next.min(counted.end().0);
            drop(counted);
            if let Some((made, end)) = told {
                self.end_period(side, critical, made, end);
            }
        }
        next
    }

    fn end_period(&self, side: &Side, critical: Option<&Assignment>, accesses: u64, end: Instant) {
        let Some(pool) = side.vm.pool.get() else { return };
        let mut pool = pool.lock();
        pool.report(self.index as u32, accesses, end);
        if side.flush_task_switch && critical.is_some_and(|at| self.has_loaded(at)) {
            let table = regs::ttbr0_el1::read();
            if side.table.load(Relaxed) != table {
                side.table.store(table, Relaxed);
                pool.flush(end);
            }
        }
    }

    /// Another VCPU is to run from now on: if it is critical, others give their credits up.
    #[inline(never)]
    pub(super) fn flush(&self, sides: &[Side], now: u64) {
        if self.next.own().is_none_or(|at| !at.vm.plan.critical) {
            return;
        }
        for side in sides {
            if let Some(pool) = side.vm.pool.get() {
                pool.lock().flush(Instant(now));
            }
        }
    }
}
