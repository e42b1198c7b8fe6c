//! The machine: CPUs, caches, bus, and what comes out of them.

use crate::cpu::{Cpu, Position};
use crate::hierarchy::{Hierarchy, Request};
use crate::jobs::{Jobs, Mark};
use crate::options::CPUS_MAX;
use crate::owners::PAGE;
use crate::pace::Pace;
use crate::path::{Limit, Longest, Path};
use crate::series::Series;
use crate::{COUNTER_BYTES, Duration, GuestTime, LineOperation, Options, Owner, Start, ZERO_BLOCK};

/// The number with which a machine says that it has told whose its memory is.
pub const ALL_TOLD: u64 = u64::MAX;

/// A block of instructions that a CPU begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Block {
    /// Number of its instructions.
    pub instructions: u32,
    /// Index of its first load or store, or the number of its instructions.
    pub first_access: u32,
    /// True if it runs at the hypervisor's exception level (EL2) or above.
    pub privileged: bool,
}

/// An access to memory that does not cross the end of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Access {
    /// Physical address.
    pub address: u64,
    /// True if it writes.
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

/// Operations on lines that happened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Operations {
    /// Blocks filled with zeroes by DC ZVA. Each is an access, too.
    pub zeroed: u64,
    /// Lines written back or removed by address.
    pub maintained: u64,
    /// The same at addresses at which a CPU has no memory: on a chip they fault.
    pub unmapped: u64,
}

/// The model of a machine. Its input comes from one thread, in the order in
/// which it is executed.
#[derive(Clone, Debug)]
pub struct Machine {
    options: Options,
    hierarchy: Hierarchy,
    cpus: Vec<Cpu>,
    pace: Pace,
    /// The hypervisor's, of each CPU.
    paths: Vec<Path>,
    /// The limits of its counters of memory traffic.
    limits: Vec<Limit>,
    /// True if the block runs at the hypervisor's level.
    privileged: bool,
    series: Series,
    jobs: Jobs,
    skipped: Skipped,
    /// `None`: they are not reported.
    operations: Option<Operations>,
    current: usize,
    /// True if the first instruction that counts was executed.
    started: bool,
    /// True until the machine has told the memory of all VMs, if it is to do so.
    awaits_owners: bool,
    /// The owner that pays for accesses of the block; `None`: whose memory it is.
    account: Option<Owner>,
    line_shift: u32,
    /// The time that guests' clock showed at the model's time 0, in ns, if they see the model's time.
    guest_origin: Option<i64>,
}

impl Machine {
    /// A machine with this many CPUs, at most [`CPUS_MAX`].
    ///
    /// # Panics
    /// With no CPU, or more than [`CPUS_MAX`].
    pub fn new(options: Options, cpus: usize) -> Self {
        assert!((1..=CPUS_MAX).contains(&cpus), "{cpus} CPUs");
        let hierarchy = Hierarchy::new(&options, cpus);
        // One CPU alone has nobody to keep up with, except its timers.
        let alone = cpus == 1 && options.time == GuestTime::Qemu;
        let quantum = if alone { 0 } else { options.clock.cycles(options.quantum) };
        Self {
            line_shift: hierarchy.line_shift(),
            cpus: vec![Cpu::default(); cpus],
            pace: Pace::new(quantum),
            paths: vec![Path::default(); cpus],
            limits: vec![Limit::default(); cpus],
            privileged: false,
            series: Series::new(options.clock.cycles(options.bin), options.owners.count()),
            jobs: Jobs::new(cpus),
            skipped: Skipped::default(),
            operations: Some(Operations::default()),
            current: 0,
            started: options.start == Start::Boot,
            awaits_owners: !options.told.is_empty(),
            account: None,
            guest_origin: None,
            hierarchy,
            options,
        }
    }

    /// The hypervisor's counter of a CPU is set to this, as of now.
    #[inline]
    pub fn set_limit(&mut self, cpu: usize, limit: Limit) {
        self.limits[cpu] = limit;
    }

    /// A CPU begins a block. Returns true if another CPU should run after it.
    #[inline]
    pub fn enter_block(&mut self, cpu: usize, block: Block) -> bool {
        self.current = cpu;
        if !self.started {
            if block.privileged || self.awaits_owners {
                return false;
            }
            self.started = true;
        }
        self.account =
            if block.privileged { Some(Owner::HYPERVISOR) } else { self.options.vm_of(cpu) };
        self.privileged = block.privileged;
        let (moved, limit) = (self.hierarchy.bus().moved(cpu), self.limits[cpu]);
        match block.privileged {
            true => self.paths[cpu].enter(moved, limit),
            false => self.paths[cpu].end(moved, limit),
        }
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
        let who = self.payer(access.address);
        let line = access.address >> self.line_shift;
        if self.privileged {
            self.note(line, Path::access);
        }
        let cpu = &mut self.cpus[self.current];
        cpu.reach(position);
        let (store, now) = (access.store, cpu.now());
        let request = Request { cpu: self.current, who, line, store, whole: false, now };
        let cost = self.hierarchy.access(request);
        cpu.pay(cost);
    }

    /// The CPU whose block runs executes an operation on the line of a physical
    /// address.
    pub fn operate(&mut self, position: Position, operation: LineOperation, address: u64) {
        if !self.started {
            return;
        }
        let who = self.payer(address);
        self.cpus[self.current].reach(position);
        if operation == LineOperation::Zero {
            self.count_operation(|operations| &mut operations.zeroed);
            let block = address & !(ZERO_BLOCK - 1);
            let first = block >> self.line_shift;
            let last = (block + ZERO_BLOCK - 1) >> self.line_shift;
            // A longer line keeps what the block does not cover.
            let whole = self.line_mask() < ZERO_BLOCK;
            for line in first..=last {
                if self.privileged {
                    self.note(line, Path::access);
                }
                let now = self.cpus[self.current].now();
                let request = Request { cpu: self.current, who, line, store: true, whole, now };
                let cost = self.hierarchy.access(request);
                self.cpus[self.current].pay(cost);
            }
        } else {
            self.count_operation(|operations| &mut operations.maintained);
            if self.privileged {
                self.paths[self.current].maintain();
            }
            let now = self.cpus[self.current].now();
            self.hierarchy.operate(self.current, operation, address >> self.line_shift, now);
        }
    }

    /// The CPU whose block runs executes an operation on the line of an address
    /// that has no physical one. QEMU ignores it, if it maintains caches.
    pub fn operate_nowhere(&mut self, position: Position, operation: LineOperation) {
        if operation == LineOperation::Zero {
            self.access_unresolved(position);
        } else if self.started {
            self.cpus[self.current].reach(position);
            self.count_operation(|operations| &mut operations.unmapped);
        }
    }

    /// The CPU whose block runs fetches instructions of `lines` lines from a
    /// physical address on.
    #[inline]
    pub fn fetch(&mut self, address: u64, lines: u64) {
        if !self.started {
            return;
        }
        let who = self.payer(address);
        let first = address >> self.line_shift;
        for line in first..first + lines {
            if self.privileged {
                self.note(line, Path::fetch);
            }
            let cpu = &mut self.cpus[self.current];
            let now = cpu.now();
            let request = Request { cpu: self.current, who, line, store: false, whole: false, now };
            let cost = self.hierarchy.fetch(request);
            cpu.pay_fetch(cost);
        }
    }

    /// The hypervisor's path goes over a line, unless accesses to it cost nothing.
    fn note(&mut self, line: u64, how: fn(&mut Path, u64, bool)) {
        if !self.hierarchy.is_silent(line) {
            how(&mut self.paths[self.current], line, self.hierarchy.is_uncached(line));
        }
    }

    /// The CPU whose block runs lets an interrupt come at the hypervisor's level, or asks for one.
    pub fn look_for_interrupts(&mut self) {
        let cpu = self.current;
        let (moved, limit) = (self.lines_moved(cpu), self.limits[cpu]);
        self.paths[cpu].end(moved, limit);
        if self.privileged && self.started {
            self.paths[cpu].enter(moved, limit);
        }
    }

    /// The largest counts of the paths of the hypervisor on a CPU.
    pub fn paths(&self, cpu: usize) -> Longest {
        self.paths[cpu].longest()
    }

    /// The owner on whose account the CPU whose block runs accesses an address.
    #[inline]
    fn payer(&self, address: u64) -> Owner {
        match self.account {
            Some(who) => who,
            None => self.hierarchy.owners().of(address),
        }
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

    /// The same, by an instruction at a physical address: the mark is that of the VM whose memory this is.
    pub fn mark_at(&mut self, address: u64, instruction: u32, value: u64) {
        if let Some(mark) = Mark::from_value(value).filter(|_| self.started) {
            let (cpu, vm) = (self.current, self.hierarchy.owners().of(address));
            self.jobs.mark(cpu, vm, mark, self.cpus[cpu].counters_at(instruction));
        }
    }

    /// The machine tells that the page at a physical address belongs to the VM with this number, or, with the number
    /// [`ALL_TOLD`], that it has told all: the model starts then, and what is told later means nothing. So guests can tell
    /// nothing, if they start behind that.
    ///
    /// # Errors
    /// There is no such VM, the page is not one or belongs to another owner, or a VM has no memory.
    pub fn tell(&mut self, vm: u64, address: u64) -> Result<(), String> {
        if !self.awaits_owners {
            return Ok(());
        }
        let vms = &self.options.told;
        if vm == ALL_TOLD {
            let owners = self.hierarchy.owners();
            if let Some(vm) = vms.iter().find(|&&vm| owners.bytes(vm) == 0) {
                return Err(format!("no page of VM \"{}\" was told", owners.name(*vm)));
            }
            self.awaits_owners = false;
            return Ok(());
        }
        let owner = usize::try_from(vm).ok().and_then(|vm| vms.get(vm)).copied();
        let owner = owner.ok_or_else(|| format!("no vm=NAME names the VM {vm}, from 0"))?;
        self.hierarchy.give(owner, address, PAGE).map_err(|error| error.to_string())
    }

    /// The CPU whose block runs writes to TTBR0_EL1, with the instruction of the block with
    /// this index.
    pub fn switch_space(&mut self, instruction: u32, value: u64) {
        if self.started {
            let cycles = self.cpus[self.current].counters_at(instruction).cycles;
            self.jobs.switch_space(self.current, value, cycles);
        }
    }

    /// The hypervisor keeps a counter of the plugin in a block of [`COUNTER_BYTES`] bytes from
    /// this physical address on: accesses to it are not part of what is modelled.
    pub fn silence(&mut self, address: u64) {
        let last = (address + COUNTER_BYTES - 1) >> self.line_shift;
        for line in address >> self.line_shift..=last {
            self.hierarchy.silence(line);
        }
    }

    /// The CPU whose block runs.
    #[inline]
    pub fn current(&self) -> usize {
        self.current
    }

    /// Lines moved between the last-level cache and memory on behalf of a CPU, to it and back.
    #[inline]
    pub fn lines_moved(&self, cpu: usize) -> u64 {
        self.hierarchy.bus().moved(cpu)
    }

    /// From now on guests see the model's time and this many ns.
    pub fn set_guest_origin(&mut self, ns: i64) {
        self.guest_origin = Some(ns);
    }

    /// The time that guests see at the model's time 0, in ns, if they see the model's time.
    pub fn guest_origin(&self) -> Option<i64> {
        self.guest_origin
    }

    /// Time of the CPU whose block runs, at the end of that block, in ns; `None` before the start.
    pub fn now_ns(&self) -> Option<u64> {
        self.ns(self.cpus[self.current].counters().cycles)
    }

    /// The same at the end of an instruction of the block without access.
    pub fn now_ns_after(&self, instruction: u32) -> Option<u64> {
        self.ns(self.cpus[self.current].counters_at(instruction + 1).cycles)
    }

    fn ns(&self, cycles: u64) -> Option<u64> {
        self.started.then(|| self.options.clock.nanoseconds(cycles))
    }

    /// All CPUs sleep until a time in ns.
    pub fn idle_until(&mut self, ns: u64) {
        self.pace.idle_until(self.options.clock.cycles(Duration::Nanoseconds(ns)));
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

    /// The options that describe the machine.
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

    /// Operations on lines, if they are reported.
    pub fn operations(&self) -> Option<Operations> {
        self.operations
    }

    /// Operations on lines will not be reported.
    pub fn leave_operations_out(&mut self) {
        self.operations = None;
    }

    fn count_operation(&mut self, count: fn(&mut Operations) -> &mut u64) {
        if let Some(operations) = &mut self.operations {
            *count(operations) += 1;
        }
    }

    /// Returns true if an instruction was executed that counts.
    pub fn started(&self) -> bool {
        self.started
    }

    /// The accesses that were left out.
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }
}
