//! The state of a simulated physical CPU, and the next event on it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use policy::bandwidth::{Account, NoGrants};
use policy::cpu::{self, Cpu, Decision, News, Slot};
use policy::time::{Duration, Instant};

use crate::locks::{Grant, LockState};
use crate::memory::{PcpuGrants, PcpuMemory, Pools};
use crate::vcpu::VcpuState;
use crate::{Accesses, Error, Event, MemoryBudget, Observer, Overheads, Pcpu};

/// A time that never comes.
pub const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub struct PcpuState {
    index: usize,
    cpu: Cpu<Vec<Slot>>,
    pub vcpus: Vec<VcpuState>,
    /// Next releases: time, VCPU, task.
    releases: BinaryHeap<Reverse<(u64, u32, u32)>>,
    decision: Decision,
    /// Time until which execution has been accounted.
    now: u64,
    /// End of the switch from a VCPU that blocked: no other VCPU executes before.
    busy_until: u64,
    /// Time that interrupts for a waiting VCPU still take, until it wakes.
    kicked: u64,
    overheads: Overheads,
    pub memory: PcpuMemory,
}

impl PcpuState {
    pub fn new(
        index: usize,
        pcpu: &Pcpu,
        overheads: Overheads,
        (seed, stream): (u64, &mut u64),
    ) -> Result<Self, Error> {
        let mut slots: Vec<Slot> = Vec::new();
        let (mut vcpus, mut releases) = (Vec::new(), BinaryHeap::new());
        let mut background = false;
        let mut memory = PcpuMemory::default();
        for (number, vcpu) in pcpu.vcpus.iter().enumerate() {
            let is_background = vcpu.server == policy::server::Policy::Background;
            if background && !is_background {
                return Err(Error::BackgroundFirst { vcpu: vcpu.name.clone() });
            }
            background = is_background;
            let server = |error| Error::Server { vcpu: vcpu.name.clone(), error };
            let slot = Slot::new(vcpu.server).map_err(server)?;
            let account = account(vcpu)?;
            if account.is_some() {
                memory.regulated.push(number);
            }
            slots.push(match account {
                Some(account) => slot.with_account(account),
                None => slot,
            });
            let state = VcpuState::new(vcpu, seed, stream)?;
            for (task, jobs) in state.tasks.iter().enumerate() {
                releases.push(Reverse((jobs.first_release(), number as u32, task as u32)));
            }
            vcpus.push(state);
        }
        let overheads = match &*pcpu.vcpus {
            // Nobody takes turns: it does not leave its PCPU.
            [only] if only.server == cpu::WHOLE_CPU => {
                Overheads { wait: 0, switch: 0, tick: 0, kick: 0, ..overheads }
            }
            _ => overheads,
        };
        let mut cpu = Cpu::new(slots)
            .with_switch(Duration(overheads.switch))
            .with_wait(Duration(overheads.wait));
        let decision = cpu.step(cpu::Event::Tick, Instant(0), &mut NoGrants);
        let (now, busy_until) = (0, 0);
        let kicked = 0;
        Ok(Self {
            index,
            cpu,
            vcpus,
            releases,
            decision,
            now,
            busy_until,
            kicked,
            overheads,
            memory,
        })
    }

    /// Returns the time of the next event. `MEMORY`: memory is accessed; `CONTENTION`: accesses
    /// that can be delayed are events.
    #[inline]
    pub fn next<const MEMORY: bool>(&mut self, contention: bool) -> u64 {
        let timer = self.decision.timer.map_or(NEVER, |timer| timer.0);
        let release = self.releases.peek().map_or(NEVER, |Reverse((time, ..))| *time);
        let mut next = timer.min(release);
        let begin = self.begin();
        if let Some(vcpu) = self.decision.run
            && let Some((_, jobs)) = self.vcpus[vcpu].running()
        {
            next = next.min(begin.saturating_add(jobs.remaining.min(jobs.to_section())));
        }
        if MEMORY {
            next = self.next_with_memory(timer.min(release), contention);
        }
        next
    }

    /// The same where memory is accessed; `next`: the next event without what the job does.
    fn next_with_memory(&mut self, next: u64, contention: bool) -> u64 {
        let begin = self.begin();
        let Some(vcpu) = self.decision.run else { return next };
        let left = self.cpu.accesses().map(|most| most.saturating_sub(self.memory.since));
        let Some((_, jobs)) = self.vcpus[vcpu].running() else { return next };
        let mut after = jobs.stall.saturating_add(jobs.remaining.min(jobs.to_section()));
        if left == Some(0) {
            return next.min(self.now);
        } else if contention && matches!(jobs.accesses(), Accesses::PerJob(_)) {
            after = after.min(jobs.time_to(jobs.made + 1).unwrap_or(NEVER));
        } else if let Some(left) = left {
            let overflow = jobs.time_to(jobs.made.saturating_add(left));
            after = after.min(overflow.unwrap_or(NEVER));
        }
        next.min(begin.saturating_add(after))
    }

    /// Returns the time at which the running job continues if nothing else happens: after the
    /// overheads.
    #[inline]
    fn begin(&self) -> u64 {
        let owed = self.decision.run.map_or(0, |run| self.vcpus[run].owed);
        self.now.max(self.busy_until).saturating_add(self.kicked).saturating_add(owed)
    }

    /// The hypervisor takes this much before the tasks of the VCPU that runs go on.
    fn charge(&mut self, cost: u64) {
        if let Some(run) = self.decision.run {
            self.vcpus[run].owed += cost;
        }
    }

    /// A VCPU has woken, or time has passed: what that costs the one that runs, where `before` ran before.
    fn charge_decision(&mut self, before: Option<usize>, woken: Option<usize>) {
        let Overheads { switch, tick, kick, kicks, .. } = self.overheads;
        self.charge(match woken {
            // One that was for the other one may be on its way.
            _ if before.is_some() && self.decision.run != before => switch + kick * kicks.min(1),
            _ if self.decision.run != before => switch,
            Some(vcpu) if self.decision.run == Some(vcpu) => 0,
            Some(_) => kick,
            None => tick,
        });
    }

    /// Lets execution continue until `now`, which is not after the next event.
    #[inline]
    pub fn advance<const MEMORY: bool>(&mut self, now: u64) {
        let (elapsed, leaves) = (now - self.now, self.busy_until.clamp(self.now, now) - self.now);
        self.now = now;
        if MEMORY && elapsed > 0 {
            for &vcpu in &self.memory.regulated {
                if self.cpu.slots()[vcpu].recharges() {
                    self.vcpus[vcpu].statistics.throttled_ns += elapsed;
                }
            }
        }
        if let Some(vcpu) = self.decision.run {
            let vcpu = &mut self.vcpus[vcpu];
            vcpu.statistics.supply_ns += elapsed - leaves;
            let critical = vcpu.critical;
            let kicked = self.kicked.min(elapsed - leaves);
            self.kicked -= kicked;
            let owed = vcpu.owed.min(elapsed - leaves - kicked);
            vcpu.owed -= owed;
            let executes = elapsed - leaves - kicked - owed;
            let Some((_, jobs)) = vcpu.running() else { return };
            if !MEMORY {
                jobs.remaining -= executes;
                return;
            }
            let made = jobs.go_on(executes);
            if made > 0 {
                self.memory.add(made, now - jobs.since_access(), critical);
                if matches!(jobs.accesses(), Accesses::PerJob(_)) {
                    self.memory.fresh += made;
                }
                vcpu.statistics.accesses += made;
            }
        }
    }

    /// Shows the accesses that were made until now.
    pub fn show_accesses<O: Observer>(&mut self, now: u64, observer: &mut O) {
        if let Some(vcpu) = self.decision.run
            && self.memory.unseen > 0
        {
            let accesses = std::mem::take(&mut self.memory.unseen);
            observer.event(now, self.index, Event::Access { vcpu, accesses });
        }
    }

    /// Lets the running job make up to this number of accesses together with others, if it makes
    /// accesses and its VCPU may. Returns the VCPU and the number of accesses.
    pub fn access_with(&mut self, accesses: u64) -> Option<(usize, u64)> {
        let left = self.cpu.accesses().map(|most| most.saturating_sub(self.memory.since));
        let run = self.decision.run?;
        let vcpu = &mut self.vcpus[run];
        let (_, jobs) = vcpu.running()?;
        if jobs.accesses() != Accesses::WithOthers {
            return None;
        }
        let made = left.map_or(accesses, |left| left.min(accesses));
        if made > 0 {
            jobs.made += made;
            vcpu.statistics.accesses += made;
            self.memory.add(made, self.now, vcpu.critical);
            self.memory.unseen -= made;
        }
        Some((run, made))
    }

    /// Delays the accesses that the running job has just made.
    pub fn wait(&mut self, delay: u64) {
        if let Some(run) = self.decision.run
            && let vcpu = &mut self.vcpus[run]
            && let Some((_, jobs)) = vcpu.running()
        {
            jobs.stall += delay;
            vcpu.statistics.delayed_ns += delay;
        }
    }

    /// Handles all events at the time of the next event; returns their number.
    ///
    /// A job that ends when the next one of its VCPU is released does not put the
    /// VCPU to sleep: its timer interrupt is pending before it could wait for one.
    pub fn step<O: Observer, const MEMORY: bool>(
        &mut self,
        now: u64,
        pools: &mut Pools,
        locks: Option<&mut LockState>,
        observer: &mut O,
    ) -> Result<u64, Error> {
        let at = self.index;
        self.advance::<MEMORY>(now);
        let before = self.decision.run;
        if MEMORY {
            self.show_accesses(now, observer);
        }
        let mut events = 0;
        let mut emptied = None;
        let owed = before.map_or(0, |running| self.vcpus[running].owed);
        if let Some(running) = before
            && let Some((task, jobs)) = self.vcpus[running].running()
            && jobs.remaining == 0
            && owed == 0
            && self.kicked == 0
            && jobs.to_section() > 0
            && (!MEMORY || jobs.stall == 0)
        {
            events += 1;
            self.complete(running, task, now, observer);
            emptied = self.vcpus[running].ready.is_empty().then_some(running);
        } else if let Some(running) = before
            && let Some(locks) = locks
            && self.vcpus[running].locks
        {
            events += self.pass_sections::<O, MEMORY>(running, now, pools, locks, observer);
            emptied = self.vcpus[running].ready.is_empty().then_some(running);
        }
        let mut decided = false;
        while let Some(&Reverse((time, vcpu, task))) = self.releases.peek()
            && time <= now
        {
            events += 1;
            let (vcpu, task) = (vcpu as usize, task as usize);
            observer.event(now, at, Event::Release { vcpu, task });
            let state = &mut self.vcpus[vcpu];
            let next = state.tasks[task].release(now)?;
            state.owed += self.overheads.interrupt;
            let was_idle = state.ready.is_empty() && !state.tasks[task].sections.waits;
            if !state.tasks[task].sections.waits {
                state.ready.insert(task);
            }
            if let Some(mut first) = self.releases.peek_mut() {
                first.0.0 = next;
            }
            if emptied == Some(vcpu) && was_idle {
                emptied = None;
            } else if was_idle {
                observer.event(now, at, Event::Wake { vcpu });
                self.kicked = self.kicked.min(self.overheads.kick);
                let before = self.decision.run;
                self.decide::<O, MEMORY>(cpu::Event::Wake(vcpu), now, pools, observer);
                self.charge_decision(before, Some(vcpu));
                decided = true;
            }
        }
        if let Some(vcpu) = emptied {
            observer.event(now, at, Event::Block { vcpu });
            let pays = self.decision.run == Some(vcpu);
            self.decide::<O, MEMORY>(cpu::Event::Block(vcpu), now, pools, observer);
            if pays {
                let Overheads { switch, kick, kicks, .. } = self.overheads;
                self.busy_until = now.max(self.busy_until).saturating_add(switch);
                self.kicked = kick * kicks;
            }
        } else if !decided && self.decision.timer.is_some_and(|timer| timer.0 <= now) {
            events += 1;
            observer.event(now, at, Event::Tick);
            self.decide::<O, MEMORY>(cpu::Event::Tick, now, pools, observer);
            self.charge_decision(before, None);
        } else if MEMORY
            && !decided
            && let Some(vcpu) = self.decision.run
            && self.cpu.accesses().is_some_and(|most| self.memory.since >= most)
        {
            events += 1;
            observer.event(now, at, Event::Overflow { vcpu });
            self.decide::<O, MEMORY>(cpu::Event::Overflow(vcpu), now, pools, observer);
            self.charge_decision(before, None);
        }
        self.show_decision::<O, MEMORY>(before, now, pools, observer);
        if MEMORY {
            self.look_at_task(now, pools);
        }
        Ok(events)
    }

    /// Shows which VCPU runs, if it is another one than before.
    #[inline]
    fn show_decision<O: Observer, const MEMORY: bool>(
        &mut self,
        before: Option<usize>,
        now: u64,
        pools: &mut Pools,
        observer: &mut O,
    ) {
        let at = self.index;
        if self.decision.run != before {
            match self.decision.run {
                None => observer.event(now, at, Event::Idle),
                Some(vcpu) => {
                    self.vcpus[vcpu].statistics.dispatches += 1;
                    let since = Instant(now.max(self.busy_until));
                    let budget = self.cpu.slots()[vcpu].budget(since).0;
                    let budget_ns = (budget < NEVER).then_some(budget);
                    observer.event(now, at, Event::Run { vcpu, budget_ns });
                    if MEMORY && self.vcpus[vcpu].critical {
                        pools.flush(now, false);
                    }
                }
            }
        }
    }

    /// The first job of a task is complete.
    #[inline]
    fn complete<O: Observer>(&mut self, vcpu: usize, task: usize, now: u64, observer: &mut O) {
        let state = &mut self.vcpus[vcpu];
        let jobs = &mut state.tasks[task];
        let response_ns = jobs.complete(now);
        let more = jobs.remaining > 0;
        observer.event(now, self.index, Event::Complete { vcpu, task, response_ns });
        if !more {
            state.ready.remove(task);
        }
    }

    #[inline(always)]
    fn decide<O: Observer, const MEMORY: bool>(
        &mut self,
        event: cpu::Event,
        now: u64,
        pools: &mut Pools,
        observer: &mut O,
    ) {
        if !MEMORY {
            self.decision = self.cpu.step(event, Instant(now), &mut NoGrants);
            return self.show_news(now, observer);
        }
        let since = std::mem::take(&mut self.memory.since);
        if let Some(vcpu) = self.decision.run
            && self.cpu.slots()[vcpu].account().is_some()
        {
            observer.event(now, self.index, Event::Account { vcpu, accesses: since });
            self.cpu.account(vcpu, since);
        }
        let (vcpus, pcpu) = (&self.vcpus[..], self.index);
        let mut grants = PcpuGrants { pools, vcpus, pcpu, observer };
        self.decision = self.cpu.step(event, Instant(now), &mut grants);
        self.show_news(now, observer);
    }

    #[inline]
    fn show_news<O: Observer>(&mut self, now: u64, observer: &mut O) {
        // Nobody's sections are ended here: how long they may be is not limited.
        if self.cpu.has_news()
            && let Some(News::StoppedInGcs(vcpu)) = self.cpu.take_news()
        {
            observer.event(now, self.index, Event::StopInGcs { vcpu });
        }
    }

    /// VCPUs in global critical sections go before all others.
    pub fn raise_in_gcs(&mut self) {
        self.cpu = self.cpu.clone().with_ceilings();
    }

    /// Tells the scheduler that a VCPU has entered or left global critical sections.
    fn tell_gcs<O: Observer, const MEMORY: bool>(
        &mut self,
        vcpu: usize,
        inside: bool,
        now: u64,
        pools: &mut Pools,
        observer: &mut O,
    ) {
        if self.cpu.slots()[vcpu].is_in_gcs() == inside {
            return;
        }
        let since = std::mem::take(&mut self.memory.since);
        if MEMORY
            && let Some(run) = self.decision.run
            && self.cpu.slots()[run].account().is_some()
        {
            observer.event(now, self.index, Event::Account { vcpu: run, accesses: since });
            self.cpu.account(run, since);
        }
        let event = if inside { Event::StartGcs { vcpu } } else { Event::FinishGcs { vcpu } };
        observer.event(now, self.index, event);
        let (vcpus, pcpu) = (&self.vcpus[..], self.index);
        let mut grants = PcpuGrants { pools, vcpus, pcpu, observer };
        let event = if inside { cpu::Event::EnterGcs(vcpu) } else { cpu::Event::LeaveGcs(vcpu) };
        self.decision = self.cpu.step(event, Instant(now), &mut grants);
        self.show_news(now, observer);
    }

    /// The VCPU that runs enters and leaves critical sections, as long as its jobs are at the edge of
    /// one and it runs. Returns how many edges that were.
    fn pass_sections<O: Observer, const MEMORY: bool>(
        &mut self,
        vcpu: usize,
        now: u64,
        pools: &mut Pools,
        locks: &mut LockState,
        observer: &mut O,
    ) -> u64 {
        let (at, mut events) = (self.index, 0);
        while self.decision.run == Some(vcpu)
            && self.begin() <= now
            && let Some((task, jobs)) = self.vcpus[vcpu].running()
            && jobs.to_section() == 0
            && (!MEMORY || jobs.stall == 0)
            && let Some((resource, inside)) = jobs.sections.current()
        {
            events += 1;
            let global = locks.global[resource];
            let state = &mut self.vcpus[vcpu];
            if global {
                state.owed += self.overheads.exit;
            }
            if inside {
                state.tasks[task].sections.pass();
                observer.event(now, at, Event::Unlock { vcpu, task, resource, global });
                if state.tasks[task].remaining == 0 && state.tasks[task].to_section() > 0 {
                    self.complete(vcpu, task, now, observer);
                }
                let state = &mut self.vcpus[vcpu];
                if global {
                    locks.unlock(at, vcpu, task, resource);
                    state.raised.remove(task);
                } else {
                    let _ = state.pcp.unlock(task, resource);
                }
            } else {
                let held = match global {
                    true => locks.lock(at, vcpu, task, resource),
                    false => state.pcp.lock(task, resource).unwrap_or(false),
                };
                if !held {
                    observer.event(now, at, Event::Wait { vcpu, task, resource, global });
                    if global {
                        state.tasks[task].sections.waits = true;
                        state.ready.remove(task);
                    }
                    continue;
                }
                observer.event(now, at, Event::Lock { vcpu, task, resource, global });
                state.tasks[task].sections.pass();
                if global {
                    state.raised.insert(task);
                }
            }
            if global && locks.ceilings {
                let inside = locks.in_gcs(at, vcpu);
                self.tell_gcs::<O, MEMORY>(vcpu, inside, now, pools, observer);
            }
        }
        events
    }

    /// Returns the running VCPU, if its job requests a global resource at that time.
    pub fn asks_at(&self, time: u64, global: &[bool]) -> Option<usize> {
        let vcpu = self.decision.run?;
        let state = &self.vcpus[vcpu];
        let jobs = state.tasks.get(state.running_task()?)?;
        let (resource, inside) = jobs.sections.current()?;
        let left = time.checked_sub(self.begin())?;
        let asks = !inside && global[resource] && jobs.to_section() == left;
        asks.then_some(vcpu)
    }

    /// Grants a task the resource for which it waited.
    pub fn granted<O: Observer, const MEMORY: bool>(
        &mut self,
        grant: Grant,
        now: u64,
        pools: &mut Pools,
        ceilings: bool,
        observer: &mut O,
    ) {
        let Grant { vcpu, task, .. } = grant;
        self.advance::<MEMORY>(now);
        let before = self.decision.run;
        let state = &mut self.vcpus[vcpu];
        let was_idle = state.ready.is_empty();
        let sections = &mut state.tasks[task].sections;
        let resource = sections.current().map_or(0, |(resource, _)| resource);
        sections.waits = false;
        sections.pass();
        state.ready.insert(task);
        state.raised.insert(task);
        state.owed += self.overheads.interrupt;
        observer.event(now, self.index, Event::Lock { vcpu, task, resource, global: true });
        // In this order as in the hypervisor: the interrupt that wakes the VCPU comes last.
        if ceilings {
            self.tell_gcs::<O, MEMORY>(vcpu, true, now, pools, observer);
        }
        if was_idle {
            observer.event(now, self.index, Event::Wake { vcpu });
            self.decide::<O, MEMORY>(cpu::Event::Wake(vcpu), now, pools, observer);
            self.charge_decision(before, Some(vcpu));
        }
        self.show_decision::<O, MEMORY>(before, now, pools, observer);
        if MEMORY {
            self.look_at_task(now, pools);
        }
    }

    /// A critical VCPU may go on with another task.
    fn look_at_task(&mut self, now: u64, pools: &mut Pools) {
        if let Some(run) = self.decision.run
            && self.vcpus[run].critical
        {
            let task = self.vcpus[run].ready.highest().map(|task| (run, task));
            if self.memory.task != task {
                self.memory.task = task;
                pools.flush(now, true);
            }
        }
    }
}

/// Returns the memory budget of a VCPU.
fn account(vcpu: &crate::Vcpu) -> Result<Option<Account>, Error> {
    let error = |error| Error::Memory { name: format!("VCPU {}", vcpu.name), error };
    Ok(match vcpu.memory {
        MemoryBudget::None => None,
        MemoryBudget::Own(parameters) => Some(Account::own(parameters).map_err(error)?),
        MemoryBudget::Shared(_) => Some(Account::shared()),
    })
}
