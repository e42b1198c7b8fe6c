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
        let _ = self.server.supply(now);
        self.server.enter_gcs();
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// The VCPU has something to do.
    Wake(usize),
    /// The VCPU has nothing to do any more.
    Block(usize),
    /// Time has passed.
    Tick,
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
    charge: Charge,
}

/// Whose budget is used, and since when.
///
/// What decides is here and not generic, so that it is compiled once, for speed.
#[derive(Clone, Debug)]
struct Charge {
    slot: Option<usize>,
    since: Instant,
    /// What the VCPU had that was to run since then.
    budget: Duration,
}

impl<S: AsRef<[Slot]> + AsMut<[Slot]>> Cpu<S> {
    /// A CPU on which nothing runs.
    pub fn new(slots: S) -> Self {
        Self { slots, charge: Charge { slot: None, since: Instant(0), budget: Duration::ZERO } }
    }

    /// Its VCPUs.
    pub fn slots(&self) -> &[Slot] {
        self.slots.as_ref()
    }

    /// How long the VCPU may run that is to run, from the last decision on and if nothing
    /// happens; the largest duration if there is no limit.
    pub fn budget(&self) -> Duration {
        self.charge.budget
    }

    /// The VCPU has something to do.
    pub fn wake(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.decide(Event::Wake(vcpu), now)
    }

    /// The VCPU has nothing to do any more.
    pub fn block(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.decide(Event::Block(vcpu), now)
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Instant) -> Decision {
        self.decide(Event::Tick, now)
    }

    /// Decides because of an event.
    #[inline]
    pub fn decide(&mut self, event: Event, now: Instant) -> Decision {
        self.charge.decide(self.slots.as_mut(), event, now)
    }

    /// A task of the VCPU is in a global critical section (vMPCP, section III.C): from now on it
    /// may overrun its budget, if its server has overrun. Nothing changes if one was before.
    pub fn start_gcs(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.charge.change_gcs(self.slots.as_mut(), vcpu, true, now)
    }

    /// No task of the VCPU is in a global critical section any more: without budget it waits.
    pub fn finish_gcs(&mut self, vcpu: usize, now: Instant) -> Decision {
        self.charge.change_gcs(self.slots.as_mut(), vcpu, false, now)
    }
}

impl Charge {
    #[inline(never)]
    fn decide(&mut self, slots: &mut [Slot], event: Event, now: Instant) -> Decision {
        self.settle(slots, now);
        match event {
            Event::Wake(vcpu) => {
                if let Some(slot) = slots.get_mut(vcpu)
                    && !slot.ready
                {
                    slot.ready = true;
                    slot.server.wake(now);
                    if slot.in_gcs {
                        slot.enter_gcs(now);
                    }
                }
            }
            Event::Block(vcpu) => {
                if let Some(slot) = slots.get_mut(vcpu) {
                    slot.ready = false;
                    if slot.in_gcs {
                        slot.server.leave_gcs();
                    }
                }
            }
            Event::Tick => {}
        }
        self.choose(slots, now)
    }

    #[inline(never)]
    fn change_gcs(
        &mut self,
        slots: &mut [Slot],
        vcpu: usize,
        in_gcs: bool,
        now: Instant,
    ) -> Decision {
        self.settle(slots, now);
        if let Some(slot) = slots.get_mut(vcpu) {
            slot.in_gcs = in_gcs;
            if !in_gcs {
                slot.server.leave_gcs();
            } else if slot.ready {
                slot.enter_gcs(now);
            }
        }
        self.choose(slots, now)
    }

    /// Takes the time since the last event from the budget that was used.
    #[inline]
    fn settle(&mut self, slots: &mut [Slot], now: Instant) {
        if let Some(slot) = self.slot.and_then(|slot| slots.get_mut(slot)) {
            if slot.ready {
                slot.server.charge(now, self.since);
            } else {
                slot.server.idle(now, self.since);
            }
        }
        self.since = now;
    }

    #[inline]
    fn choose(&mut self, slots: &mut [Slot], now: Instant) -> Decision {
        // In variables of its own: what is returned would be written piece by piece.
        let (mut run, mut timer, mut stopped_in_gcs) = (None, NEVER, None);
        self.slot = None;
        self.budget = Duration::ZERO;
        let mut charged = false;
        for (index, slot) in slots.iter_mut().enumerate() {
            if !slot.ready && !slot.server.idles() {
                continue;
            }
            if charged && !slot.server.is_background() {
                continue;
            }
            let budget = match slot.server.supply(now) {
                Ok(budget) => budget,
                Err(renewal) => {
                    timer = timer.min(renewal);
                    if slot.in_gcs && stopped_in_gcs.is_none() && slot.server.stops_in_gcs() {
                        stopped_in_gcs = Some(index);
                    }
                    continue;
                }
            };
            if !charged {
                charged = true;
                self.slot = Some(index);
                timer = timer.min(now + budget);
            }
            if slot.ready {
                run = Some(index);
                self.budget = budget;
                break;
            }
        }
        Decision { run, timer: (timer < NEVER).then_some(timer), stopped_in_gcs }
    }
}

/// The end of time, which does not come.
const NEVER: Instant = Instant(u64::MAX);

/// Parameters of a VCPU that gets all of the CPU: budget and period are one tick.
pub const WHOLE_CPU: Policy = Policy::Deferrable(Parameters {
    budget: Duration(1),
    period: Duration(1),
    start: Instant(0),
    overrun: Duration::ZERO,
});
