//! The hypervisor's ELF file as the bytes that a boot loader puts into memory.

use std::path::Path;

use object::elf::PT_LOAD;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSymbol};

use abi::image::ALIGNMENT;

use crate::arm64;
use crate::error::Error;

/// Symbol at the end of the hypervisor's memory: the payload starts there.
const END_SYMBOL: &str = "__image_end";
/// Larger than any hypervisor: a file that asks for more memory is damaged.
const MEMORY_MAX: u64 = 1 << 30;

/// The hypervisor, flattened: code, data and zeroed memory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hypervisor {
    memory: Vec<u8>,
}

impl Hypervisor {
    /// Reads the ELF file at `path`.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let elf = std::fs::read(path)
            .map_err(|source| Error::ReadHypervisor { path: path.to_owned(), source })?;
        Self::from_elf(&elf)
            .map_err(|problem| Error::HypervisorElf { path: path.to_owned(), problem })
    }

    /// Flattens an ELF file; the error says what is wrong with it.
    pub fn from_elf(elf: &[u8]) -> Result<Self, String> {
        let file = ElfFile64::<LittleEndian>::parse(elf)
            .map_err(|error| format!("it is not a 64-bit little-endian ELF file: {error}"))?;
        let endian = LittleEndian;
        let machine = file.elf_header().e_machine(endian);
        if machine != object::elf::EM_AARCH64 {
            return Err(format!("it is made for ELF machine {}, not for AArch64 (183)", machine.0));
        }
        let segments: Vec<_> = file
            .elf_program_headers()
            .iter()
            .filter(|segment| segment.p_type(endian) == PT_LOAD && segment.p_memsz(endian) > 0)
            .collect();
        let base = segments
            .iter()
            .map(|segment| segment.p_vaddr(endian))
            .min()
            .ok_or("it has no loadable segment")?;
        let end = file
            .symbols()
            .find(|symbol| symbol.name() == Ok(END_SYMBOL))
            .map(|symbol| symbol.address())
            .ok_or_else(|| {
                format!(
                    "it has no symbol `{END_SYMBOL}`, because it was stripped or is another program"
                )
            })?;
        let bytes = end
            .checked_sub(base)
            .filter(|bytes| *bytes <= MEMORY_MAX && bytes % ALIGNMENT as u64 == 0)
            .ok_or_else(|| {
                format!("its symbol `{END_SYMBOL}` is {end:#x}, which is not a multiple of 4 KiB behind {base:#x}")
            })?;
        let mut memory = vec![0; bytes as usize];
        for segment in segments {
            let at = segment.p_vaddr(endian) - base;
            let data = segment
                .data(endian, elf)
                .map_err(|()| format!("its segment at {:#x} is cut off", at + base))?;
            let inside = at
                .checked_add(segment.p_memsz(endian).max(data.len() as u64))
                .is_some_and(|end| end <= bytes);
            if !inside {
                return Err(format!("its segment at {:#x} ends behind `{END_SYMBOL}`", at + base));
            }
            memory[at as usize..at as usize + data.len()].copy_from_slice(data);
        }
        if arm64::Header::read(&memory).is_none() {
            return Err("it does not start with the header of an arm64 `Image`".into());
        }
        Ok(Self { memory })
    }

    /// Returns the memory of the hypervisor as it is loaded; the payload follows.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }
}
