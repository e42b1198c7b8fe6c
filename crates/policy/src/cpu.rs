//! One physical CPU: which VCPU it runs, and when it must decide again.
//!
//! VCPUs have fixed priorities; the one with the highest runs among those that
//! have something to do and budget ([`crate::server`]). What happens is told by
//! [`Cpu::wake`], [`Cpu::block`] and [`Cpu::tick`]; each answers with a
//! [`Decision`]. Time must not go back between calls. Each call takes a number of
//! steps that is proportional to the number of VCPUs.
//!
//! While a periodic server is the one to run but its VCPU has nothing to do, its
//! budget goes by: VCPUs of the background class may run then, others not.
//!
//! [`Cpu::start_gcs`] and [`Cpu::finish_gcs`] tell of global critical sections, for servers with
//! overrun. Priorities stay as they are in a section.

use crate::server::{Parameters, ParametersError, Policy, Server};
use crate::time::{Duration, Instant};

/// A VCPU of the CPU.
#[derive(Clone, Debug)]
pub struct Slot {
    server: Server,
    ready: bool,
    in_gcs: bool,
}

impl Slot {
    /// A VCPU that has nothing to do yet.
    pub fn new(policy: Policy) -> Result<Self, ParametersError> {
        Ok(Self { server: Server::new(policy)?, ready: false, in_gcs: false })
    }

    /// Whether the VCPU has something to do.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Whether one of its tasks is in a global critical section.
    pub fn is_in_gcs(&self) -> bool {
        self.in_gcs
    }

    /// How long the VCPU may run from `now` on, the time of the decision to run it; with
    /// overrun, if it is in a global critical section. The largest duration if there is no limit.
    pub fn budget(&self, now: Instant) -> Duration {
        self.server.budget(now)
    }

    /// It has something to do and is in a section. Rare: kept out of the way of other events.
    #[cold]
    fn enter_gcs(&mut self, now: Instant) {
        self.server.advance(now, None);
        self.server.enter_gcs();
    }
}

/// What the CPU does until the next event.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Decision {
    /// The VCPU to run; none: the CPU idles.
    pub run: Option<usize>,
    /// Call [`Cpu::tick`] then, unless another event comes before.
    pub timer: Option<Instant>,
    /// A VCPU that would run, but has to wait in a global critical section, because its budget
    /// and its overrun are used up: the limit was too low, or the section too long. Told once.
    pub stopped_in_gcs: Option<usize>,
}

/// The VCPUs of a physical CPU, the one with the highest priority first; those of
/// the background class last.
#[derive(Clone, Debug)]
pub struct Cpu<S> {
    slots: S,
    /// Whose budget is used, from `since` on.
    charged: Option<usize>,
    since: Instant,
}

impl<S: AsRef<[Slot]> + AsMut<[Slot]>> Cpu<S> {
    /// A CPU on which nothing runs.
    pub fn new(slots: S) -> Self {
        Self { slots, charged: None, since: Instant(0) }
    }

    /// Its VCPUs.
    pub fn slots(&self) -> &[Slot] {
        self.slots.as_ref()
    }

    /// The VCPU has something to do.
    pub fn wake(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.settle(now);
        if let Some(slot) = self.slots.as_mut().get_mut(vcpu)
            && !slot.ready
        {
            slot.ready = true;
            slot.server.wake(now);
            if slot.in_gcs {
                slot.enter_gcs(now);
            }
        }
        self.decide(now)
    }

    /// The VCPU has nothing to do any more.
    pub fn block(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.settle(now);
        if let Some(slot) = self.slots.as_mut().get_mut(vcpu) {
            slot.ready = false;
            if slot.in_gcs {
                slot.server.leave_gcs();
            }
        }
        self.decide(now)
    }

    /// A task of the VCPU is in a global critical section (vMPCP, section III.C): from now on it
    /// may overrun its budget, if its server has overrun. Nothing changes if one was before.
    pub fn start_gcs(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.settle(now);
        if let Some(slot) = self.slots.as_mut().get_mut(vcpu) {
            slot.in_gcs = true;
            if slot.ready {
                slot.enter_gcs(now);
            }
        }
        self.decide(now)
    }

    /// No task of the VCPU is in a global critical section any more: without budget it waits.
    pub fn finish_gcs(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.settle(now);
        if let Some(slot) = self.slots.as_mut().get_mut(vcpu) {
            slot.in_gcs = false;
            slot.server.leave_gcs();
        }
        self.decide(now)
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Instant) -> Decision {
        self.settle(now);
        self.decide(now)
    }

    /// Takes the time since the last event from the budget that was used.
    #[inline]
    fn settle(&mut self, now: Instant) {
        if let Some(charged) = self.charged
            && let Some(slot) = self.slots.as_mut().get_mut(charged)
        {
            slot.server.advance(now, slot.ready.then_some(self.since));
            if !slot.ready {
                slot.server.idle(now, self.since);
            }
        }
        self.since = now;
    }

    #[inline]
    fn decide(&mut self, now: Instant) -> Decision {
        let mut decision = Decision::default();
        self.charged = None;
        for (index, slot) in self.slots.as_mut().iter_mut().enumerate() {
            let background = slot.server.is_background();
            if !(slot.ready || slot.server.idles()) || self.charged.is_some() && !background {
                continue;
            }
            slot.server.advance(now, None);
            let budget = slot.server.budget(now);
            if budget == Duration::ZERO {
                decision.no_later_than(slot.server.renewal());
                if slot.in_gcs && decision.stopped_in_gcs.is_none() && slot.server.stops_in_gcs() {
                    decision.stopped_in_gcs = Some(index);
                }
                continue;
            }
            if self.charged.is_none() {
                self.charged = Some(index);
                if budget < Duration(u64::MAX) {
                    decision.no_later_than(Some(now + budget));
                }
            }
            if slot.ready {
                decision.run = Some(index);
                break;
            }
        }
        decision
    }
}

impl Decision {
    #[inline]
    fn no_later_than(&mut self, instant: Option<Instant>) {
        if let Some(instant) = instant {
            self.timer = Some(self.timer.map_or(instant, |timer| timer.min(instant)));
        }
    }
}

/// Parameters of a VCPU that gets all of the CPU: budget and period are one tick.
pub const WHOLE_CPU: Policy = Policy::Deferrable(Parameters {
    budget: Duration(1),
    period: Duration(1),
    start: Instant(0),
    overrun: Duration::ZERO,
});
