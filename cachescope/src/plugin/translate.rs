//! QEMU translates blocks of instructions: the plugin says what is to be reported
//! when they are executed.

use std::ffi::{c_uint, c_void};
use std::ptr;

use bulkhead_cachescope_model::{
    Block, GuestTime, LineOperation, Position, accesses_memory, is_counter, is_mark,
    looks_for_interrupts, may_wait, new_space,
};
use qemu_plugin_sys::{
    qemu_plugin_cb_flags, qemu_plugin_id_t, qemu_plugin_insn, qemu_plugin_insn_data,
    qemu_plugin_insn_vaddr, qemu_plugin_mem_rw, qemu_plugin_register_vcpu_insn_exec_cb,
    qemu_plugin_register_vcpu_mem_cb, qemu_plugin_register_vcpu_tb_exec_cb, qemu_plugin_tb,
    qemu_plugin_tb_get_insn, qemu_plugin_tb_n_insns,
};

use super::payload::{self, Operation};
use super::physical::{PAGE_MASK, Physical, Walk};
use super::{
    fail, on_access, on_block, on_counter, on_fetch, on_look, on_mark, on_operation, on_space,
    on_wait, state,
};

/// Exception level of hypervisors: EL2.
const HYPERVISOR_LEVEL: u64 = 2;

pub const NO_REGISTERS: qemu_plugin_cb_flags = qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS;
const READ_REGISTERS: qemu_plugin_cb_flags = qemu_plugin_cb_flags::QEMU_PLUGIN_CB_R_REGS;

/// An instruction of the block.
struct Instruction {
    handle: *mut qemu_plugin_insn,
    word: u32,
    /// The operation on a line, with the register of the address.
    operation: Option<(LineOperation, u32)>,
}

/// QEMU translates a block: it is asked to report its execution, its accesses,
/// its operations on lines and its marks.
pub unsafe extern "C" fn on_translate(_: qemu_plugin_id_t, block: *mut qemu_plugin_tb) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    // A block is only executed at the exception level for which it was translated.
    // SAFETY: in the thread of the CPU that translates.
    let level = state.registers.as_mut().and_then(|registers| unsafe { registers.level() });
    let Some(level) = level else {
        fail("QEMU does not tell the exception level (register cpsr) of a block it translates");
    };
    let mark_level = *state.mark_level.get_or_insert(level.min(HYPERVISOR_LEVEL));
    // SAFETY: QEMU passes a block that is valid during the callback.
    let instructions = unsafe { instructions(block) };
    let walk = match &state.physical {
        Some(Physical::Aarch64(walk)) => Some(walk),
        _ => None,
    };
    let operations = walk.is_some();
    let waits = state.machine.options().time == GuestTime::Model;
    let next_reported = |from: usize| {
        let rest = instructions.iter().skip(from);
        let unreported =
            |it: &&Instruction| !(accesses_memory(it.word) || operations && it.operation.is_some());
        (from + rest.take_while(unreported).count()) as u32
    };
    let entered = Block {
        instructions: instructions.len() as u32,
        first_access: next_reported(0),
        privileged: level >= HYPERVISOR_LEVEL,
    };
    // SAFETY: a valid block, and a callback that takes what `payload` packs.
    unsafe {
        let data = payload::from_block(entered);
        qemu_plugin_register_vcpu_tb_exec_cb(block, Some(on_block), NO_REGISTERS, data);
    }
    if let Some(walk) = walk
        && state.machine.options().fetch
    {
        // SAFETY: a valid block with these instructions.
        unsafe { report_fetches(block, &instructions, walk, state.machine.line_mask()) };
    }
    for (at, it) in instructions.iter().enumerate() {
        let position = Position { at: at as u32, next: next_reported(at + 1) };
        // SAFETY: instructions of a valid block.
        unsafe {
            // QEMU reports DC ZVA byte by byte if asked to. The model takes lines.
            if it.operation.is_none() {
                report_accesses(it.handle, position);
            }
            if is_mark(it.word) && level == mark_level {
                report(it.handle, on_mark, payload::from_position(position));
            }
            if waits && may_wait(it.word) {
                report(it.handle, on_wait, payload::from_position(position));
            }
            if is_counter(it.word) && level == mark_level {
                report(it.handle, on_counter, ptr::null_mut());
            }
            if level >= HYPERVISOR_LEVEL && looks_for_interrupts(it.word) {
                report(it.handle, on_look, ptr::null_mut());
            }
            if let Some(register) = new_space(it.word) {
                report(it.handle, on_space, payload::from_register(at as u32, register));
            }
            if let Some((operation, register)) = it.operation.filter(|_| operations) {
                // The next instruction is only reached if this one did not fault. At
                // the end of a block there is no next one.
                let seen_by = instructions.get(at + 1).unwrap_or(it);
                let operation = Operation { position, operation, register };
                report(seen_by.handle, on_operation, payload::from_operation(operation));
            }
        }
    }
}

/// The instructions of a block.
///
/// # Safety
/// The block is being translated.
unsafe fn instructions(block: *mut qemu_plugin_tb) -> Vec<Instruction> {
    // SAFETY: a valid block, and indices below its length.
    let count = unsafe { qemu_plugin_tb_n_insns(block) };
    (0..count)
        .map(|at| {
            // SAFETY: as above.
            let handle = unsafe { qemu_plugin_tb_get_insn(block, at) };
            // SAFETY: an instruction of the block.
            let word = unsafe { word(handle) };
            Instruction { handle, word, operation: LineOperation::of(word) }
        })
        .collect()
}

/// The word of an instruction, 0 if QEMU does not tell.
///
/// # Safety
/// The instruction belongs to a block that is being translated.
unsafe fn word(instruction: *const qemu_plugin_insn) -> u32 {
    let mut bytes = [0_u8; 4];
    // SAFETY: QEMU writes at most as many bytes as there is room for.
    unsafe { qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), bytes.len()) };
    u32::from_le_bytes(bytes)
}

/// # Safety
/// The instruction belongs to a block that is being translated.
pub unsafe fn report_accesses(instruction: *mut qemu_plugin_insn, position: Position) {
    let (data, both) = (payload::from_position(position), qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW);
    // SAFETY: as the caller promises; the callback takes what `payload` packs.
    // QEMU calls it only where memory is accessed.
    unsafe {
        qemu_plugin_register_vcpu_mem_cb(instruction, Some(on_access), NO_REGISTERS, both, data);
    }
}

/// A callback before an instruction, which may read registers.
///
/// # Safety
/// The instruction belongs to a block that is being translated, and the callback
/// takes this data.
pub unsafe fn report(
    instruction: *mut qemu_plugin_insn,
    callback: unsafe extern "C" fn(c_uint, *mut c_void),
    data: *mut c_void,
) {
    // SAFETY: as the caller promises.
    unsafe {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, Some(callback), READ_REGISTERS, data);
    }
}

/// Reports the lines of a block when it is entered. QEMU finds blocks by their
/// physical address, so that it does not change.
///
/// # Safety
/// These are the instructions of this block, which is being translated.
unsafe fn report_fetches(
    block: *mut qemu_plugin_tb,
    instructions: &[Instruction],
    physical: &Walk,
    line_mask: u64,
) {
    // SAFETY: as the caller promises.
    let addresses: Vec<u64> =
        instructions.iter().map(|it| unsafe { qemu_plugin_insn_vaddr(it.handle) }).collect();
    // A block lies in one page or in two.
    for part in addresses.chunk_by(|a, b| a & !PAGE_MASK == b & !PAGE_MASK) {
        let bytes = part.len() as u64 * 4;
        // SAFETY: the block is being translated by the CPU that will execute it.
        if let Some(first) = unsafe { physical.physical(part[0]) } {
            let lines = ((first & line_mask) + bytes).div_ceil(line_mask + 1);
            // SAFETY: as the caller promises; the callback takes what `payload` packs.
            unsafe {
                let data = payload::from_fetch(first, lines);
                qemu_plugin_register_vcpu_tb_exec_cb(block, Some(on_fetch), NO_REGISTERS, data);
            }
        }
    }
}
