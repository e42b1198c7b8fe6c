//! The code that is made.

use super::instruction;

/// Operand of the `SVC` that ends a snippet.
pub const END: u32 = 0x7777;

/// Words of the instructions; literals lie behind them, so that loads need only their number.
const INSTRUCTIONS: usize = 512;
const LITERALS: usize = 256;
const OPERATIONS: usize = 32;
const PSTATE_EL1H: u64 = 5;
const MASKED_DEBUG: u64 = 1 << 9;
const MASKED_INTERRUPTS: u64 = 1 << 7;

/// A series of operations, and what the registers hold before them.
#[derive(Clone, Debug)]
pub struct Snippet {
    words: [u32; INSTRUCTIONS + 2 * LITERALS],
    used: usize,
    literals: usize,
    starts: [u16; OPERATIONS],
    operations: usize,
    registers: [u64; 31],
    at_el0: bool,
    pstate: u64,
}

impl Snippet {
    /// No operations yet.
    pub fn new(at_el0: bool, masked: bool) -> Self {
        let level = if at_el0 { 0 } else { PSTATE_EL1H | MASKED_DEBUG };
        Self {
            words: [0; INSTRUCTIONS + 2 * LITERALS],
            used: 0,
            literals: 0,
            starts: [0; OPERATIONS],
            operations: 0,
            registers: [0; 31],
            at_el0,
            pstate: level | if masked && !at_el0 { MASKED_INTERRUPTS } else { 0 },
        }
    }

    /// Lets a register hold a value before the first instruction.
    pub fn start_with(&mut self, register: usize, value: u64) {
        self.registers[register] = value;
    }

    /// The next instruction begins an operation.
    pub fn begin(&mut self) {
        self.starts[self.operations] = self.used as u16;
        self.operations += 1;
    }

    /// One more instruction.
    pub fn push(&mut self, word: u32) {
        // The last word is for the end.
        if self.used < INSTRUCTIONS - 1 {
            self.words[self.used] = word;
            self.used += 1;
        }
    }

    /// Loads a value into a register.
    pub fn set(&mut self, register: u32, value: u64) {
        if self.literals == LITERALS {
            return;
        }
        let at = INSTRUCTIONS + 2 * self.literals;
        self.words[at] = value as u32;
        self.words[at + 1] = (value >> 32) as u32;
        self.literals += 1;
        let distance = at - self.used;
        self.push(instruction::load_literal(register, distance as u32));
    }

    /// No more operations.
    pub fn end(&mut self) {
        self.words[self.used] = instruction::svc(END);
        self.used += 1;
    }

    /// Its instructions and its literals, each with the number of its first word.
    pub fn parts(&self) -> [(usize, &[u32]); 2] {
        let literals = INSTRUCTIONS..INSTRUCTIONS + 2 * self.literals;
        [(0, &self.words[..self.used]), (INSTRUCTIONS, &self.words[literals])]
    }

    /// Bytes of its instructions.
    pub fn bytes(&self) -> u64 {
        4 * self.used as u64
    }

    /// Returns the values of the registers at its start.
    pub fn registers(&self) -> &[u64; 31] {
        &self.registers
    }

    /// Returns true if it is executed at EL0.
    pub fn at_el0(&self) -> bool {
        self.at_el0
    }

    /// Processor state at its start.
    pub fn pstate(&self) -> u64 {
        self.pstate
    }

    /// Operations that were tried when it was left after `bytes` bytes; 0 if that is not in it.
    pub fn reached(&self, bytes: u64) -> u64 {
        if bytes > self.bytes() {
            return 0;
        }
        let starts = self.starts[..self.operations].iter();
        starts.filter(|&&start| 4 * u64::from(start) <= bytes).count() as u64
    }
}
