//! The doorbell page of a VM with vColoring (see `bulkhead_abi::doorbell`).

use bulkhead_abi::doorbell::{
    AUDIT, INFO, INFO_SELECTORS, LOCATE, MAGIC, MAGIC_VALUE, MARK, REQUEST, RESULT,
};

use super::hypercall::{mark, vm_info};
use crate::arch::context::Context;
use crate::pcpu::{Assignment, Pcpu};
use crate::stage1::Space;

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
                at.vm.request_colors(Space::current(), value, at, pcpu);
            }
            MARK => mark(value, at, pcpu),
            LOCATE => at.vm.locate(value, context.is_el0()),
            _ => return None,
        }
        return Some(0);
    }
    Some(match offset {
        RESULT => at.vm.coloring_result() as u64,
        AUDIT => at.vm.audit(at, pcpu).map_or_else(|address| address | 1, |()| 0),
        MAGIC => MAGIC_VALUE,
        INFO..INFO_END if offset.is_multiple_of(8) => vm_info((offset - INFO) / 8, at),
        _ => return None,
    })
}
