//! Private interrupts of CPUs.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::{mem, ptr};

use super::symbol::{Cpu, needed};

/// The input of the interrupt controller for one interrupt of one CPU.
#[derive(Clone, Copy)]
pub struct Line {
    cpu: Cpu,
    input: *mut c_void,
}

/// Finds inputs of the interrupt controller, and drives them. Not part of the plugin
/// interface, but exported by QEMU's binary.
pub struct Interrupts {
    /// Address of `current_cpu` in the thread of the CPUs.
    current: *const Cpu,
    /// The interrupt controller.
    controller: *mut c_void,
    /// Its shared interrupts, before which private ones of CPUs have no input.
    shared: u64,
    /// `qdev_get_gpio_in`: an input of a device.
    input_of: extern "C" fn(*mut c_void, c_int) -> *mut c_void,
    /// `async_run_on_cpu`: has the thread of a CPU do something between two blocks.
    run_later: extern "C" fn(Cpu, Work, u64),
}

/// A function that the thread of the CPUs calls between two blocks.
type Work = extern "C" fn(Cpu, u64);

/// `qemu_set_irq`, for [`raise`] and [`lower`], which QEMU passes one word only.
static SET: OnceLock<extern "C" fn(*mut c_void, c_int)> = OnceLock::new();

/// QEMU's interrupt controllers, GICv3 and GICv2.
const CONTROLLERS: [&CStr; 2] = [c"arm-gicv3-common", c"arm_gic_common"];

/// Private interrupts of a CPU, with those that software sends.
const PRIVATE: u64 = 32;

/// Private peripheral interrupts.
const PERIPHERAL: std::ops::Range<u64> = 16..32;

impl Interrupts {
    /// Finds what is needed, in the thread of the CPUs.
    ///
    /// # Errors
    /// A description of the parts that QEMU lacks.
    pub fn find() -> Result<Self, String> {
        let current = needed(c"current_cpu")?.cast_const().cast();
        let (resolve, property) =
            (needed(c"object_resolve_path_type")?, needed(c"object_property_get_uint")?);
        let (input_of, run_later) = (needed(c"qdev_get_gpio_in")?, needed(c"async_run_on_cpu")?);
        let set = needed(c"qemu_set_irq")?;
        // SAFETY: QEMU declares `Object *object_resolve_path_type(const char *, const
        // char *, bool *)`, `uint64_t object_property_get_uint(Object *, const char *, Error
        // **)`, `qemu_irq qdev_get_gpio_in(DeviceState *, int)`, `void
        // async_run_on_cpu(CPUState *, void (*)(CPUState *, run_on_cpu_data),
        // run_on_cpu_data)` and `void qemu_set_irq(qemu_irq, int)`; `run_on_cpu_data` is a
        // union of words, passed as one.
        let (resolve, property, input_of, run_later, set) = unsafe {
            (
                mem::transmute::<
                    *mut c_void,
                    extern "C" fn(*const c_char, *const c_char, *mut bool) -> *mut c_void,
                >(resolve),
                mem::transmute::<
                    *mut c_void,
                    extern "C" fn(*mut c_void, *const c_char, *mut *mut c_void) -> u64,
                >(property),
                mem::transmute::<*mut c_void, extern "C" fn(*mut c_void, c_int) -> *mut c_void>(
                    input_of,
                ),
                mem::transmute::<*mut c_void, extern "C" fn(Cpu, Work, u64)>(run_later),
                mem::transmute::<*mut c_void, extern "C" fn(*mut c_void, c_int)>(set),
            )
        };
        SET.get_or_init(|| set);
        let controller = CONTROLLERS
            .iter()
            .map(|name| resolve(c"".as_ptr(), name.as_ptr(), ptr::null_mut()))
            .find(|found| !found.is_null())
            .ok_or("the machine has no GICv2 or GICv3, or several")?;
        let interrupts = property(controller, c"num-irq".as_ptr(), ptr::null_mut());
        let shared = interrupts.checked_sub(PRIVATE).ok_or("the GIC has no interrupts")?;
        Ok(Self { current, controller, shared, input_of, run_later })
    }

    /// The private interrupt `number` of the running CPU, whose index is `cpu`.
    ///
    /// # Errors
    /// If it is no private peripheral interrupt.
    ///
    /// # Safety
    /// In the thread of the CPUs, in a callback of this CPU.
    pub unsafe fn line(&self, cpu: usize, number: u64) -> Result<Line, String> {
        if !PERIPHERAL.contains(&number) {
            return Err("expected a private peripheral interrupt, 16 to 31".into());
        }
        let input = self.shared + cpu as u64 * PRIVATE + number;
        let input = (self.input_of)(self.controller, input as c_int);
        // SAFETY: a variable of this thread, which lives as long as the thread.
        Ok(Line { cpu: unsafe { self.current.read() }, input })
    }

    /// Makes a line active after the block that runs. An interrupt controller that waits for
    /// edges sees one, even if the line was active.
    pub fn raise(&self, line: Line) {
        (self.run_later)(line.cpu, raise, line.input as u64);
    }

    /// Makes a line inactive after the block that runs.
    pub fn lower(&self, line: Line) {
        (self.run_later)(line.cpu, lower, line.input as u64);
    }
}

extern "C" fn raise(_: Cpu, input: u64) {
    set(input, 0);
    set(input, 1);
}

extern "C" fn lower(_: Cpu, input: u64) {
    set(input, 0);
}

/// QEMU's lock is held: CPUs stand still.
fn set(input: u64, level: c_int) {
    if let Some(set) = SET.get() {
        set(input as *mut c_void, level);
    }
}
