//! Reads the files of a VM and checks that they can be loaded as they are.

use std::io::ErrorKind;
use std::path::Path;

use system::plan::{File, Vm};

use crate::arm64;
use crate::checkout;
use crate::error::{Error, GuestFileProblem};

/// Linux wants its base at a multiple of this, in bytes.
const KERNEL_ALIGNMENT: u64 = 2 << 20;

/// A file and the memory it needs.
pub(crate) struct Loaded {
    /// The bytes of the file.
    pub(crate) data: Vec<u8>,
    /// Bytes of memory from the load address; more than the file when the
    /// kernel's header says so (its zeroed data).
    pub(crate) memory_bytes: u64,
}

/// Reads the kernel of `vm`; paths are relative to `folder`.
pub(crate) fn kernel(vm: &Vm, folder: &Path) -> Result<Loaded, Error> {
    load(vm, "kernel", &vm.boot.kernel, folder, |data| {
        if let Some(format) = compression(data) {
            return Err(GuestFileProblem::Compressed(format));
        }
        let Some(header) = arm64::Header::read(data) else {
            // A bare-metal guest may be any bytes; an initrd shows that it is Linux.
            return if vm.boot.initrd.is_some() { Err(GuestFileProblem::NoImage) } else { Ok(0) };
        };
        let load = vm.boot.kernel.load;
        if vm.boot.initrd.is_some()
            && load.0 % KERNEL_ALIGNMENT != header.text_offset % KERNEL_ALIGNMENT
        {
            return Err(GuestFileProblem::Placement { text_offset: header.text_offset, load });
        }
        Ok(header.image_size)
    })
}

/// Reads the initial RAM disk of `vm`, if it has one.
pub(crate) fn initrd(vm: &Vm, folder: &Path) -> Result<Option<Loaded>, Error> {
    let Some(file) = &vm.boot.initrd else { return Ok(None) };
    load(vm, "initrd", file, folder, |_| Ok(0)).map(Some)
}

fn load(
    vm: &Vm,
    key: &'static str,
    file: &File,
    folder: &Path,
    check: impl FnOnce(&[u8]) -> Result<u64, GuestFileProblem>,
) -> Result<Loaded, Error> {
    let path = folder.join(&file.file);
    let read = || {
        let found = std::fs::metadata(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => GuestFileProblem::NotFound { help: checkout::advice(&path) },
            _ => GuestFileProblem::Read(error),
        })?;
        // Devices and pipes would never end.
        if !found.is_file() {
            return Err(GuestFileProblem::NoFile);
        }
        let data = std::fs::read(&path)?;
        if data.is_empty() {
            return Err(GuestFileProblem::Empty);
        }
        if data.starts_with(b"\x7fELF") {
            return Err(GuestFileProblem::Elf);
        }
        let announced = check(&data)?;
        Ok(Loaded { memory_bytes: announced.max(data.len() as u64), data })
    };
    read().map_err(|problem| Error::GuestFile { vm: vm.name.clone(), key, path, problem })
}

/// Name of the compression that a kernel file has, if it has one.
fn compression(data: &[u8]) -> Option<&'static str> {
    if data.starts_with(b"MZ") && data.get(4..8) == Some(b"zimg") {
        return Some("EFI zboot");
    }
    let formats: [(&[u8], &str); 4] = [
        (b"\x1f\x8b", "gzip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"BZh", "bzip2"),
    ];
    formats.iter().find(|(magic, _)| data.starts_with(magic)).map(|(_, name)| *name)
}
