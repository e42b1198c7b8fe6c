//! The state of the critical sections of a VCPU.

use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU8};

use abi::hypercall::Error;
use abi::trace::Kind;
use policy::rate::Rate;
use policy::time::Instant;

use crate::pcpu::{Assignment, Pcpu};

/// The critical sections of a VCPU. Only its own CPU changes them, except for `holds`, which others
/// change while they hold the lock of the table.
#[derive(Debug)]
pub struct Sections {
    pub(super) rank: AtomicU8,
    /// Time from which on the VCPU may enter the next section, and the limit on entries
    /// ([`Rate::parts`]).
    from: AtomicI64,
    rate: [AtomicI64; 2],
    /// The `from` value of the last refusal that was traced: each refusal is traced once.
    refused: AtomicI64,
    /// True if the guest says that it is in one of a mutex of its own.
    pub(super) inside: AtomicBool,
    /// True if its tasks hold resources that VMs share.
    pub(super) holds: AtomicBool,
    /// `granted`: tasks got resources for which they waited, and the guest may not have asked for
    /// all of them yet. `untold`: the interrupt that notifies the guest is not pending yet.
    pub(super) granted: AtomicBool,
    pub(super) untold: AtomicBool,
    /// True if the scheduler was told that the VCPU is in a section.
    pub(super) told: AtomicBool,
}

impl Sections {
    /// Makes a VCPU that is in no section.
    pub const fn new() -> Self {
        Self {
            rank: AtomicU8::new(0),
            from: AtomicI64::new(Rate::NEVER),
            rate: [const { AtomicI64::new(0) }; 2],
            refused: AtomicI64::new(Rate::START),
            inside: AtomicBool::new(false),
            holds: AtomicBool::new(false),
            granted: AtomicBool::new(false),
            untold: AtomicBool::new(false),
            told: AtomicBool::new(false),
        }
    }

    pub(super) fn rank(&self) -> usize {
        self.rank.load(Relaxed).into()
    }

    /// Sets the limit of the plan on entries, if there is one. Called at boot.
    pub fn allow(&self, rate: Option<Rate>) {
        let Some(rate) = rate else { return };
        self.from.store(Rate::START, Relaxed);
        for (part, value) in self.rate.iter().zip(rate.parts()) {
            part.store(value, Relaxed);
        }
    }

    /// Returns true if the VCPU may enter a section now; otherwise [`Sections::refusal`] gives the reason.
    #[inline(always)]
    pub(super) fn may_enter(&self, now: Instant) -> bool {
        Rate::may_enter(self.from.load(Relaxed), now)
    }

    /// A task requests a resource, which counts as an entry whatever the result is.
    #[inline(always)]
    pub(super) fn ask(&self, at: &Assignment, pcpu: &Pcpu, now: u64) -> Result<(), Error> {
        if !self.may_enter(Instant(now)) {
            return Err(self.refusal(at, pcpu, now));
        }
        self.enter(Instant(now));
        Ok(())
    }

    /// Counts an entry into a section.
    #[inline(always)]
    pub(super) fn enter(&self, now: Instant) {
        let [interval, rest] = &self.rate;
        let rate = Rate::from_parts([interval.load(Relaxed), rest.load(Relaxed)]);
        self.from.store(rate.enter(self.from.load(Relaxed), now), Relaxed);
    }

    /// Returns the reason for which the VCPU may not enter a section now.
    #[cold]
    #[inline(never)]
    pub(super) fn refusal(&self, at: &Assignment, pcpu: &Pcpu, now: u64) -> Error {
        match self.from.load(Relaxed) {
            Rate::NEVER => Error::Denied,
            from => {
                // Traced once, however often the VCPU asks until then.
                if self.refused.swap(from, Relaxed) != from {
                    pcpu.record_at(now, Some(at), Kind::TooOften, (from as u64).wrapping_sub(now));
                }
                Error::TooOften
            }
        }
    }

    /// Returns the state that the scheduler has to be told, if it has changed: true if the VCPU is
    /// in a section. The state counts as told.
    #[inline(always)]
    pub(super) fn should_tell(&self) -> Option<bool> {
        // A CPU that sees a grant also sees that there is something to tell.
        let inside = self.inside.load(Relaxed) || self.holds.load(Acquire);
        let is_news = inside != self.told.load(Relaxed);
        if is_news {
            self.told.store(inside, Relaxed);
        }
        is_news.then_some(inside)
    }

    /// Returns true if the scheduler knows it to be in one.
    pub fn is_inside(&self) -> bool {
        self.told.load(Relaxed)
    }
}
