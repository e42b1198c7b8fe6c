//! What guests ask of vColoring, and what becomes of their pages when a VM restarts.

use bulkhead_abi::hypercall::Error;
use policy::color::{Color, ColorSet};

use super::super::Vm;
use crate::arch::page_table::PAGE_BYTES;
use crate::arch::{cpu, regs};
use crate::exits;
use crate::pcpu::{Assignment, Pcpu};
use crate::stage1::Space;

/// Pages that are reset before interrupts are looked at again.
const RESETS: usize = 256;

impl Vm {
    /// Serves a request for colours of an address space, a bit field: the number of pages
    /// that it found, or a negative [`Error`]. Does not return if the VM stops meanwhile.
    #[inline(never)]
    pub fn request_colors(
        &'static self,
        space: Space,
        colors: u64,
        at: &Assignment,
        pcpu: &'static Pcpu,
    ) -> i64 {
        let Some(coloring) = &self.coloring else { return Error::NotSupported as i64 };
        let begun = coloring.lock().begin(space, ColorSet::from_bits(colors));
        let result = begun.and_then(|()| {
            loop {
                let step = coloring.lock().step(self);
                if let Some(result) = step {
                    return result;
                }
                exits::between_chunks(at, pcpu);
            }
        });
        let value = result.map_or_else(|error| error as i64, |pages| pages as i64);
        coloring.lock().result = (space.table(), value);
        value
    }

    /// Finds the colour of the frame behind a virtual address of the guest that runs here;
    /// the result is kept for this address space.
    pub fn locate(&self, address: u64, as_el0: bool) {
        let Some(coloring) = &self.coloring else { return };
        let color = cpu::translate_for_guest(address, as_el0).and_then(|ipa| self.color(ipa));
        let value = color.map_or(Error::BadAddress as i64, |color| color as i64);
        coloring.lock().result = (Space::current().table(), value);
    }

    /// The colour of the frame behind an IPA.
    fn color(&self, ipa: u64) -> Option<u64> {
        let mask = self.plan.llc?.color_mask;
        Some((self.frame(ipa)?.address() & mask) >> mask.trailing_zeros())
    }

    /// What the address space that runs here was told last.
    pub fn coloring_result(&self) -> i64 {
        let result = self.coloring.as_ref().map(|coloring| coloring.lock().result);
        match result {
            Some((table, value)) if table == Space::current().table() => value,
            _ => Error::TryAgain as i64,
        }
    }

    /// Free frames of the pool, of one colour or of all; `None` without such frames.
    pub fn pool_free(&self, color: Option<Color>) -> Option<u64> {
        let coloring = self.coloring.as_ref()?.lock();
        let pool = &coloring.pool;
        match color {
            None => Some(pool.free().into()),
            Some(color) => pool.colors().contains(color).then(|| pool.free_of(color).into()),
        }
    }

    /// Makes all pages as they are at the start of the VM, the tables of which nobody
    /// uses.
    pub(in crate::vm) fn reset_pages(&self, pcpu: &'static Pcpu) {
        if let Some(coloring) = &self.coloring {
            coloring.lock().reset();
        } else if self.plan.warm_up {
            return;
        }
        for (number, page) in (self.memory.iter())
            .flat_map(|(guest, _)| (guest.start..guest.end()).step_by(PAGE_BYTES as usize))
            .enumerate()
        {
            self.stage2.forget(page);
            if self.plan.warm_up {
                self.touch(page);
            }
            if number % RESETS == 0 {
                exits::serve_interrupt(pcpu);
            }
        }
    }
}

impl Space {
    /// The address space of the guest that runs on this CPU.
    pub fn current() -> Self {
        Self { ttbr0: regs::ttbr0_el1::read(), tcr: regs::tcr_el1::read() }
    }
}
