//! Accesses with contention at which nothing else happens, many in one step.
//!
//! If each access were an event of all PCPUs, jobs with many of them would make a simulation slow.
//! Until the next event of another kind (the *horizon*: a release, a timer, the end of a job or of
//! a budget) each PCPU runs the same job, and its accesses follow from a few numbers ([`Lane`]). A
//! stretch makes the accesses of these lanes in the order of time. Where a lane makes several of
//! them before any other one does, and each is delayed equally, a formula makes them at once
//! ([`crate::memory::Evenly`]).
//!
//! The results are those of [`Bus::delay`] at each access, and an observer sees the same events.

use super::Bus;
use crate::pcpu::{Course, Lane, PcpuState};
use crate::time::NEVER;
use crate::{Event, Observer};

/// The limits of a stretch.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time of the next event that is not one of a PCPU.
    pub end: u64,
    /// Number of accesses after which the stretch ends, and those that are made at the same time.
    pub accesses: u64,
}

/// A stretch of accesses.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Time of the last access.
    pub now: u64,
    /// Number of accesses that others could delay.
    pub accesses: u64,
}

/// The next access.
#[derive(Clone, Copy, Debug)]
struct First {
    /// PCPU.
    at: usize,
    now: u64,
    /// Time of the next access of another PCPU.
    other: u64,
}

impl Bus {
    /// Makes accesses for as long as nothing else happens on a PCPU; `next` has the time of the next
    /// event of each. Returns `None` if something else is next.
    pub fn stretch<O: Observer>(
        &mut self,
        limits: Limits,
        pcpus: &mut [PcpuState],
        next: &[u64],
        observer: &mut O,
    ) -> Option<Stretch> {
        let mut horizon = limits.end;
        self.lanes.clear();
        self.makers.clear();
        for (at, (pcpu, &next)) in pcpus.iter_mut().zip(next).enumerate() {
            if pcpu.memory.fresh > 0 {
                // The last run ended at these accesses, before they could be delayed.
                return None;
            }
            let (lane, other) = pcpu.lane(next);
            horizon = horizon.min(other);
            if lane.next() < NEVER {
                self.makers.push(at);
            }
            self.lanes.push(lane);
        }
        let mut stretch = Stretch { now: 0, accesses: 0 };
        while stretch.accesses < limits.accesses
            && let Some(first) = self.first()
            && first.now < horizon
        {
            let end = horizon.min(first.other);
            let most = limits.accesses - stretch.accesses;
            let jumped = self.jump(first, end, most, observer);
            let (accesses, now) =
                jumped.unwrap_or_else(|| (self.make(first.now, observer), first.now));
            stretch.accesses += accesses;
            stretch.now = now;
            for &maker in &self.makers {
                if let Course::Evenly(accesses) = &self.lanes[maker].course
                    && accesses.next() == NEVER
                {
                    horizon = horizon.min(accesses.end());
                }
            }
            if self.lanes.iter().any(|lane| lane.left == 0) {
                break;
            }
        }
        if stretch.accesses == 0 {
            return None;
        }
        for (pcpu, lane) in pcpus.iter_mut().zip(&self.lanes) {
            pcpu.follow(lane, stretch.now);
        }
        Some(stretch)
    }

    fn first(&self) -> Option<First> {
        let mut first: Option<First> = None;
        for &at in &self.makers {
            let now = self.lanes[at].next();
            first = Some(match first {
                Some(first) if first.now <= now => First { other: first.other.min(now), ..first },
                first => First { at, now, other: first.map_or(NEVER, |first| first.now) },
            });
        }
        first.filter(|first| first.now < NEVER)
    }

    /// Makes all accesses of this time, and returns their number.
    fn make<O: Observer>(&mut self, now: u64, observer: &mut O) -> u64 {
        for &at in &self.makers {
            if self.lanes[at].next() == now {
                self.lanes[at].add(1, now);
            }
        }
        let mut accesses = 0;
        for index in 0..self.makers.len() {
            let at = self.makers[index];
            if self.lanes[at].next() != now {
                continue;
            }
            accesses += 1;
            observer.event(now, at, Event::Access { vcpu: self.lanes[at].vcpu, accesses: 1 });
            let mut delay = 0;
            for other in (0..self.lanes.len()).filter(|&other| other != at) {
                let lane = &mut self.lanes[other];
                if let Course::WithOthers = lane.course {
                    let accesses = lane.left.min(1);
                    lane.add(accesses, now);
                    observer.event(now, other, Event::Access { vcpu: lane.vcpu, accesses });
                    delay += accesses * self.contention.latency;
                    if accesses > 0 {
                        self.waited[at][other] = lane.total;
                    }
                } else {
                    let until = lane.until(now);
                    delay += self.wait((at, other), now, until);
                }
            }
            self.lanes[at].delay(1, delay);
        }
        accesses
    }

    /// Makes accesses of the first PCPU before `end`, if each is delayed equally. Returns their
    /// number, at most `most`, and the time of the last one.
    fn jump<O: Observer>(
        &mut self,
        First { at, now, .. }: First,
        end: u64,
        most: u64,
        observer: &mut O,
    ) -> Option<(u64, u64)> {
        let Course::Evenly(accesses) = &self.lanes[at].course else { return None };
        if now.saturating_add(accesses.distance()) >= end {
            return None;
        }
        let delay = self.delay_of_all(at, now)?;
        let mut count = accesses.count_before(end, delay)?.min(most).min(self.lanes[at].left);
        for (_, lane) in self.others(at) {
            if let Course::WithOthers = lane.course {
                count = count.min(lane.left);
            }
        }
        if count < 2 {
            return None;
        }
        if observer.sees_accesses() {
            let mut accesses = accesses.clone();
            for _ in 0..count {
                self.show(at, accesses.next(), observer);
                accesses.make(delay);
            }
        }
        let lane = &mut self.lanes[at];
        if let Course::Evenly(accesses) = &mut lane.course {
            accesses.skip(count - 1, delay);
        }
        let now = lane.next();
        lane.add(count, now);
        lane.delay(count, delay);
        for (other, lane) in self.lanes.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            match lane.course {
                Course::WithOthers => lane.add(count, now),
                Course::Every { .. } => {}
                Course::Never | Course::Evenly(_) => continue,
            }
            self.waited[at][other] = lane.until(now).0;
        }
        Some((count, now))
    }

    fn others(&self, at: usize) -> impl Iterator<Item = (usize, &Lane)> {
        self.lanes.iter().enumerate().filter(move |(other, _)| *other != at)
    }

    /// Returns the delay of the next access of a PCPU, at `now`, if those after it are delayed as
    /// long until another PCPU makes one that others can delay.
    fn delay_of_all(&self, at: usize, now: u64) -> Option<u64> {
        let latency = self.contention.latency;
        // It has not waited for accesses after this time.
        let since = self.lanes[at].last.unwrap_or(0);
        let mut sum = 0u64;
        for (other, lane) in self.others(at) {
            let is_delayed = match lane.course {
                Course::WithOthers => true,
                // It makes one or more accesses between any two of this PCPU: the next one comes
                // after a distance of the latency, too.
                Course::Every { gap, begin, .. }
                    if self.contention.always_longest
                        && gap <= latency
                        && since.max(begin).checked_add(gap).is_some_and(|end| end <= now) =>
                {
                    true
                }
                Course::Every { .. } => return None,
                Course::Never | Course::Evenly(_) => {
                    let is_over = lane.last.is_none_or(|last| last.saturating_add(latency) <= now);
                    if !is_over && lane.total > self.waited[at][other] {
                        return None;
                    }
                    false
                }
            };
            sum = sum.checked_add(if is_delayed { latency } else { 0 })?;
        }
        Some(sum)
    }

    /// Shows an access of a PCPU, and those of others that come with it.
    fn show<O: Observer>(&self, at: usize, now: u64, observer: &mut O) {
        let accesses = 1;
        observer.event(now, at, Event::Access { vcpu: self.lanes[at].vcpu, accesses });
        for (other, lane) in self.others(at) {
            if let Course::WithOthers = lane.course {
                observer.event(now, other, Event::Access { vcpu: lane.vcpu, accesses });
            }
        }
    }
}
