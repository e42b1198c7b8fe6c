//! Calls with nonsense in them.

use abi::guest;
use abi::hypercall::{CONSOLE_WRITE, CONSOLE_WRITE_MAX};

use super::end_of_ram;
use rt::arch::{RAM_BASE, smccc};
use rt::random::Random;
use rt::{arguments, hypercall, println, psci};

/// A function that no hypervisor should know: anywhere, or near the functions that exist.
fn nonsense_function(random: &mut Random) -> u32 {
    loop {
        let number = random.number() as u32;
        let function = match random.below(4) {
            0 => number,
            1 => 0x8400_0000 | number & 0xffff,
            2 => 0xc400_0000 | number & 0xffff,
            _ => 0xc600_0000 | number & 0xffff,
        };
        // Functions that exist have small numbers, or are the queries of an owner at its end.
        let existing = function & 0xffff < 0x40 || function & 0xffff >= 0xff00;
        let arm_owned = matches!(function >> 24 & 0x3f, 0..=3);
        if !existing && !arm_owned {
            return function;
        }
    }
}

/// Pseudo-random functions and arguments: all must be refused, and nothing else change.
pub fn hvc_nonsense(case: &str) {
    let count = arguments::number("count", 1000);
    let mut random = Random::new(arguments::number("seed", 1));
    let (mut negative, mut kept) = (0, 0);
    for _ in 0..count {
        let function = nonsense_function(&mut random);
        let arguments = core::array::from_fn(|_| random.number());
        let (results, keeps) = smccc::hvc_keeps_registers(function.into(), arguments);
        let refused = (results[0] as i32) < 0;
        if !refused || !keeps {
            println!(
                "hostile: {case} function={function:#x} result={:#x} registers_kept={keeps}",
                results[0]
            );
        }
        negative += u64::from(refused);
        kept += u64::from(keeps);
    }
    println!("hostile: {case} survived calls={count} negative={negative} registers_kept={kept}");
}

/// Console writes from memory that is not there: all must be refused.
pub fn hvc_bad_address(case: &str) {
    let ram = RAM_BASE as u64;
    let end = end_of_ram();
    let ranges = [
        (0, 16),
        (ram - 1, 2),
        (ram - 16, 16),
        (end, 1),
        (end - 8, 16),
        (end - 1, CONSOLE_WRITE_MAX),
        (guest::UART, 4),
        (guest::GICD, 16),
        (u64::MAX, 1),
        (u64::MAX - 7, 16),
        (1 << 40, 8),
        (ram | 1 << 48, 8),
        (ram | 1 << 63, 8),
        (ram, CONSOLE_WRITE_MAX + 1),
        (ram, 1 << 32),
        (ram, u64::MAX),
        (ram, u64::MAX - ram + 1),
    ];
    let mut refused = 0;
    for (address, length) in ranges {
        let result = smccc::hvc(CONSOLE_WRITE.into(), [address, length, 0, 0, 0, 0, 0])[0] as i64;
        refused += u32::from(result < 0);
        println!("hostile: {case} address={address:#x} length={length:#x} result={result}");
    }
    println!(
        "hostile: {case} survived refused={refused} of={} features={:#x}",
        ranges.len(),
        hypercall::features()
    );
}

/// Starts of processors that are not there, are on, or at places without memory.
pub fn cpu_on_nonsense(case: &str) {
    let nowhere = end_of_ram() + 0x1000;
    let mut accepted = 0;
    let calls = [
        ("self", 0, nowhere),
        ("none", 0x00ff_ffff, nowhere),
        ("bad-affinity-bits", 0x8000_0000, nowhere),
        ("all-ones", u64::MAX, nowhere),
        ("eighth", 7, nowhere),
        ("second-misaligned", 1, nowhere + 2),
        ("second-wraps", 1, u64::MAX - 3),
        ("second-device", 1, guest::UART),
        ("second-nowhere", 1, nowhere),
        ("second-again", 1, nowhere),
    ];
    for (name, target, entry) in calls {
        let result = psci::cpu_on(target, entry, 0);
        accepted += u32::from(result >= 0);
        println!("hostile: {case} {name} target={target:#x} entry={entry:#x} result={result}");
    }
    println!("hostile: {case} survived accepted={accepted} of={}", calls.len());
}
