//! Callbacks from QEMU into the model. All `unsafe` code of the plugin is here.
//!
//! With a single CPU, with `-icount` or with `-accel tcg,thread=single` all CPUs
//! run in one thread, and all callbacks that touch the model come from it; the
//! last one comes when CPUs have stopped. Other runs are refused, so the model
//! needs no lock.

mod current_cpu;
mod install;
mod payload;
mod registers;

use std::ffi::{c_uint, c_void};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::{self, ThreadId};
use std::{mem, ptr};

use bulkhead_cachescope_model::{
    Access, Block, Machine, Position, accesses_memory, is_mark, write,
};
use qemu_plugin_sys::{
    qemu_plugin_cb_flags, qemu_plugin_get_hwaddr, qemu_plugin_hwaddr_is_io,
    qemu_plugin_hwaddr_phys_addr, qemu_plugin_id_t, qemu_plugin_insn, qemu_plugin_insn_data,
    qemu_plugin_mem_is_store, qemu_plugin_mem_rw, qemu_plugin_mem_size_shift,
    qemu_plugin_meminfo_t, qemu_plugin_register_vcpu_insn_exec_cb,
    qemu_plugin_register_vcpu_mem_cb, qemu_plugin_register_vcpu_tb_exec_cb, qemu_plugin_tb,
    qemu_plugin_tb_get_insn, qemu_plugin_tb_n_insns,
};

use current_cpu::CurrentCpu;
use registers::Registers;

/// Exception level of hypervisors: EL2.
const HYPERVISOR_LEVEL: u64 = 2;

/// Pages of addresses: accesses in one page are translated alike.
const PAGE_MASK: u64 = 0xfff;

/// All that callbacks need.
struct State {
    machine: Machine,
    current_cpu: CurrentCpu,
    /// Known when the first CPU is there.
    registers: Option<Registers>,
    /// Thread of the first CPU.
    thread: Option<ThreadId>,
    /// Exception level at which marks are set: that of the hypervisor, or of the
    /// first instruction of all if it is lower, because then there is none.
    mark_level: Option<u64>,
    out: PathBuf,
}

/// Made by `install::qemu_plugin_install`, taken away by [`on_exit`].
static STATE: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());

/// The state, for the time of one callback.
///
/// # Safety
/// Only in a callback that QEMU calls after the plugin was installed and before
/// [`on_exit`], and once in it: callbacks do not nest.
#[inline]
unsafe fn state<'a>() -> &'a mut State {
    // SAFETY: the pointer comes from a `Box` that lives until `on_exit`; callbacks
    // come from one thread, one after the other, so nobody else has a reference.
    unsafe { &mut *STATE.load(Ordering::Relaxed) }
}

/// Ends QEMU with a message. Nothing is written: it would be wrong.
fn fail(message: &str) -> ! {
    eprintln!("cachescope: {message}");
    STATE.store(ptr::null_mut(), Ordering::Relaxed);
    process::exit(1);
}

/// A CPU was made; this runs in its thread.
unsafe extern "C" fn on_cpu(_: qemu_plugin_id_t, _: c_uint) {
    // SAFETY: a callback; see `state`. QEMU makes CPUs one after the other, and
    // the threads of CPUs wait until all are made.
    let state = unsafe { state() };
    let here = thread::current().id();
    if *state.thread.get_or_insert(here) != here {
        fail(
            "QEMU runs each CPU in a thread of its own, and the order of accesses is by chance; \
             add -icount shift=0,sleep=off (or -accel tcg,thread=single) to QEMU's options",
        );
    }
    state.current_cpu.enter_thread();
    if state.registers.is_none() {
        // SAFETY: in the thread of a CPU, as `qemu_plugin_get_registers` asks.
        match unsafe { Registers::find() } {
            Ok(registers) => state.registers = Some(registers),
            Err(missing) => fail(&format!(
                "QEMU does not tell register {missing}: expected qemu-system-aarch64 10.0 or later"
            )),
        }
    }
}

/// QEMU translates a block: it is asked to report its execution and its accesses.
unsafe extern "C" fn on_translate(_: qemu_plugin_id_t, block: *mut qemu_plugin_tb) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    // A block is only executed at the exception level for which it was translated.
    // SAFETY: in the thread of the CPU that translates.
    let level = state.registers.as_mut().and_then(|registers| unsafe { registers.level() });
    let Some(level) = level else {
        fail("QEMU does not tell the exception level (register cpsr) of a block it translates");
    };
    // SAFETY: QEMU passes a block that is valid during the callback; indices are below its length.
    let instructions: Vec<*mut qemu_plugin_insn> = unsafe {
        (0..qemu_plugin_tb_n_insns(block)).map(|at| qemu_plugin_tb_get_insn(block, at)).collect()
    };
    // SAFETY: instructions of the block, valid as long as it is.
    let words: Vec<u32> = instructions.iter().map(|&insn| unsafe { word(insn) }).collect();
    let length = words.len() as u32;
    let mark_level = *state.mark_level.get_or_insert(level.min(HYPERVISOR_LEVEL));
    let next_access = |from: usize| {
        let rest = words.iter().skip(from);
        let skipped = rest.take_while(|&&word| !accesses_memory(word)).count();
        (from + skipped) as u32
    };
    let entered = Block {
        instructions: length,
        first_access: next_access(0),
        privileged: level >= HYPERVISOR_LEVEL,
    };
    let no_registers = qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS;
    let read_registers = qemu_plugin_cb_flags::QEMU_PLUGIN_CB_R_REGS;
    let both = qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW;
    // SAFETY: a valid block, and a callback that takes what `payload` packs.
    unsafe {
        let data = payload::from_block(entered);
        qemu_plugin_register_vcpu_tb_exec_cb(block, Some(on_block), no_registers, data);
    }
    for (at, (&insn, &word)) in instructions.iter().zip(&words).enumerate() {
        let position = Position { at: at as u32, next: next_access(at + 1) };
        let data = payload::from_position(position);
        // SAFETY: an instruction of a valid block, and callbacks that take what
        // `payload` packs. QEMU calls the first only where memory is accessed.
        unsafe {
            qemu_plugin_register_vcpu_mem_cb(insn, Some(on_access), no_registers, both, data);
            if is_mark(word) && level == mark_level {
                let (callback, flags) = (Some(on_mark as InstructionCallback), read_registers);
                qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, flags, data);
            }
        }
    }
}

type InstructionCallback = unsafe extern "C" fn(c_uint, *mut c_void);

/// The word of an instruction, 0 if QEMU does not tell.
///
/// # Safety
/// The instruction belongs to a block that is being translated.
unsafe fn word(insn: *const qemu_plugin_insn) -> u32 {
    let mut bytes = [0_u8; 4];
    // SAFETY: QEMU writes at most as many bytes as there is room for.
    unsafe { qemu_plugin_insn_data(insn, bytes.as_mut_ptr().cast(), bytes.len()) };
    u32::from_le_bytes(bytes)
}

/// A CPU begins a block.
unsafe extern "C" fn on_block(_: c_uint, data: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    // SAFETY: in the thread of the CPU.
    let cpu = unsafe { state.current_cpu.index() };
    if state.machine.enter_block(cpu, payload::to_block(data)) {
        // SAFETY: in the thread of the CPU.
        unsafe { state.current_cpu.end_slice() };
    }
}

/// The CPU whose block runs has accessed memory or a device.
unsafe extern "C" fn on_access(
    _: c_uint,
    info: qemu_plugin_meminfo_t,
    address: u64,
    data: *mut c_void,
) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    let position = payload::to_position(data);
    // SAFETY: `info` and `address` are those of the callback. Its result is valid until it returns.
    let (store, size, physical) = unsafe {
        let place = qemu_plugin_get_hwaddr(info, address);
        if place.is_null() {
            return state.machine.access_unresolved(position);
        }
        if qemu_plugin_hwaddr_is_io(place) {
            return state.machine.access_device(position);
        }
        let size = 1_u64 << qemu_plugin_mem_size_shift(info);
        (qemu_plugin_mem_is_store(info), size, qemu_plugin_hwaddr_phys_addr(place))
    };
    state.machine.access(position, Access { address: physical, store });
    let mask = state.machine.line_mask();
    let in_first = mask + 1 - (physical & mask);
    if size > in_first {
        // SAFETY: as above; the second line was accessed too.
        let second = unsafe { second_line(info, address, physical, in_first) };
        match second {
            Some(address) => state.machine.access(position, Access { address, store }),
            None => state.machine.access_unresolved(position),
        }
    }
}

/// Physical address of the second line of an access that crosses a line.
///
/// # Safety
/// In the callback for this access.
#[cold]
unsafe fn second_line(
    info: qemu_plugin_meminfo_t,
    address: u64,
    physical: u64,
    in_first: u64,
) -> Option<u64> {
    let second = address.wrapping_add(in_first);
    if second & PAGE_MASK != 0 {
        return Some(physical + in_first);
    }
    // SAFETY: QEMU looks the address up among those that it has translated.
    unsafe {
        let place = qemu_plugin_get_hwaddr(info, second);
        let known = !place.is_null() && !qemu_plugin_hwaddr_is_io(place);
        known.then(|| qemu_plugin_hwaddr_phys_addr(place))
    }
}

/// The hypervisor passes a mark of its guest on.
unsafe extern "C" fn on_mark(_: c_uint, data: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    // SAFETY: in the thread of the CPU, in a callback that may read registers.
    let value = state.registers.as_mut().and_then(|registers| unsafe { registers.x(0) });
    let Some(value) = value else {
        fail("QEMU does not tell the value of a mark (register x0)");
    };
    state.machine.mark(payload::to_position(data).at, value);
}

/// QEMU ends; the CPUs have stopped.
unsafe extern "C" fn on_exit(_: qemu_plugin_id_t, _: *mut c_void) {
    let state = STATE.swap(ptr::null_mut(), Ordering::Relaxed);
    if state.is_null() {
        return;
    }
    // SAFETY: the pointer comes from `Box::into_raw` in `install`, and was taken
    // away above: nobody uses it any more, since no CPU runs.
    let mut state = unsafe { Box::from_raw(state) };
    state.machine.finish();
    if let Err(error) = write(&state.machine, &state.out) {
        eprintln!("cachescope: cannot write to {}: {error}", state.out.display());
    }
    // The process ends: giving its memory back would only take time.
    mem::forget(state);
}
