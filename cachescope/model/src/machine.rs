//! The machine: CPUs, caches, bus, and what comes out of them.

use crate::cpu::{Cpu, Position};
use crate::hierarchy::{Hierarchy, Request};
use crate::jobs::{Jobs, Mark};
use crate::pace::Pace;
use crate::series::Series;
use crate::{Options, Owner, Start};

/// Most CPUs.
pub const CPUS_MAX: usize = 64;

/// A block of instructions that a CPU begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Block {
    /// Number of its instructions.
    pub instructions: u32,
    /// Index of its first load or store, or the number of its instructions.
    pub first_access: u32,
    /// Whether it runs at the hypervisor's exception level (EL2) or above.
    pub privileged: bool,
}

/// An access to memory that does not cross the end of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Access {
    /// Physical address.
    pub address: u64,
    /// Whether it writes.
    pub store: bool,
}

/// Accesses that are not part of the model.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Skipped {
    /// Accesses to devices.
    pub device: u64,
    /// Accesses whose physical address could not be found.
    pub unresolved: u64,
}

/// The model of a machine. Its input comes from one thread, in the order in
/// which it is executed.
#[derive(Clone, Debug)]
pub struct Machine {
    options: Options,
    hierarchy: Hierarchy,
    cpus: Vec<Cpu>,
    pace: Pace,
    series: Series,
    jobs: Jobs,
    skipped: Skipped,
    current: usize,
    /// Whether the first instruction that counts was executed.
    started: bool,
    /// Who pays for accesses of the block; `None`: whose memory it is.
    account: Option<Owner>,
    line_shift: u32,
}

impl Machine {
    /// A machine with this many CPUs, at most [`CPUS_MAX`].
    ///
    /// # Panics
    /// With no CPU, or more than [`CPUS_MAX`].
    pub fn new(options: Options, cpus: usize) -> Self {
        assert!((1..=CPUS_MAX).contains(&cpus), "{cpus} CPUs");
        let hierarchy = Hierarchy::new(&options, cpus);
        // One CPU alone has nobody to keep up with.
        let quantum = if cpus > 1 { options.clock.cycles(options.quantum) } else { 0 };
        Self {
            line_shift: hierarchy.line_shift(),
            cpus: vec![Cpu::default(); cpus],
            pace: Pace::new(quantum),
            series: Series::new(options.clock.cycles(options.bin), options.owners.count()),
            jobs: Jobs::default(),
            skipped: Skipped::default(),
            current: 0,
            started: options.start == Start::Boot,
            account: None,
            hierarchy,
            options,
        }
    }

    /// A CPU begins a block. Returns whether another CPU should run after it.
    #[inline]
    pub fn enter_block(&mut self, cpu: usize, block: Block) -> bool {
        self.current = cpu;
        if !self.started {
            if block.privileged {
                return false;
            }
            self.started = true;
        }
        self.account =
            if block.privileged { Some(Owner::HYPERVISOR) } else { self.options.vm_of(cpu) };
        let first_access = block.first_access.min(block.instructions);
        self.cpus[cpu].enter(first_access);
        let delay = self.hierarchy.take_delay(cpu);
        if delay > 0 {
            self.cpus[cpu].delay(delay);
        }
        let turn = self.pace.enter(cpu, self.cpus[cpu].now(), |cpu| self.cpus[cpu].now());
        if let Some(time) = turn.wakes_at {
            self.cpus[cpu].sleep_until(time);
        }
        if self.series.is_due(self.cpus[cpu].now()) {
            self.record();
        }
        turn.ends
    }

    /// The CPU whose block runs accesses memory.
    #[inline]
    pub fn access(&mut self, position: Position, access: Access) {
        if !self.started {
            return;
        }
        let cpu = &mut self.cpus[self.current];
        cpu.reach(position);
        let who = match self.account {
            Some(who) => who,
            None => self.hierarchy.owners().of(access.address),
        };
        let line = access.address >> self.line_shift;
        let (store, now) = (access.store, cpu.now());
        let request = Request { cpu: self.current, who, line, store, now };
        let cost = self.hierarchy.access(request);
        cpu.pay(cost);
    }

    /// The CPU whose block runs accesses a device: the model only counts it.
    pub fn access_device(&mut self, position: Position) {
        if !self.started {
            return;
        }
        self.cpus[self.current].reach(position);
        self.skipped.device += 1;
    }

    /// The CPU whose block runs accesses memory that could not be told.
    pub fn access_unresolved(&mut self, position: Position) {
        if !self.started {
            return;
        }
        self.cpus[self.current].reach(position);
        self.skipped.unresolved += 1;
    }

    /// The guest on the CPU whose block runs sets a mark, with the instruction
    /// of the block with this index. Values that are not marks of jobs mean
    /// nothing here, and nothing counts that comes before any guest.
    pub fn mark(&mut self, instruction: u32, value: u64) {
        let Some(mark) = Mark::from_value(value).filter(|_| self.started) else {
            return;
        };
        let cpu = self.current;
        let vm = self.options.vm_of(cpu).unwrap_or(Owner::UNOWNED);
        self.jobs.mark(cpu, vm, mark, self.cpus[cpu].counters_at(instruction));
    }

    /// Bytes of a line less one: a mask for addresses.
    #[inline]
    pub fn line_mask(&self) -> u64 {
        (1 << self.line_shift) - 1
    }

    /// Ends the time series. Call it once, after the last access.
    pub fn finish(&mut self) {
        self.record();
    }

    #[cold]
    fn record(&mut self) {
        let now = self.cpus.iter().map(Cpu::now).max().unwrap_or(0);
        let line = u64::from(self.options.llc.line());
        let (owners, tally) = (self.options.owners.iter(), self.hierarchy.tally());
        self.series.record(now, owners.map(|owner| tally.totals(owner, line)));
    }

    /// How the machine was described.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Its caches, bus and counts.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Its CPUs.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// Counts over time.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Jobs of tasks.
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Whether an instruction was executed that counts.
    pub fn started(&self) -> bool {
        self.started
    }

    /// What was left out.
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }
}
