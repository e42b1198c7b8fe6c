//! Stacks of processors and tasks, each with an unmapped page below it.

use core::cell::UnsafeCell;
use core::mem::offset_of;

use super::mmu::PAGE;
use crate::taskset::TASKS_MAX;

/// Most processors a guest may use.
pub const CPUS_MAX: usize = 4;

#[repr(C, align(4096))]
struct Guarded<const BYTES: usize> {
    guard: UnsafeCell<[u8; PAGE]>,
    stack: UnsafeCell<[u8; BYTES]>,
}

#[repr(C)]
struct Cpu {
    handler: Guarded<{ 2 * PAGE }>,
    thread: Guarded<{ 5 * PAGE }>,
}

#[repr(C)]
pub(super) struct Stacks {
    fault: Guarded<PAGE>,
    cpus: [Cpu; CPUS_MAX],
    tasks: [[Guarded<{ 3 * PAGE }>; TASKS_MAX]; CPUS_MAX],
}

// SAFETY: the program never touches the bytes through this object: it only takes addresses. Each
// stack is used by the one processor or task that it belongs to.
unsafe impl Sync for Stacks {}

// Not zeroed at start: the entry code already runs on the first of them.
#[unsafe(link_section = ".bss.stacks")]
// SAFETY: zero bytes are a valid value of arrays of bytes, and nothing relies on them.
pub(super) static STACKS: Stacks = unsafe { core::mem::zeroed() };

/// End of the stack for fault reports, counted from the start of [`STACKS`].
pub(super) const FAULT_END: usize = offset_of!(Stacks, fault) + size_of::<Guarded<PAGE>>();
/// End of the first processor's handler stack, counted from the start of [`STACKS`].
pub(super) const HANDLER_END: usize = offset_of!(Stacks, cpus) + offset_of!(Cpu, thread);
/// Distance from the end of a processor's handler stack to the end of its thread stack.
pub(super) const THREAD_FROM_HANDLER: usize = size_of::<Cpu>() - offset_of!(Cpu, thread);

/// End of the handler stack of processor `cpu`.
pub(super) fn handler_end(cpu: usize) -> usize {
    (&raw const STACKS.cpus[cpu].thread) as usize
}

/// End of the stack of task `task` of processor `cpu`.
pub(super) fn task_end(cpu: usize, task: usize) -> usize {
    (&raw const STACKS.tasks[cpu][task]) as usize + size_of::<Guarded<{ 3 * PAGE }>>()
}

/// Addresses of the pages that must not be mapped.
pub(super) fn guard_pages() -> impl Iterator<Item = usize> {
    let cpus = STACKS.cpus.iter().flat_map(|cpu| [cpu.handler.guard.get(), cpu.thread.guard.get()]);
    let tasks = STACKS.tasks.iter().flatten().map(|task| task.guard.get());
    core::iter::once(STACKS.fault.guard.get()).chain(cpus).chain(tasks).map(|page| page as usize)
}
