//! Random sequences of what guests, devices and the hypervisor do, against the
//! reference.

use proptest::prelude::*;

use super::machine::LISTS;
use super::reference::{INTIDS, Reference};
use super::vm::{DEVICE, TIMER, Vm, offset};
use crate::vdev::gic::{Frame, Place};

/// Something that happens. VCPUs and interrupts are taken modulo their number.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A VCPU enables or disables an interrupt of another.
    Enable(usize, usize, usize, bool),
    /// ... sets or clears its pending state.
    Pend(usize, usize, usize, bool),
    /// ... clears its active state.
    Deactivate(usize, usize, usize),
    /// ... changes its priority.
    Priority(usize, usize, usize, u8),
    /// ... routes it to a third.
    Route(usize, usize, usize),
    /// ... switches group 1.
    Group(usize, bool),
    /// A device asserts or releases its line, or signals an edge.
    Line(usize, bool),
    /// The timer of a VCPU, or the assigned device, fires.
    Fire(usize, bool),
    /// SGI to some VCPUs.
    Sgi(usize, u8, bool),
    /// The guest acknowledges, or ends what it handles.
    Acknowledge(usize),
    End(usize),
    /// A VCPU is preempted, waits, or is entered.
    Preempt(usize),
    Wait(usize),
    Run(usize),
    /// The guest handles what it is offered, then waits.
    Serve(usize),
    /// One outstanding interrupt of the hypervisor is taken, or all.
    Step,
    Settle,
}

fn event() -> impl Strategy<Value = Event> {
    let vcpu = || 0..3usize;
    let interrupt = || 0..INTIDS.len();
    prop_oneof![
        2 => (vcpu(), vcpu(), interrupt(), any::<bool>()).prop_map(|(a, b, c, d)| Event::Enable(a, b, c, d)),
        2 => (vcpu(), vcpu(), interrupt(), any::<bool>()).prop_map(|(a, b, c, d)| Event::Pend(a, b, c, d)),
        1 => (vcpu(), vcpu(), interrupt()).prop_map(|(a, b, c)| Event::Deactivate(a, b, c)),
        2 => (vcpu(), vcpu(), interrupt(), 0..20u8).prop_map(|(a, b, c, d)| Event::Priority(a, b, c, d * 8)),
        1 => (vcpu(), interrupt(), vcpu()).prop_map(|(a, b, c)| Event::Route(a, b, c)),
        1 => (vcpu(), prop::bool::weighted(0.7)).prop_map(|(a, b)| Event::Group(a, b)),
        4 => (interrupt(), any::<bool>()).prop_map(|(a, b)| Event::Line(a, b)),
        4 => (vcpu(), any::<bool>()).prop_map(|(a, b)| Event::Fire(a, b)),
        4 => (vcpu(), any::<u8>(), any::<bool>()).prop_map(|(a, b, c)| Event::Sgi(a, b, c)),
        8 => vcpu().prop_map(Event::Acknowledge),
        6 => vcpu().prop_map(Event::End),
        2 => vcpu().prop_map(Event::Preempt),
        3 => vcpu().prop_map(Event::Wait),
        4 => vcpu().prop_map(Event::Run),
        4 => vcpu().prop_map(Event::Serve),
        4 => Just(Event::Step),
        2 => Just(Event::Settle),
    ]
}

struct Run {
    vm: Vm,
    model: Reference,
    vcpus: usize,
}

impl Run {
    fn new(vcpus: usize) -> Self {
        let vm = Vm::configured(vcpus);
        for intid in [36, 37, 38] {
            vm.set_edge(0, intid);
        }
        Self { vm, model: Reference::new(vcpus), vcpus }
    }

    fn apply(&mut self, event: Event) {
        let vcpus = self.vcpus;
        match event {
            Event::Enable(vcpu, owner, interrupt, enabled) => {
                let (vcpu, owner, intid) = (self.runs(vcpu), owner % vcpus, INTIDS[interrupt]);
                let register = if enabled { offset::ISENABLER } else { offset::ICENABLER };
                self.vm.write_bit(vcpu, owner, register, intid);
                self.model.get(owner, intid).enabled = enabled;
            }
            Event::Pend(vcpu, owner, interrupt, pending) => {
                self.pend(self.runs(vcpu), owner % vcpus, INTIDS[interrupt], pending);
            }
            Event::Deactivate(vcpu, owner, interrupt) => {
                let (vcpu, owner, intid) = (self.runs(vcpu), owner % vcpus, INTIDS[interrupt]);
                self.vm.write_bit(vcpu, owner, offset::ICACTIVER, intid);
                self.model.get(owner, intid).active = None;
            }
            Event::Priority(vcpu, owner, interrupt, priority) => {
                let (vcpu, owner, intid) = (self.runs(vcpu), owner % vcpus, INTIDS[interrupt]);
                // What is pending may keep its old priority: change it only when quiet.
                self.settle();
                if !self.model.get(owner, intid).is_pending() {
                    self.vm.set_priority(vcpu, owner, intid, priority);
                    self.model.get(owner, intid).priority = priority;
                }
            }
            Event::Route(vcpu, interrupt, target) => {
                let (vcpu, intid, target) = (self.runs(vcpu), INTIDS[interrupt], target % vcpus);
                if intid >= 32 {
                    self.vm.route(vcpu, intid, target as u64);
                    self.model.get(0, intid).target = target;
                }
            }
            Event::Group(vcpu, enabled) => {
                self.vm.write(self.runs(vcpu), Frame::Distributor, 0, 4, u64::from(enabled) << 1);
                self.model.group1 = enabled;
            }
            Event::Line(interrupt, asserted) => self.line(INTIDS[interrupt], asserted),
            Event::Fire(vcpu, device) => {
                let (intid, physical) = if device { DEVICE } else { (TIMER, TIMER) };
                self.fire(vcpu % vcpus, intid, physical);
            }
            Event::Sgi(vcpu, targets, id) => {
                let (vcpu, intid) = (self.runs(vcpu), if id { 7 } else { 0 });
                let targets = usize::from(targets) & ((1 << vcpus) - 1);
                let again =
                    (0..vcpus).any(|v| targets >> v & 1 != 0 && self.model.get(v, intid).latch);
                self.vm.send_sgi(vcpu, targets as u64, u64::from(intid));
                for target in (0..vcpus).filter(|v| targets >> v & 1 != 0) {
                    self.model.get(target, intid).latch = true;
                }
                self.merge(again);
            }
            Event::Acknowledge(vcpu) => self.acknowledge(vcpu % vcpus),
            Event::End(vcpu) => self.end(vcpu % vcpus),
            Event::Preempt(vcpu) => self.vm.preempt(vcpu % vcpus),
            Event::Wait(vcpu) => self.vm.wait(vcpu % vcpus),
            Event::Run(vcpu) => self.vm.run(vcpu % vcpus),
            Event::Serve(vcpu) => {
                self.vm.run(vcpu % vcpus);
                for _ in 0..3 {
                    self.acknowledge(vcpu % vcpus);
                    self.end(vcpu % vcpus);
                    self.model.note();
                }
                self.vm.wait(vcpu % vcpus);
            }
            Event::Step => {
                self.vm.step();
            }
            Event::Settle => self.settle(),
        }
        self.model.note();
        // As a guest does: wait until a withdrawal is effective.
        let reader = self.runs(0);
        if self.vm.withdraws(reader) {
            self.settle();
            assert!(!self.vm.withdraws(reader), "waits for a VCPU that does not execute");
        }
    }

    /// A VCPU that executes: this one, if it does.
    fn runs(&self, vcpu: usize) -> usize {
        let vcpu = vcpu % self.vcpus;
        let others = (0..self.vcpus).map(|other| (vcpu + other) % self.vcpus);
        let mut running = others.filter(|&vcpu| self.vm.place_of(vcpu) == Place::Running);
        running.next().unwrap_or_else(|| {
            self.vm.run(vcpu);
            vcpu
        })
    }

    /// Two edges are one while the first is pending. Whether it still is, is
    /// known when all list registers are up to date.
    fn merge(&mut self, again: bool) {
        self.model.note();
        if again {
            self.settle();
        }
    }

    fn pend(&mut self, vcpu: usize, owner: usize, intid: u32, pending: bool) {
        // A physical interrupt can be pending in hardware behind one in a list
        // register: set it only when it is not.
        self.settle();
        let interrupt = self.model.get(owner, intid);
        if pending && interrupt.is_hardware() && interrupt.is_pending() {
            return;
        }
        let again = interrupt.is_pending();
        interrupt.latch = pending;
        let register = if pending { offset::ISPENDR } else { offset::ICPENDR };
        self.vm.write_bit(vcpu, owner, register, intid);
        self.merge(again);
    }

    fn line(&mut self, intid: u32, asserted: bool) {
        let interrupt = self.model.get(0, intid);
        if intid < 32 || interrupt.is_hardware() {
            return;
        }
        if interrupt.is_edge() {
            let again = interrupt.latch;
            interrupt.latch = true;
            self.vm.raise(intid);
            self.merge(again);
        } else {
            interrupt.line = asserted;
            self.vm.set_line(intid, asserted);
        }
    }

    fn fire(&mut self, vcpu: usize, intid: u32, physical: u32) {
        self.model.get(vcpu, intid).line = true;
        self.vm.fire(vcpu, physical);
    }

    fn acknowledge(&mut self, vcpu: usize) {
        if self.vm.place_of(vcpu) != Place::Running {
            return;
        }
        let Some(intid) = self.vm.acknowledge(vcpu) else { return };
        self.model.acknowledge(vcpu, intid);
        // The handler quiets a physical level: its source does not fall by itself.
        let interrupt = self.model.get(vcpu, intid);
        if interrupt.is_hardware() {
            interrupt.line = false;
            self.vm.quiet(vcpu, if intid == TIMER { TIMER } else { DEVICE.1 });
        }
    }

    fn end(&mut self, vcpu: usize) {
        if self.vm.place_of(vcpu) == Place::Running
            && let Some(intid) = self.vm.end(vcpu)
        {
            self.model.end(vcpu, intid);
        }
    }

    /// Takes all outstanding interrupts; then each VCPU that executes must be offered exactly
    /// the most urgent interrupt that it can take, and one that waits can take none.
    fn settle(&mut self) {
        self.vm.settle();
        self.model.settled();
        // What is in list registers of a VCPU that does not get its PCPU comes to another one when it does.
        let late = |intid: u32| intid >= 32 && self.is_listed_outside(intid);
        for vcpu in 0..self.vcpus {
            let best = self.model.best(vcpu, late);
            match self.vm.place_of(vcpu) {
                Place::Running => {}
                Place::Out => continue,
                Place::Waiting | Place::Settled => {
                    assert_eq!(best, None, "VCPU {vcpu} waits: {:?}", self.model.interrupts);
                    continue;
                }
            }
            let lists = *self.vm.machine.cpus[vcpu].lists.borrow();
            let nested = lists.iter().filter(|entry| entry.is_active()).count();
            let running = self.vm.machine.running_priority(vcpu);
            let expected = best.filter(|&priority| priority < running);
            let offered = self.vm.machine.best(vcpu).map(|(_, entry)| entry.priority());
            if nested < LISTS {
                assert_eq!(offered, expected, "VCPU {vcpu}: {:?}", self.model.interrupts);
            } else {
                assert_eq!(offered, None);
            }
        }
    }

    /// Returns true if a shared interrupt counts as listed at a VCPU that neither executes nor waits.
    /// The guest may be done with it, and the list register may hold another one by now.
    fn is_listed_outside(&self, intid: u32) -> bool {
        let state = self.vm.gic.lock();
        let (at, n) = state.locate(0, intid).expect("known");
        let holders = state.holders(at, 1 << n);
        (0..self.vcpus).any(|vcpu| holders >> vcpu & 1 != 0 && self.vm.place_of(vcpu) == Place::Out)
    }

    /// Lets all devices be quiet and all VCPUs handle what there is.
    fn finish(&mut self) {
        for intid in INTIDS {
            if !self.model.get(0, intid).is_edge() {
                self.line(intid, false);
            }
        }
        self.settle();
        for vcpu in 0..self.vcpus {
            self.vm.run(vcpu);
        }
        self.settle();
        for vcpu in 0..self.vcpus {
            while let Some(intid) = self.vm.end(vcpu) {
                self.model.end(vcpu, intid);
                self.settle();
            }
        }
        for _ in 0..200 {
            let offered = (0..self.vcpus).find(|&vcpu| self.vm.machine.best(vcpu).is_some());
            let Some(vcpu) = offered else { return };
            self.acknowledge(vcpu);
            self.settle();
            self.end(vcpu);
            self.settle();
        }
        panic!("interrupts are delivered for ever");
    }
}

/// At least so many cases; more with PROPTEST_CASES.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(500), ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn guests_get_what_an_interrupt_controller_gives(
        vcpus in 1..=3usize,
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut run = Run::new(vcpus);
        for event in events {
            run.apply(event);
        }
        run.finish();
        for vcpu in 0..vcpus {
            prop_assert_eq!(run.model.best(vcpu, |_| false), None, "lost: {:?}", run.model.interrupts);
        }
    }
}
