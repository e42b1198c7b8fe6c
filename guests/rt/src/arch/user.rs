//! Running a few instructions at EL0.

use core::arch::{asm, global_asm};
use core::sync::atomic::Ordering::SeqCst;

use super::fault::{self, Fault};
use super::frame::Frame;
use super::lock::InterruptLock;
use super::ram::Words;
use super::service::ENTER_USER;
use super::space;
use super::tables::Tables;

global_asm!(include_str!("user.s"));

unsafe extern "C" {
    static user_code: u8;
    static user_code_end: u8;
}

/// EL0, debug exceptions and FIQ masked.
const PSTATE_USER: u64 = 1 << 9 | 1 << 6;

/// EL0 in AArch32, Thumb; all interrupts masked.
const PSTATE_THUMB: u64 = 0x1f0;

/// A routine of the code; the value is the offset of its first instruction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u64)]
pub enum Routine {
    /// Stores argument 1 at argument 0 + argument 2, then loads from argument 0 + argument 3. 64 bits.
    StoreThenLoad = 0,
    /// Loads 32 bits from argument 0.
    LoadWord = 16,
    /// Loads 32 bits from argument 0 until no bit of argument 1 is set in them, at most argument 2
    /// times, which is not 0; results in the times that are left.
    WaitForZero = 32,
    /// In Thumb: waits for an interrupt twice and loads 32 bits from argument 1; results in 3 more than these.
    ThumbWaits = 64,
}

/// The thread that waits for code at EL0.
static CALLER: InterruptLock<Frame> = InterruptLock::new(Frame::EMPTY);

/// Copies the code to the start of `page`, ready to be executed.
///
/// # Panics
///
/// If there is no room.
pub fn copy_code(page: Words) {
    let start = &raw const user_code;
    let bytes = (&raw const user_code_end) as usize - start as usize;
    // SAFETY: the code is part of the image, which is mapped for reading.
    let code = unsafe { core::slice::from_raw_parts(start, bytes) };
    for (word, bytes) in page[..bytes.div_ceil(8)].iter().zip(code.chunks(8)) {
        let mut value = [0; 8];
        value[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_le_bytes(value), SeqCst);
    }
    for word in page.iter().take(bytes.div_ceil(8)) {
        // SAFETY: makes data visible to instruction fetches.
        unsafe {
            asm!("dc cvau, {0}", "dsb ish", "ic ivau, {0}", "dsb ish", "isb",
                in(reg) word.as_ptr(), options(nostack, preserves_flags));
        }
    }
}

/// Runs a routine, which is mapped in `tables` with the code at `code`, at EL0. Only one processor may
/// use this.
pub fn run(
    tables: &Tables,
    code: u64,
    routine: Routine,
    arguments: [u64; 4],
) -> Result<u64, Fault> {
    let mut frame = Frame::EMPTY;
    frame.x[..4].copy_from_slice(&arguments);
    frame.pc = code + routine as u64;
    frame.pstate = if routine == Routine::ThumbWaits { PSTATE_THUMB } else { PSTATE_USER };
    let mut result = 0;
    let before = space::current();
    // SAFETY: the tables map the program as before. The handler keeps all registers but `x0`. The
    // code at EL0 reaches only what the tables map for EL0; a skipped instruction leaves a result
    // that is not used.
    let fault = unsafe {
        space::enter(tables.address());
        let fault = fault::catch(|| {
            asm!("svc #{}", const ENTER_USER, inout("x0") &raw const frame => result);
        });
        space::enter(before);
        fault
    };
    fault.map_or(Ok(result), Err)
}

/// The thread has asked to go on at EL0; `x0` is the address of the registers.
pub(super) fn enter(frame: &mut Frame) {
    CALLER.with(|caller| *caller = *frame);
    // SAFETY: `run` passes a frame on its stack, and waits.
    *frame = unsafe { *(frame.x[0] as *const Frame) };
}

/// Code at EL0 has ended: the thread that waits goes on with its result.
pub(super) fn leave(frame: &mut Frame) {
    let result = frame.x[0];
    CALLER.with(|caller| *frame = *caller);
    frame.x[0] = result;
}
