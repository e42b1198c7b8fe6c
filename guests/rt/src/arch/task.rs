//! Tasks with memory of their colours, and threads of them.

use core::arch::asm;

use policy::color::{ColorSet, OutOfFrames, Rotation};

use super::frame::Frame;
use super::mmu::PAGE;
use super::service;
use super::space::{self, AddressSpace, USER_BASE};
use crate::coloring::Memory;

/// Bytes of a task's stack; the page below it is not mapped.
pub const STACK_BYTES: usize = 4 * PAGE;

const STACK: usize = USER_BASE + PAGE;
const DATA: usize = STACK + STACK_BYTES;

/// The function of a task: it gets its data and the number that it was started with.
pub type Body = fn(&mut [u64], u64);

/// An address space with a stack and data. Translation tables, stack and data lie in pages of the
/// task's colours, which take turns, so that each has the same share of contiguous memory. As in a
/// process, the pages are accessible from EL0; the code is the guest's and runs at EL1.
#[derive(Debug)]
pub struct Task {
    // Private: the space has its own pages at `STACK..DATA`, which nothing uses while the task does
    // not run, and at the `words` words from `DATA` on.
    space: AddressSpace,
    words: usize,
}

impl Task {
    /// A task with `bytes` of data (rounded up to pages), all zero.
    pub fn new(memory: &mut Memory, colors: ColorSet, bytes: usize) -> Result<Self, OutOfFrames> {
        let mut colors = Rotation::new(colors);
        let mut space = AddressSpace::new(memory, &mut colors)?;
        // Far more than there is RAM: the end does not wrap.
        let bytes = bytes.min(1 << 38).next_multiple_of(PAGE);
        // The data first: its n-th page has the n-th colour.
        for address in (DATA..DATA + bytes).chain(STACK..DATA).step_by(PAGE) {
            let frame = memory.allocate(&mut colors)?;
            space.map(memory, &mut colors, address, frame)?;
        }
        Ok(Self { space, words: bytes / size_of::<u64>() })
    }

    /// Runs `body` on this processor, in the address space of the task and on its stack.
    pub fn run(&mut self, body: Body, context: u64) {
        let before = space::current();
        // SAFETY: nothing of the space before is used until it is entered again, but what belongs to
        // the program. The stack is the task's, and `execute` gets what it asks for.
        unsafe {
            space::enter(self.space.ttbr0());
            asm!(
                "mov x20, sp",
                "mov sp, {stack}",
                "blr {execute}",
                "mov sp, x20",
                stack = in(reg) DATA,
                execute = in(reg) execute as extern "C" fn(*const (), *mut u64, usize, u64),
                inout("x0") body as *const () => _,
                inout("x1") DATA => _,
                inout("x2") self.words => _,
                inout("x3") context => _,
                out("x20") _,
                clobber_abi("C"),
            );
            space::enter(before);
        }
    }

    /// A thread that runs `body` once and then ends ([`crate::round_robin`]).
    pub fn into_thread(self, body: Body, context: u64) -> Thread {
        let mut frame = Frame::at_el1(execute_and_end as *const () as u64, DATA as u64);
        frame.x[..4].copy_from_slice(&[
            body as *const () as u64,
            DATA as u64,
            self.words as u64,
            context,
        ]);
        Thread { frame, ttbr0: self.space.ttbr0() }
    }
}

extern "C" fn execute(body: *const (), data: *mut u64, words: usize, context: u64) {
    // SAFETY: the callers got the pointer from such a function.
    let body = unsafe { core::mem::transmute::<*const (), Body>(body) };
    // SAFETY: the space of the task is active; `words` words are mapped at `data`, and only the one
    // thread of the task uses them.
    let data = unsafe { core::slice::from_raw_parts_mut(data, words) };
    body(data, context);
}

extern "C" fn execute_and_end(body: *const (), data: *mut u64, words: usize, context: u64) -> ! {
    execute(body, data, words, context);
    service::end_thread()
}

/// A thread that does not run: its registers and its address space.
#[derive(Debug)]
pub struct Thread {
    frame: Frame,
    ttbr0: u64,
}

impl Thread {
    /// No thread: a place for one that is interrupted.
    pub const NONE: Self = Self { frame: Frame::EMPTY, ttbr0: 0 };

    /// Keeps the interrupted thread of this processor here.
    pub fn keep(&mut self, frame: &Frame) {
        *self = Self { frame: *frame, ttbr0: space::current() };
    }

    /// Lets this thread go on in place of the interrupted one.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn resume(&self, frame: &mut Frame) {
        assert_ne!(self.ttbr0, 0, "no thread to go on with");
        // SAFETY: the handler that calls this uses only what belongs to the program; the thread goes
        // on in the space in which it was.
        unsafe { space::enter(self.ttbr0) }
        *frame = self.frame;
    }
}
