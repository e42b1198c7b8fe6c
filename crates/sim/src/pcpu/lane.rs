//! A PCPU as its memory accesses show it while nothing else happens on it.

use super::PcpuState;
use crate::Accesses;
use crate::memory::Evenly;
use crate::time::NEVER;

/// The accesses of a PCPU until another event.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The VCPU that runs; 0 if there is none.
    pub vcpu: usize,
    pub course: Course,
    /// Number of accesses that the VCPU may still make.
    pub left: u64,
    /// Accesses that the PCPU has made, and the time of the last one.
    pub total: u64,
    pub last: Option<u64>,
    /// Accesses that were made in this form.
    pub made: u64,
    /// Time that these were delayed: in all, and the last one.
    pub delayed: u64,
    pub delay: u64,
}

/// The times at which a PCPU makes accesses.
#[derive(Clone, Debug)]
pub enum Course {
    /// It makes none until the next event.
    Never,
    /// The job that executes makes them evenly over its execution, and others delay them.
    Evenly(Evenly),
    /// Every `gap` of execution, of which `done` is over at `begin`.
    Every { gap: u64, begin: u64, done: u64 },
    /// Whenever another PCPU makes one that can be delayed.
    WithOthers,
}

impl Lane {
    /// Returns the number of accesses until `now`, and the time of the last one.
    #[inline]
    pub fn until(&self, now: u64) -> (u64, Option<u64>) {
        if let Course::Every { gap, begin, done } = self.course
            && let before = done / gap
            && let done = done.saturating_add(now.saturating_sub(begin))
            && done / gap > before
        {
            return (self.total + (done / gap - before), Some(now - done % gap));
        }
        (self.total, self.last)
    }

    /// Returns the time of the next access that others can delay; [`NEVER`] if another event comes
    /// before.
    #[inline]
    pub fn next(&self) -> u64 {
        match &self.course {
            Course::Evenly(accesses) => accesses.next(),
            _ => NEVER,
        }
    }

    /// Makes this number of accesses, the last one at `now`.
    #[inline]
    pub fn add(&mut self, accesses: u64, now: u64) {
        self.left -= accesses;
        self.made += accesses;
        self.total += accesses;
        self.last = Some(now);
    }

    /// Delays this number of accesses, those that were made last.
    #[inline]
    pub fn delay(&mut self, accesses: u64, delay: u64) {
        if let Course::Evenly(coming) = &mut self.course {
            coming.make(delay);
        }
        self.delayed += accesses * delay;
        self.delay = delay;
    }
}

impl PcpuState {
    /// Returns the coming accesses, and the time of the next event that does not move if these are
    /// delayed. `next` is the time of the next event of any kind.
    pub fn lane(&mut self, next: u64) -> (Lane, u64) {
        let (begin, timer) = (self.begin(), self.timer());
        let mut lane = Lane {
            vcpu: 0,
            course: Course::Never,
            left: self.cpu.accesses().map_or(NEVER, |most| most.saturating_sub(self.memory.since)),
            total: self.memory.total,
            last: self.memory.last,
            made: 0,
            delayed: 0,
            delay: 0,
        };
        let Some(vcpu) = self.decision.run else { return (lane, next) };
        let Some((_, jobs)) = self.vcpus[vcpu].running() else { return (lane, next) };
        lane.vcpu = vcpu;
        lane.course = match jobs.accesses() {
            Accesses::Every(gap) => Course::Every { gap, begin, done: jobs.done() },
            Accesses::WithOthers => Course::WithOthers,
            Accesses::PerJob(_) => jobs.evenly(begin).map_or(Course::Never, Course::Evenly),
            Accesses::None => Course::Never,
        };
        let stays = lane.left > 0 && lane.next() < NEVER;
        (lane, if stays { timer } else { next })
    }

    /// Makes the accesses of a lane, and lets execution continue until `now`.
    pub fn follow(&mut self, lane: &Lane, now: u64) {
        if lane.made > 0
            && let Some(last) = lane.last
        {
            if let Course::Evenly(accesses) = &lane.course {
                // At its last access a job has executed as far as that is.
                self.pass::<true>(last);
                if let Some((_, jobs)) = self.vcpus[lane.vcpu].running() {
                    jobs.go_to(accesses, lane.delay);
                }
            } else if let Some((_, jobs)) = self.vcpus[lane.vcpu].running() {
                jobs.made += lane.made;
            }
            let vcpu = &mut self.vcpus[lane.vcpu];
            vcpu.statistics.accesses += lane.made;
            vcpu.statistics.delayed_ns += lane.delayed;
            self.memory.add(lane.made, last, vcpu.critical);
            self.memory.unseen -= lane.made;
        }
        self.advance::<true>(now);
    }
}
