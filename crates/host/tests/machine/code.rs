//! Code of guests.

use abi::guest::RAM;
use abi::kvm::{ARGUMENT_WORD, Call, PORT, SECOND_WORD, SERVERS_START_WORD, TEXT_OFFSET};

pub const LOAD: u64 = RAM + (512 << 10);
pub const LOOP: [u8; 2] = [0xeb, 0xfe];

pub fn call(call: Call) -> Vec<u8> {
    let number = (call as u32).to_le_bytes();
    [&[0xb8][..], &number, &[0xba, PORT as u8, 0, 0, 0, 0xef]].concat()
}

/// Sets a word of the block, by `mov qword [rdi + WORD], value`.
pub fn set_word(word: usize, value: u32) -> Vec<u8> {
    [&[0x48, 0xc7, 0x47, 8 * word as u8][..], &value.to_le_bytes()].concat()
}

/// Waits until this time after the start of the servers, by `mov rax, [rdi + START]; add rax, ns; mov [rdi + ARGUMENT], rax`.
pub fn wait_until(ns: u32) -> Vec<u8> {
    let mut code = vec![0x48, 0x8b, 0x47, 8 * SERVERS_START_WORD as u8, 0x48, 0x05];
    code.extend(ns.to_le_bytes());
    code.extend([0x48, 0x89, 0x47, 8 * ARGUMENT_WORD as u8]);
    code.extend(call(Call::Wait));
    code
}

/// Waits again and again until each multiple of `ns` after the start of the servers.
pub fn wait_each(ns: u32) -> Vec<u8> {
    // mov rcx, [rdi + START]; loop: add rcx, ns; mov [rdi + ARGUMENT], rcx; the call; jmp to loop
    let mut round = vec![0x48, 0x81, 0xc1];
    round.extend(ns.to_le_bytes());
    round.extend([0x48, 0x89, 0x4f, 8 * ARGUMENT_WORD as u8]);
    round.extend(call(Call::Wait));
    let back = -(round.len() as i8 + 2);
    let start = [0x48, 0x8b, 0x4f, 8 * SERVERS_START_WORD as u8];
    [&start[..], &round, &[0xeb, back as u8]].concat()
}

/// A call with two arguments.
pub fn call_with(which: Call, [first, second]: [u32; 2]) -> Vec<u8> {
    [set_word(ARGUMENT_WORD, first), set_word(SECOND_WORD, second), call(which)].concat()
}

/// Shows the character `0` and so many more as a word of the block says, by `mov rax, [rdi + WORD]; add al, '0'; mov [rdi + TEXT],
/// rax`.
pub fn show(word: usize) -> Vec<u8> {
    let mut code = vec![0x48, 0x8b, 0x47, 8 * word as u8, 0x04, b'0', 0x48, 0x89, 0x87];
    code.extend((TEXT_OFFSET as u32).to_le_bytes());
    code.extend(set_word(ARGUMENT_WORD, 1));
    code.extend(call(Call::Console));
    code
}

/// Executes for a while, by `mov ecx, count; dec ecx; jnz -2`.
pub fn burn(count: u32) -> Vec<u8> {
    [&[0xb9][..], &count.to_le_bytes(), &[0xff, 0xc9, 0x75, 0xfc]].concat()
}
