//! The time that other VCPUs had in this one's place: Arm DEN 0057, "Paravirtualized Time for Arm-based
//! Systems".

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::mmu::{self, Window};
use super::stacks::CPUS_MAX;
use super::{counter, cpu, smccc};
use crate::hypercall;
use crate::time::Clock;

const PV_TIME_ST: u64 = 0xC500_0021;
/// Offset of the nanoseconds in a VCPU's record.
const STOLEN: u64 = 8;

/// The address of the nanoseconds of each processor, 0 if there is none.
static PLACES: [AtomicU64; CPUS_MAX] = [const { AtomicU64::new(0) }; CPUS_MAX];
/// Address of the first record, and the address at which it is mapped.
static WINDOW: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Finds what the hypervisor tells this processor, if it does. The first processor calls this before
/// others do.
pub fn find() {
    if hypercall::features() == 0 {
        return;
    }
    let [record, ..] = smccc::hvc(PV_TIME_ST, [0; 7]);
    if (record as i64) < 0 || !record.is_multiple_of(8) {
        return;
    }
    if WINDOW[1].load(Relaxed) == 0 {
        WINDOW[0].store(record, Relaxed);
        WINDOW[1].store(mmu::open_window(record, Window::Read), Relaxed);
    }
    // All records lie in one page (the hypervisor's, whose layout is DEN 0057's).
    let place = WINDOW[1].load(Relaxed) + (record - WINDOW[0].load(Relaxed)) + STOLEN;
    PLACES[cpu::index()].store(place, Relaxed);
}

/// Words of the page with the records of all processors, and the number of those that are not zero although they are no
/// nanoseconds; `None` if there is no such page.
pub fn used_words() -> Option<(usize, usize)> {
    const WORDS: usize = 4096 / 8;
    const RECORD_WORDS: usize = 8;
    let page = match WINDOW[1].load(Relaxed) & !0xfff {
        0 => return None,
        page => page as *const u64,
    };
    let used = (0..WORDS).filter(|&word| {
        // SAFETY: `find` has mapped the page, which only the hypervisor writes to.
        let value = unsafe { page.add(word).read_volatile() };
        let is_time = word < CPUS_MAX * RECORD_WORDS && word % RECORD_WORDS == STOLEN as usize / 8;
        value != 0 && !is_time
    });
    Some((WORDS, used.count()))
}

/// Nanoseconds in which this processor had something to do and did not run.
fn nanoseconds() -> u64 {
    match PLACES[cpu::index()].load(Relaxed) {
        0 => 0,
        // SAFETY: `find` has mapped the page, which only the hypervisor writes to.
        place => unsafe { core::ptr::read_volatile(place as *const u64) },
    }
}

/// The time that this processor has had: ticks of the counter without those that were stolen. To be
/// called with interrupts masked.
pub fn own_time() -> u64 {
    loop {
        let stolen = nanoseconds();
        let now = counter::now();
        if nanoseconds() == stolen {
            return now - Clock::of_machine().ticks(stolen);
        }
    }
}
