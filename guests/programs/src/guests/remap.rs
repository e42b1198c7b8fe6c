//! `rt-remap`: the costs of mapping a page when it is first touched, and of giving a task colours
//! (vColoring), counted in ticks of the virtual counter as `rt-bench` does, in the same lines.
//!
//! ```text
//! bench: first_touch min=265 max=293 runs=64
//! bench: request_256 min=654241 max=654241 runs=1
//! bench: again_256 min=210312 max=210312 runs=1
//! bench: free_256 min=598001 max=598001 runs=1
//! bench: done faults=0
//! ```
//!
//! `request_N`: a task of N pages asks for all extra colours; `again_N`: it does so again, when its
//! pages are there already; `free_N`: its pages go back. Without extra colours there is only
//! `first_touch`. A request that fails is a line `bench: FAILED ...`.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use abi::hypercall::{COLOR_REQUEST, VmInfo};
use abi::limits::PAGE_BYTES;
use policy::color::Rotation;

use programs::arch::bench::{baseline, hvc_with, load};
use rt::arch::cpu;
use rt::coloring::{Memory, STACK_BYTES, Task, geometry};
use rt::{hypercall, println};

const PAGE: usize = PAGE_BYTES as usize;
/// Pages that are touched.
const TOUCHES: usize = 64;
/// Pages of the tasks.
const TASKS: [usize; 6] = [256, 512, 1024, 2048, 4096, 8192];

/// The findings of the task that ran last: ticks and result of a request, one that changes nothing, and a free.
static FOUND: [[AtomicU64; 2]; 3] = [const { [const { AtomicU64::new(0) }; 2] }; 3];

/// Makes requests in the address space of a task.
fn requests(_: &mut [u64], colors: u64) {
    for (found, colors) in FOUND.iter().zip([colors, colors, 0]) {
        let (ticks, result) = hvc_with(COLOR_REQUEST, [colors, 0]);
        found[0].store(ticks, SeqCst);
        found[1].store(result, SeqCst);
    }
}

/// Prints only at the end: the console of this processor would be served meanwhile.
fn measure() -> Option<()> {
    let mut memory = Memory::take(geometry().ok()?).ok()?;
    let all = memory.geometry().all();
    let nop = baseline();
    let (mut min, mut max) = (u64::MAX, 0);
    let mut next = Rotation::new(all);
    for _ in 0..TOUCHES {
        let page = memory.allocate(&mut next).ok()?;
        let ticks = load(page.address()) - nop;
        (min, max) = (min.min(ticks), max.max(ticks));
    }
    let mut found = [[[0; 2]; FOUND.len()]; TASKS.len()];
    if let Some(extra) = hypercall::vm_info(VmInfo::ExtraColors) {
        for (found, pages) in found.iter_mut().zip(TASKS) {
            let mut task = Task::new(&mut memory, all, pages * PAGE - STACK_BYTES).ok()?;
            task.run(requests, extra);
            *found = FOUND.each_ref().map(|values| values.each_ref().map(|it| it.load(SeqCst)));
        }
    }
    println!("bench: first_touch min={min} max={max} runs={TOUCHES}");
    for (found, pages) in found.iter().zip(TASKS) {
        for (name, &[ticks, result]) in ["request", "again", "free"].iter().zip(found) {
            if ticks != 0 && result == pages as u64 {
                println!("bench: {name}_{pages} min={0} max={0} runs=1", ticks - nop);
            } else if ticks != 0 {
                println!("bench: FAILED {name}_{pages}: {}", result as i64);
            }
        }
    }
    Some(())
}

/// Measures everything.
pub fn main() {
    cpu::mask_interrupts();
    let faults = u64::from(measure().is_none());
    println!("bench: done faults={faults}");
}
