//! What a task asks the scheduler of its processor for, by `SVC`.

use core::arch::asm;

use super::exceptions::{Frame, LOCK, UNLOCK};

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

impl Frame {
    /// What the thread passed with its `SVC`.
    pub fn argument(&self) -> u64 {
        self.x[0]
    }

    /// What its `SVC` returns.
    pub fn set_result(&mut self, result: i64) {
        self.x[0] = result as u64;
    }

    /// The thread is to do its `SVC` again when it goes on.
    pub fn repeat_service(&mut self) {
        self.pc -= INSTRUCTION;
    }
}
