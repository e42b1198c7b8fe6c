//! Callbacks from QEMU into the model. All `unsafe` code of the plugin is here.
//!
//! With a single CPU, with `-icount` or with `-accel tcg,thread=single` all CPUs
//! run in one thread, and all callbacks that touch the model come from it; the
//! last one comes when CPUs have stopped. Other runs are refused, so the model
//! needs no lock.

mod counters;
mod current_cpu;
mod guest_memory;
mod install;
mod interrupt;
mod model_time;
mod payload;
mod physical;
mod registers;
mod symbol;
mod target;
mod translate;
mod x86;

use std::ffi::{c_uint, c_void};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::{self, ThreadId};
use std::{mem, ptr};

use bulkhead_cachescope_model::{Access, GuestTime, Machine, write};
use qemu_plugin_sys::{
    qemu_plugin_get_hwaddr, qemu_plugin_hwaddr_is_io, qemu_plugin_hwaddr_phys_addr,
    qemu_plugin_id_t, qemu_plugin_mem_is_store, qemu_plugin_mem_size_shift, qemu_plugin_meminfo_t,
};

use counters::Counters;
use current_cpu::CurrentCpu;
use model_time::ModelTime;
use physical::{PAGE_MASK, Physical};
use registers::Registers;
use target::Target;

/// All that callbacks need.
struct State {
    target: Target,
    machine: Machine,
    current_cpu: CurrentCpu,
    /// Known when the first CPU is there.
    registers: Option<Registers>,
    /// Known then, too, if QEMU has it.
    physical: Option<Physical>,
    /// Thread of the first CPU.
    thread: Option<ThreadId>,
    /// Exception level at which marks are set: that of the hypervisor, or of the
    /// first instruction of all if it is lower, because then there is none.
    mark_level: Option<u64>,
    counters: Counters,
    model_time: ModelTime,
    out: PathBuf,
}

impl State {
    /// The last step of the running CPU may have moved lines: its counter knows.
    #[inline]
    fn count(&mut self) {
        if self.counters.are_used() {
            let cpu = self.machine.current();
            self.counters.set(cpu, self.machine.lines_moved(cpu));
        }
    }
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
        match unsafe { Registers::find(state.target) } {
            Ok(registers) => state.registers = Some(registers),
            Err(missing) => fail(&format!(
                "QEMU does not tell register {missing}: expected {} 10.0 or later",
                state.target.program()
            )),
        }
        match Physical::find(state.target) {
            Ok(physical) => state.physical = Some(physical),
            Err(missing) if state.machine.options().fetch => fail(&format!(
                "this QEMU does not export \"{missing}\", without which fetch=on is not possible; \
                 use Debian's {}, or fetch=off",
                state.target.program()
            )),
            Err(missing) if state.target == Target::X86 => {
                fail(&format!("this QEMU does not export \"{missing}\"; use Debian's"));
            }
            Err(missing) => {
                eprintln!(
                    "cachescope: this QEMU does not export \"{missing}\": DC ZVA and maintenance of \
                     caches by address are not in the counts"
                );
                state.machine.leave_operations_out();
            }
        }
        if state.target == Target::X86 {
            state.machine.leave_operations_out();
        }
        if state.machine.options().time == GuestTime::Model
            && let Err(error) = model_time::install()
        {
            fail(&format!("time=model: {error}"));
        }
    }
}

/// A CPU begins a block.
unsafe extern "C" fn on_block(_: c_uint, data: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    // SAFETY: in the thread of the CPU.
    let cpu = unsafe { state.current_cpu.index() };
    if state.counters.are_used() {
        state.machine.set_limit(cpu, state.counters.limit(cpu));
    }
    if state.machine.enter_block(cpu, payload::to_block(data)) {
        // SAFETY: in the thread of the CPU.
        unsafe { state.current_cpu.end_slice() };
    }
    if state.counters.are_used() {
        state.counters.begin_block(cpu);
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
    state.count();
    let mask = state.machine.line_mask();
    let in_first = mask + 1 - (physical & mask);
    if size > in_first {
        // SAFETY: as above; the second line was accessed too.
        let second = unsafe { second_line(info, address, physical, in_first) };
        match second {
            Some(address) => state.machine.access(position, Access { address, store }),
            None => state.machine.access_unresolved(position),
        }
        state.count();
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

/// A CPU has executed, or is about to execute, an operation on a line.
unsafe extern "C" fn on_operation(_: c_uint, data: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    let payload::Operation { position, operation, register } = payload::to_operation(data);
    // SAFETY: in the thread of the CPU, in a callback that may read registers.
    let virtual_address =
        state.registers.as_mut().and_then(|registers| unsafe { registers.x(register) });
    let walk = match &state.physical {
        Some(Physical::Aarch64(walk)) => Some(walk),
        _ => None,
    };
    // SAFETY: as above.
    match walk.zip(virtual_address).and_then(|(walk, address)| unsafe { walk.physical(address) }) {
        Some(address) => state.machine.operate(position, operation, address),
        None => state.machine.operate_nowhere(position, operation),
    }
    state.count();
}

/// The CPU whose block runs fetches instructions.
unsafe extern "C" fn on_fetch(_: c_uint, data: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    let (address, lines) = payload::to_fetch(data);
    state.machine.fetch(address, lines);
    state.count();
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

/// A CPU is about to execute an instruction after which it may sleep.
unsafe extern "C" fn on_wait(_: c_uint, data: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    state.model_time.before_sleep(&state.machine, payload::to_position(data).at);
}

/// The hypervisor wants a counter for its CPU.
unsafe extern "C" fn on_counter(_: c_uint, _: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    // SAFETY: in the thread of the CPU.
    let cpu = unsafe { state.current_cpu.index() };
    let argument = |number| {
        // SAFETY: in the thread of the CPU, in a callback that may read registers.
        state.registers.as_mut().and_then(|registers| unsafe { registers.x(number) })
    };
    let [Some(address), Some(interrupt)] = [0, 1].map(argument) else {
        fail("QEMU does not tell where a counter is to be (registers x0 and x1)");
    };
    let count = state.machine.lines_moved(cpu);
    // SAFETY: as above.
    if let Err(error) = unsafe { state.counters.give(cpu, address, interrupt, count) } {
        fail(&format!("hint #0x51 of CPU {cpu} asks for a counter of memory traffic: {error}"));
    }
    state.machine.silence(address);
}

/// The hypervisor is about to let an interrupt come, or to ask for one.
unsafe extern "C" fn on_look(_: c_uint, _: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    let cpu = state.machine.current();
    state.machine.set_limit(cpu, state.counters.limit(cpu));
    state.machine.look_for_interrupts();
}

/// A CPU is about to write to TTBR0_EL1.
unsafe extern "C" fn on_space(_: c_uint, data: *mut c_void) {
    // SAFETY: a callback; see `state`.
    let state = unsafe { state() };
    let (at, register) = payload::to_register(data);
    // SAFETY: in the thread of the CPU, in a callback that may read registers.
    let value = state.registers.as_mut().and_then(|registers| unsafe { registers.x(register) });
    let Some(value) = value else {
        fail("QEMU does not tell the value of a general register");
    };
    state.machine.switch_space(at, value);
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
