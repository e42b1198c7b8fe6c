//! What this program needs to know of an ELF file.

use anyhow::{Context, Result, anyhow, ensure};
use object::elf::PT_LOAD;
use object::read::elf::{ElfFile64, ProgramHeader, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, elf};

/// Larger than any guest: a file that is spread wider is linked wrongly.
const FLAT_MAX: u64 = 64 << 20;

/// Bytes that go into memory as one piece.
#[derive(Debug, Eq, PartialEq)]
pub struct Flat {
    /// Address of the first byte.
    pub address: u64,
    /// The loadable segments; gaps between them are zero. Zeroed memory behind the last one is left out.
    pub bytes: Vec<u8>,
}

/// Flattens the loadable segments of a 64-bit little-endian ELF file.
pub fn flatten(file: &[u8]) -> Result<Flat> {
    let parsed = ElfFile64::<LittleEndian>::parse(file)?;
    let mut segments = Vec::new();
    for header in parsed.elf_program_headers() {
        if header.p_type(LittleEndian) == PT_LOAD && header.p_filesz(LittleEndian) > 0 {
            let address = header.p_paddr(LittleEndian);
            let data = header
                .data(LittleEndian, file)
                .map_err(|()| anyhow!("the segment at {address:#x} is cut off"))?;
            segments.push((address, data));
        }
    }
    let start = segments.iter().map(|(address, _)| *address).min();
    let start = start.context("it has no loadable segment")?;
    let mut bytes = Vec::new();
    for (address, data) in segments {
        ensure!(
            address - start <= FLAT_MAX,
            "the segment at {address:#x} lies too far behind the first one at {start:#x}"
        );
        let at = (address - start) as usize;
        let end = at + data.len();
        bytes.resize(bytes.len().max(end), 0);
        bytes[at..end].copy_from_slice(data);
    }
    Ok(Flat { address: start, bytes })
}

/// Bytes of code and of data that never changes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ReadOnly {
    /// Sections with code.
    pub code: u64,
    /// Other sections that are not written after start-up, relocations included.
    pub rodata: u64,
}

/// Adds up the sections of a 64-bit little-endian ELF file that are loaded and not written.
pub fn read_only(file: &[u8]) -> Result<ReadOnly> {
    let parsed = ElfFile64::<LittleEndian>::parse(file)?;
    let mut sum = ReadOnly::default();
    for section in parsed.sections() {
        let flags = section.elf_section_header().sh_flags(LittleEndian);
        // Written once, by relocation, and read-only from then on.
        let relocated = section.name()?.starts_with(".data.rel.ro") || section.name()? == ".got";
        if !flags.contains(elf::SHF_ALLOC) || (flags.contains(elf::SHF_WRITE) && !relocated) {
            continue;
        }
        if flags.contains(elf::SHF_EXECINSTR) {
            sum.code += section.size();
        } else {
            sum.rodata += section.size();
        }
    }
    Ok(sum)
}
