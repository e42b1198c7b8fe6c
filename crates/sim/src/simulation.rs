//! All physical CPUs together, in the order of time.

use crate::pcpu::PcpuState;
use crate::statistics::{TaskStatistics, VcpuStatistics};
use crate::{Error, Observer, System};

/// Where a run ends at the latest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Time in nanoseconds; what happens then is not simulated.
    pub until: u64,
    /// Events: releases, completions and timers of servers.
    pub events: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ended {
    /// At the time that was given.
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
}

impl Simulation {
    /// The system at time 0. Systems and seeds that are equal give equal simulations.
    pub fn new(system: &System, seed: u64) -> Result<Self, Error> {
        let mut pcpus = Vec::new();
        let mut stream = 0;
        for pcpu in &system.pcpus {
            pcpus.push(PcpuState::new(pcpus.len(), pcpu, seed, &mut stream)?);
        }
        let next = pcpus.iter_mut().map(PcpuState::next).collect();
        Ok(Self { pcpus, next, now: 0, events: 0 })
    }

    /// Goes on until a limit is reached. May be called again with later limits.
    pub fn run<O: Observer>(&mut self, limits: Limits, observer: &mut O) -> Result<Ended, Error> {
        loop {
            if self.events >= limits.events {
                return Ok(Ended::Events);
            }
            let first = self.next.iter().enumerate().min_by_key(|&(_, &time)| time);
            match first {
                Some((pcpu, &time)) if time < limits.until => {
                    self.now = time;
                    self.events += self.pcpus[pcpu].step(observer)?;
                    self.next[pcpu] = self.pcpus[pcpu].next();
                }
                _ => {
                    self.now = limits.until;
                    self.pcpus.iter_mut().for_each(|pcpu| pcpu.advance(limits.until));
                    return Ok(Ended::Time);
                }
            }
        }
    }

    /// Simulated time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now
    }

    /// Events so far.
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
