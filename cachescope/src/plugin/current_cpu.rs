//! The CPU that runs.
//!
//! The index that QEMU passes to callbacks is that of the CPU that *translated*
//! the block when all CPUs run in one thread. The running one is in QEMU's
//! thread-local variable `current_cpu`; that, and the two functions below, are
//! not part of the plugin interface but exported by QEMU's binary.

use std::ffi::{CStr, c_int, c_void};
use std::{mem, ptr};

use super::symbol::{Cpu, symbol};

/// Finds the running CPU, and makes it give way to the next.
pub enum CurrentCpu {
    /// There is only one, number 0, which need not give way to another one.
    Single,
    /// One of several, or one that has to look after its timers.
    OneOf(OneOf),
}

/// Functions and data that QEMU exports, and the CPU that was found last.
pub struct OneOf {
    /// Address of `current_cpu` in the thread of the CPUs.
    current: *const Cpu,
    /// `gdb_get_cpu_index`: index of a CPU, from 1.
    index_of: extern "C" fn(Cpu) -> c_int,
    /// `cpu_exit`: makes a CPU leave before its next block.
    exit: Option<extern "C" fn(Cpu)>,
    last: Cpu,
    last_index: usize,
}

impl CurrentCpu {
    /// Finds what is needed for one CPU `alone`, or several; `ends_slices` is whether
    /// [`CurrentCpu::end_slice`] will be called. A single CPU has slices, too, if its timers run by the
    /// model's time: then it is not `alone`.
    ///
    /// # Errors
    /// A description of the parts that QEMU lacks, and of the remedy.
    pub fn find(alone: bool, ends_slices: bool) -> Result<Self, String> {
        if alone {
            return Ok(Self::Single);
        }
        let needed = |name: &CStr, why: &str| {
            symbol(name).ok_or_else(|| {
                format!(
                    "this QEMU does not export \"{}\", without which {why}; use Debian's \
                     qemu-system-aarch64, one built without stripping its exports, or -smp 1",
                    name.to_string_lossy()
                )
            })
        };
        let unknown = "it cannot be told which CPU runs";
        needed(c"current_cpu", unknown)?;
        let index_of = needed(c"gdb_get_cpu_index", unknown)?;
        let exit = if ends_slices {
            Some(needed(c"cpu_exit", "CPUs cannot be kept together (quantum=0 does without)")?)
        } else {
            None
        };
        // SAFETY: QEMU declares `int gdb_get_cpu_index(CPUState *)`.
        let index_of =
            unsafe { mem::transmute::<*mut c_void, extern "C" fn(Cpu) -> c_int>(index_of) };
        // SAFETY: QEMU declares `void cpu_exit(CPUState *)`.
        let exit =
            exit.map(|exit| unsafe { mem::transmute::<*mut c_void, extern "C" fn(Cpu)>(exit) });
        let current = ptr::null();
        let last = ptr::null();
        Ok(Self::OneOf(OneOf { current, index_of, exit, last, last_index: 0 }))
    }

    /// Call this in the thread of the CPUs, before all else.
    pub fn enter_thread(&mut self) {
        if let Self::OneOf(cpus) = self
            && let Some(address) = symbol(c"current_cpu")
        {
            cpus.current = address.cast_const().cast();
        }
    }

    /// Index of the CPU that runs.
    ///
    /// # Safety
    /// In the thread of the CPUs, in a callback, after [`CurrentCpu::enter_thread`].
    #[inline]
    pub unsafe fn index(&mut self) -> usize {
        let Self::OneOf(cpus) = self else {
            return 0;
        };
        // SAFETY: the address of a variable of this thread, which lives as long
        // as the thread.
        let cpu = unsafe { cpus.current.read() };
        if cpu != cpus.last {
            cpus.last = cpu;
            cpus.last_index = (cpus.index_of)(cpu) as usize - 1;
        }
        cpus.last_index
    }

    /// Makes the CPU that runs give way to the next after its block.
    ///
    /// # Safety
    /// As [`CurrentCpu::index`].
    pub unsafe fn end_slice(&self) {
        if let Self::OneOf(cpus) = self
            && let Some(exit) = cpus.exit
        {
            // SAFETY: as in `index`.
            exit(unsafe { cpus.current.read() });
        }
    }
}
