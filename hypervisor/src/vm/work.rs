//! Long work of EL2 for a VCPU: requests for colours, audits, frames for links, restarts of its VM, crash reports.
//!
//! The PCPU of the VCPU does the work in chunks, only while the VCPU is the one to run: in place of
//! its guest and in its budget. When an interrupt is pending, the work pauses after a chunk, and
//! the scheduler decides again. Between two chunks nothing of the work is on a stack and no lock is
//! held: the rest is a [`Work`] in the [`WorkSlot`] of the VCPU, and state of the VM. So the VCPU
//! can be preempted at each chunk, like a guest at each instruction, and when the VM stops, work
//! for its guest is dropped.
//!
//! A task that was found on the colour port is noted with the VCPU on which it was found, and that
//! VCPU is woken. A restart is work of the VCPU that was the last to stop. A crash report is
//! printed even if another VCPU stops the VM meanwhile.
//!
//! | chunk | instructions | contents |
//! | --- | ---: | --- |
//! | request for colours | 25,368 | bound, computed by `make bench-exits`; 18,607 measured |
//! | frame for a link | 10,756 | measured by `make bench-exits`, 8 buffers on both sides |
//! | frames beyond the limit of a link | 6,876 | measured, 62 dropped at once, with the store and one frame before them |
//! | audit | 21,727 | 64 pages, all of them in frames of the pool; a chunk has at most 56 |
//! | first chunk of a restart | less than 13,600 | the devices, of a VM with 8 VCPUs, 8 links and 8 serial lines |
//! | restart | about 2,600 | 4 KiB of an image (600 for RAM); 32 KiB took 20,087 and 4,697 |
//! | crash report | 7,832 | one line |
//!
//! When a VM stops, its last VCPU resets the interrupt controller, tells what the VM has to tell and
//! prints a line without a pause: 13,600 instructions for the same VM, and a wait for a frame that is
//! on its way to it, which takes 4,564 at most (`latest_stop` of `make bench-exits`).

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use abi::hypercall::Error;

use super::audit::Progress;
use super::report::Report;
use super::{Vm, color_serial, link};
use crate::arch::cpu;
use crate::lock::Mutex;
use crate::pcpu::{Assignment, Pcpu};
use crate::stage1::Space;
use crate::vdev::color_serial::Found;

/// Remaining work.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// The request of a task that asks on the serial port, which has not begun.
    Port(Found),
    /// The request for colours that is under way in the VM.
    Request(Answer),
    /// An audit.
    Audit(Progress, Answer),
    /// Frames that the guest sends by a link.
    Transmit(link::Sending),
    /// The crash report of the VM.
    Report(Report),
    /// The next chunk, by number, of the restart of the VM, all VCPUs of which are off.
    Restart(usize),
}

/// The receiver of the result.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// The guest, in a call.
    Call,
    /// The guest, in a load to this register from the doorbell, or in a store (31).
    Access(u8),
    /// A task, at the serial port.
    Port,
}

/// The work of a VCPU. Only its own CPU uses the slot.
#[derive(Debug)]
pub struct WorkSlot {
    /// True if there is work: the most frequent query.
    busy: AtomicBool,
    work: Mutex<Option<Work>>,
}

impl WorkSlot {
    /// No work.
    pub const fn new() -> Self {
        Self { busy: AtomicBool::new(false), work: Mutex::new(None) }
    }

    /// Returns true if there is work.
    #[inline(always)]
    pub fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Returns the work.
    fn get(&self) -> Option<Work> {
        *self.work.lock()
    }

    /// Replaces the work.
    pub fn set(&self, work: Option<Work>) {
        self.busy.store(work.is_some(), Relaxed);
        *self.work.lock() = work;
    }
}

/// Begins long work for the VCPU that this CPU runs, and leaves the exit. Its guest continues when
/// the work is done.
pub fn begin(work: Work, at: &Assignment, pcpu: &'static Pcpu) -> ! {
    at.vcpu.work.set(Some(work));
    pcpu.idle()
}

/// Begins an audit in the same way.
// Not inlined, so that its callers need no stack.
#[inline(never)]
pub fn audit(answer: Answer, at: &Assignment, pcpu: &'static Pcpu) -> ! {
    begin(Work::Audit(Progress::default(), answer), at, pcpu)
}

impl Vm {
    /// Does the work for a VCPU, which is the one to run on this CPU, until an interrupt is
    /// pending. Returns true if some work remains.
    #[inline(never)]
    pub fn work(&'static self, at: &Assignment, pcpu: &'static Pcpu) -> bool {
        let slot = &at.vcpu.work;
        while let Some(mut work) = slot.get() {
            let for_guest = !matches!(work, Work::Report(_) | Work::Restart(_));
            if for_guest && self.is_stopping() {
                return false;
            }
            loop {
                if cpu::interrupt_pending() {
                    slot.set(Some(work));
                    return true;
                }
                if self.chunk(&mut work, at, pcpu) {
                    break;
                }
            }
            // A task on the port may have waited for this.
            slot.set(color_serial::take(at));
        }
        false
    }

    /// Does one chunk. Returns true if all work is done.
    #[inline(always)]
    fn chunk(&'static self, work: &mut Work, at: &Assignment, pcpu: &'static Pcpu) -> bool {
        match work {
            Work::Request(answer) => {
                let Some(result) = self.request_chunk() else { return false };
                answer.give(result as u64, at);
            }
            Work::Port(found) => {
                // The address space is that of the guest in this CPU's registers, if it is
                // still there.
                let space = Space { ttbr0: found.table, ..Space::current() };
                match self.begin_request(space, found.colors.bits()) {
                    Ok(()) => {
                        *work = Work::Request(Answer::Port);
                        return false;
                    }
                    Err(error) => color_serial::finish(self, Some(error as i64)),
                }
            }
            Work::Audit(progress, answer) => {
                let Some(result) = self.audit(progress) else { return false };
                answer.give_audit(result, at);
            }
            Work::Transmit(sending) => return link::send(sending, at, pcpu),
            Work::Report(report) => return !report.print_line(at, pcpu),
            Work::Restart(number) => {
                if self.reload(*number) {
                    *number += 1;
                    return false;
                }
                self.restart(at, pcpu);
            }
        }
        true
    }
}

impl Answer {
    fn give(self, value: u64, at: &Assignment) {
        match self {
            Self::Call => at.vcpu.context.with(|context| context.x[0] = value),
            Self::Access(register) => at.vcpu.context.with(|context| {
                context.set(register.into(), value);
                context.pc += 4;
            }),
            Self::Port => color_serial::finish(at.vm, Some(value as i64)),
        }
    }

    /// Passes the result of an audit to its receiver.
    fn give_audit(self, result: Result<(), u64>, at: &Assignment) {
        match (self, result) {
            (_, Ok(())) => self.give(0, at),
            (Self::Call, Err(address)) => {
                at.vcpu.context.with(|context| context.x[1] = address);
                self.give(Error::BadAddress.to_x0(), at);
            }
            (_, Err(address)) => self.give(address | 1, at),
        }
    }
}
