//! The one bootable image of a Bulkhead system.
//!
//! [`build()`] takes a plan and the hypervisor's ELF file, reads the files of
//! the VMs, generates their device trees and returns the image in the layout of
//! [`abi::image`]; [`write()`] puts it into a file. [`verify()`] reads an
//! image back and checks every byte that the hypervisor will check.
//!
//! ```text
//!  plan ──┬─ to a flattened device tree ──────────────► blob `plan`
//!         ├─ guest_dt: a device tree for each VM ─────► blob `<vm>/device-tree`
//!         └─ guest_file: reads and checks the files ──► blobs `<vm>/kernel`, `<vm>/initrd`
//!  ELF ───── hypervisor: flattened ───────────────────► start of the image
//! ```

#![forbid(unsafe_code)]

mod abandoned;
mod arm64;
mod assemble;
pub mod checkout;
mod error;
pub mod guest_dt;
mod guest_file;
mod hypervisor;
mod payload;
mod verify;
mod whole_file;
mod write;

pub use abandoned::{LockedFolder, locked_file, remove_abandoned, remove_abandoned_after};
pub use assemble::{Image, build};
pub use error::{Error, GuestFileProblem};
pub use hypervisor::Hypervisor;
pub use payload::{Blob, EarlyConsole, pack};
pub use verify::{Contents, Entry, VerifyError, verify};
pub use whole_file::WholeFile;
pub use write::{check_target, is_special, without_path, write};
