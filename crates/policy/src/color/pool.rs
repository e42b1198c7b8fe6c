//! The extra colours of a VM, given to its tasks page by page (vColoring; vCache,
//! section 4.2).

use core::{error, fmt};

use super::frames::OutOfFrames;
use super::set::{COLORS_MAX, Color, ColorSet};
use super::stripe::Stripe;

/// No frame: the end of a list, or a page that comes from its home.
const NONE: u32 = u32::MAX;
/// Stamp of a frame without page.
const VACANT: u32 = u32::MAX;

/// The state of a [`Pool`] for one of its frames; the caller owns the storage.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The page in the frame; of a vacated frame, the page that left it.
    page: u32,
    /// The frame in which the page was before the request under way put it here.
    from: u32,
    /// The next frame of the list in which the frame is.
    next: u32,
    /// The last request that decided about the page, 0 for none in sight; or [`VACANT`].
    stamp: u32,
}

impl Slot {
    /// Initial value for storage; its content does not matter to a new pool.
    pub const EMPTY: Self = Self { page: 0, from: NONE, next: NONE, stamp: VACANT };
}

/// The place of a page of the VM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// The page is in its frame of the default colours.
    Home,
    /// The page is in this frame of the pool.
    Pool(u32),
}

/// The decision about a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Choice {
    /// The page stays where it is.
    Stay,
    /// The page has to move there before the pool decides about any other page.
    Move(Place),
}

/// A page that goes back to where it was before the request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Return {
    /// The page.
    pub page: u32,
    /// Current place.
    pub from: Place,
    /// Place before the request.
    pub to: Place,
}

/// The frames of a VM's extra colours, and the page of the VM in each of the VM is in which.
///
/// One request at a time moves pages: [`Pool::begin`], [`Pool::place`] for each page of the task,
/// then [`Pool::commit`], or [`Pool::undo`] until nothing is left to undo. A request spreads the
/// pages evenly: the j-th goes to the (j mod k)-th of its k colours. A frame that a request vacates
/// stays empty until the request is complete, so that every page can go back.
///
/// Each call takes constant time, or time in the number of colours where this is said.
#[derive(Debug)]
pub struct Pool<'a> {
    stripe: Stripe,
    colors: ColorSet,
    /// Frames of one colour that follow each other.
    unit: u32,
    slots: &'a mut [Slot],
    lanes: [Lane; COLORS_MAX],
    /// The colours with a free frame.
    available: ColorSet,
    free: u32,
    request: Request,
    /// The frame whose old stamp is cleared next, long before its number is used again.
    sweep: u32,
}

/// The frames of one colour that have no page.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Frames that have been in use, the first of these; then those that `free` has ...
    list: u32,
    /// ... beyond them: from this frame of the colour on, none has been used yet.
    fresh: u32,
    free: u32,
    /// Frames that the request vacated: first, last, how many.
    held: u32,
    held_last: u32,
    held_count: u32,
}

impl Lane {
    const fn new(free: u32) -> Self {
        Self { list: NONE, fresh: 0, free, held: NONE, held_last: NONE, held_count: 0 }
    }
}

#[derive(Debug)]
struct Request {
    open: bool,
    /// 1..VACANT
    number: u32,
    colors: ColorSet,
    /// The colour for the next page.
    turn: Color,
    /// The frames that it filled, the last one first.
    filled: u32,
}

impl<'a> Pool<'a> {
    /// Returns the first `slots.len()` frames of `stripe`, which has exactly these colours; all
    /// free. `None` if it has not, or with 2^32 - 1 frames or more. Time: number of colours.
    pub fn new(stripe: Stripe, colors: ColorSet, slots: &'a mut [Slot]) -> Option<Self> {
        let per_period = stripe.frames_per_period() as u32;
        let unit = per_period.checked_div(colors.len())?;
        if unit * colors.len() != per_period || slots.len() >= NONE as usize {
            return None;
        }
        let mut pool = Self {
            stripe,
            colors,
            unit,
            slots,
            lanes: [Lane::new(0); COLORS_MAX],
            available: ColorSet::EMPTY,
            free: 0,
            request: Request { open: false, number: 0, colors, turn: Color(0), filled: NONE },
            sweep: 0,
        };
        pool.reset();
        Some(pool)
    }

    /// Forgets all pages and any request: every frame is free. Time: number of colours.
    pub fn reset(&mut self) {
        let frames = self.frames();
        let row = self.unit * self.colors.len();
        for (rank, color) in (0..).zip(self.colors.iter()) {
            let rest = (frames % row).saturating_sub(rank * self.unit).min(self.unit);
            self.lanes[color.index()] = Lane::new(frames / row * self.unit + rest);
        }
        self.available = self.colors.iter().filter(|&color| self.free_of(color) > 0).collect();
        self.free = frames;
        self.request.open = false;
    }

    /// Returns the colours of its frames.
    pub fn colors(&self) -> ColorSet {
        self.colors
    }

    /// Returns the number of its frames.
    pub fn frames(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Returns the number of free frames.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Returns the number of free frames of a colour; 0 for colours that it does not have.
    pub fn free_of(&self, color: Color) -> u32 {
        self.lanes[color.index()].free
    }

    /// Returns the address of a frame.
    pub fn address(&self, frame: u32) -> u64 {
        self.stripe.frame(u64::from(frame))
    }

    /// Returns the place of the page at an address: a frame of the pool, or else its home.
    pub fn place_of(&self, address: u64) -> Place {
        match self.stripe.index_of(address) {
            Some(index) if index < self.slots.len() as u64 => Place::Pool(index as u32),
            _ => Place::Home,
        }
    }

    /// Returns the page that is in a frame, if there is such a frame and it is in use.
    pub fn page_in(&self, frame: u32) -> Option<u32> {
        let slot = self.slots.get(frame as usize)?;
        let (color, nth) = self.color_of(frame);
        let used = nth < self.lanes[color.index()].fresh && slot.stamp != VACANT;
        used.then_some(slot.page)
    }

    /// Starts a request for these colours; with none, pages are to go home. An error
    /// changes nothing.
    pub fn begin(&mut self, colors: ColorSet) -> Result<(), RequestError> {
        if !colors.is_subset(self.colors) {
            return Err(RequestError::Colors(colors - self.colors));
        }
        if self.request.open {
            return Err(RequestError::Busy);
        }
        // Numbers repeat after 2^32 requests; stamps are cleared much earlier, one at each request.
        let number = self.request.number % (VACANT - 1) + 1;
        if let Some(slot) = self.slots.get_mut(self.sweep as usize)
            && slot.stamp != VACANT
        {
            slot.stamp = 0;
        }
        self.sweep = if self.sweep + 1 < self.frames() { self.sweep + 1 } else { 0 };
        let turn = colors.next_around(Color(0)).unwrap_or(Color(0));
        self.request = Request { open: true, number, colors, turn, filled: NONE };
        Ok(())
    }

    /// Decides where a page goes that the request found and that is at `now`. A request may find
    /// pages several times: the pool decides about each page once.
    pub fn place(&mut self, page: u32, now: Place) -> Result<Choice, OutOfFrames> {
        let Request { number, colors, turn, .. } = self.request;
        if colors.is_empty() {
            return Ok(match now {
                Place::Home => Choice::Stay,
                Place::Pool(frame) => {
                    self.vacate(frame);
                    Choice::Move(Place::Home)
                }
            });
        }
        if let Place::Pool(frame) = now {
            let slot = &mut self.slots[frame as usize];
            if slot.stamp == number {
                return Ok(Choice::Stay);
            }
            slot.stamp = number;
        }
        self.request.turn = colors.next_around(after(turn)).unwrap_or(turn);
        let mut color = turn;
        if let Place::Pool(frame) = now {
            let (current, _) = self.color_of(frame);
            let as_good = colors.contains(current) && !self.available.contains(turn);
            if current == turn || as_good {
                return Ok(Choice::Stay);
            }
        }
        if !self.available.contains(color) {
            color = (colors & self.available).next_around(turn).ok_or(OutOfFrames(colors))?;
        }
        let frame = self.take(color);
        let mut from = NONE;
        if let Place::Pool(frame) = now {
            self.vacate(frame);
            from = frame;
        }
        let next = core::mem::replace(&mut self.request.filled, frame);
        self.slots[frame as usize] = Slot { page, from, next, stamp: number };
        Ok(Choice::Move(Place::Pool(frame)))
    }

    /// Completes the request: the frames that it vacated are free. Time: number of colours.
    pub fn commit(&mut self) {
        for color in self.colors.iter() {
            let lane = &mut self.lanes[color.index()];
            if lane.held_count > 0 {
                self.slots[lane.held_last as usize].next = lane.list;
                self.available = self.available | color.into();
                self.free += lane.held_count;
                let (list, free) = (lane.held, lane.free + lane.held_count);
                *lane = Lane { list, fresh: lane.fresh, ..Lane::new(free) };
            }
        }
        self.request.open = false;
    }

    /// Takes back one move of the request; the page has to move back before the next call. Returns
    /// `None` when all moves are taken back and the request is over. Time: number of colours.
    pub fn undo(&mut self) -> Option<Return> {
        if !self.request.open {
            return None;
        }
        if self.request.colors.is_empty() {
            return self.undo_return_home();
        }
        let frame = self.request.filled;
        let Some(&Slot { page, from, next, .. }) = self.slots.get(frame as usize) else {
            for color in self.colors.iter() {
                let lane = &mut self.lanes[color.index()];
                *lane = Lane { list: lane.list, fresh: lane.fresh, ..Lane::new(lane.free) };
            }
            self.request.open = false;
            return None;
        };
        self.request.filled = next;
        self.give_back(frame);
        let to = match self.slots.get_mut(from as usize) {
            None => Place::Home,
            Some(slot) => {
                slot.stamp = 0;
                Place::Pool(from)
            }
        };
        Some(Return { page, from: Place::Pool(frame), to })
    }

    /// Like [`Pool::undo`], for a request that sends pages home: each vacated frame is one move.
    fn undo_return_home(&mut self) -> Option<Return> {
        for color in self.colors.iter() {
            let lane = &mut self.lanes[color.index()];
            if let Some(slot) = self.slots.get_mut(lane.held as usize) {
                let to = Place::Pool(core::mem::replace(&mut lane.held, slot.next));
                lane.held_count -= 1;
                slot.stamp = 0;
                return Some(Return { page: slot.page, from: Place::Home, to });
            }
        }
        self.request.open = false;
        None
    }

    /// Returns the colour of a frame, and how many of this colour come before it.
    #[inline(never)]
    fn color_of(&self, frame: u32) -> (Color, u32) {
        let row = self.unit * self.colors.len();
        let rank = frame % row / self.unit;
        let color = self.colors.nth(rank).unwrap_or(Color(0));
        (color, frame / row * self.unit + frame % self.unit)
    }

    /// Allocates a free frame of a colour that has one.
    fn take(&mut self, color: Color) -> u32 {
        let row = self.unit * self.colors.len();
        let first = self.colors.rank(color) * self.unit;
        let lane = &mut self.lanes[color.index()];
        let frame = match self.slots.get(lane.list as usize) {
            Some(slot) => core::mem::replace(&mut lane.list, slot.next),
            None => {
                let nth = lane.fresh;
                lane.fresh += 1;
                nth / self.unit * row + first + nth % self.unit
            }
        };
        lane.free -= 1;
        self.free -= 1;
        if lane.free == 0 {
            self.available = self.available - color.into();
        }
        frame
    }

    /// Makes a frame free.
    fn give_back(&mut self, frame: u32) {
        let (color, _) = self.color_of(frame);
        let lane = &mut self.lanes[color.index()];
        let slot = &mut self.slots[frame as usize];
        slot.stamp = VACANT;
        slot.next = core::mem::replace(&mut lane.list, frame);
        lane.free += 1;
        self.free += 1;
        self.available = self.available | color.into();
    }

    /// Reserves a frame for the rest of the request, which moves the frame's page away.
    #[inline(never)]
    fn vacate(&mut self, frame: u32) {
        let (color, _) = self.color_of(frame);
        let lane = &mut self.lanes[color.index()];
        let slot = &mut self.slots[frame as usize];
        slot.stamp = VACANT;
        slot.next = core::mem::replace(&mut lane.held, frame);
        if lane.held_count == 0 {
            lane.held_last = frame;
        }
        lane.held_count += 1;
    }
}

/// Returns the next higher colour; the lowest after the highest.
const fn after(color: Color) -> Color {
    Color((color.0 + 1) % COLORS_MAX as u8)
}

/// The reason why a request cannot begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RequestError {
    /// The pool does not have these colours.
    Colors(ColorSet),
    /// Another request is under way.
    Busy,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Colors(colors) => write!(f, "{colors} are not extra colours of the VM"),
            Self::Busy => f.write_str("another request of the VM is under way"),
        }
    }
}

impl error::Error for RequestError {}
