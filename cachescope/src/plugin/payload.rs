//! The data that QEMU keeps for a callback and hands back: one word.

use std::ffi::c_void;

use bulkhead_cachescope_model::{Block, LineOperation, Position};

/// Bits of an index in a block. QEMU's blocks have at most 512 instructions.
const BITS: u32 = 16;
const MASK: usize = (1 << BITS) - 1;

pub fn from_block(block: Block) -> *mut c_void {
    let word = block.instructions as usize
        | (block.first_access as usize) << BITS
        | usize::from(block.privileged) << (2 * BITS);
    word as *mut c_void
}

#[inline]
pub fn to_block(data: *mut c_void) -> Block {
    let word = data as usize;
    Block {
        instructions: (word & MASK) as u32,
        first_access: (word >> BITS & MASK) as u32,
        privileged: word >> (2 * BITS) != 0,
    }
}

pub fn from_position(position: Position) -> *mut c_void {
    (position.at as usize | (position.next as usize) << BITS) as *mut c_void
}

#[inline]
pub fn to_position(data: *mut c_void) -> Position {
    let word = data as usize;
    Position { at: (word & MASK) as u32, next: (word >> BITS) as u32 }
}

/// An instruction with this index in its block, and a general register that it reads.
pub fn from_register(at: u32, register: u32) -> *mut c_void {
    from_position(Position { at, next: register })
}

pub fn to_register(data: *mut c_void) -> (u32, u32) {
    let Position { at, next } = to_position(data);
    (at, next)
}

/// An operation on the line whose virtual address is in a general register.
#[derive(Clone, Copy)]
pub struct Operation {
    pub position: Position,
    pub operation: LineOperation,
    pub register: u32,
}

const OPERATIONS: [LineOperation; 4] = [
    LineOperation::Zero,
    LineOperation::CleanToShared,
    LineOperation::Clean,
    LineOperation::Remove,
];

pub fn from_operation(it: Operation) -> *mut c_void {
    let index = OPERATIONS.iter().position(|&operation| operation == it.operation).unwrap_or(0);
    let position = from_position(it.position) as usize;
    (position | index << (2 * BITS) | (it.register as usize) << (3 * BITS)) as *mut c_void
}

pub fn to_operation(data: *mut c_void) -> Operation {
    let word = data as usize;
    let operation = OPERATIONS[word >> (2 * BITS) & MASK];
    let position = Position { at: (word & MASK) as u32, next: (word >> BITS & MASK) as u32 };
    Operation { position, operation, register: (word >> (3 * BITS)) as u32 }
}

/// Instructions that follow each other: the physical address of the first, and
/// the number of their lines.
pub fn from_fetch(address: u64, lines: u64) -> *mut c_void {
    (address as usize | (lines as usize) << FETCH_BITS) as *mut c_void
}

#[inline]
pub fn to_fetch(data: *mut c_void) -> (u64, u64) {
    let word = data as usize as u64;
    (word & ((1 << FETCH_BITS) - 1), word >> FETCH_BITS)
}

/// An instruction with this index in its block, and its physical address.
pub fn from_place(at: u32, address: u64) -> *mut c_void {
    from_fetch(address, at.into())
}

pub fn to_place(data: *mut c_void) -> (u32, u64) {
    let (address, at) = to_fetch(data);
    (at as u32, address)
}

/// Bits of a physical address: no board of QEMU has more.
const FETCH_BITS: u32 = 48;
