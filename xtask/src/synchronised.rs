//! Checks that reads of values that the GICv3 derives from its list registers come only after these were synchronised.
//!
//! `ICH_ELRSR_EL2`, `ICH_MISR_EL2` and `ICH_EISR_EL2` show what was written to `ICH_LR<n>_EL2` and `ICH_HCR_EL2` only
//! after a context synchronisation event (DDI 0487, "Synchronization requirements for AArch64 System registers"). QEMU
//! shows it at once, so that no run finds one that is missing. All ways through the code from the entry points are
//! followed, through calls, with one bit of state: whether something was written since the last `isb` or exception.
//!
//! More ways are followed than exist: conditions are not looked at, and a jump through a register goes wherever code
//! of its function begins anew. Fewer are followed in one point: a call through a register is taken for one that
//! neither writes, reads nor synchronises. Nothing that does is called so: the callees are `dyn` methods of text output.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};

/// The places where exceptions and CPUs enter: symbols, the number of entries there, and the distance between them.
const ENTRIES: [(&str, u64, u64); 3] =
    [("vectors", 16, 128), ("_start", 1, 0), ("secondary_start", 1, 0)];

/// The role of an instruction for this question.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    /// Writes a list register or the control register.
    Write,
    /// Reads what is derived from them.
    Read,
    /// `isb`.
    Synchronise,
    /// `b`, to an address.
    Jump(u64),
    /// A conditional branch.
    Branch(u64),
    /// `bl`.
    Call(u64),
    /// `br`.
    JumpSomewhere,
    /// `ret`.
    Return,
    /// `eret`, or nothing that can be executed.
    End,
    /// Anything else.
    Other,
}

fn decode(address: u64, word: u32) -> Step {
    let target = |bits: u32, at: u32| {
        let offset = (word >> at << (32 - bits)) as i32 >> (32 - bits);
        address.wrapping_add_signed(i64::from(offset) * 4)
    };
    // Registers S3_4_C12_C<m>_<n>; bit 21 says that the instruction reads.
    let of_list_registers = word & 0xffdf_f000 == 0xd51c_c000;
    let (crm, op2, reads) = (word >> 8 & 0xf, word >> 5 & 7, word >> 21 & 1 != 0);
    match word {
        _ if of_list_registers && !reads && matches!((crm, op2), (11, 0) | (12 | 13, _)) => {
            Step::Write
        }
        _ if of_list_registers && reads && matches!((crm, op2), (11, 2 | 3 | 5)) => Step::Read,
        0xd503_3fdf => Step::Synchronise,
        0xd69f_03e0 => Step::End,
        _ if word & 0xffff_0000 == 0 => Step::End,
        _ if word & 0xfc00_0000 == 0x1400_0000 => Step::Jump(target(26, 0)),
        _ if word & 0xfc00_0000 == 0x9400_0000 => Step::Call(target(26, 0)),
        _ if word & 0xff00_0000 == 0x5400_0000 => Step::Branch(target(19, 5)),
        _ if word & 0x7e00_0000 == 0x3400_0000 => Step::Branch(target(19, 5)),
        _ if word & 0x7e00_0000 == 0x3600_0000 => Step::Branch(target(14, 5)),
        _ if word & 0xffff_fc1f == 0xd65f_0000 => Step::Return,
        _ if word & 0xffff_fc1f == 0xd61f_0000 => Step::JumpSomewhere,
        _ => Step::Other,
    }
}

/// Returns true if there is `mrs` of ISR_EL1, and a branch by its bit 8.
fn looks_for_errors(words: &[[u8; 4]]) -> bool {
    let [first, second] = [0, 1].map(|n| words.get(n).map_or(0, |word| u32::from_le_bytes(*word)));
    first & 0xffff_ffe0 == 0xd538_c100 && second & 0xfef8_0000 == 0x3640_0000
}

/// The code.
#[derive(Debug, Default)]
struct Program {
    steps: BTreeMap<u64, Step>,
    /// Starts of functions.
    symbols: BTreeMap<u64, String>,
}

/// A place, and whether something was written that is not synchronised.
type State = (u64, bool);

impl Program {
    fn of_elf(file: &[u8]) -> Result<Self> {
        let parsed = object::File::parse(file)?;
        let mut program = Self::default();
        for section in parsed.sections().filter(|section| section.kind() == SectionKind::Text) {
            let code = section.data().context("a section with code is cut off")?;
            let (words, _) = code.as_chunks::<4>();
            for (address, word) in (section.address()..).step_by(4).zip(words) {
                program.steps.insert(address, decode(address, u32::from_le_bytes(*word)));
            }
        }
        for symbol in parsed.symbols() {
            let name = symbol.name().unwrap_or_default();
            if program.steps.contains_key(&symbol.address()) && !name.starts_with('$') {
                program.symbols.insert(symbol.address(), name.to_owned());
            }
        }
        Ok(program)
    }

    /// The same code for another question: whether all ways to where the registers of a VCPU are saved have a look at
    /// ISR_EL1.A, so that no SError of this VCPU is taken by the next one. That is the read; what comes in
    /// is unlooked at.
    fn switches(&self, file: &[u8]) -> Result<Self> {
        let parsed = object::File::parse(file)?;
        let save =
            parsed.symbol_by_name("save_registers").context("the code has no save_registers")?;
        let mut steps = self.steps.clone();
        for step in steps.values_mut() {
            if matches!(step, Step::Write | Step::Read | Step::Synchronise) {
                *step = Step::Other;
            }
        }
        for section in parsed.sections().filter(|section| section.kind() == SectionKind::Text) {
            let (words, _) = section.data()?.as_chunks::<4>();
            for (at, pair) in (section.address()..).step_by(4).zip(words.windows(2)) {
                if looks_for_errors(pair) {
                    steps.insert(at, Step::Synchronise);
                }
            }
        }
        steps.insert(save.address(), Step::Read);
        Ok(Self { steps, symbols: self.symbols.clone() })
    }

    fn function(&self, address: u64) -> &str {
        self.symbols.range(..=address).next_back().map_or("?", |(_, name)| name)
    }

    /// Returns the addresses at which code of the function around `address` begins that nothing falls into.
    fn anew(&self, address: u64) -> impl Iterator<Item = u64> {
        let start = self.symbols.range(..=address).next_back().map_or(0, |(at, _)| *at);
        let end = self.symbols.range(address + 1..).next().map_or(u64::MAX, |(at, _)| *at);
        let ends = |step: &Step| {
            matches!(
                step,
                Step::Jump(_) | Step::JumpSomewhere | Step::Return | Step::End | Step::Call(_)
            )
        };
        let function = self.steps.range(start..end);
        function.filter(move |(_, step)| ends(step)).map(|(at, _)| at + 4)
    }

    /// Follows all ways from these entry points; returns the number of reads that were found, and those that come too early.
    fn check(&self, entries: impl IntoIterator<Item = State>) -> (usize, BTreeSet<u64>) {
        // For each function and state at its start: the states in which it returns. Grows until nothing changes.
        let mut ends: BTreeMap<State, BTreeSet<bool>> = BTreeMap::new();
        ends.extend(entries.into_iter().map(|entry| (entry, BTreeSet::new())));
        loop {
            let before = ends.clone();
            let (mut reads, mut early) = (BTreeSet::new(), BTreeSet::new());
            for (start, known) in &before {
                let mut found = known.clone();
                let (mut open, mut seen) = (vec![*start], BTreeSet::new());
                while let Some((at, written)) = open.pop() {
                    if !seen.insert((at, written)) {
                        continue;
                    }
                    let Some(step) = self.steps.get(&at) else { continue };
                    let next = at + 4;
                    match *step {
                        Step::Write => open.push((next, true)),
                        Step::Synchronise => open.push((next, false)),
                        Step::Read => {
                            reads.insert(at);
                            if written {
                                early.insert(at);
                            }
                            open.push((next, written));
                        }
                        Step::Jump(to) => open.push((to, written)),
                        Step::Branch(to) => open.extend([(to, written), (next, written)]),
                        Step::Call(to) => match before.get(&(to, written)) {
                            Some(returns) => {
                                open.extend(returns.iter().map(|&state| (next, state)))
                            }
                            None => {
                                ends.entry((to, written)).or_default();
                            }
                        },
                        Step::JumpSomewhere => open.extend(self.anew(at).map(|to| (to, written))),
                        Step::Return => {
                            found.insert(written);
                        }
                        Step::End => {}
                        Step::Other => open.push((next, written)),
                    }
                }
                ends.insert(*start, found);
            }
            if ends == before {
                return (reads.len(), early);
            }
        }
    }
}

/// Fails if a read comes too early in the code of an AArch64 ELF file. Returns the number of reads.
pub fn check(file: &[u8]) -> Result<usize> {
    let program = Program::of_elf(file)?;
    let parsed = object::File::parse(file)?;
    let mut entries = Vec::new();
    for (name, count, distance) in ENTRIES {
        let start = parsed.symbol_by_name(name).map(|symbol| symbol.address());
        let start = start.with_context(|| format!("the code has no {name}"))?;
        entries.extend((0..count).map(|n| start + n * distance));
    }
    let (saves, blind) = program.switches(file)?.check(entries.iter().map(|&entry| (entry, true)));
    ensure!(saves > 0, "nothing saves registers: the check is out of date");
    ensure!(
        blind.is_empty(),
        "a VCPU is switched without a look at ISR_EL1 for an SError that it caused"
    );
    let (reads, early) = program.check(entries.iter().map(|&entry| (entry, false)));
    let places: Vec<String> =
        early.iter().map(|&at| format!("{at:#x} in {}", program.function(at))).collect();
    ensure!(
        places.is_empty(),
        "list registers are written and then, without `isb`, read by what depends on them: {}",
        places.join(", ")
    );
    ensure!(reads > 0, "nothing reads ICH_ELRSR_EL2: the check is out of date");
    Ok(reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE_LR0: u32 = 0xd51c_cc00;
    const WRITE_LR15: u32 = 0xd51c_cde0;
    const WRITE_HCR: u32 = 0xd51c_cb00;
    const READ_ELRSR: u32 = 0xd53c_cba0;
    const READ_MISR: u32 = 0xd53c_cb40;
    const READ_LR0: u32 = 0xd53c_cc00;
    const WRITE_VMCR: u32 = 0xd51c_cbe0;
    const ISB: u32 = 0xd503_3fdf;
    const RET: u32 = 0xd65f_03c0;
    const NOP: u32 = 0xd503_201f;

    fn call(from: u32, to: u32) -> u32 {
        0x9400_0000 | to.wrapping_sub(from) & 0x3ff_ffff
    }

    /// Numbers of the words that read too early, from the first word on.
    fn early(words: &[u32]) -> Vec<u64> {
        let mut program = Program::default();
        for (at, &word) in (0..).step_by(4).zip(words) {
            program.steps.insert(at, decode(at, word));
        }
        program.symbols.insert(0, "code".to_owned());
        program.check([(0, false)]).1.into_iter().map(|at| at / 4).collect()
    }

    #[test]
    fn a_read_after_a_write_needs_a_barrier() {
        for (write, read) in
            [(WRITE_LR0, READ_ELRSR), (WRITE_LR15, READ_MISR), (WRITE_HCR, READ_MISR)]
        {
            assert_eq!(early(&[write, NOP, read, RET]), [2], "{write:#x}");
            assert_eq!(early(&[write, ISB, read, RET]), [0; 0]);
            assert_eq!(early(&[read, write, RET]), [0; 0]);
        }
        assert_eq!(early(&[WRITE_LR0, READ_LR0, RET]), [0; 0], "what is read is what was written");
        assert_eq!(early(&[WRITE_VMCR, READ_ELRSR, RET]), [0; 0]);
    }

    #[test]
    fn each_way_counts() {
        // cbz x0, to the read; the other way has a barrier.
        assert_eq!(early(&[WRITE_LR0, 0xb400_0040, ISB, READ_ELRSR, RET]), [3]);
        // A loop back to the read: `b.ne`.
        assert_eq!(early(&[READ_ELRSR, WRITE_LR0, 0x54ff_ffc1, RET]), [0]);
        // tbnz, and a jump.
        assert_eq!(early(&[WRITE_LR0, 0x3700_0040, RET, 0x1400_0001, READ_ELRSR]), [4]);
    }

    #[test]
    fn calls_are_followed() {
        // 0: call 4, call 6, return; 4: write; 6: read.
        let words = [call(0, 4), call(1, 6), RET, NOP, WRITE_LR0, RET, READ_ELRSR, RET];
        assert_eq!(early(&words), [6]);
        let mut with_barrier = words;
        with_barrier[3] = ISB;
        assert_eq!(early(&with_barrier), [6], "not on the way");
        // The callee synchronises.
        assert_eq!(early(&[WRITE_LR0, call(1, 4), READ_ELRSR, RET, ISB, RET]), [0; 0]);
        // It never returns: `b .`.
        assert_eq!(early(&[WRITE_LR0, call(1, 4), READ_ELRSR, RET, 0x1400_0000]), [0; 0]);
        // A jump through a register goes anywhere in the function.
        assert_eq!(early(&[WRITE_LR0, 0xd61f_0120, NOP, RET, READ_ELRSR, RET]), [4]);
    }
}
