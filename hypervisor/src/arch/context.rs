//! The registers of a VCPU that an exit saves, and the slot that keeps them.

use core::cell::UnsafeCell;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};

use super::registers::{self, Registers, Traps};
use super::stage2::Stage2;
use crate::trapped;

/// Integer state of a guest: saved at every exit, restored at every entry.
///
/// Floating-point registers stay where they are: EL2 code never touches them.
#[repr(C, align(16))]
#[derive(Clone, Debug)]
pub struct Context {
    /// General-purpose registers `x0`..`x30`.
    pub x: [u64; 31],
    /// Program counter of the guest (ELR_EL2).
    pub pc: u64,
    /// Processor state of the guest (SPSR_EL2).
    pub pstate: u64,
}

/// PSTATE of a fresh VCPU: EL1 with its own stack pointer, interrupts masked.
pub const PSTATE_EL1H_MASKED: u64 = 0x3c5;

/// Four registers in one line of a report.
#[derive(Debug)]
pub struct Row<'a> {
    first: usize,
    values: &'a [u64],
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.values.iter().enumerate() {
            write!(f, "x{:<2} {value:016x}  ", self.first + index)?;
        }
        Ok(())
    }
}

impl Context {
    /// The general-purpose registers, four to a row.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.x.chunks(4).enumerate().map(|(row, values)| Row { first: row * 4, values })
    }

    const fn new() -> Self {
        Self { x: [0; 31], pc: 0, pstate: PSTATE_EL1H_MASKED }
    }

    /// Returns true if the guest was at EL0.
    pub fn is_el0(&self) -> bool {
        self.pstate & 0xf == 0
    }

    /// Goes on behind the instruction that trapped with this syndrome.
    #[inline(always)]
    pub fn skip(&mut self, syndrome: u64) {
        trapped::skip(&mut self.pc, &mut self.pstate, syndrome);
    }

    /// Value of register `n` as an instruction reads it: 31 is the zero register.
    #[inline]
    pub fn get(&self, n: u64) -> u64 {
        self.x.get(n as usize).copied().unwrap_or(0)
    }

    /// Writes register `n` as an instruction does: 31 is the zero register.
    #[inline]
    pub fn set(&mut self, n: u64, value: u64) {
        if let Some(register) = self.x.get_mut(n as usize) {
            *register = value;
        }
    }
}

/// Keeps the registers of a VCPU. One CPU owns it from [`ContextSlot::claim`] until
/// [`ContextSlot::release`]: the one on which the VCPU runs, which never changes.
#[derive(Debug)]
pub struct ContextSlot {
    context: UnsafeCell<Context>,
    registers: UnsafeCell<Registers>,
    /// Private: only `claim` and `release` change it, so that two CPUs never
    /// hold the same context.
    claimed: AtomicBool,
}

// SAFETY: `claimed` lets one CPU at a time reach the registers.
unsafe impl Sync for ContextSlot {}

impl ContextSlot {
    /// An unclaimed slot.
    pub const fn new() -> Self {
        Self {
            context: UnsafeCell::new(Context::new()),
            registers: UnsafeCell::new(Registers::new()),
            claimed: AtomicBool::new(false),
        }
    }

    /// Takes the slot for this CPU and starts VCPU `vcpu` of its VM over with this entry
    /// point and argument. Returns false if it is claimed already.
    pub fn claim(&self, (pc, x0): (u64, u64), vcpu: usize, traps: Traps, tables: &Stage2) -> bool {
        if self.claimed.swap(true, Ordering::Acquire) {
            return false;
        }
        // SAFETY: the swap above gave the registers to this CPU alone.
        let (context, registers) =
            unsafe { (&mut *self.context.get(), &mut *self.registers.get()) };
        *context = Context::new();
        context.pc = pc;
        context.x[0] = x0;
        registers.reset(vcpu, traps, tables.vttbr());
        true
    }

    /// Saves the registers of the VCPU, whose CPU this is; its timer stops.
    #[inline(always)]
    pub fn save(&self) {
        // SAFETY: the CPU that claimed the slot calls, and has no reference to the registers.
        unsafe { registers::save_registers(self.registers.get()) }
    }

    /// Returns when the timer that was saved would have fired, if at all. For the CPU of the VCPU.
    pub fn timer(&self) -> Option<u64> {
        // SAFETY: as in `save`.
        unsafe { (*self.registers.get()).timer() }
    }

    /// Puts the registers of the VCPU into its CPU, which is this one.
    #[inline(always)]
    pub fn load(&self) {
        // SAFETY: the CPU that claimed the slot calls; nothing of EL2 depends on what is
        // written, and the stage-2 tables are those of the VM.
        unsafe { registers::load_registers(self.registers.get()) }
        super::cpu::isb();
    }

    /// Reads or changes registers of the VCPU, whose CPU this is. Its exit is over, if it was in
    /// one: its guest goes on by [`ContextSlot::enter`].
    pub fn with(&self, f: impl FnOnce(&mut Context)) {
        // SAFETY: the CPU that claimed the slot calls, and uses no reference to the registers
        // any more: handlers of exits have ended, or have gone to the idle loop for good.
        f(unsafe { &mut *self.context.get() });
    }

    /// Leaves EL2 and runs the guest, whose registers are in the CPU. The stack of this CPU
    /// starts over at the next exit.
    #[inline(always)]
    pub fn enter(&self) -> ! {
        // SAFETY: this CPU has the slot until `release`, and loaded its registers.
        unsafe { super::vectors::enter_guest(self.context.get()) }
    }

    /// Gives the slot back. The VCPU must not run again before the next claim:
    /// call it only on the way to the idle loop.
    pub fn release(&self) {
        self.claimed.store(false, Ordering::Release);
    }
}

impl Default for ContextSlot {
    fn default() -> Self {
        Self::new()
    }
}
