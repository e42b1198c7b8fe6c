//! Calls to the hypervisor and to firmware.

use abi::hypercall;

use super::instruction;
use super::snippet::Snippet;
use super::values::{Places, value};
use rt::random::Random;

/// Those that would end the run, or a life, are left to [`reset`].
const SYSTEM_OFF: u32 = 0x8400_0008;
const SYSTEM_RESET: u32 = 0x8400_0009;
const CPU_OFF: u32 = 0x8400_0002;

/// Functions that exist, apart from series of them.
const KNOWN: [u32; 9] = [
    0x8000_0000, // SMCCC_VERSION
    0x8000_0001, // SMCCC_ARCH_FEATURES
    0xc500_0020, // PV_TIME_FEATURES
    0xc500_0021, // PV_TIME_ST
    hypercall::CALL_UID,
    hypercall::REVISION,
    hypercall::CONSOLE_WRITE,
    hypercall::TRACE_MARK,
    hypercall::VM_INFO,
];

fn function(random: &mut Random) -> u32 {
    let number = random.number() as u32;
    match random.below(16) {
        0 => number,
        1 => number & 0xff | 0x8400_0000,
        2..5 => (number & 0x1f) | 0x8400_0000 | (number & 0x100) << 22,
        5..8 => KNOWN[random.below(KNOWN.len() as u64) as usize],
        8 => number & 0xbfff_ffff, // yielding, or of 32 bits
        // These take thousands of instructions.
        9 if random.below(8) == 0 => hypercall::AUDIT,
        9 | 10 if random.below(8) == 0 => hypercall::COLOR_REQUEST,
        9..14 => hypercall::GCS_START + random.below(8) as u32,
        _ => 0xc600_0000 | number & 0x1f,
    }
}

/// A call with arguments by chance.
pub fn call(snippet: &mut Snippet, random: &mut Random, places: &Places) {
    let mut function = function(random);
    let rarely = function == CPU_OFF && random.below(64) > 0;
    if function == SYSTEM_OFF || function == SYSTEM_RESET || rarely {
        function = hypercall::LOCK;
    }
    let high = if random.below(16) == 0 { random.number() & !0xffff_ffff } else { 0 };
    snippet.set(0, high | u64::from(function));
    for register in 1..=random.below(5) as u32 {
        let argument = match random.below(4) {
            0 => random.below(8),
            1 => u64::from_le_bytes(*b"shared\0\0"),
            _ => value(random, places),
        };
        snippet.set(register, argument);
    }
    if function == hypercall::CONSOLE_WRITE && random.below(16) > 0 {
        // The console is not to be full of it.
        snippet.set(2, random.number() >> random.below(40) | 1 << 9);
    }
    let immediate = if random.below(8) == 0 { random.number() as u32 } else { 0 };
    let conduit = if random.below(4) == 0 { instruction::smc } else { instruction::hvc };
    snippet.push(conduit(immediate));
}

/// `SYSTEM_RESET`.
pub fn reset(snippet: &mut Snippet) {
    snippet.set(0, SYSTEM_RESET.into());
    snippet.push(instruction::hvc(0));
}
