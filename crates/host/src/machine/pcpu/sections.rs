//! Global critical sections of the VCPUs of a PCPU: the calls of guests for them, and what the scheduler is told.
//!
//! Rules and records are those of the hypervisor (`hypervisor/src/locks.rs`).

use abi::hypercall::{Error, LOCK_HELD, LOCK_LOST, LOCK_ORPHANED, LOCK_WAITS};
use abi::kvm::Call;
use abi::trace::{Kind, lock_argument};
use policy::cpu::{Event, News};
use policy::lock::Who;
use policy::lock::table::{Granted, Locked};
use policy::rate::Rate;
use policy::time::Instant;

use super::{Id, Locks, Pcpu, Seat, State};
use crate::machine::locks::Told;

/// The critical sections of a VCPU.
#[derive(Clone, Copy, Debug)]
pub struct Sections {
    /// Its rank among all VCPUs.
    rank: usize,
    rate: Rate,
    /// Time from which on it may enter the next section.
    from: i64,
    /// The `from` of the last refusal that was recorded: each is recorded once.
    refused: i64,
    /// The scheduler was told that it is in one.
    told: bool,
}

impl Sections {
    /// Makes a VCPU that is in no section. `rate`: how often it may enter one.
    pub fn new(rank: usize, rate: Option<Rate>) -> Self {
        let from = if rate.is_some() { Rate::START } else { Rate::NEVER };
        let rate = rate.unwrap_or(Rate::from_parts([0, 0]));
        Self { rank, rate, from, refused: Rate::START, told: false }
    }
}

impl Pcpu {
    fn locks(&self) -> Option<&Locks> {
        self.context.locks.as_deref()
    }

    /// Serves a call of a VCPU about resources.
    pub(super) fn serve(&mut self, place: usize, call: Call, now: u64) {
        let answer = self.answer(place, call, now);
        self.seats[place].vcpu.answer(answer.unwrap_or_else(|error| [error.to_x0(), 0]));
        self.tell_scheduler(place, now);
    }

    fn answer(&mut self, place: usize, call: Call, now: u64) -> Result<[u64; 2], Error> {
        let Seat { id: Id { vm, .. }, vcpu, sections, .. } = &self.seats[place];
        let (vm, arguments) = (*vm, vcpu.arguments());
        let rank = sections.as_ref().ok_or(Error::Denied)?.rank;
        let locks = self.locks().ok_or(Error::Denied)?;
        let [first, second] = arguments.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        let (kind, task, resource, answer) = match call {
            Call::Lock => {
                let who = Who::new(rank, second).ok_or(Error::Invalid)?;
                let (kind, answer) = self.lock(place, who, first, now)?;
                (kind, second, first, [answer, 0])
            }
            Call::Unlock => {
                let who = Who::new(rank, second).ok_or(Error::Invalid)?;
                let told = locks.unlock(who, first)?;
                self.kick(told);
                (Kind::Unlock, second, first, [0, 0])
            }
            Call::Granted => {
                let Granted { task, resource, orphaned } =
                    locks.take_grant(rank).ok_or(Error::TryAgain)?;
                let Some(resource) = resource else { return Ok([task as u64, LOCK_LOST]) };
                let held = if orphaned { LOCK_ORPHANED } else { LOCK_HELD };
                (Kind::Lock, task, resource, [task as u64, held])
            }
            _ => return locks.open(vm, arguments),
        };
        self.record(now, kind, Some(place), lock_argument(task as u8, resource as u8, true));
        Ok(answer)
    }

    /// A task asks for a resource, which counts as an entry whatever the answer is.
    fn lock(
        &mut self,
        place: usize,
        who: Who,
        resource: usize,
        now: u64,
    ) -> Result<(Kind, u64), Error> {
        self.count_entry(place, now)?;
        let (locked, told) = self.locks().ok_or(Error::Denied)?.lock(who, resource)?;
        self.kick(told);
        Ok(match locked {
            Locked::Held { orphaned: false } => (Kind::Lock, LOCK_HELD),
            Locked::Held { orphaned: true } => (Kind::Lock, LOCK_ORPHANED),
            Locked::Waits => (Kind::LockWait, LOCK_WAITS),
        })
    }

    /// Lets a thread look at what it was told. It may be this one, which then looks before a VCPU goes on.
    fn kick(&mut self, told: Option<Told>) {
        if let Some(Told(thread)) = told {
            self.unseen = true;
            self.context.shared.kick_one(thread);
        }
    }

    /// Counts an entry into a section, if the VCPU may enter one now.
    fn count_entry(&mut self, place: usize, now: u64) -> Result<(), Error> {
        let sections = self.seats[place].sections.as_mut().ok_or(Error::Denied)?;
        let from = sections.from;
        if Rate::may_enter(from, Instant(now)) {
            sections.from = sections.rate.enter(from, Instant(now));
            return Ok(());
        }
        if from == Rate::NEVER {
            return Err(Error::Denied);
        }
        if std::mem::replace(&mut sections.refused, from) != from {
            self.record(now, Kind::TooOften, Some(place), (from as u64).wrapping_sub(now));
        }
        Err(Error::TooOften)
    }

    /// Tells the scheduler if a VCPU is in sections now, and was not before, or the other way round.
    fn tell_scheduler(&mut self, place: usize, now: u64) {
        let Some(Sections { rank, told, .. }) = &self.seats[place].sections else { return };
        let (rank, told) = (*rank, *told);
        let inside = self.locks().is_some_and(|locks| locks.is_inside(rank));
        if inside != told {
            self.change_gcs(place, inside, now);
        }
    }

    fn change_gcs(&mut self, place: usize, inside: bool, now: u64) {
        if let Some(sections) = &mut self.seats[place].sections {
            sections.told = inside;
        }
        let (kind, event) = match inside {
            true => (Kind::StartGcs, Event::EnterGcs(place)),
            false => (Kind::FinishGcs, Event::LeaveGcs(place)),
        };
        self.record(now, kind, Some(place), 0);
        self.decide(event, Kind::Tick, now);
    }

    /// Looks at what other threads told of a VCPU that has not stopped.
    pub(super) fn look_at_sections(&mut self, place: usize, now: u64) {
        let Some(Sections { rank, .. }) = self.seats[place].sections else { return };
        let Some(locks) = self.locks() else { return };
        let (is_granted, is_awaited) = (locks.take_untold(rank), locks.take_awaited(rank));
        self.tell_scheduler(place, now);
        if is_granted {
            self.seats[place].vcpu.tell_grant();
            if let State::Waits(_) = self.seats[place].state {
                self.wake(place, now);
            }
        }
        if is_awaited && self.seats[place].sections.is_some_and(|it| it.told) {
            // From now on the limit of its time in sections matters.
            self.decide(Event::Tick, Kind::Tick, now);
        }
    }

    /// A VCPU stops: what its tasks hold goes to those that wait.
    pub(super) fn stop_sections(&mut self, place: usize, now: u64) {
        let Some(Sections { rank, told, .. }) = self.seats[place].sections else { return };
        self.leave(rank, true);
        if told {
            self.change_gcs(place, false, now);
        }
    }

    /// VCPUs had to wait in sections, or were in some for too long.
    pub(super) fn take_news(&mut self, now: u64) {
        while let Some(news) = self.scheduler.take_news() {
            match news {
                News::StoppedInGcs(place) => self.record(now, Kind::StopInGcs, Some(place), 0),
                News::EndedGcs(place) => {
                    self.record(now, Kind::EndGcs, Some(place), 0);
                    if let Some(sections) = &mut self.seats[place].sections {
                        // The scheduler has it outside already.
                        sections.told = false;
                        let rank = sections.rank;
                        self.leave(rank, false);
                        self.unseen = true;
                    }
                }
            }
        }
    }

    fn leave(&self, rank: usize, stops: bool) {
        if let Some(locks) = self.locks() {
            locks.leave(rank, stops, |told| self.context.shared.kick_one(told.0));
        }
    }
}
