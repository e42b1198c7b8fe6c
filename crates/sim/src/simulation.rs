//! All physical CPUs together, in the order of time.

use crate::locks::LockState;
use crate::memory::{self, Bus, Pools};
use crate::pcpu::PcpuState;
use crate::rings::Rings;
use crate::statistics::{TaskStatistics, VcpuStatistics};
use crate::time::NEVER;
use crate::{Accesses, Error, MemoryBudget, Observer, System};

/// The limits at which a run ends at the latest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Time in nanoseconds; what happens then is not simulated.
    pub until: u64,
    /// Events: releases, completions, timers of servers, overflows of memory budgets, and with
    /// contention times at which accesses are made.
    pub events: u64,
}

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ended {
    /// The simulation reached the given time.
    Time,
    /// After the events that were given.
    Events,
}

/// A system while it is simulated.
#[derive(Clone, Debug)]
pub struct Simulation {
    pcpus: Vec<PcpuState>,
    /// Time of the next event of each PCPU.
    next: Vec<u64>,
    now: u64,
    events: u64,
    /// True if memory accesses are simulated.
    memory: bool,
    pools: Pools,
    bus: Option<Bus>,
    /// Time until which accesses were made and delayed.
    settled: Option<u64>,
    /// Each access is an event of its own.
    one_by_one: bool,
    /// State of the shared resources, if tasks have critical sections.
    locks: Option<LockState>,
    rings: Rings,
}

impl Simulation {
    /// Returns the system at time 0. Systems and seeds that are equal give equal simulations.
    pub fn new(system: &System, seed: u64) -> Result<Self, Error> {
        let mut pcpus = Vec::new();
        let mut stream = 0;
        for pcpu in &system.pcpus {
            pcpus.push(PcpuState::new(pcpus.len(), pcpu, system.overheads, (seed, &mut stream))?);
        }
        let memory = accesses_memory(system)?;
        let bus = system.memory.contention.map(|contention| Bus::new(contention, pcpus.len()));
        let bus = bus.filter(|_| memory);
        let pools = Pools::new(system)?;
        let next = vec![0; pcpus.len()];
        let (now, events, settled, one_by_one) = (0, 0, None, false);
        let rings = Rings::new(&system.channels, &mut pcpus)?;
        let locks = LockState::new(system, &mut pcpus)?;
        if locks.as_ref().is_some_and(|locks| locks.ceilings) {
            pcpus.iter_mut().for_each(PcpuState::raise_in_gcs);
        }
        let mut new = Self {
            pcpus,
            next,
            now,
            events,
            memory,
            pools,
            bus,
            settled,
            one_by_one,
            locks,
            rings,
        };
        for pcpu in 0..new.pcpus.len() {
            match memory {
                true => new.look_ahead::<true>(pcpu),
                false => new.look_ahead::<false>(pcpu),
            }
        }
        Ok(new)
    }

    /// Makes accesses with contention one by one, as they are defined, and not many at once where
    /// that is possible. The results are the same, but take much longer: this is for tests.
    #[must_use]
    pub fn one_by_one(self) -> Self {
        Self { one_by_one: true, ..self }
    }

    fn look_ahead<const MEMORY: bool>(&mut self, pcpu: usize) {
        self.next[pcpu] = self.pcpus[pcpu].next::<MEMORY>(self.bus.is_some());
    }

    /// Goes on until a limit is reached. May be called again with later limits.
    pub fn run<O: Observer>(&mut self, limits: Limits, observer: &mut O) -> Result<Ended, Error> {
        match self.memory {
            true => self.run_as::<O, true>(limits, observer),
            false => self.run_as::<O, false>(limits, observer),
        }
    }

    /// `MEMORY`: memory is accessed. Systems in which it is not do not pay for it.
    fn run_as<O: Observer, const MEMORY: bool>(
        &mut self,
        limits: Limits,
        observer: &mut O,
    ) -> Result<Ended, Error> {
        loop {
            if self.events >= limits.events {
                return Ok(Ended::Events);
            }
            let first = self.next.iter().enumerate().min_by_key(|&(_, &time)| time);
            let first = match &self.locks {
                Some(locks) => self.first_of_equals(first.map(|(_, time)| time), locks),
                None => first,
            };
            let end = if MEMORY { self.pools.next_end() } else { NEVER };
            if let Some(locks) = &self.locks
                && !locks.grants.is_empty()
                && first.is_none_or(|(_, &time)| time > self.now)
            {
                self.grant::<O, MEMORY>(observer);
                continue;
            }
            match first {
                Some((_, &time))
                    if MEMORY
                        && time.min(end) < limits.until
                        && self.settled != Some(time.min(end)) =>
                {
                    let limits = Limits { until: end.min(limits.until), ..limits };
                    if self.one_by_one || !self.stretch(limits, observer) {
                        self.settle(time.min(end), observer);
                    }
                }
                Some((pcpu, &time)) if time < limits.until => {
                    self.now = time;
                    self.events += self.pcpus[pcpu].step::<O, MEMORY>(
                        time,
                        &mut self.pools,
                        self.locks.as_mut(),
                        observer,
                    )?;
                    self.look_ahead::<MEMORY>(pcpu);
                    if !self.pcpus[pcpu].rung.is_empty() {
                        self.ring::<MEMORY>(pcpu);
                    }
                }
                _ => {
                    self.now = limits.until;
                    self.pcpus.iter_mut().for_each(|pcpu| pcpu.advance::<MEMORY>(limits.until));
                    return Ok(Ended::Time);
                }
            }
        }
    }

    /// Passes on rings of jobs that are done on a PCPU.
    #[cold]
    fn ring<const MEMORY: bool>(&mut self, pcpu: usize) {
        for channel in std::mem::take(&mut self.pcpus[pcpu].rung) {
            for to in self.rings.pass(channel, self.now) {
                self.pcpus[to.pcpu].ring(self.now, to.vcpu, to.task);
                self.next[to.pcpu] = self.pcpus[to.pcpu].next::<MEMORY>(self.bus.is_some());
            }
        }
    }

    /// Returns how many rings for a channel the limit refused: index of the channel.
    pub fn refused(&self, channel: usize) -> u64 {
        self.rings.refused(channel)
    }

    /// Returns the PCPU that is next at a time: of those where tasks ask for global resources just
    /// then the one with the highest priority, behind all others.
    fn first_of_equals<'a>(
        &'a self,
        time: Option<&u64>,
        locks: &LockState,
    ) -> Option<(usize, &'a u64)> {
        let equal = self.next.iter().enumerate().filter(|&(_, next)| Some(next) == time);
        equal.min_by_key(|&(pcpu, &time)| {
            let asks = self.pcpus[pcpu].asks_at(time, &locks.global);
            asks.map_or(0, |vcpu| 1 + usize::from(locks.rank(pcpu, vcpu)))
        })
    }

    /// Lets tasks continue that were granted a resource. This comes after all other events of the
    /// same time, so that a job that completes then is complete.
    fn grant<O: Observer, const MEMORY: bool>(&mut self, observer: &mut O) {
        let Some(locks) = &mut self.locks else { return };
        for grant in std::mem::take(&mut locks.grants) {
            let pcpu = &mut self.pcpus[grant.pcpu];
            pcpu.granted::<O, MEMORY>(grant, self.now, &mut self.pools, locks.ceilings, observer);
            self.next[grant.pcpu] = pcpu.next::<MEMORY>(self.bus.is_some());
        }
    }

    /// Makes accesses until something else happens; returns false if that is next.
    fn stretch<O: Observer>(&mut self, limits: Limits, observer: &mut O) -> bool {
        let Some(bus) = &mut self.bus else { return false };
        let accesses = limits.events - self.events;
        let limits = memory::Limits { end: limits.until, accesses };
        let stretch = bus.stretch(limits, &mut self.pcpus, &self.next, observer);
        let Some(memory::Stretch { now, accesses }) = stretch else { return false };
        (self.now, self.settled) = (now, Some(now));
        self.events += accesses;
        self.look_ahead_on_all();
        true
    }

    /// Makes all accesses until `now`, before all other events of that time, and delays the
    /// accesses that are made at `now`.
    fn settle<O: Observer>(&mut self, now: u64, observer: &mut O) {
        (self.now, self.settled) = (now, Some(now));
        if let Some(bus) = &mut self.bus {
            for pcpu in 0..self.pcpus.len() {
                if self.next[pcpu] <= now {
                    self.pcpus[pcpu].advance::<true>(now);
                    self.pcpus[pcpu].show_accesses(now, observer);
                }
                if self.pcpus[pcpu].memory.fresh > 0 {
                    self.events += 1;
                    bus.delay(pcpu, now, &mut self.pcpus, observer);
                }
            }
        }
        if self.pools.next_end() <= now {
            for &side in self.pools.sides() {
                self.pcpus[side].advance::<true>(now);
            }
            self.pools.end(now, &self.pcpus);
        }
        self.look_ahead_on_all();
    }

    /// Accesses were made: some have to wait, some may have made all that they may.
    fn look_ahead_on_all(&mut self) {
        for pcpu in 0..self.pcpus.len() {
            self.look_ahead::<true>(pcpu);
        }
    }

    /// Returns the simulated time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now
    }

    /// Returns the number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Results of a task: index of the PCPU, of the VCPU on it, and of the task in that.
    pub fn task(&self, pcpu: usize, vcpu: usize, task: usize) -> TaskStatistics {
        self.pcpus[pcpu].vcpus[vcpu].tasks[task].statistics
    }

    /// Jobs of a task that are not complete though their deadline has passed: misses that
    /// its results do not count yet. The task as in [`Simulation::task`].
    pub fn overdue(&self, pcpu: usize, vcpu: usize, task: usize) -> u64 {
        self.pcpus[pcpu].vcpus[vcpu].tasks[task].overdue(self.now)
    }

    /// Results of a VCPU: index of the PCPU and of the VCPU on it.
    pub fn vcpu(&self, pcpu: usize, vcpu: usize) -> VcpuStatistics {
        self.pcpus[pcpu].vcpus[vcpu].statistics
    }
}

/// Returns true if a task accesses memory.
fn accesses_memory(system: &System) -> Result<bool, Error> {
    let mut accesses = false;
    for vcpu in system.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus) {
        if let MemoryBudget::Shared(pool) = vcpu.memory
            && pool >= system.memory.pools.len()
        {
            return Err(Error::NoPool { vcpu: vcpu.name.clone(), pool });
        }
        accesses |= vcpu.memory != MemoryBudget::None;
        for task in &vcpu.tasks {
            if task.accesses == Accesses::WithOthers && system.memory.contention.is_none() {
                return Err(Error::Accesses { task: task.name.clone() });
            }
            accesses |= task.accesses != Accesses::None;
        }
    }
    Ok(accesses)
}
