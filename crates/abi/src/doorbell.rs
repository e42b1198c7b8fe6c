//! The doorbell page: colours, marks and the audit by loads and stores.
//!
//! A VM with vColoring has one page of virtual device registers at the `reg` of the node
//! `coloring@...` ([`COMPATIBLE`]) in its device tree. The registers work from EL1 and from EL0, so
//! that a process that has mapped the page needs no system call. Accesses are 64 bits wide and
//! aligned. All other accesses cause a data abort, as do accesses to registers that do not exist,
//! loads of write-only registers and stores to read-only registers.
//!
//! Results are per address space, which the table in `TTBR0_EL1` identifies: if [`RESULT`] is
//! [`Error::TryAgain`](crate::hypercall::Error::TryAgain), another address space has made a request
//! since, and the caller has to repeat its own. Requests may be repeated.

/// Value of `compatible` of the page in the guest's device tree.
pub const COMPATIBLE: &str = "bulkhead,coloring";

/// Bytes of the page.
pub const PAGE_BYTES: u64 = crate::limits::PAGE_BYTES;

/// Written: requests colours, as [`COLOR_REQUEST`](crate::hypercall::COLOR_REQUEST) does with this
/// value in `x1`. The store completes when the request is complete.
pub const REQUEST: u64 = 0x000;

/// Read: result of the last store of this address space to [`REQUEST`] or [`LOCATE`], a
/// signed number.
pub const RESULT: u64 = 0x008;

/// Written: a mark, as [`TRACE_MARK`](crate::hypercall::TRACE_MARK).
pub const MARK: u64 = 0x010;

/// Read: checks the stage-2 tables of the VM: 0, or the first wrong address with bit 0 set.
pub const AUDIT: u64 = 0x018;

/// Read: [`MAGIC_VALUE`].
pub const MAGIC: u64 = 0x020;

/// Written: a virtual address of the caller; [`RESULT`] is then the colour of the frame
/// behind it, or [`Error::BadAddress`](crate::hypercall::Error::BadAddress).
pub const LOCATE: u64 = 0x030;

/// Read: [`VM_INFO`](crate::hypercall::VM_INFO) with selector `s` at `INFO + 8 * s`, for `s`
/// below [`INFO_SELECTORS`].
pub const INFO: u64 = 0x400;

/// Selectors at [`INFO`].
pub const INFO_SELECTORS: u64 = 0x80;

/// "BULKHEAD", the first letter in the lowest byte.
pub const MAGIC_VALUE: u64 = u64::from_le_bytes(*b"BULKHEAD");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_distinct_and_lie_in_the_page() {
        let registers = [REQUEST, RESULT, MARK, AUDIT, MAGIC, LOCATE, INFO];
        assert!(registers.is_sorted_by(|a, b| a < b));
        assert!(registers.iter().all(|register| register % 8 == 0));
        assert_eq!(INFO + 8 * INFO_SELECTORS, 0x800);
        assert_eq!(MAGIC_VALUE, 0x4441_4548_4b4c_5542);
    }
}
