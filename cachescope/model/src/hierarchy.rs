//! Private caches over a last-level cache, shared or private too, over a bus to memory.

mod fetch;
mod operate;
mod prefetch;

use crate::bus::Transfer;
use crate::tally::Tally;
use crate::{Bus, Cache, Found, Options, Owner, Owners, OwnersError};
use prefetch::Prefetcher;

/// The caches of all CPUs, the bus, and what was counted.
///
/// Private caches are kept coherent: a store takes the line away from the other
/// CPUs, a load makes them give back what they changed: to the cache that they share, or else
/// to memory. Waiting for that is not
/// modelled beyond the hit in the last-level cache that follows.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// One per CPU, or none at all.
    private: Vec<Cache>,
    /// One per CPU, or none if fetches of instructions are not modelled.
    instructions: Vec<Cache>,
    /// The one that all CPUs share, or one for each.
    last: Vec<Cache>,
    inclusive: bool,
    bus: Bus,
    owners: Owners,
    tally: Tally,
    line_shift: u32,
    /// Shift from a line number to a page number.
    color_shift: u32,
    color_mask: u64,
    l1_hit: u64,
    llc_hit: u64,
    memory: u64,
    /// Lines of each CPU that may be on their way before it asks for them.
    prefetch: usize,
    /// One per CPU.
    prefetchers: Vec<Prefetcher>,
    /// Accesses to lines that no cache takes.
    uncached: u64,
    /// Lines whose accesses cost nothing.
    silent: Vec<u64>,
}

/// One access to one line.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// CPU that makes it.
    pub cpu: usize,
    /// The owner on whose account the access goes.
    pub who: Owner,
    /// Number of the line: physical address / line bytes.
    pub line: u64,
    /// True if it changes the line.
    pub store: bool,
    /// True if it changes all of the line, which then needs not come from memory.
    pub whole: bool,
    /// Time of the CPU, in cycles.
    pub now: u64,
}

/// The cost of an access.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cost {
    /// Cycles that the CPU stands still, with those for the bus.
    pub stall: u64,
    /// Cycles of them that it waits for the bus.
    pub bus_wait: u64,
    /// The private cache did not have the line.
    pub l1_miss: bool,
    /// Nor did the last-level cache.
    pub llc_miss: bool,
}

impl Hierarchy {
    /// Empty caches as `options` describe them, for this many CPUs.
    pub fn new(options: &Options, cpus: usize) -> Self {
        let colors = options.llc.colors(options.page);
        let line_shift = options.llc.line().trailing_zeros();
        let private = |geometry| {
            (0..cpus as u64)
                .map(|cpu| Cache::new(geometry, options.l1_policy, options.seed + 1 + cpu))
                .collect()
        };
        let instructions = options.fetch.then_some(options.l1i);
        Self {
            private: options.l1.map(private).unwrap_or_default(),
            instructions: instructions.map(private).unwrap_or_default(),
            last: (0..if options.llc_shared { 1 } else { cpus as u64 })
                .map(|cpu| Cache::new(options.llc, options.llc_policy, options.seed + cpu))
                .collect(),
            inclusive: options.inclusive,
            bus: Bus::new(options.clock.cycles(options.bus), cpus),
            tally: Tally::new(options.owners.count(), colors as usize),
            owners: options.owners.clone(),
            line_shift,
            color_shift: options.page.trailing_zeros() - line_shift,
            color_mask: colors - 1,
            l1_hit: options.clock.cycles(options.l1_hit),
            llc_hit: options.clock.cycles(options.llc_hit),
            memory: options.clock.cycles(options.memory),
            prefetch: options.prefetch,
            prefetchers: vec![Prefetcher::default(); cpus],
            uncached: 0,
            silent: Vec::new(),
        }
    }

    /// Makes an access.
    #[inline]
    pub fn access(&mut self, request: Request) -> Cost {
        let Request { cpu, who, line, store, .. } = request;
        let color = self.color(line);
        let counts = self.tally.at(who, color);
        counts.accesses += 1;
        let Some(private) = self.private.get_mut(cpu) else {
            return self.access_shared(request);
        };
        let found = private.touch(line, store);
        if found == Found::Dirty || found == Found::Clean && !store {
            return Cost { stall: self.l1_hit, ..Cost::default() };
        }
        self.miss_or_upgrade(request, found)
    }

    /// There are no private caches.
    fn access_shared(&mut self, request: Request) -> Cost {
        if let Some(cost) = self.bypass(request) {
            return cost;
        }
        let color = self.color(request.line);
        self.tally.at(request.who, color).l1_misses += 1;
        if request.store && self.last.len() > 1 {
            self.snoop(request.cpu, request.line, true, request.now);
        }
        self.demand(request, request.store)
    }

    /// The private cache has not got the line, or not for itself alone.
    fn miss_or_upgrade(&mut self, request: Request, found: Found) -> Cost {
        let Request { cpu, who, line, store, now, .. } = request;
        if found == Found::No
            && let Some(cost) = self.bypass(request)
        {
            return cost;
        }
        self.snoop(cpu, line, store, now);
        if found == Found::Clean {
            return Cost { stall: self.l1_hit, ..Cost::default() };
        }
        let color = self.color(line);
        self.tally.at(who, color).l1_misses += 1;
        let mut cost = self.demand(request, false);
        if self.prefetch > 0 && !request.whole {
            cost = self.follow(request, cost);
        }
        if let Some(victim) = self.private[cpu].fill(line, store)
            && victim.dirty
        {
            self.write_back(cpu, victim.line, now);
        }
        cost
    }

    /// An access that the private cache could not serve.
    fn demand(&mut self, request: Request, dirty: bool) -> Cost {
        let Request { cpu, who, line, now, .. } = request;
        if self.last_of(cpu).touch(line, dirty) != Found::No {
            return Cost { stall: self.llc_hit, l1_miss: true, ..Cost::default() };
        }
        if self.last.len() > 1 {
            self.snoop(cpu, line, request.store, now);
        }
        let color = self.color(line);
        self.tally.at(who, color).llc_misses += 1;
        if request.whole {
            self.fill(cpu, who, line, dirty, now);
            return Cost { stall: self.llc_hit, l1_miss: true, llc_miss: true, bus_wait: 0 };
        }
        self.tally.read(who);
        let bus_wait = self.bus.transfer(Transfer { now, cpu: cpu as u8, waits: true });
        self.fill(cpu, who, line, dirty, now);
        Cost { stall: self.memory + bus_wait, bus_wait, l1_miss: true, llc_miss: true }
    }

    /// The cost of an access to memory that no cache takes: it misses none.
    fn bypass(&mut self, request: Request) -> Option<Cost> {
        if self.is_silent(request.line) {
            return Some(Cost::default());
        }
        self.is_uncached(request.line).then(|| self.access_uncached(request))
    }

    #[cold]
    fn access_uncached(&mut self, request: Request) -> Cost {
        self.uncached += 1;
        let cpu = request.cpu as u8;
        let bus_wait = self.bus.transfer(Transfer { now: request.now, cpu, waits: true });
        Cost { stall: self.memory + bus_wait, bus_wait, ..Cost::default() }
    }

    /// A changed line leaves a private cache. Its owner pays, whichever CPU made it
    /// leave: it goes to where its owner's lines are.
    fn write_back(&mut self, cpu: usize, line: u64, now: u64) {
        let owner = self.owner(line);
        self.tally.wrote_back(owner);
        if self.last_of(cpu).touch(line, true) == Found::No {
            self.fill(cpu, owner, line, true, now);
        }
    }

    /// Puts a line into the last-level cache. The line that has to go is written to
    /// memory; no CPU waits for that, but the bus is in use for it.
    fn fill(&mut self, cpu: usize, who: Owner, line: u64, dirty: bool, now: u64) {
        let Some(victim) = self.last_of(cpu).fill(line, dirty) else {
            return;
        };
        let (incoming, evicted) = (self.owner(line), self.owner(victim.line));
        self.tally.evicted(self.color(line), who, incoming, evicted);
        let mut changed = victim.dirty;
        if self.inclusive {
            let users = if self.last.len() > 1 { cpu..cpu + 1 } else { 0..usize::MAX };
            for caches in [&mut self.private, &mut self.instructions] {
                for private in caches.iter_mut().skip(users.start).take(users.len()) {
                    changed |= private.invalidate(victim.line).unwrap_or(false);
                }
            }
        }
        if changed {
            self.write_to_memory(cpu, evicted, now);
        }
    }

    /// Makes the other CPUs give back a line that they changed, and forget it
    /// if it is to be changed.
    fn snoop(&mut self, cpu: usize, line: u64, forget: bool, now: u64) {
        if self.last.len() > 1 {
            return self.snoop_all(cpu, line, forget, now);
        }
        for other in (0..self.private.len()).filter(|&other| other != cpu) {
            let private = &mut self.private[other];
            let changed = if forget {
                private.invalidate(line).unwrap_or(false)
            } else {
                private.clean(line)
            };
            if changed {
                self.write_back(cpu, line, now);
            }
        }
    }

    /// The same if CPUs share no cache: what they changed goes to memory.
    fn snoop_all(&mut self, cpu: usize, line: u64, forget: bool, now: u64) {
        let mut changed = false;
        for caches in [&mut self.private, &mut self.last] {
            for (_, cache) in caches.iter_mut().enumerate().filter(|(other, _)| *other != cpu) {
                changed |= if forget {
                    cache.invalidate(line).unwrap_or(false)
                } else {
                    cache.clean(line)
                };
            }
        }
        if changed {
            self.write_to_memory(cpu, self.owner(line), now);
        }
    }

    /// A line goes to memory. No CPU waits for it, but the bus is in use.
    fn write_to_memory(&mut self, cpu: usize, owner: Owner, now: u64) {
        self.tally.written(owner);
        self.bus.transfer(Transfer { now, cpu: cpu as u8, waits: false });
    }

    /// The last-level cache that a CPU uses.
    #[inline]
    fn last_of(&mut self, cpu: usize) -> &mut Cache {
        let place = if self.last.len() > 1 { cpu } else { 0 };
        &mut self.last[place]
    }

    #[inline]
    fn color(&self, line: u64) -> usize {
        (line >> self.color_shift & self.color_mask) as usize
    }

    /// Returns true if no cache takes a line.
    pub fn is_uncached(&self, line: u64) -> bool {
        self.owners.is_uncached(line << self.line_shift)
    }

    fn owner(&self, line: u64) -> Owner {
        self.owners.of(line << self.line_shift)
    }

    /// Gives memory to an owner, as [`Owners::give`] does. Lines of it that are in caches are the owner's from now on.
    pub fn give(&mut self, owner: Owner, start: u64, size: u64) -> Result<(), OwnersError> {
        self.owners.give(owner, start, size)
    }

    /// Whose memory is whose.
    pub fn owners(&self) -> &Owners {
        &self.owners
    }

    /// The counts.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The bus.
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Accesses to memory that no cache takes.
    pub fn uncached(&self) -> u64 {
        self.uncached
    }

    /// From now on no cache takes a line, and accesses to it cost nothing. If one has it,
    /// it is gone.
    pub fn silence(&mut self, line: u64) {
        if !self.silent.contains(&line) {
            for cache in self.private.iter_mut().chain(&mut self.last) {
                cache.invalidate(line);
            }
            self.silent.push(line);
        }
    }

    /// Returns true if accesses to a line cost nothing.
    pub fn is_silent(&self, line: u64) -> bool {
        self.silent.contains(&line)
    }

    /// The time that a CPU waited for the bus longer than its accesses said, in cycles,
    /// since it was last asked.
    #[inline]
    pub fn take_delay(&mut self, cpu: usize) -> u64 {
        self.bus.take_delay(cpu)
    }

    /// The private cache of a CPU, if CPUs have any.
    pub fn private(&self, cpu: usize) -> Option<&Cache> {
        self.private.get(cpu)
    }

    /// The last-level cache that a CPU uses.
    pub fn last(&self, cpu: usize) -> &Cache {
        &self.last[if self.last.len() > 1 { cpu } else { 0 }]
    }

    /// Shift from a physical address to the number of its line.
    pub fn line_shift(&self) -> u32 {
        self.line_shift
    }
}
