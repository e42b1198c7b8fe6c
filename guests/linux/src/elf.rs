//! The shared libraries that a program needs.

use anyhow::{Context, Result};
use object::read::elf::{Dyn, FileHeader};
use object::{LittleEndian, elf};

/// The names of the shared libraries that a 64-bit little-endian program or library is
/// linked with, as in `libc.so.6`.
pub fn needed_libraries(file: &[u8]) -> Result<Vec<String>> {
    let endian = LittleEndian;
    let header = elf::FileHeader64::<LittleEndian>::parse(file)?;
    let sections = header.sections(endian, file)?;
    let (entries, strings) =
        sections.dynamic(endian, file)?.context("it is not dynamically linked")?;
    let strings = sections.strings(endian, file, strings)?;
    let mut names = Vec::new();
    for entry in entries {
        if entry.d_tag(endian) == elf::DT_NEEDED {
            let name = entry.string(endian, strings)?;
            names.push(String::from_utf8(name.to_owned()).context("a library's name")?);
        }
    }
    Ok(names)
}
