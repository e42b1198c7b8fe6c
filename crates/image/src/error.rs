//! Errors of building an image.

use std::path::{Path, PathBuf};

use thiserror::Error as ThisError;

use system::address::{Ipa, Region};
use units::Bytes;

use crate::checkout;

/// The reason why no image was built.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The hypervisor's file cannot be read.
    #[error("cannot read the hypervisor {}: {source}\nhelp: {}", path.display(), hypervisor_help(path))]
    ReadHypervisor {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The hypervisor's file is not a Bulkhead hypervisor.
    #[error("{} is not a Bulkhead hypervisor: {problem}\nhelp: name build/hypervisor.elf of a checkout or of a release", path.display())]
    HypervisorElf {
        /// The file.
        path: PathBuf,
        /// Description of the mistake.
        problem: String,
    },
    /// A file of a VM cannot be used.
    #[error("VM `{vm}`: {key} file {}: {problem}", path.display())]
    GuestFile {
        /// Name of the VM.
        vm: String,
        /// `kernel` or `initrd`.
        key: &'static str,
        /// The file, as it was looked for.
        path: PathBuf,
        /// The reason.
        problem: GuestFileProblem,
    },
    /// Something that is loaded does not lie in one region of the VM's RAM.
    #[error(
        "VM `{vm}`: {what} ({size}) is loaded at {region} and does not fit there: the RAM of the VM is {ram}\n\
         help: give the VM more memory or load it elsewhere"
    )]
    OutsideRam {
        /// Name of the VM.
        vm: String,
        /// `kernel`, `initrd` or `device tree`.
        what: &'static str,
        /// Its size in memory.
        size: Bytes,
        /// Region that it would occupy.
        region: Region<Ipa>,
        /// The RAM of the VM, as text.
        ram: String,
    },
    /// Two things that are loaded overlap.
    #[error(
        "VM `{vm}`: {first} at {first_region} and {second} at {second_region} overlap\n\
         help: move one of the load addresses"
    )]
    Overlap {
        /// Name of the VM.
        vm: String,
        /// Name of the first.
        first: &'static str,
        /// Region of the first.
        first_region: Region<Ipa>,
        /// Name of the second.
        second: &'static str,
        /// Region of the second.
        second_region: Region<Ipa>,
    },
    /// The load address of a device tree is not a multiple of 8.
    #[error(
        "VM `{vm}`: the device tree is loaded at {load}, which is not a multiple of 8\n\
         help: choose a multiple of 4 KiB"
    )]
    DeviceTreeAlignment {
        /// Name of the VM.
        vm: String,
        /// The load address.
        load: Ipa,
    },
    /// A device cannot be described to the guest.
    #[error("VM `{vm}`: no device tree can be generated for it: {problem}")]
    DeviceTree {
        /// Name of the VM.
        vm: String,
        /// Description of the mistake.
        problem: String,
    },
    /// The image does not fit into the RAM of the hypervisor.
    #[error(
        "the image has {image} and needs a hypervisor region of {needed} or more; the plan gives it {given}\n\
         help: give the hypervisor more memory in the description, or use smaller guest files"
    )]
    HypervisorRegion {
        /// Size of the image.
        image: Bytes,
        /// Least size of the region.
        needed: Bytes,
        /// Size of the region.
        given: Bytes,
    },
    /// The payload has room for fewer blobs.
    #[error(
        "the image would hold {count} blobs, but {most} is the most\nhelp: use fewer VMs or fewer initial RAM disks"
    )]
    TooManyBlobs {
        /// Number of blobs.
        count: usize,
        /// Most blobs.
        most: usize,
    },
    /// A blob's name is empty or too long.
    #[error(
        "`{0}` cannot be the name of a blob: a name has 1 to 39 bytes\nhelp: give the VM a shorter name"
    )]
    BlobName(String),
    /// The image cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// The reason why a file of a VM cannot be used.
#[derive(Debug, ThisError)]
pub enum GuestFileProblem {
    /// The file does not exist.
    #[error("there is no such file\nhelp: {help}")]
    NotFound {
        /// The remedy.
        help: String,
    },
    /// The path is a folder, a device or a pipe.
    #[error("this is no regular file\nhelp: name a file, not a folder, a device or a pipe")]
    NoFile,
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// The file is empty.
    #[error("the file is empty\nhelp: build it again, or name another file")]
    Empty,
    /// The file is an ELF file: the hypervisor loads bytes as they are.
    #[error(
        "this is an ELF file, but the hypervisor loads flat binaries\n\
         help: convert it with `aarch64-linux-gnu-objcopy -O binary` or `llvm-objcopy -O binary`"
    )]
    Elf,
    /// The file is compressed.
    #[error(
        "this kernel is compressed ({0}), but the hypervisor loads uncompressed arm64 kernels (`Image`)\nhelp: unpack the kernel first"
    )]
    Compressed(&'static str),
    /// A kernel with an initial RAM disk is not an arm64 `Image`.
    #[error(
        "this is not an arm64 `Image` (no \"ARM\\x64\" at offset 56), and the VM has an initrd\n\
         help: Linux needs the arm64 kernel as `Image`; a bare-metal guest takes no initrd"
    )]
    NoImage,
    /// The kernel's load address does not suit its header.
    #[error(
        "the header of the kernel asks for an address that is a multiple of 2 MiB plus {text_offset:#x}, but the plan \
         loads the kernel at {load}\nhelp: change the load address"
    )]
    Placement {
        /// `text_offset` of the header.
        text_offset: u64,
        /// The address to which the plan loads it.
        load: Ipa,
    },
}

/// Returns help that says where to get the hypervisor.
fn hypervisor_help(path: &Path) -> String {
    match checkout::command_for(path) {
        Some(command) => format!("`{command}` makes it"),
        None => "name build/hypervisor.elf of a checkout or of a release".into(),
    }
}
