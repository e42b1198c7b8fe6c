//! The bytes of its stack that a function of the hypervisor takes at once.

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

/// A function and its frame.
#[derive(Debug, Eq, PartialEq)]
pub struct Frame {
    /// Name of the function, or the address of the instruction.
    pub function: String,
    /// Bytes that one instruction takes from the stack: what the frame has besides saved
    /// registers, or, if it has more than a page, all whole pages of that.
    pub bytes: u64,
}

/// The largest frame in the code of an AArch64 ELF file.
pub fn largest(file: &[u8]) -> Result<Frame> {
    let parsed = object::File::parse(file)?;
    let mut largest = Frame { function: "none".to_owned(), bytes: 0 };
    for section in parsed.sections().filter(|section| section.kind() == SectionKind::Text) {
        let code = section.data().context("a section with code is cut off")?;
        let (words, _) = code.as_chunks::<4>();
        for (address, word) in (section.address()..).step_by(4).zip(words) {
            let bytes = taken(u32::from_le_bytes(*word));
            if bytes > largest.bytes {
                largest = Frame { function: function(&parsed, address), bytes };
            }
        }
    }
    Ok(largest)
}

/// Bytes that an instruction takes from the stack: `sub`, immediate, from the stack pointer.
fn taken(instruction: u32) -> u64 {
    const SUB_FROM_SP: u32 = 0xd100_03e0;
    const MASK: u32 = 0xff80_03e0;
    if instruction & MASK != SUB_FROM_SP {
        return 0;
    }
    let immediate = u64::from(instruction >> 10 & 0xfff);
    if instruction >> 22 & 1 == 0 { immediate } else { immediate << 12 }
}

fn function(file: &object::File<'_>, address: u64) -> String {
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let last = functions
        .filter(|symbol| symbol.address() <= address)
        .max_by_key(|symbol| (symbol.address(), symbol.size()));
    let name = last.and_then(|symbol| symbol.name().ok().map(str::to_owned));
    name.unwrap_or_else(|| format!("{address:#x}"))
}

#[cfg(test)]
mod tests {
    use object::write::{StandardSection, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolScope, write};

    use super::*;

    #[test]
    fn only_what_comes_from_the_stack_pointer_counts() {
        assert_eq!(taken(0xd101_43ff), 80, "sub sp, sp, #80");
        assert_eq!(taken(0xd140_0fe9), 12288, "sub x9, sp, #3, lsl #12");
        assert_eq!(taken(0xd140_0d29), 0, "sub x9, x9, #3, lsl #12");
        assert_eq!(taken(0x9101_43ff), 0, "add sp, sp, #80");
    }

    #[test]
    fn the_largest_frame_has_the_name_of_its_function() {
        let (arm, little) = (Architecture::Aarch64, Endianness::Little);
        let mut object = write::Object::new(BinaryFormat::Elf, arm, little);
        let text = object.section_id(StandardSection::Text);
        let code = [0xd101_43ff_u32, 0xd65f_03c0, 0xd102_03ff, 0xd65f_03c0];
        object.append_section_data(text, &code.map(u32::to_le_bytes).concat(), 4);
        for (name, value) in [("small", 0), ("large", 8)] {
            object.add_symbol(Symbol {
                name: name.into(),
                value,
                size: 8,
                kind: SymbolKind::Text,
                scope: SymbolScope::Linkage,
                weak: false,
                section: SymbolSection::Section(text),
                flags: SymbolFlags::None,
            });
        }
        let frame = largest(&object.write().unwrap()).unwrap();
        assert_eq!(frame, Frame { function: "large".to_owned(), bytes: 128 });
    }
}
