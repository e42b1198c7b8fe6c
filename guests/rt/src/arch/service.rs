//! Services that threads ask for by `SVC`.

use core::arch::asm;

use super::frame::Frame;
use super::{cpu, stacks};

/// The job of the thread is done.
pub(super) const JOB_DONE: u64 = 0;
/// The thread has ended.
pub(super) const END_THREAD: u64 = 1;
/// Code at EL0 has ended.
pub(super) const LEAVE_USER: u64 = 2;
/// The thread wants to go on at EL0.
pub(super) const ENTER_USER: u64 = 3;
/// The running task asks for a resource.
pub(super) const LOCK: u64 = 4;
/// The running task releases a resource.
pub(super) const UNLOCK: u64 = 5;

/// Bytes of an instruction.
const INSTRUCTION: u64 = 4;

/// Asks for a resource, which [`crate::sections`] knows by this word; returns when the task has it, or
/// with a negative error.
pub fn lock(resource: u64) -> i64 {
    let mut x0 = resource;
    // SAFETY: the handler keeps all other registers and changes no memory of the task.
    unsafe { asm!("svc #{}", const LOCK, inout("x0") x0, options(nostack)) }
    x0 as i64
}

/// Releases a resource; returns 0, or a negative error.
pub fn unlock(resource: u64) -> i64 {
    let mut x0 = resource;
    // SAFETY: as in `lock`.
    unsafe { asm!("svc #{}", const UNLOCK, inout("x0") x0, options(nostack)) }
    x0 as i64
}

extern "C" fn run_jobs(body: *const ()) -> ! {
    // SAFETY: `Frame::of_task` made the pointer out of such a function.
    let body = unsafe { core::mem::transmute::<*const (), fn(u64)>(body) };
    let mut job = 0;
    loop {
        body(job);
        // SAFETY: the handler keeps all registers and returns when the next job is due.
        unsafe { asm!("svc #{}", const JOB_DONE) }
        job += 1;
    }
}

/// Ends the running thread of [`crate::round_robin`].
pub(super) fn end_thread() -> ! {
    // SAFETY: the handler lets another thread go on, and this one never again.
    unsafe { asm!("svc #{}", "b .", const END_THREAD, options(noreturn)) }
}

impl Frame {
    /// A thread of task `task` of this processor that will call `body` with 0, 1, 2, ..., once for each job.
    pub fn of_task(task: usize, body: fn(u64)) -> Self {
        let mut frame =
            Self::at_el1(run_jobs as *const () as u64, stacks::task_end(cpu::index(), task) as u64);
        frame.x[0] = body as *const () as u64;
        frame
    }

    /// Returns the argument that the thread passed with its `SVC`.
    pub fn argument(&self) -> u64 {
        self.x[0]
    }

    /// Sets the result of its `SVC`.
    pub fn set_result(&mut self, result: i64) {
        self.x[0] = result as u64;
    }

    /// The thread is to do its `SVC` again when it goes on.
    pub fn repeat_service(&mut self) {
        self.pc -= INSTRUCTION;
    }
}
