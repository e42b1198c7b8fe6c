//! The parts of an ELF file that this program needs.

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
    /// Other sections that are not written after start-up. Relocations and the
    /// linker's own tables do not count: the entry code reads them once, and how
    /// large they are depends on the linker.
    pub rodata: u64,
}

impl ReadOnly {
    /// Both.
    pub fn total(self) -> u64 {
        self.code + self.rodata
    }
}

/// Adds up the sections of a 64-bit little-endian ELF file that are loaded and not written.
pub fn read_only(file: &[u8]) -> Result<ReadOnly> {
    let parsed = ElfFile64::<LittleEndian>::parse(file)?;
    let mut sum = ReadOnly::default();
    for section in parsed.sections() {
        let flags = section.elf_section_header().sh_flags(LittleEndian);
        // Written once, by relocation, and read-only from then on.
        let relocated = section.name()?.starts_with(".data.rel.ro") || section.name()? == ".got";
        let linker = [".rel", ".dyn", ".hash", ".gnu.hash"];
        if linker.iter().any(|start| section.name().is_ok_and(|name| name.starts_with(start))) {
            continue;
        }
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

#[cfg(test)]
mod tests {
    use object::write::{Object, StandardSection};
    use object::{Architecture, BinaryFormat, Endianness, SectionKind};

    use super::*;

    /// An ELF file with nothing but these loadable segments: address, content, bytes in memory.
    fn program(segments: &[(u64, &[u8], u64)]) -> Vec<u8> {
        let headers = 64 + 56 * segments.len() as u64;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend([2, 0, 183, 0, 1, 0, 0, 0]); // executable, AArch64, version
        file.extend([0u64, 64, 0].map(u64::to_le_bytes).concat()); // entry, program headers, sections
        file.extend([0, 0, 0, 0, 64, 0, 56, 0, segments.len() as u8, 0, 64, 0, 0, 0, 0, 0]);
        let mut offset = headers;
        for (address, content, memory) in segments {
            let bytes = content.len() as u64;
            file.extend([1, 0, 0, 0, 5, 0, 0, 0]); // PT_LOAD, read and execute
            file.extend(
                [offset, *address, *address, bytes, *memory, 1].map(u64::to_le_bytes).concat(),
            );
            offset += bytes;
        }
        for (_, content, _) in segments {
            file.extend(*content);
        }
        file
    }

    #[test]
    fn segments_are_laid_out_by_address_and_memory_behind_them_is_left_out() {
        let file = program(&[(0x4008_0008, b"data", 4096), (0x4008_0000, b"code", 4)]);
        let flat = flatten(&file).unwrap();
        assert_eq!(flat.address, 0x4008_0000);
        assert_eq!(flat.bytes, b"code\0\0\0\0data");
    }

    #[test]
    fn what_cannot_be_flattened_is_refused() {
        let error = |file: &[u8]| flatten(file).unwrap_err().to_string();
        assert!(error(&program(&[])).contains("no loadable segment"));
        assert!(error(&program(&[(0, b"a", 1), (1 << 40, b"b", 1)])).contains("too far"));
        let file = program(&[(0, b"code", 4)]);
        assert!(error(&file[..file.len() - 1]).contains("cut off"));
    }

    #[test]
    fn written_sections_do_not_count_but_relocated_constants_do() {
        let mut object = Object::new(BinaryFormat::Elf, Architecture::Aarch64, Endianness::Little);
        for (section, bytes) in [
            (StandardSection::Text, 100),
            (StandardSection::ReadOnlyData, 20),
            (StandardSection::ReadOnlyDataWithRel, 3),
            (StandardSection::Data, 7000),
        ] {
            let id = object.section_id(section);
            object.append_section_data(id, &vec![1; bytes], 1);
        }
        let comment = object.add_section(vec![], b".comment".to_vec(), SectionKind::OtherString);
        object.append_section_data(comment, &[1; 5000], 1);
        let sum = read_only(&object.write().unwrap()).unwrap();
        assert_eq!(sum, ReadOnly { code: 100, rodata: 23 });
    }
}
