//! Notes and kicks: when the PCPU of a VCPU is interrupted because another VCPU has changed
//! something.
//!
//! A change is made in the state first. Then it is *noted* with each VCPU that it concerns, and the
//! PCPU of that VCPU is interrupted (a *kick*) only if the change matters now: the VCPU executes,
//! or it waits and becomes ready. A VCPU that is off, or ready while others execute in its place,
//! finds the note when it is entered.
//!
//! # Invariants
//!
//! - A VCPU executes its guest only after it has found no note after [`Attention::run`]; it waits
//!   only after it has found none after [`Attention::wait`].
//! - A note is made before the place of the VCPU is read, and a place is set before notes are read,
//!   both in one order for all PCPUs. So at least one of the two sides sees the other, and no note
//!   is lost.
//! - Between two of its executions a VCPU causes at most [`policy::pace::KICKS_MAX`] kicks: one
//!   because it executed when something was noted, and two because it waits, of which the first
//!   finds that the VCPU has nothing to do, and the second wakes it in any case. So the cost of
//!   kicks for others on its PCPU is limited by how often the VCPU gets the PCPU, whatever its
//!   siblings do.
//! - A kick is counted ([`Attention::take_kicks`]) before it is sent. If the VCPU goes on waiting after a
//!   kick, it pays for those that were counted; if it wakes, the time is its own. Nobody pays for a
//!   kick that arrives after its note has woken the VCPU, and after the VCPU has executed and waits
//!   again; but to send a kick takes less time than that.

use core::sync::atomic::{AtomicU8, Ordering::SeqCst};

/// The place of a VCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Place {
    /// The VCPU is off, or ready and not the one to run.
    Out = 0,
    /// The VCPU executes, or is about to.
    Running = 1,
    /// The VCPU waits. Interrupts that were in its list registers when it last executed may be done.
    Waiting = 2,
    /// The VCPU waits, and its list registers were folded since.
    Settled = 3,
}

/// Something changed.
const LOOK: u8 = 1 << 0;
/// The VCPU may have something to do.
const WAKE: u8 = 1 << 1;

/// Place and notes of a VCPU.
#[derive(Debug)]
pub struct Attention {
    /// Written on its own PCPU only.
    place: AtomicU8,
    notes: AtomicU8,
    /// Kicks that it caused and that nobody has paid for.
    kicks: AtomicU8,
}

impl Attention {
    /// Makes the attention of a VCPU that is off.
    pub const fn new() -> Self {
        Self {
            place: AtomicU8::new(Place::Out as u8),
            notes: AtomicU8::new(0),
            kicks: AtomicU8::new(0),
        }
    }

    /// Returns the place.
    #[inline]
    pub fn place(&self) -> Place {
        match self.place.load(SeqCst) {
            0 => Place::Out,
            1 => Place::Running,
            2 => Place::Waiting,
            _ => Place::Settled,
        }
    }

    /// Returns true if it executes.
    #[inline(always)]
    pub fn is_running(&self) -> bool {
        self.place.load(SeqCst) == Place::Running as u8
    }

    /// The VCPU is about to execute. Returns true if there are notes, which have to be served
    /// first. Only its own PCPU may call this and the following.
    #[inline(always)]
    pub fn run(&self) -> bool {
        self.place.store(Place::Running as u8, SeqCst);
        self.is_noted()
    }

    /// Notes that the VCPU does not execute any more, and is ready or off.
    #[inline(always)]
    pub fn leave(&self) {
        self.place.store(Place::Out as u8, SeqCst);
    }

    /// Returns the number of kicks of the PCPU that the VCPU caused and for which nobody has paid: the caller lets it
    /// pay. To be called before the notes are served, after which it can cause more.
    #[inline]
    pub fn take_kicks(&self) -> u8 {
        if self.kicks.load(SeqCst) == 0 { 0 } else { self.kicks.swap(0, SeqCst) }
    }

    /// The VCPU waits. Returns true if there are notes, which have to be served now.
    #[inline(always)]
    pub fn wait(&self) -> bool {
        self.place.store(Place::Waiting as u8, SeqCst);
        self.is_noted()
    }

    /// Notes that the VCPU has nothing to do, after its list registers were brought up to date.
    #[inline]
    fn settle(&self) {
        self.place.store(Place::Settled as u8, SeqCst);
    }

    /// Takes the notes, if there are any. Returns `Some(true)` if one of them was that the VCPU may
    /// have become ready. The caller serves the notes afterwards.
    #[inline]
    pub fn take(&self) -> Option<bool> {
        let notes = self.notes.swap(0, SeqCst);
        (notes != 0).then_some(notes & WAKE != 0)
    }

    /// Returns true if there are notes.
    #[inline(always)]
    pub fn is_noted(&self) -> bool {
        self.notes.load(SeqCst) != 0
    }

    /// Serves a kick of the PCPU, or a note for a VCPU that waits, if the VCPU executes or waits;
    /// otherwise the VCPU serves its notes when it is entered. Returns true if the VCPU waits and
    /// has to be woken. `raised`: the VCPU may have got an interrupt without a note. `attend` takes
    /// and serves the notes; `is_due` returns true if the VCPU is ready afterwards.
    #[inline(always)]
    pub fn look(
        &self,
        raised: bool,
        attend: impl FnOnce() -> Option<bool>,
        is_due: impl FnOnce() -> bool,
    ) -> bool {
        let (noted, place) = (self.is_noted(), self.place());
        if !(noted || raised) || place == Place::Out {
            return false;
        }
        let called = if noted { attend() } else { None };
        if place == Place::Running {
            return false;
        }
        // One that was found to have nothing to do before, and had something, wakes also if that was taken back
        // meanwhile: otherwise its siblings could have it kicked again and again.
        let wakes = is_due() || place == Place::Settled && called == Some(true);
        // Its list registers were brought up to date only for a note.
        if !wakes && called.is_some() {
            self.settle();
        }
        wakes
    }

    /// Notes from any PCPU that something has changed. Returns true if the VCPU's PCPU has to be
    /// kicked: if the VCPU executes, or if it waits and `wakes` is true.
    #[inline(never)]
    pub fn tell(&self, wakes: bool) -> bool {
        self.call(|_| wakes)
    }

    /// Notes from any PCPU that something has changed. Returns true if the VCPU's PCPU has to be
    /// kicked. `can_take` is called for a VCPU that waits and returns true if it can have an
    /// interrupt to take; the result is exact if the VCPU is [`Place::Settled`].
    pub fn call(&self, can_take: impl FnOnce(Place) -> bool) -> bool {
        let before = self.notes.fetch_or(LOOK, SeqCst);
        let kicks = match self.place() {
            Place::Out => false,
            Place::Running => before & LOOK == 0,
            place => can_take(place) && self.notes.fetch_or(WAKE, SeqCst) & WAKE == 0,
        };
        if kicks {
            self.kicks.fetch_add(1, SeqCst);
        }
        kicks
    }
}

impl Default for Attention {
    fn default() -> Self {
        Self::new()
    }
}
