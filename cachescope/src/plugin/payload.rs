//! What QEMU keeps for a callback and hands back: one word.

use std::ffi::c_void;

use bulkhead_cachescope_model::{Block, Position};

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
