//! vColoring: gives the pages of a task frames of the colours that the task asks for (vCache,
//! section 4.2).
//!
//! Every page of RAM has a home, its frame of the VM's default colours. A request walks the guest's
//! translation tables and moves the pages that it finds to frames of the pool, or home again
//! ([`policy::color::Pool`] chooses the frames). Frames that a request frees stay reserved until
//! the request is complete, so that every page can go back.
//!
//! The request is done in chunks of at most eight pages, while the other CPUs of the VM continue.
//! In a chunk, the entries of the pages are hidden, so that hardware does not translate through
//! them, and every cached translation is dropped; the pages are copied past the caches; then the
//! new entries are stored. A CPU that accesses a hidden page comes to EL2, finds an entry that is
//! not empty, and tries again. Pages are hidden only within a chunk, and everything that lasts
//! longer is in [`Coloring`]: a request can be abandoned after any chunk, and a restart of the VM
//! empties the pool.
//!
//! EL2 reads the memory of a guest through the entry, hidden or not: the frame in the entry has the
//! data until the copy is complete, and is not used for anything else before the request is
//! complete.

mod serve;
mod tables;

use alloc::vec;
use alloc::vec::Vec;

use abi::hypercall::Error;
use policy::color::{Choice, ColorSet, Place, Pool, RequestError, Slot};

use super::Vm;
use crate::arch::memory::GuestMemory;
use crate::arch::page_table::PAGE_BYTES;
use crate::arch::regs;
use crate::arch::stage2::Move;
use crate::board;
use crate::plan;
use crate::stage1::{Space, Step, Walker};
use tables::{TableFormat, TableReader};

/// Limits of a chunk.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Pages that move.
    moves: usize,
    /// Pages and table entries that it examines.
    looks: u32,
}

/// Limits for a VM without a limit on memory accesses.
const CHUNK: Chunk = Chunk { moves: 8, looks: 32 };
/// Limits for a VM with a limit on memory accesses, which a chunk may exceed by at most
/// `policy::bandwidth::overshoot::ANY`.
const SMALL_CHUNK: Chunk = Chunk { moves: 1, looks: 8 };
/// A request may find at most this many times the pages of the VM's RAM, so that tables that map
/// the same pages repeatedly end as well.
const MAPPINGS: u64 = 4;

/// SCTLR_EL1: translation is on.
const SCTLR_M: u64 = 1;

/// The extra colours of a VM, and the current request.
#[derive(Debug)]
pub struct Coloring {
    pages: Pages,
    request: Option<Request>,
    /// The address space that made the last request, by its first table, and the result.
    result: (u64, i64),
}

/// The pages of RAM, and their places.
#[derive(Debug)]
struct Pages {
    pool: Pool<'static>,
    frames: GuestMemory,
    ram: plan::Range,
    homes: GuestMemory,
    chunk: Chunk,
    /// The pages that move in this chunk, with capacity for all of them from the start.
    moves: Vec<Move>,
}

#[derive(Debug)]
struct Request {
    walker: Walker,
    tables: TableFormat,
    /// The first table of the address space.
    table: u64,
    /// The part of the walk's last result that is not yet examined: address and bytes.
    found: (u64, u64),
    /// Pages that it has found.
    pages: u64,
    /// The reason for which the request fails: pages that have moved go back.
    failure: Option<Error>,
}

impl Coloring {
    /// Makes the state with all pages at home; `None` if the pool is larger than possible.
    /// `limited`: the VM has a limit on memory accesses.
    pub fn new(plan: &plan::Coloring, ram: &plan::Ram, limited: bool) -> Option<Self> {
        let chunk = if limited { SMALL_CHUNK } else { CHUNK };
        let slots = Vec::leak(vec![Slot::EMPTY; plan.pool.pages() as usize]);
        let pages = Pages {
            pool: Pool::new(plan.pool.stripe, plan.pool.colors?, slots)?,
            frames: board::memory::guest_memory(&plan.pool),
            ram: ram.guest,
            homes: board::memory::guest_memory(ram),
            chunk,
            moves: Vec::with_capacity(chunk.moves),
        };
        Some(Self { pages, request: None, result: (u64::MAX, 0) })
    }

    /// Forgets the colours and requests of tasks. The caller handles the stage-2 tables.
    pub fn reset(&mut self) {
        self.pages.pool.reset();
        self.request = None;
        self.result = (u64::MAX, 0);
    }

    /// Returns true if the pool gave this frame to the page (IPA).
    pub fn gave(&self, frame: u64, ipa: u64) -> bool {
        let Pages { pool, ram, .. } = &self.pages;
        let page = ipa.wrapping_sub(ram.start) / PAGE_BYTES;
        matches!(pool.place_of(frame), Place::Pool(frame)
            if pool.page_in(frame).map(u64::from) == Some(page))
    }

    fn begin(&mut self, space: Space, colors: ColorSet) -> Result<(), Error> {
        let control = regs::sctlr_el1::read();
        // Tables are pages of RAM: more tables than pages would contain some twice.
        let limit = self.pages.ram.bytes / PAGE_BYTES;
        let walker = Walker::new(space, limit as u32).filter(|_| control & SCTLR_M != 0);
        self.pages.pool.begin(colors).map_err(|error| match error {
            RequestError::Colors(_) => Error::Invalid,
            RequestError::Busy => Error::Busy,
        })?;
        let Some(walker) = walker else {
            self.pages.pool.commit();
            return Err(Error::BadAddress);
        };
        let tables = TableFormat::new(space.tcr, control);
        self.request = Some(Request {
            walker,
            tables,
            table: space.table(),
            found: (0, 0),
            pages: 0,
            failure: None,
        });
        Ok(())
    }

    /// Does one chunk of the request. Returns its result when it is complete: the number of pages
    /// that it found, or a negative [`Error`].
    fn step(&mut self, vm: &Vm) -> Option<i64> {
        self.pages.moves.clear();
        let request = self.request.as_mut()?;
        let result = self.pages.choose(request, vm);
        vm.stage2.move_pages(&self.pages.moves);
        let value = result?.map_or_else(|error| error as i64, |pages| pages as i64);
        self.result = (request.table, value);
        self.request = None;
        Some(value)
    }
}

impl Pages {
    /// Finds pages that have to move.
    fn choose(&mut self, request: &mut Request, vm: &Vm) -> Option<Result<u64, Error>> {
        let mut looks = self.chunk.looks;
        let mut reader = TableReader::new(vm, request.tables);
        while looks > 0 && self.moves.len() < self.chunk.moves {
            let (ipa, bytes) = request.found;
            if let Some(error) = request.failure {
                let Some(back) = self.pool.undo() else { return Some(Err(error)) };
                self.push(u64::from(back.page), back.from, back.to);
                looks -= 1;
            } else if bytes > 0 {
                request.found = (ipa + PAGE_BYTES, bytes - PAGE_BYTES);
                request.pages += 1;
                looks -= 1;
                let many = request.pages > MAPPINGS * self.ram.bytes / PAGE_BYTES;
                let placed = if many { Err(Error::BadAddress) } else { self.place(ipa, vm) };
                if let Err(error) = placed {
                    // No page moves twice in a chunk: while a page is hidden, its entry contains
                    // the frame with the data.
                    request.failure = Some(error);
                    break;
                }
            } else {
                let step = request.walker.next(&mut reader, &mut looks);
                if reader.was_outside() {
                    request.failure = Some(Error::BadAddress);
                    break;
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
                    Step::TooManyTables => {
                        request.failure = Some(Error::BadAddress);
                        break;
                    }
                }
            }
        }
        None
    }

    /// Decides about a page that the request has found.
    fn place(&mut self, ipa: u64, vm: &Vm) -> Result<(), Error> {
        // Found twice in this chunk: the page moves already.
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
