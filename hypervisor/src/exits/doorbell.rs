//! The doorbell page of a VM with vColoring (see `abi::doorbell`).

use abi::doorbell::{
    AUDIT, INFO, INFO_SELECTORS, LOCATE, MAGIC, MAGIC_VALUE, MARK, REQUEST, RESULT,
};

use super::hypercall::{mark, vm_info};
use crate::arch::context::Context;
use crate::arch::regs;
use crate::pcpu::{Assignment, Pcpu};
use crate::stage1::Space;
use crate::vdev::access::Access;
use crate::vm::work::{self, Answer};

/// The zero register.
const NO_REGISTER: u8 = 31;

/// One access of 64 bits; `None` if there is no register that allows it. A load gets
/// the value.
#[inline(never)]
pub fn access(
    context: &Context,
    at: &Assignment,
    pcpu: &'static Pcpu,
    offset: u64,
    write: Option<u64>,
) -> Option<u64> {
    const INFO_END: u64 = INFO + 8 * INFO_SELECTORS;
    if let Some(value) = write {
        match offset {
            REQUEST => {
                let answer = Answer::Access(NO_REGISTER);
                at.vm.request_colors(Space::current(), value, answer, at, pcpu);
            }
            MARK => mark(value, at, pcpu),
            LOCATE => at.vm.locate(value, context.is_el0()),
            _ => return None,
        }
        return Some(0);
    }
    Some(match offset {
        RESULT => at.vm.coloring_result() as u64,
        AUDIT => {
            // Nothing has changed the syndrome since the exit.
            let register = Access::new(regs::esr_el2::read()).register;
            work::audit(Answer::Access(register as u8), at, pcpu)
        }
        MAGIC => MAGIC_VALUE,
        INFO..INFO_END if offset.is_multiple_of(8) => vm_info((offset - INFO) / 8, at),
        _ => return None,
    })
}
