//! A machine for tests: physical interrupts, and CPUs with list registers that
//! behave like those of the hardware.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::vdev::gic::{Attention, Env, ListRegister, ListRegisters, Physical, Place};

/// List registers of each CPU.
pub const LISTS: usize = 4;

/// State of a physical interrupt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    pub enabled: bool,
    pub pending: bool,
    pub line: bool,
    pub active: bool,
    pub edge: bool,
    pub target: usize,
    /// Disabled, but the change has not reached the CPUs: it can still be acknowledged, once.
    pub lingers: bool,
}

impl Source {
    /// Signalled to the CPU.
    pub fn fires(&self) -> bool {
        (self.enabled || self.lingers) && !self.active && (self.pending || self.line && !self.edge)
    }
}

/// A CPU, seen from its guest.
#[derive(Debug)]
pub struct Cpu {
    pub lists: RefCell<[ListRegister; LISTS]>,
    pub notify: Cell<bool>,
    pub started: Cell<bool>,
    pub kicked: Cell<bool>,
    /// How often the VCPU caused one since it executed; while it does, since it last looked.
    pub kicks: Cell<u32>,
    /// Of the VCPU, which executes unless a test says something else.
    pub attention: Attention,
    /// INTID and priority of what the guest has acknowledged, innermost last.
    pub running: RefCell<Vec<(u32, u8)>>,
}

/// The machine. `current` is the VCPU on whose CPU the code under test runs.
#[derive(Debug)]
pub struct Machine {
    pub cpus: Vec<Cpu>,
    pub current: Cell<Option<usize>>,
    pub sources: RefCell<BTreeMap<(usize, u32), Source>>,
    /// Calls into the machine.
    pub work: Cell<usize>,
    /// Calls that wait for the distributor.
    pub waits: Cell<usize>,
}

impl Machine {
    pub fn new(cpus: usize) -> Self {
        let cpu = |_| Cpu {
            lists: RefCell::new([ListRegister::EMPTY; LISTS]),
            notify: Cell::new(false),
            started: Cell::new(false),
            kicked: Cell::new(false),
            kicks: Cell::new(0),
            attention: Attention::new(),
            running: RefCell::new(Vec::new()),
        };
        Self {
            cpus: (0..cpus).map(cpu).collect(),
            current: Cell::new(None),
            sources: RefCell::default(),
            waits: Cell::new(0),
            work: Cell::new(0),
        }
    }

    fn key(interrupt: Physical) -> (usize, u32) {
        match interrupt {
            Physical::Private { vcpu, intid } => (vcpu, intid),
            Physical::Shared { intid } => (0, intid),
        }
    }

    /// Changes a physical interrupt.
    pub fn source<T>(&self, interrupt: Physical, with: impl FnOnce(&mut Source) -> T) -> T {
        with(self.sources.borrow_mut().entry(Self::key(interrupt)).or_default())
    }

    /// The CPU of the code under test.
    fn cpu(&self) -> &Cpu {
        self.work.set(self.work.get() + 1);
        &self.cpus[self.current.get().expect("list registers of a CPU without a VCPU")]
    }

    /// A physical interrupt that a CPU would acknowledge now: VCPU and INTID.
    pub fn firing(&self) -> Option<(usize, u32)> {
        self.sources.borrow_mut().iter_mut().find_map(|(&(cpu, intid), source)| {
            let cpu = if intid < 32 { cpu } else { source.target };
            // The timer of a VCPU that is ready fires when it runs: another one is loaded.
            let fires = intid >= 32 || self.cpus[cpu].attention.place() != Place::Out;
            if !source.fires() || !self.cpus[cpu].started.get() || !fires {
                return None;
            }
            source.active = true;
            source.pending = false;
            source.lingers = false;
            Some((cpu, intid))
        })
    }

    /// Returns true if the maintenance interrupt of a CPU is asserted.
    pub fn maintenance(&self, cpu: usize) -> bool {
        let cpu = &self.cpus[cpu];
        let lists = cpu.lists.borrow();
        let only_pending = |entry: &ListRegister| entry.is_pending() && !entry.is_active();
        cpu.started.get()
            && (cpu.notify.get() && !lists.iter().any(only_pending)
                || lists.iter().any(|e| e.is_watched() && !e.is_pending() && !e.is_active()))
    }

    /// Priority of the innermost interrupt that the guest handles.
    pub fn running_priority(&self, cpu: usize) -> u8 {
        self.cpus[cpu].running.borrow().last().map_or(0xff, |&(_, priority)| priority)
    }

    /// List register with the most urgent pending interrupt that can preempt.
    pub fn best(&self, cpu: usize) -> Option<(usize, ListRegister)> {
        let lists = self.cpus[cpu].lists.borrow();
        let pending = lists.iter().enumerate().filter(|(_, e)| e.is_pending() && !e.is_active());
        let (slot, entry) = pending.min_by_key(|(_, e)| (e.priority(), e.intid()))?;
        (entry.priority() < self.running_priority(cpu)).then_some((slot, *entry))
    }

    /// The guest reads IAR.
    pub fn acknowledge(&self, cpu: usize) -> Option<u32> {
        let (slot, entry) = self.best(cpu)?;
        let without_state = entry.bits() & !(3 << 62);
        self.cpus[cpu].lists.borrow_mut()[slot] = ListRegister::from_bits(without_state).active();
        self.cpus[cpu].running.borrow_mut().push((entry.intid(), entry.priority()));
        Some(entry.intid())
    }

    /// The guest writes EOIR for the innermost interrupt (EOImode 0).
    pub fn end(&self, cpu: usize) -> Option<u32> {
        let (intid, _) = self.cpus[cpu].running.borrow_mut().pop()?;
        let mut lists = self.cpus[cpu].lists.borrow_mut();
        if let Some(entry) = lists.iter_mut().find(|e| e.is_active() && e.intid() == intid) {
            *entry = ListRegister::from_bits(entry.bits() & !(1 << 63));
            if let Some(physical) = entry.physical() {
                self.source(Physical::of(cpu, physical), |source| source.active = false);
            }
        }
        Some(intid)
    }

    /// What the architecture forbids in list registers.
    pub fn check(&self) {
        let mut listed = Vec::new();
        for (number, cpu) in self.cpus.iter().enumerate() {
            for entry in cpu.lists.borrow().iter() {
                if !entry.is_pending() && !entry.is_active() {
                    continue;
                }
                let scope = if entry.intid() < 32 { number } else { 0 };
                assert!(!listed.contains(&(scope, entry.intid())), "listed twice: {entry:?}");
                listed.push((scope, entry.intid()));
                if let Some(physical) = entry.physical() {
                    assert!(!(entry.is_pending() && entry.is_active()), "{entry:?}");
                    let active = self.source(Physical::of(number, physical), |s| s.active);
                    assert!(active, "bound to an inactive interrupt: {entry:?}");
                }
            }
        }
    }
}

impl ListRegisters for Machine {
    fn synchronise(&self) {}

    fn count(&self) -> usize {
        LISTS
    }

    fn empty(&self) -> u32 {
        let lists = self.cpu().lists.borrow();
        let full = |e: &ListRegister| e.is_pending() || e.is_active() || e.is_watched();
        (0..LISTS).filter(|&n| !full(&lists[n])).fold(0, |empty, n| empty | 1 << n)
    }

    fn read(&self, n: usize) -> ListRegister {
        self.cpu().lists.borrow()[n]
    }

    fn write(&self, n: usize, content: ListRegister) {
        self.cpu().lists.borrow_mut()[n] = content;
    }

    fn want_maintenance(&self) -> bool {
        self.current.get().is_none_or(|cpu| self.maintenance(cpu))
    }

    fn notify_when_none_pending(&self, on: bool) {
        self.cpu().notify.set(on);
    }

    fn start(&self) {
        self.stop();
        self.cpu().started.set(true);
        self.cpu().attention.run();
    }

    fn stop(&self) {
        let cpu = self.cpu();
        *cpu.lists.borrow_mut() = [ListRegister::EMPTY; LISTS];
        cpu.running.borrow_mut().clear();
        cpu.notify.set(false);
        cpu.started.set(false);
        cpu.attention.leave();
    }
}

impl Env for Machine {
    type Lists = Self;

    fn lists(&self) -> &Self {
        self
    }

    fn current(&self) -> Option<usize> {
        self.current.get()
    }

    fn attention(&self, vcpu: usize) -> Option<&Attention> {
        Some(&self.cpus.get(vcpu)?.attention)
    }

    fn kick(&self, vcpu: usize) {
        assert_ne!(self.current.get(), Some(vcpu), "a VCPU kicks itself");
        let cpu = &self.cpus[vcpu];
        cpu.kicked.set(true);
        cpu.kicks.set(cpu.kicks.get() + 1);
        let most = if cpu.attention.is_running() { 1 } else { policy::pace::KICKS_MAX };
        assert!(cpu.kicks.get() <= most, "kicked {} times", cpu.kicks.get());
        self.work.set(self.work.get() + 1);
    }

    fn set_enabled(&self, interrupt: Physical, enabled: bool) {
        self.work.set(self.work.get() + 1);
        let shared = matches!(interrupt, Physical::Shared { .. });
        self.source(interrupt, |source| {
            source.lingers = shared && source.enabled && !enabled;
            source.enabled = enabled;
        });
    }

    fn settle(&self) {
        self.waits.set(self.waits.get() + 1);
        self.sources.borrow_mut().values_mut().for_each(|source| source.lingers = false);
    }

    fn set_pending(&self, interrupt: Physical, pending: bool) {
        self.work.set(self.work.get() + 1);
        self.source(interrupt, |source| source.pending = pending);
    }

    fn is_pending(&self, interrupt: Physical) -> bool {
        self.work.set(self.work.get() + 1);
        self.source(interrupt, |source| source.pending || source.line && !source.edge)
    }

    fn set_active(&self, interrupt: Physical, active: bool) {
        self.work.set(self.work.get() + 1);
        self.source(interrupt, |source| source.active = active);
    }

    fn set_edge_triggered(&self, intid: u32, edge: bool) {
        self.source(Physical::Shared { intid }, |source| {
            assert!(!source.lingers, "the trigger of {intid} changes while it may be enabled");
            source.edge = edge;
        });
    }

    fn set_target(&self, intid: u32, vcpu: usize) {
        self.source(Physical::Shared { intid }, |source| source.target = vcpu);
    }
}
