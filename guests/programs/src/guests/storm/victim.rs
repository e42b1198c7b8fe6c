//! The victim: the part of its work that a VCPU gets done.
//!
//! Boot arguments: `storm.start_ms` (30): when the first window begins, after the start of the first period of all servers;
//! `storm.windows` (1), and how long each is: `storm.window_ms` (50): whole periods of the server, or what is in a window depends
//! on how it lies; `storm.resource` (none): a resource that it takes for a moment after each `storm.every` (1000) chunks.
//!
//! ```text
//! storm: victim chunks=39612 least=39612 most=39612 windows=1 sections=39 refusals=0
//! ```
//!
//! `chunks` are those in all windows, `least` and `most` those in one; `sections` is the number of times that it had the
//! resource, `refusals` the number of times that it did not get it.

use abi::hypercall::{LOCK_TRY, UNLOCK};

use super::after_start;
use rt::arch::{counter, cpu, smccc::hvc};
use rt::sections::{self, Resource};
use rt::time::Clock;
use rt::{arguments, println};

/// Instructions of a chunk.
const CHUNK: u64 = 1_000;

/// The work that it does again and again.
struct Work {
    resource: Option<u64>,
    every: u64,
    chunks: u64,
    sections: u64,
    refusals: u64,
}

impl Work {
    fn chunk(&mut self) {
        cpu::burn(CHUNK);
        self.chunks += 1;
        if let Some(resource) = self.resource
            && self.chunks.is_multiple_of(self.every)
        {
            let call = |function: u32| hvc(function.into(), [resource, 0, 0, 0, 0, 0, 0])[0] as i64;
            if call(LOCK_TRY) >= 0 {
                self.sections += 1;
                call(UNLOCK);
            } else {
                self.refusals += 1;
            }
        }
    }
}

/// Counts and prints.
pub fn main() {
    let windows = arguments::number("storm.windows", 1);
    let length = Clock::of_machine().ticks(arguments::number("storm.window_ms", 50) * 1_000_000);
    let resource = match arguments::text("storm.resource").map(sections::open) {
        Some(Some(Resource::Shared(number))) => Some(number.into()),
        Some(_) => return println!("storm: there is no such resource"),
        None => None,
    };
    let every = arguments::number("storm.every", 1000).max(1);
    let mut work = Work { resource, every, chunks: 0, sections: 0, refusals: 0 };
    let mut end = after_start(arguments::number("storm.start_ms", 30));
    while counter::now() < end {
        work.chunk();
    }
    let (mut sum, mut least, mut most) = (0, u64::MAX, 0);
    for _ in 0..windows {
        end += length;
        let before = work.chunks;
        while counter::now() < end {
            work.chunk();
        }
        let chunks = work.chunks - before;
        (sum, least, most) = (sum + chunks, least.min(chunks), most.max(chunks));
    }
    let Work { sections, refusals, .. } = work;
    println!(
        "storm: victim chunks={sum} least={least} most={most} windows={windows} sections={sections} refusals={refusals}"
    );
}
