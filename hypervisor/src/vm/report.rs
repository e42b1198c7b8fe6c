//! The report about a VM that is stopped because of what it did.

use super::Vm;
use super::lifecycle::{Crash, StopReason};
use crate::arch::context::Context;
use crate::arch::regs;
use crate::machine::log;
use crate::pcpu::{Assignment, Pcpu};
use crate::trace;

/// Trace records that a report shows.
const RECORDS: usize = 8;

impl Vm {
    /// Reports a crash, ends the run of the VM and parks its VCPU on this CPU.
    pub fn crash(
        &'static self,
        crash: Crash,
        context: &Context,
        at: &Assignment,
        pcpu: &'static Pcpu,
    ) -> ! {
        let (esr, far, hpfar) =
            (regs::esr_el2::read(), regs::far_el2::read(), regs::hpfar_el2::read());
        let ipa = (hpfar & 0xfff_ffff_fff0) << 8 | far & 0xfff;
        let (name, vcpu) = (self.name(), at.vcpu.index);
        log!("{name}: crash ({}) of VCPU {vcpu} at pc {:#018x}", crash.name(), context.pc);
        log!(
            "{name}: esr {esr:#010x} far {far:#018x} ipa {ipa:#012x} pstate {:#x}",
            context.pstate
        );
        for row in context.rows() {
            log!("{name}: {row}");
        }
        let now = crate::arch::cpu::now();
        for record in pcpu.trace.last(RECORDS) {
            let ago = now.saturating_sub(record.ticks);
            log!(
                "{name}: {ago:>12} ticks ago: {} {:#x}",
                trace::name(record.kind()),
                record.argument()
            );
        }
        self.stop(StopReason::Crash(crash));
        self.park(at, pcpu)
    }
}
