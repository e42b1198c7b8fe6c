//! The crash report of a VM.

use super::Vm;
use super::lifecycle::{Crash, StopReason};
use super::work::{self, Work};
use crate::arch::{cpu, regs};
use crate::machine::log;
use crate::pcpu::{Assignment, Pcpu};
use crate::trace;

/// Trace records that a report shows.
const RECORDS: u64 = 8;
/// Lines with general-purpose registers.
const ROWS: u64 = 8;
/// Lines before those: the event and its address.
const HEAD: u64 = 2;

/// A report, line by line.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    crash: Crash,
    /// The next line, from 0.
    line: u64,
    /// ESR_EL2, FAR_EL2 and HPFAR_EL2 of the exit.
    esr: u64,
    far: u64,
    hpfar: u64,
    /// Time of the crash, in ticks, and the number of trace records at that time.
    time: u64,
    records: u64,
}

impl Vm {
    /// Ends the run of the VM because of a crash of the VCPU that this CPU runs, and reports it.
    pub fn crash(&'static self, crash: Crash, at: &Assignment, pcpu: &'static Pcpu) -> ! {
        let report = Report {
            crash,
            line: 0,
            esr: regs::esr_el2::read(),
            far: regs::far_el2::read(),
            hpfar: regs::hpfar_el2::read(),
            time: cpu::now(),
            records: pcpu.trace.written(),
        };
        self.stop(StopReason::Crash(crash));
        work::begin(Work::Report(report), at, pcpu)
    }
}

impl Report {
    /// Prints the next line. Returns false if there is none.
    pub(super) fn print_line(&mut self, at: &Assignment, pcpu: &Pcpu) -> bool {
        let Self { crash, line, esr, far, hpfar, time, records } = *self;
        let (name, vcpu) = (at.vm.name(), at.vcpu.index);
        self.line += 1;
        match line {
            0 => at.vcpu.context.with(|context| {
                let (crash, pc) = (crash.name(), context.pc);
                log!("{name}: crash ({crash}) of VCPU {vcpu} at pc {pc:#018x}");
            }),
            1 => at.vcpu.context.with(|context| {
                let ipa = (hpfar & 0xfff_ffff_fff0) << 8 | far & 0xfff;
                let pstate = context.pstate;
                log!("{name}: esr {esr:#010x} far {far:#018x} ipa {ipa:#012x} pstate {pstate:#x}");
            }),
            HEAD.. if line < HEAD + ROWS => at.vcpu.context.with(|context| {
                if let Some(row) = context.rows().nth((line - HEAD) as usize) {
                    log!("{name}: {row}");
                }
            }),
            _ => {
                let number = (records + line).checked_sub(HEAD + ROWS + RECORDS);
                let record = number.filter(|&number| number < records);
                let Some(record) = record.and_then(|number| pcpu.trace.record(number)) else {
                    return line < HEAD + ROWS + RECORDS;
                };
                let ago = time.saturating_sub(record.ticks);
                let (what, argument) = (trace::name(record.kind()), record.argument());
                log!("{name}: {ago:>12} ticks before: {what} {argument:#x}");
            }
        }
        true
    }
}
