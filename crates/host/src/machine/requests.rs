//! Requests for colours: gives the pages of a task frames of the colours for which it asks (vCache, section 4.2).
//!
//! Every page of RAM has a home, its frame of the VM's colours. A request walks the page tables of the VCPU that asks, and moves
//! the pages that it finds to spare frames, or home again ([`policy::color::Pool`] chooses the frames). Frames that a request
//! frees stay reserved until it is complete, so that every page can go back. The hypervisor does the same
//! (`hypervisor/src/vm/coloring.rs`).
//!
//! The thread of a PCPU does the request in steps of one page or a few table entries, only while the VCPU that asked is the one
//! to run: in its place and in its budget. Between two steps the scheduler may decide otherwise, and nothing lasts that is not in
//! [`Requests`]: a request can be abandoned after any step. Nobody waits for the state: who finds it taken comes again.
//!
//! The thread that asks executes the VCPUs of its PCPU itself, so that none of these writes to a page that moves. VCPUs of the
//! VM on other PCPUs could: for them the page is hidden, and who writes there tries again, in its own budget.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use abi::guest::RAM;
use abi::hypercall::Error;
use abi::kvm::{BLOCK_BYTES, VCPUS_MAX};
use policy::color::{Choice, ColorSet, Place, Pool, RequestError, Slot, Stripe};
use vmm::{Frame, Memory, Movable, PAGE, Step, Tables, Walker};

use crate::colors::{Colored, Extra};

/// Pages and table entries that a step examines.
const LOOKS: u32 = 32;
/// A request may find at most this many times the pages of the VM's RAM, so that tables that map the same pages again and again
/// end as well.
const MAPPINGS: u64 = 4;
/// Pages at the start of RAM in which this process writes, too: they stay where they are.
const BLOCKS: u64 = VCPUS_MAX as u64 * BLOCK_BYTES / PAGE;

/// The extra colours of a VM.
#[derive(Debug)]
pub struct Requests {
    state: Mutex<State>,
    /// Number of moves that began and ended: odd while a page may be hidden.
    moves: AtomicU64,
    file: i32,
}

#[derive(Debug)]
struct State {
    pool: Pool<'static>,
    memory: Movable,
    tables: Memory,
    /// The place of each page.
    places: Vec<Place>,
    /// The VM has VCPUs on several PCPUs.
    hides: bool,
    request: Option<Request>,
}

/// The current request.
#[derive(Debug)]
struct Request {
    walker: Walker,
    /// The part of the walk's last result that is not yet examined: the first page of RAM, and the number of pages.
    found: (u64, u64),
    /// Pages that it has found.
    pages: u64,
    /// The reason for which the request fails: pages that have moved go back.
    failure: Option<Error>,
}

/// The memory of a VM as its page tables see it.
struct Reader<'a> {
    tables: &'a Memory,
    ram: &'a Memory,
}

impl Tables for Reader<'_> {
    fn word(&self, address: u64) -> Option<u64> {
        let (memory, offset) = match address.checked_sub(RAM) {
            Some(offset) => (self.ram, offset),
            None => (self.tables, address),
        };
        memory.contains(offset, 8).then(|| memory.word(offset))
    }
}

impl Requests {
    /// Makes the state with all pages at home; `None` if there cannot be so many spare frames. These go round the extra colours,
    /// from the lowest one on.
    pub fn new(colored: &Colored, extra: Extra, tables: Memory, memory: Movable) -> Option<Self> {
        let colors = u64::from(colored.geometry.colors()).next_power_of_two();
        let stripe = Stripe::new(PAGE, (colors - 1) * PAGE, extra.colors, 0).ok()?;
        // A pool lives as long as the VMs of this process, which runs them once.
        let slots = Vec::leak(vec![Slot::EMPTY; extra.pages as usize]);
        let pool = Pool::new(stripe, extra.colors, slots)?;
        let places = vec![Place::Home; memory.pages() as usize];
        let file = memory.file();
        let state = State { pool, memory, tables, places, hides: false, request: None };
        Some(Self { state: Mutex::new(state), moves: AtomicU64::new(0), file })
    }

    /// Hides pages while they move: the VM has VCPUs on several PCPUs.
    pub fn hide(&mut self) {
        if let Ok(state) = self.state.get_mut() {
            state.hides = true;
        }
    }

    /// Returns the number of the file in which all frames are.
    pub fn file(&self) -> i32 {
        self.file
    }

    /// Returns the number of moves that began and ended: it is odd while a page may be hidden.
    pub fn moves(&self) -> u64 {
        self.moves.load(SeqCst)
    }

    /// Begins a request for colours of the pages from an address on, a bit field, a first address, and a number of bytes, for
    /// the address space that CR3 names. An error changes nothing.
    pub fn begin(&self, cr3: u64, [colors, start, bytes]: [u64; 3]) -> Result<(), Error> {
        let Ok(mut state) = self.state.try_lock() else { return Err(Error::Busy) };
        // Tables are pages of the VM: more tables than pages would contain some twice.
        let tables = state.memory.pages() + state.tables.bytes() / PAGE;
        let walker = Walker::new(cr3, start, bytes, tables);
        state.pool.begin(ColorSet::from_bits(colors)).map_err(|error| match error {
            RequestError::Colors(_) => Error::Invalid,
            RequestError::Busy => Error::Busy,
        })?;
        state.request = Some(Request { walker, found: (0, 0), pages: 0, failure: None });
        Ok(())
    }

    /// Does one step of the request that the caller has begun. Returns its result when it is complete: the number of pages that
    /// it found, or a negative [`Error`].
    pub fn step(&self) -> Option<i64> {
        let mut state = self.state.try_lock().ok()?;
        state.step(&self.moves)
    }

    /// Puts all pages home, without what is in them, and forgets the request, while no VCPU of the VM executes.
    pub fn reset(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        let State { pool, memory, places, request, .. } = &mut *state;
        if places.iter().any(|place| *place != Place::Home) {
            memory.forget_from(BLOCKS);
            places.fill(Place::Home);
        }
        pool.reset();
        *request = None;
    }
}

impl State {
    fn step(&mut self, moves: &AtomicU64) -> Option<i64> {
        let Some(request) = &mut self.request else { return Some(Error::TryAgain as i64) };
        let ram_pages = self.places.len() as u64;
        let mut looks = LOOKS;
        while looks > 0 {
            if let Some(error) = request.failure {
                let Some(back) = self.pool.undo() else {
                    self.request = None;
                    return Some(error as i64);
                };
                self.shift(back.page.into(), back.to, moves);
                return None;
            }
            let (page, pages) = request.found;
            if pages > 0 {
                looks -= 1;
                request.found = (page + 1, pages - 1);
                request.pages += 1;
                if request.pages > MAPPINGS * ram_pages {
                    request.failure = Some(Error::BadAddress);
                    continue;
                }
                match self.pool.place(page as u32, self.places[page as usize]) {
                    Ok(Choice::Stay) => {}
                    Ok(Choice::Move(to)) => {
                        self.shift(page, to, moves);
                        return None;
                    }
                    Err(_) => request.failure = Some(Error::NoMemory),
                }
                continue;
            }
            let reader = Reader { tables: &self.tables, ram: self.memory.memory() };
            match request.walker.next(&reader, &mut looks) {
                Step::Pages { address, bytes } => request.found = in_ram(address, bytes, ram_pages),
                Step::Pause => {}
                Step::Done => {
                    let pages = request.pages;
                    self.pool.commit();
                    self.request = None;
                    return Some(pages as i64);
                }
                Step::Outside | Step::TooManyTables => request.failure = Some(Error::BadAddress),
            }
        }
        None
    }

    fn shift(&mut self, page: u64, to: Place, moves: &AtomicU64) {
        let frame = |place| match place {
            Place::Home => Frame::Home,
            Place::Pool(number) => Frame::Spare(number),
        };
        let from = std::mem::replace(&mut self.places[page as usize], to);
        moves.fetch_add(1, SeqCst);
        self.memory.move_page(page, frame(from), frame(to), self.hides);
        moves.fetch_add(1, SeqCst);
    }
}

/// Returns the part of a range of addresses that is RAM whose pages move: its first page in RAM, and the number of pages.
fn in_ram(address: u64, bytes: u64, ram_pages: u64) -> (u64, u64) {
    let page =
        |address: u64| (address.saturating_sub(RAM) / PAGE).clamp(BLOCKS, ram_pages.max(BLOCKS));
    let (first, end) = (page(address), page(address.saturating_add(bytes)));
    (first, end - first)
}

#[cfg(test)]
mod tests;
