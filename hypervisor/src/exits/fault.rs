//! The end of the hypervisor itself: a report with registers and back trace.

use core::fmt;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::arch::context::Context;
use crate::arch::{backtrace, boot, heap, percpu, power, regs};
use crate::{machine, start};

const FRAMES: usize = 16;

/// An exception of the hypervisor: always a bug of ours, or broken hardware.
pub fn hypervisor_fault(context: &Context) -> ! {
    begin();
    let (esr, far, sp) = (regs::esr_el2::read(), regs::far_el2::read(), regs::sp_el0::read());
    let pc = ImageAddress(context.pc);
    machine::emergency!("hypervisor exception on {} at {pc}", Cpu);
    machine::emergency!(
        "esr {esr:#010x} far {far:#018x} sp {sp:#018x} pstate {:#x}",
        context.pstate
    );
    for row in context.rows() {
        machine::emergency!("{row}");
    }
    end(context.x[29])
}

/// A panic of the hypervisor.
pub fn panic_report(info: &PanicInfo<'_>) -> ! {
    // Collections know no other end when memory runs out: not a bug, but a plan.
    if heap::is_exhausted() {
        start::refuse(&info.message())
    }
    begin();
    machine::emergency!("hypervisor panic on {}: {}", Cpu, info.message());
    if let Some(place) = info.location() {
        machine::emergency!("at {}:{}", place.file(), u64::from(place.line()));
    }
    end(backtrace::frame_pointer())
}

/// The first fault is reported; one in the report itself ends the machine at once.
fn begin() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.swap(true, Ordering::AcqRel) {
        power::off()
    }
}

fn end(frame: u64) -> ! {
    machine::emergency!("back trace (addresses in the image, see build/hypervisor.elf):");
    backtrace::walk(frame, FRAMES, |address| {
        machine::emergency!("  {}", ImageAddress(address));
    });
    power::off()
}

struct Cpu;

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match percpu::this() {
            Some(pcpu) => write!(f, "PCPU {}", pcpu.index),
            None => f.write_str("the boot CPU"),
        }
    }
}

/// An address, shown as an offset into the image when it lies there.
struct ImageAddress(u64);

impl fmt::Display for ImageAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = boot::image_layout();
        match self.0.checked_sub(layout.text as u64) {
            Some(offset) if (self.0 as usize) < layout.end => write!(f, "image+{offset:#x}"),
            _ => write!(f, "{:#x}", self.0),
        }
    }
}
