//! vColoring: gives the pages of a task frames of the colours that it asks for (vCache,
//! section 4.2).
//!
//! Every page of RAM has a home, its frame of the VM's default colours. A request walks
//! the guest's translation tables and moves the pages that it finds to frames of the
//! pool, or home again. It is done in chunks, so that interrupts wait for one chunk at most;
//! all that lasts from chunk to chunk is in [`Coloring`], and pages are on their way only
//! within a chunk.

use alloc::vec;
use alloc::vec::Vec;

use bulkhead_abi::hypercall::Error;
use policy::color::{Choice, Color, ColorSet, Place, Pool, RequestError, Slot};

use super::Vm;
use crate::arch::memory::{Frame, GuestMemory};
use crate::arch::page_table::PAGE_BYTES;
use crate::arch::stage2::Move;
use crate::arch::{cpu, regs};
use crate::board;
use crate::exits;
use crate::pcpu::{Assignment, Pcpu};
use crate::plan;
use crate::stage1::{Space, Step, Tables, Walker};

/// Most pages that move in a chunk.
const MOVES: usize = 8;
/// Most pages and table entries that a chunk looks at.
const LOOKS: u32 = 32;
/// A request may find this many times the pages of the VM's RAM, so that tables which map
/// the same pages over and over end as well.
const MAPPINGS: u64 = 4;

/// SCTLR_EL1: translation is on.
const SCTLR_M: u64 = 1;
/// SCTLR_EL1: translation tables are big-endian.
const SCTLR_EE: u64 = 1 << 25;
/// TCR_EL1.IRGN0: walks go past the caches if it is 0.
const TCR_IRGN0: u64 = 3 << 8;

/// The extra colours of a VM, and the request that is under way.
#[derive(Debug)]
pub struct Coloring {
    pool: Pool<'static>,
    frames: GuestMemory,
    ram: plan::Range,
    homes: GuestMemory,
    request: Option<Request>,
    /// The pages that move in this chunk. Has room for [`MOVES`] from the start.
    moves: Vec<Move>,
    /// The address space that asked last, by its first table, and what it was told.
    result: (u64, i64),
}

#[derive(Debug)]
struct Request {
    walker: Walker,
    tables: TableFormat,
    /// What the walk has found last and is not yet looked at: address and bytes.
    found: (u64, u64),
    /// Pages that it has found.
    pages: u64,
    /// Why it fails: what has moved goes back.
    failure: Option<Error>,
}

impl Coloring {
    /// All pages at home. `None` if the pool is larger than possible.
    pub fn new(plan: &plan::Coloring, ram: &plan::Ram) -> Option<Self> {
        let slots = Vec::leak(vec![Slot::EMPTY; plan.pool.pages() as usize]);
        Some(Self {
            pool: Pool::new(plan.pool.stripe, plan.pool.colors?, slots)?,
            frames: board::memory::guest_memory(&plan.pool),
            ram: ram.guest,
            homes: board::memory::guest_memory(ram),
            request: None,
            moves: Vec::with_capacity(MOVES),
            result: (u64::MAX, 0),
        })
    }

    /// Forgets what tasks have and what they ask for. The tables of stage 2 are the caller's.
    pub fn reset(&mut self) {
        self.pool.reset();
        self.request = None;
        self.result = (u64::MAX, 0);
    }

    /// Whether a frame is the one that the pool gave to a page (IPA).
    pub fn gave(&self, frame: u64, ipa: u64) -> bool {
        let page = ipa.wrapping_sub(self.ram.start) / PAGE_BYTES;
        matches!(self.pool.place_of(frame), Place::Pool(frame)
            if self.pool.page_in(frame).map(u64::from) == Some(page))
    }

    fn begin(&mut self, space: Space, colors: ColorSet) -> Result<(), Error> {
        let control = regs::sctlr_el1::read();
        // Tables are pages of RAM: there can be no more without some being the same.
        let limit = self.ram.bytes / PAGE_BYTES;
        let walker = Walker::new(space, limit as u32).filter(|_| control & SCTLR_M != 0);
        self.pool.begin(colors).map_err(|error| match error {
            RequestError::Colors(_) => Error::Invalid,
            RequestError::Busy => Error::Busy,
        })?;
        let Some(walker) = walker else {
            self.pool.commit();
            return Err(Error::BadAddress);
        };
        let tables = TableFormat {
            uncached: space.tcr & TCR_IRGN0 == 0,
            big_endian: control & SCTLR_EE != 0,
        };
        self.request = Some(Request { walker, tables, found: (0, 0), pages: 0, failure: None });
        Ok(())
    }

    /// One chunk of the request; its result when it is over.
    fn step(&mut self, vm: &Vm) -> Option<Result<u64, Error>> {
        self.moves.clear();
        let mut request = self.request.take()?;
        let result = self.choose(&mut request, vm);
        vm.stage2.move_pages(&self.moves);
        if result.is_none() {
            self.request = Some(request);
        }
        result
    }

    /// Looks for pages that have to move.
    fn choose(&mut self, request: &mut Request, vm: &Vm) -> Option<Result<u64, Error>> {
        let mut looks = LOOKS;
        let mut reader =
            TableReader { vm, format: request.tables, page: NO_PAGE, frame: None, outside: false };
        while looks > 0 && self.moves.len() < MOVES {
            let (ipa, bytes) = request.found;
            if let Some(error) = request.failure {
                let Some(back) = self.pool.undo() else { return Some(Err(error)) };
                self.push(u64::from(back.page), back.from, back.to);
                looks -= 1;
            } else if bytes > 0 {
                request.found = (ipa + PAGE_BYTES, bytes - PAGE_BYTES);
                request.pages += 1;
                looks -= 1;
                if request.pages > MAPPINGS * self.ram.bytes / PAGE_BYTES {
                    request.failure = Some(Error::BadAddress);
                } else if let Err(error) = self.place(ipa, vm) {
                    request.failure = Some(error);
                }
            } else {
                let step = request.walker.next(&mut reader, &mut looks);
                if reader.outside {
                    request.failure = Some(Error::BadAddress);
                    continue;
                }
                match step {
                    // Only RAM has a colour.
                    Step::Pages { ipa, bytes } => {
                        let start = ipa.max(self.ram.start);
                        let end = (ipa + bytes).min(self.ram.end());
                        request.found = (start, end.saturating_sub(start));
                    }
                    Step::Pause => {}
                    Step::Done => {
                        self.pool.commit();
                        return Some(Ok(request.pages));
                    }
                    Step::TooManyTables => request.failure = Some(Error::BadAddress),
                }
            }
        }
        None
    }

    /// Decides about a page that the request has found.
    fn place(&mut self, ipa: u64, vm: &Vm) -> Result<(), Error> {
        // Found twice in this chunk: it moves already.
        if self.moves.iter().any(|page| page.ipa == ipa) {
            return Ok(());
        }
        let page = (ipa - self.ram.start) / PAGE_BYTES;
        let now = match vm.stage2.frame(ipa) {
            Some(frame) if frame != self.homes.frame(page) => self.pool.place_of(frame.address()),
            _ => Place::Home,
        };
        match self.pool.place(page as u32, now) {
            Ok(Choice::Stay) => Ok(()),
            Ok(Choice::Move(place)) => {
                self.push(page, now, place);
                Ok(())
            }
            Err(_) => Err(Error::NoMemory),
        }
    }

    fn push(&mut self, page: u64, from: Place, to: Place) {
        let frame = |place| match place {
            Place::Home => self.homes.frame(page),
            Place::Pool(frame) => self.frames.frame(u64::from(frame)),
        };
        let (from, to) = (frame(from), frame(to));
        self.moves.push(Move { ipa: self.ram.start + page * PAGE_BYTES, from, to });
    }
}

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
    pub(super) fn reset_pages(&self, pcpu: &'static Pcpu) {
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

/// Pages that are reset before interrupts are looked at again.
const RESETS: usize = 256;

impl Space {
    /// The address space of the guest that runs on this CPU.
    pub fn current() -> Self {
        Self { ttbr0: regs::ttbr0_el1::read(), tcr: regs::tcr_el1::read() }
    }
}

/// How the guest's table walks read memory.
#[derive(Clone, Copy, Debug)]
struct TableFormat {
    uncached: bool,
    big_endian: bool,
}

/// Reads a guest's tables where they are now; for one chunk, in which no page moves while
/// they are read.
struct TableReader<'a> {
    vm: &'a Vm,
    format: TableFormat,
    /// The page that was read last, and its frame if it is one of RAM.
    page: u64,
    frame: Option<Frame>,
    /// A page that was read is not one of RAM.
    outside: bool,
}

/// No page has been read.
const NO_PAGE: u64 = u64::MAX;

impl Tables for TableReader<'_> {
    #[inline(always)]
    fn word(&mut self, ipa: u64) -> Option<u64> {
        let page = ipa & !(PAGE_BYTES - 1);
        if page != self.page {
            (self.page, self.frame) = (page, self.vm.frame(page));
        }
        let Some(frame) = self.frame else {
            self.outside = true;
            return None;
        };
        let word = frame.word(ipa, self.format.uncached);
        Some(if self.format.big_endian { word.swap_bytes() } else { word })
    }
}
