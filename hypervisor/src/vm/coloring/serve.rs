//! Requests of guests to vColoring, and the pages of a VM that restarts.

use abi::hypercall::Error;
use policy::color::{Color, ColorSet};

use super::super::Vm;
use super::super::work::{self, Answer, Work};
use crate::arch::page_table::PAGE_BYTES;
use crate::arch::{cpu, regs};
use crate::pcpu::{Assignment, Pcpu};
use crate::plan::Range;
use crate::stage1::Space;

impl Vm {
    /// Begins a request for colours of an address space, a bit field. Returns a negative [`Error`]
    /// if it is refused; otherwise its guest continues when it has the result.
    #[inline(never)]
    pub fn request_colors(
        &self,
        space: Space,
        colors: u64,
        answer: Answer,
        at: &Assignment,
        pcpu: &'static Pcpu,
    ) -> i64 {
        match self.begin_request(space, colors) {
            Ok(()) => work::begin(Work::Request(answer), at, pcpu),
            Err(error) => error as i64,
        }
    }

    /// Begins a request: [`Vm::request_chunk`] is to be called until it returns a result.
    pub(in crate::vm) fn begin_request(&self, space: Space, colors: u64) -> Result<(), Error> {
        let Some(coloring) = &self.coloring else { return Err(Error::NotSupported) };
        let mut coloring = coloring.lock();
        let begun = coloring.begin(space, ColorSet::from_bits(colors));
        if let Err(error) = begun {
            coloring.result = (space.table(), error as i64);
        }
        begun
    }

    /// Does one chunk of the current request, while this CPU has a VCPU of the VM loaded. Returns
    /// the number of pages that the request found, or a negative [`Error`], when it is complete.
    #[inline(never)]
    pub(in crate::vm) fn request_chunk(&self) -> Option<i64> {
        self.coloring.as_ref()?.lock().step(self)
    }

    /// Finds the colour of the frame behind a virtual address of the guest that runs here;
    /// the result is kept for this address space.
    pub fn locate(&self, address: u64, as_el0: bool) {
        let Some(coloring) = &self.coloring else { return };
        let color = cpu::translate_for_guest(address, as_el0).and_then(|ipa| self.color(ipa));
        let value = color.map_or(Error::BadAddress as i64, |color| color as i64);
        coloring.lock().result = (Space::current().table(), value);
    }

    /// Returns the colour of the frame behind an IPA.
    fn color(&self, ipa: u64) -> Option<u64> {
        let mask = self.plan.llc?.color_mask;
        Some((self.frame(ipa)?.address() & mask) >> mask.trailing_zeros())
    }

    /// Returns the last result of the address space that runs here.
    pub fn coloring_result(&self) -> i64 {
        let result = self.coloring.as_ref().map(|coloring| coloring.lock().result);
        match result {
            Some((table, value)) if table == Space::current().table() => value,
            _ => Error::TryAgain as i64,
        }
    }

    /// Returns the number of free frames of the pool, of one colour or of all; `None` without such
    /// frames.
    pub fn pool_free(&self, color: Option<Color>) -> Option<u64> {
        let coloring = self.coloring.as_ref()?.lock();
        let pool = &coloring.pages.pool;
        match color {
            None => Some(pool.free().into()),
            Some(color) => pool.colors().contains(color).then(|| pool.free_of(color).into()),
        }
    }

    /// Forgets the colours and requests of tasks when the VM stops. Its pages stay where they are
    /// until [`Vm::reset_pages`].
    pub(in crate::vm) fn reset_coloring(&self) {
        if let Some(coloring) = &self.coloring {
            coloring.lock().reset();
        }
    }

    /// Restores the initial mapping of pages of RAM while no CPU uses the tables of the VM.
    pub(in crate::vm) fn reset_pages(&self, range: Range) {
        if self.coloring.is_none() && self.plan.warm_up {
            return;
        }
        for page in (range.start..range.end()).step_by(PAGE_BYTES as usize) {
            self.stage2.forget(page);
            if self.plan.warm_up {
                self.touch(page);
            }
        }
    }
}

impl Space {
    /// Returns the address space of the guest that runs on this CPU.
    pub fn current() -> Self {
        Self { ttbr0: regs::ttbr0_el1::read(), tcr: regs::tcr_el1::read() }
    }
}
