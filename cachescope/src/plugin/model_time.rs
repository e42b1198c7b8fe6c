//! Guests see the model's time (`time=model`): it takes the place of QEMU's virtual clock.
//!
//! With `-icount` QEMU's virtual clock is the number of executed instructions and a bias,
//! which jumps to the next timer when all CPUs sleep. QEMU asks for it through one function
//! pointer, `get_virtual_clock` of its accelerator; that pointer is replaced. The new
//! clock shows the time of the CPU that runs, but never less than it showed before; so it is the same
//! for all CPUs, and at most a quantum and a block of instructions ahead of any of them.
//! Jumps of the bias are kept: all CPUs of the model sleep as long.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, Ordering};

use bulkhead_cachescope_model::Machine;

use super::STATE;
use super::symbol::needed;

/// Functions that QEMU exports beside the plugin interface.
struct Qemu {
    /// `icount_get`: QEMU's virtual clock, in ns.
    clock: extern "C" fn() -> i64,
    /// `icount_get_raw`: executed instructions.
    instructions: extern "C" fn() -> i64,
    /// `icount_to_ns`: instructions as time.
    to_ns: extern "C" fn(i64) -> i64,
}

static QEMU: OnceLock<Qemu> = OnceLock::new();

/// The time that the clock shows beyond QEMU's bias; [`NOT_STARTED`] as long as it shows QEMU's time. Written
/// by the thread of the CPUs. QEMU's main thread reads it when all CPUs sleep, to tell how far
/// to jump; at any other time it may see an older value.
static AHEAD: AtomicI64 = AtomicI64::new(NOT_STARTED);

const NOT_STARTED: i64 = i64::MIN;

/// True if something has asked for the clock.
static ASKED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True if this is the thread of the CPUs.
    static OF_CPUS: Cell<bool> = const { Cell::new(false) };
}

/// The relation between the model's time and the clock.
#[derive(Default)]
pub struct ModelTime {
    /// The time that the clock showed when the model's time was 0, once it has started.
    origin: Option<i64>,
    /// QEMU's bias, as it was last seen.
    bias: i64,
}

/// Words of `AccelOpsClass` that can hold function pointers: it has more in QEMU 10.
const WORDS: usize = 30;

/// Puts the clock in the place of QEMU's. Call it in the thread of the CPUs, once, before
/// any CPU runs.
///
/// # Errors
/// A description of the parts that QEMU lacks.
pub fn install() -> Result<(), String> {
    let (clock, instructions) = (needed(c"icount_get")?, needed(c"icount_get_raw")?);
    let to_ns = needed(c"icount_to_ns")?;
    let (class, shown) = (needed(c"cpus_get_accel")?, needed(c"cpus_get_virtual_clock")?);
    // SAFETY: QEMU declares `int64_t icount_get(void)`, `int64_t icount_get_raw(void)`, `int64_t
    // icount_to_ns(int64_t)`, `const AccelOpsClass *cpus_get_accel(void)` and `int64_t
    // cpus_get_virtual_clock(void)`.
    let (qemu, class, shown) = unsafe {
        (
            Qemu {
                clock: mem::transmute::<*mut c_void, extern "C" fn() -> i64>(clock),
                instructions: mem::transmute::<*mut c_void, extern "C" fn() -> i64>(instructions),
                to_ns: mem::transmute::<*mut c_void, extern "C" fn(i64) -> i64>(to_ns),
            },
            mem::transmute::<*mut c_void, extern "C" fn() -> *mut AtomicPtr<c_void>>(class),
            mem::transmute::<*mut c_void, extern "C" fn() -> i64>(shown),
        )
    };
    let class = class();
    if class.is_null() {
        return Err("QEMU has no accelerator".into());
    }
    // SAFETY: the class lives as long as QEMU and has at least that many words, which are
    // pointers.
    let mut pointers = (0..WORDS).map(|word| unsafe { &*class.add(word) });
    let Some(pointer) = pointers.find(|pointer| pointer.load(Ordering::Relaxed) == clock) else {
        return Err("QEMU's virtual clock does not count instructions: add -icount \
                    shift=0,sleep=off to QEMU's options"
            .into());
    };
    OF_CPUS.set(true);
    QEMU.get_or_init(|| qemu);
    let ours: extern "C" fn() -> i64 = virtual_clock;
    pointer.store(ours as *mut c_void, Ordering::Relaxed);
    shown();
    if ASKED.load(Ordering::Relaxed) {
        return Ok(());
    }
    pointer.store(clock, Ordering::Relaxed);
    Err("QEMU's virtual clock cannot be replaced; use Debian's qemu-system-aarch64 10.0".into())
}

/// QEMU's virtual clock, in ns.
extern "C" fn virtual_clock() -> i64 {
    ASKED.store(true, Ordering::Relaxed);
    // It is set before this function is known to QEMU.
    let Some(qemu) = QEMU.get() else { return 0 };
    let (time, bias) = qemu.read();
    let state = STATE.load(Ordering::Relaxed);
    if OF_CPUS.get() && !state.is_null() {
        // SAFETY: in the thread of the CPUs, to which the state belongs. QEMU asks for its clock
        // between blocks or for an instruction, never in a callback of the plugin.
        let state = unsafe { &mut *state };
        return state.model_time.show(&mut state.machine, time, bias);
    }
    match AHEAD.load(Ordering::Relaxed) {
        NOT_STARTED => time,
        ahead => bias + ahead,
    }
}

impl Qemu {
    /// QEMU's own clock and its bias.
    fn read(&self) -> (i64, i64) {
        loop {
            // Only the thread of the CPUs executes instructions in between, if this is another.
            let before = (self.instructions)();
            let time = (self.clock)();
            if (self.instructions)() == before {
                return (time, time - (self.to_ns)(before));
            }
        }
    }
}

impl ModelTime {
    /// The time that the clock shows now.
    fn show(&mut self, machine: &mut Machine, time: i64, bias: i64) -> i64 {
        let Some(now) = machine.now_ns() else {
            return time;
        };
        let now = now as i64;
        let Some(origin) = self.origin else {
            // The clock goes on from where QEMU's was.
            let origin = time - now;
            (self.origin, self.bias) = (Some(origin), bias);
            machine.set_guest_origin(origin);
            AHEAD.store(time - bias, Ordering::Relaxed);
            return time;
        };
        let shown = bias + AHEAD.load(Ordering::Relaxed);
        if bias != self.bias {
            self.bias = bias;
            machine.idle_until((shown - origin).max(0) as u64);
        }
        let shown = shown.max(now + origin);
        AHEAD.store(shown - bias, Ordering::Relaxed);
        shown
    }

    /// The CPU that runs may sleep after this instruction of its block. If then all sleep, QEMU's
    /// main thread may ask for the clock at once.
    pub fn before_sleep(&self, machine: &Machine, instruction: u32) {
        if let (Some(origin), Some(now)) = (self.origin, machine.now_ns_after(instruction)) {
            AHEAD.fetch_max(now as i64 + origin - self.bias, Ordering::Relaxed);
        }
    }
}
