//! The words and keys of the console, as the hypervisor and the programs at its other end know them.

pub mod render;

use crate::limits::COUNT_MAX;

/// The name of the hypervisor, which no VM may have.
pub const HYPERVISOR: &str = "bulkhead";

/// The label of the hypervisor's own lines.
pub const HYPERVISOR_LABEL: &str = "[bulkhead] ";

/// Ctrl-]: the next key speaks to the console and not to a VM.
pub const ESCAPE: u8 = 0x1d;

/// Behind [`ESCAPE`]: shows all VMs.
pub const ALL: u8 = b'a';

/// Behind [`ESCAPE`]: shows the first VM of the plan alone. The keys of the other VMs follow.
pub const FOCUS_FIRST: u8 = b'0';

/// Behind [`ESCAPE`]: shows the last VM that there can be alone.
pub const FOCUS_LAST: u8 = FOCUS_FIRST + COUNT_MAX as u8 - 1;

/// Behind [`ESCAPE`]: the next byte, whatever it is, goes to the first VM of the plan. View and input stay as they
/// are. The keys of the other VMs follow.
pub const SEND_FIRST: u8 = b'A';

/// Behind [`ESCAPE`]: the next byte goes to the last VM that there can be.
pub const SEND_LAST: u8 = SEND_FIRST + COUNT_MAX as u8 - 1;

/// Behind [`ESCAPE`]: leaves `bulkhead run`.
pub const QUIT: u8 = b'q';

/// Cancels a sequence that a guest left open, and resets attributes, character sets, margins and the cursor
/// (DECSTR).
pub const SOFT_RESET: &str = "\x18\x1b[!p";

/// Sent when the raw output of a VM ends: [`SOFT_RESET`], and a new line.
pub const END_OF_RAW: &str = "\x18\x1b[!p\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_consist_of_their_parts() {
        assert_eq!(HYPERVISOR_LABEL, format!("[{HYPERVISOR}] "));
        assert_eq!(END_OF_RAW, format!("{SOFT_RESET}\r\n"));
    }
}
