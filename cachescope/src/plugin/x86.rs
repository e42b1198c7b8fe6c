//! What is reported of blocks of x86-64.
//!
//! The machine is a host of VMs, and a CPU runs the host and all VMs in turn. No register that QEMU tells says whether a guest
//! runs: accesses belong to the owner of the memory. The machine tells with a NOP which pages are a VM's ([`Said::Page`]), and
//! a guest marks jobs with another one ([`Said::Mark`]), which counts for the VM in whose memory the instruction lies.

use std::ffi::{c_uint, c_void};
use std::ptr;

use bulkhead_cachescope_model::{Block, Position, Said};
use qemu_plugin_sys::{
    qemu_plugin_id_t, qemu_plugin_insn, qemu_plugin_insn_data, qemu_plugin_insn_size,
    qemu_plugin_insn_vaddr, qemu_plugin_register_vcpu_tb_exec_cb, qemu_plugin_tb,
    qemu_plugin_tb_get_insn, qemu_plugin_tb_n_insns,
};

use super::payload;
use super::physical::{PAGE_MASK, Physical, Ram};
use super::translate::{NO_REGISTERS, report, report_accesses};
use super::{fail, on_block, on_fetch, state};

/// QEMU translates a block: it is asked to report its execution, its accesses, its fetches and what it says.
pub unsafe extern "C" fn on_translate(_: qemu_plugin_id_t, block: *mut qemu_plugin_tb) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    let Some(Physical::X86(ram)) = &state.physical else {
        fail("QEMU translates a block before a CPU was made");
    };
    // SAFETY: QEMU passes a block that is valid during the callback, and indices are below its length.
    let instructions: Vec<*mut qemu_plugin_insn> = unsafe {
        let count = qemu_plugin_tb_n_insns(block);
        (0..count).map(|at| qemu_plugin_tb_get_insn(block, at)).collect()
    };
    let count = instructions.len() as u32;
    // Nearly each instruction can access memory. One that does is counted with those before it, and the rest of the block with
    // the last of them.
    let entered = Block { instructions: count, first_access: count, privileged: false };
    // SAFETY: a valid block, and a callback that takes what `payload` packs.
    unsafe {
        let data = payload::from_block(entered);
        qemu_plugin_register_vcpu_tb_exec_cb(block, Some(on_block), NO_REGISTERS, data);
    }
    if state.machine.options().fetch {
        // SAFETY: a valid block with these instructions.
        unsafe { report_fetches(block, &instructions, ram, state.machine.line_mask()) };
    }
    for (at, &it) in (0..).zip(&instructions) {
        // SAFETY: an instruction of a valid block, and callbacks that take what `payload` packs.
        unsafe {
            report_accesses(it, Position { at: at + 1, next: count });
            match said(it) {
                // Whose it is cannot be told otherwise.
                Some(Said::Mark) => {
                    if let Some(address) = ram.of_instruction(it) {
                        report(it, on_mark, payload::from_place(at, address));
                    }
                }
                Some(Said::Page) => report(it, on_page, ptr::null_mut()),
                None => {}
            }
        }
    }
}

/// The meaning of an instruction.
///
/// # Safety
/// The instruction belongs to a block that is being translated.
unsafe fn said(instruction: *const qemu_plugin_insn) -> Option<Said> {
    let mut bytes = [0_u8; Said::BYTES];
    // SAFETY: QEMU writes at most as many bytes as there is room for.
    let known = unsafe {
        if qemu_plugin_insn_size(instruction) != bytes.len() {
            return None;
        }
        qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), bytes.len())
    };
    Said::of(bytes.get(..known)?)
}

/// Reports the lines of a block when it is entered. QEMU finds blocks by their physical address, so that it does not change.
///
/// # Safety
/// These are the instructions of this block, which is being translated.
unsafe fn report_fetches(
    block: *mut qemu_plugin_tb,
    instructions: &[*mut qemu_plugin_insn],
    ram: &Ram,
    line_mask: u64,
) {
    // SAFETY: as the caller promises.
    let address = |it: &*mut qemu_plugin_insn| unsafe { qemu_plugin_insn_vaddr(*it) };
    let in_page = |a: &_, b: &_| address(a) & !PAGE_MASK == address(b) & !PAGE_MASK;
    // A block lies in one page or in two.
    for part in instructions.chunk_by(in_page) {
        let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
        // SAFETY: as the caller promises.
        let (start, last_bytes) =
            unsafe { (ram.of_instruction(*first), qemu_plugin_insn_size(*last) as u64) };
        let Some(start) = start else { continue };
        // What an instruction has in the next page is fetched with that page, if the block goes on there.
        let bytes = address(last) - address(first) + last_bytes;
        let bytes = bytes.min(PAGE_MASK + 1 - (start & PAGE_MASK));
        let lines = ((start & line_mask) + bytes).div_ceil(line_mask + 1);
        // SAFETY: as the caller promises; the callback takes what `payload` packs.
        unsafe {
            let data = payload::from_fetch(start, lines);
            qemu_plugin_register_vcpu_tb_exec_cb(block, Some(on_fetch), NO_REGISTERS, data);
        }
    }
}

/// A guest sets a mark.
unsafe extern "C" fn on_mark(_: c_uint, data: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    let (at, address) = payload::to_place(data);
    // SAFETY: in the thread of the CPU, in a callback that may read registers.
    let value = state.registers.as_mut().and_then(|registers| unsafe { registers.x(0) });
    let Some(value) = value else {
        fail("QEMU does not tell the value of a mark (register rax)");
    };
    state.machine.mark_at(address, at, value);
}

/// The machine tells whose a page is.
unsafe extern "C" fn on_page(_: c_uint, _: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    let argument = |number| {
        // SAFETY: in the thread of the CPU, in a callback that may read registers.
        state.registers.as_mut().and_then(|registers| unsafe { registers.x(number) })
    };
    let [Some(address), Some(vm)] = [0, 1].map(argument) else {
        fail("QEMU does not tell whose a page is (registers rax and rcx)");
    };
    if let Err(error) = state.machine.tell(vm, address) {
        fail(&format!("the machine tells whose its memory is: {error}"));
    }
}
