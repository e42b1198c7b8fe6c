//! Bulkhead's hypercalls, where the guest runs on Bulkhead; see `abi::hypercall`.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use core::fmt;

use abi::hypercall::{
    AUDIT, CALL_UID, COLOR_REQUEST, CONSOLE_WRITE, Error, FEATURE_COLORING, FEATURE_CONSOLE_WRITE,
    FEATURE_TRACE_MARK, FEATURE_VM_INFO, FEATURES, REVISION, TRACE_MARK, UID, VERSION_MAJOR,
    VM_INFO, VmInfo,
};

use crate::arch::cpu;
use crate::arch::physical_address;
use crate::arch::smccc::{hvc, try_hvc};

static PRESENT: AtomicU64 = AtomicU64::new(0);

fn call(function: u32, x1: u64, x2: u64) -> i64 {
    hvc(function.into(), [x1, x2, 0, 0, 0, 0, 0])[0] as i64
}

/// Asks whether the hypervisor is Bulkhead, and for the features that it offers. Without Bulkhead, nothing is offered.
pub fn detect() {
    let is_bulkhead =
        try_hvc(CALL_UID.into()).is_ok_and(|words| words.map(|word| word as u32) == UID);
    if is_bulkhead && call(REVISION, 0, 0) as u32 == VERSION_MAJOR {
        PRESENT.store(call(FEATURES, 0, 0).max(0) as u64, Relaxed);
    }
}

/// The features offered: `FEATURE_*` bits, 0 without Bulkhead.
pub fn features() -> u64 {
    PRESENT.load(Relaxed)
}

fn has(feature: u64) -> bool {
    features() & feature != 0
}

/// Writes to the console; returns the number of bytes taken, or `None` without this feature. The
/// bytes lie in one page.
pub fn console_write(bytes: &[u8]) -> Option<usize> {
    if !has(FEATURE_CONSOLE_WRITE) {
        return None;
    }
    let address = physical_address(bytes.as_ptr())?;
    let taken = call(CONSOLE_WRITE, address, bytes.len() as u64);
    usize::try_from(taken).ok().filter(|&taken| taken <= bytes.len())
}

/// Puts a mark into the trace, or does nothing without this feature.
pub fn trace_mark(value: u64) {
    if has(FEATURE_TRACE_MARK) {
        call(TRACE_MARK, value, 0);
    }
}

/// A fact about the VM, or `None` without this feature.
pub fn vm_info(what: VmInfo) -> Option<u64> {
    if !has(FEATURE_VM_INFO) {
        return None;
    }
    u64::try_from(call(VM_INFO, what as u64, 0)).ok()
}

/// Compares the hypervisor's tables with its plan: 0, or a negative error.
pub fn audit() -> i64 {
    call(AUDIT, 0, 0)
}

/// A request for colours that was refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ColorsRefused {
    /// The VM has no extra colours.
    NoColoring,
    /// The hypervisor returned this error.
    Error(i64),
}

impl fmt::Display for ColorsRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoColoring => f.write_str("request for colours: this VM has no extra colours"),
            Self::Error(error) if *error == Error::NoMemory as i64 => {
                f.write_str("request for colours: too few free frames of them: more extra_memory")
            }
            Self::Error(error) if *error == Error::Invalid as i64 => {
                f.write_str("request for colours: they are not all extra colours of this VM")
            }
            Self::Error(error) => write!(f, "request for colours: error {error}"),
        }
    }
}

/// Requests extra colours (bit field; 0: none) for the address space that is active; returns the number
/// of its pages. Waits while another request of the VM is under way.
pub fn request_colors(colors: u64) -> Result<u64, ColorsRefused> {
    if !has(FEATURE_COLORING) {
        return Err(ColorsRefused::NoColoring);
    }
    loop {
        let result = call(COLOR_REQUEST, colors, 0);
        if result == Error::Busy as i64 {
            // No `YIELD`, which lets this processor's clock fall behind under some emulators.
            cpu::burn(100);
        } else {
            return u64::try_from(result).map_err(|_| ColorsRefused::Error(result));
        }
    }
}
