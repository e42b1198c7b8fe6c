//! What lies in RAM at the start: the kernel, its parameters, the initial RAM disk.

use std::io::Cursor;

use abi::kvm::RAM_MAX;
use linux_loader::configurator::linux::LinuxBootConfigurator;
use linux_loader::configurator::{BootConfigurator, BootParams};
use linux_loader::loader::bootparam::{XLF_KERNEL_64, boot_e820_entry, boot_params, setup_header};
use linux_loader::loader::bzimage::BzImage;
use linux_loader::loader::{KernelLoader, load_cmdline};
use vm_memory::{Bytes, GuestAddress};

use super::registers::{PARAMETERS, TABLES_END, write_tables};
use crate::error::Error;
use crate::sys::{guest_memory::View, memory::Memory};

/// Where kernels are loaded, which move themselves then.
const KERNEL: u64 = 1 << 20;
/// The first instruction of a kernel in 64-bit mode.
pub const ENTRY: u64 = KERNEL + 0x200;
const COMMAND_LINE: u64 = 0x2_0000;
/// The end of the memory below 1 MiB that is free in a PC.
const LOW_END: u64 = 0x9_fc00;
const PAGE: u64 = 4096;
/// The oldest protocol with an entry in 64-bit mode.
const VERSION_MIN: u16 = 0x020c;
const E820_RAM: u32 = 1;

const _: () = assert!(TABLES_END <= COMMAND_LINE);

/// The files of a Linux.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// The kernel, a `bzImage`.
    pub kernel: &'a [u8],
    /// The initial RAM disk.
    pub initrd: Option<&'a [u8]>,
    /// The command line.
    pub arguments: &'a str,
}

/// Where things lie.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Places {
    /// The end of the memory that the kernel takes before it looks for more.
    kernel_end: u64,
    /// The start of the initial RAM disk.
    initrd: u64,
}

/// Puts a Linux into RAM, which starts at address 0.
pub fn load(ram: &Memory, files: Files<'_>) -> Result<(), Error> {
    let memory = &View::of(ram)?;
    let not_loadable = |_| Error::Kernel("it is cut off, or is no kernel for a PC");
    // A kernel that does not fit is refused below with the size that it needs.
    if files.kernel.len() as u64 > ram.bytes().saturating_sub(KERNEL) {
        return Err(too_little(KERNEL + files.kernel.len() as u64));
    }
    let at = GuestAddress(KERNEL);
    let loaded = BzImage::load(memory, Some(at), &mut Cursor::new(files.kernel), None);
    let header = loaded.map_err(not_loadable)?.setup_header.unwrap_or_default();
    let places = places(header, ram.bytes(), files)?;
    write_tables(ram);
    write_command_line(memory, files.arguments)?;
    if let Some(initrd) = files.initrd {
        let written = memory.write_slice(initrd, GuestAddress(places.initrd));
        written.map_err(|_| too_little(places.kernel_end + initrd.len() as u64))?;
    }
    let mut parameters = boot_params { hdr: header, ..boot_params::default() };
    // No boot loader that has a number.
    parameters.hdr.type_of_loader = 0xff;
    parameters.hdr.cmd_line_ptr = COMMAND_LINE as u32;
    // RAM ends below 4 GiB.
    parameters.hdr.ramdisk_image = places.initrd as u32;
    parameters.hdr.ramdisk_size = files.initrd.map_or(0, <[u8]>::len) as u32;
    let areas = [(0, LOW_END), (KERNEL, ram.bytes())];
    for (entry, (start, end)) in parameters.e820_table.iter_mut().zip(areas) {
        *entry = boot_e820_entry { addr: start, size: end - start, r#type: E820_RAM };
    }
    parameters.e820_entries = areas.len() as u8;
    let parameters = BootParams::new(&parameters, GuestAddress(PARAMETERS));
    LinuxBootConfigurator::write_bootparams(&parameters, memory).map_err(|_| too_little(KERNEL))
}

fn write_command_line(memory: &View<'_>, arguments: &str) -> Result<(), Error> {
    let mut line = linux_loader::cmdline::Cmdline::new(arguments.len() + 1)
        .map_err(|_| Error::Kernel("its command line is too long"))?;
    line.insert_str(arguments).map_err(|_| {
        Error::Kernel("its command line has characters other than printable ones of ASCII")
    })?;
    load_cmdline(memory, GuestAddress(COMMAND_LINE), &line)
        .map_err(|_| Error::Kernel("its command line is too long"))
}

/// Finds room for everything in RAM of this size.
fn places(header: setup_header, ram: u64, files: Files<'_>) -> Result<Places, Error> {
    if header.version < VERSION_MIN || header.xloadflags & XLF_KERNEL_64 == 0 {
        return Err(Error::Kernel(
            "it has no entry in 64-bit mode (`CONFIG_X86_64`, Linux 3.8 or newer)",
        ));
    }
    if files.arguments.len() as u64 > u64::from(header.cmdline_size) {
        return Err(Error::Kernel("its command line is longer than it reads"));
    }
    // It moves itself there, and has its first page tables behind itself.
    let loaded_end = KERNEL + files.kernel.len() as u64;
    let kernel_end = header.pref_address.saturating_add(header.init_size.into()).max(loaded_end);
    let initrd_bytes = files.initrd.map_or(0, |it| it.len() as u64);
    let end = ram.min(u64::from(header.initrd_addr_max) + 1);
    let initrd = end.checked_sub(initrd_bytes).map(|start| start / PAGE * PAGE);
    match initrd.filter(|start| *start >= kernel_end) {
        Some(initrd) => Ok(Places { kernel_end, initrd }),
        None => Err(too_little(kernel_end.saturating_add(initrd_bytes + PAGE))),
    }
}

fn too_little(needed: u64) -> Error {
    Error::TooLittle { needed: needed.min(RAM_MAX * 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A file that begins as a kernel does.
    fn kernel() -> Vec<u8> {
        let mut file = vec![0; 8 << 10];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0x1f1, &[3]);
        put(0x202, b"HdrS");
        put(0x206, &0x020f_u16.to_le_bytes());
        put(0x211, &[1]);
        put(0x22c, &0x7fff_ffff_u32.to_le_bytes());
        put(0x236, &1_u16.to_le_bytes());
        put(0x238, &2047_u32.to_le_bytes());
        put(0x258, &(16 * MIB).to_le_bytes());
        put(0x260, &(8 * MIB as u32).to_le_bytes());
        put(0x800, b"the first instruction");
        file
    }

    fn files(kernel: &[u8]) -> Files<'_> {
        Files { kernel, initrd: Some(b"the disk"), arguments: "console=ttyS0" }
    }

    #[test]
    fn kernel_command_line_and_initial_ram_disk_are_where_the_parameters_say() {
        let ram = Memory::new("ram", 32 * MIB).expect("memory");
        load(&ram, files(&kernel())).expect("it fits");
        let read = |address, length| {
            let mut bytes = vec![0; length];
            ram.read(address, &mut bytes);
            bytes
        };
        let number = |offset| {
            let bytes = read(PARAMETERS + offset, 4);
            u64::from(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
        };
        assert_eq!(read(KERNEL, 21), b"the first instruction");
        assert_eq!(read(number(0x228), 14), b"console=ttyS0\0");
        assert_eq!((number(0x218), number(0x21c)), (32 * MIB - PAGE, 8));
        assert_eq!(read(number(0x218), 8), b"the disk");
        assert_eq!(read(PARAMETERS + 0x1e8, 1), [2]);
        assert_eq!((number(0x2d0 + 20), number(0x2d0 + 28)), (KERNEL, 31 * MIB));
    }

    #[test]
    fn what_is_no_kernel_or_does_not_fit_is_refused() {
        let refused = |bytes, files| {
            let ram = Memory::new("ram", bytes).expect("memory");
            load(&ram, files).expect_err("it is refused").to_string()
        };
        let good = kernel();
        assert!(refused(16 * MIB, files(&good)).contains("at least 25 MiB"));
        assert!(refused(MIB, files(&good)).contains("at least"));
        let long = "x".repeat(2048);
        let arguments = Files { arguments: &long, ..files(&good) };
        assert!(refused(32 * MIB, arguments).contains("longer than"));
        let arguments = Files { arguments: "a=\u{fc}", ..files(&good) };
        assert!(refused(32 * MIB, arguments).contains("ASCII"));
        let mut old = kernel();
        old[0x236] = 0;
        assert!(refused(32 * MIB, files(&old)).contains("64-bit"));
        for length in [0, 1, 0x1f1, 0x202, 0x270, 0x7ff] {
            let refused = refused(32 * MIB, files(&good[..length]));
            assert!(refused.contains("kernel"), "{length}: {refused}");
        }
        assert!(refused(32 * MIB, files(b"\x7fELF")).contains("no kernel for a PC"));
    }
}
