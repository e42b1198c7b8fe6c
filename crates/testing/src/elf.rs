//! A small ELF file that looks like the hypervisor.

/// The contents of the file. [`Elf::default`] is a good one.
#[derive(Clone, Debug)]
pub struct Elf {
    /// Number of the machine: 183 is AArch64.
    pub machine: u16,
    /// Address of the only segment.
    pub base: u64,
    /// The bytes of the segment, of which the file has all.
    pub code: Vec<u8>,
    /// Bytes of memory of the segment.
    pub memory_bytes: u64,
    /// Name and address of the only symbol.
    pub symbol: (&'static str, u64),
}

impl Default for Elf {
    fn default() -> Self {
        let mut code = vec![0; 0x1200];
        code[56..60].copy_from_slice(b"ARM\x64");
        code[0x1000..0x1200].fill(0xc0);
        Self { machine: 183, base: 0, code, memory_bytes: 0x2800, symbol: ("__image_end", 0x3000) }
    }
}

impl Elf {
    /// Returns the bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        const HEADERS: u64 = 64 + 56;
        const SYMBOL_BYTES: u64 = 24;
        let code_bytes = self.code.len() as u64;
        let symbols = HEADERS + code_bytes;
        let strings = symbols + 2 * SYMBOL_BYTES;
        let names = [b"\0", self.symbol.0.as_bytes(), b"\0"].concat();
        let sections = strings + names.len() as u64;

        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        half(&mut file, &[3, self.machine]); // type (shared), machine
        word(&mut file, &[1]); // version
        long(&mut file, &[self.base, 64, sections]); // entry, program headers, sections
        word(&mut file, &[0]); // flags
        half(&mut file, &[64, 56, 1, 64, 3, 2]); // sizes and counts of the headers

        word(&mut file, &[1, 5]); // PT_LOAD, readable and executable
        long(&mut file, &[HEADERS, self.base, self.base, code_bytes, self.memory_bytes, 4096]);
        file.extend(&self.code);

        file.resize(strings as usize - SYMBOL_BYTES as usize, 0); // the null symbol
        word(&mut file, &[1]); // name
        half(&mut file, &[0x10, 0xfff1]); // global, absolute
        long(&mut file, &[self.symbol.1, 0]);
        file.extend(&names);

        file.resize(sections as usize + 64, 0); // the null section
        word(&mut file, &[0, 2]); // SHT_SYMTAB
        long(&mut file, &[0, 0, symbols, 2 * SYMBOL_BYTES]);
        word(&mut file, &[2, 1]); // its strings, first global symbol
        long(&mut file, &[8, SYMBOL_BYTES]);
        word(&mut file, &[0, 3]); // SHT_STRTAB
        long(&mut file, &[0, 0, strings, names.len() as u64]);
        word(&mut file, &[0, 0]);
        long(&mut file, &[1, 0]);
        file
    }
}

fn half(file: &mut Vec<u8>, values: &[u16]) {
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn word(file: &mut Vec<u8>, values: &[u32]) {
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn long(file: &mut Vec<u8>, values: &[u64]) {
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}
