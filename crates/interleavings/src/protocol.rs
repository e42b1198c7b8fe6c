//! A VCPU and its siblings: the state of its interrupts is a set that waits for it and a set in its list
//! registers. Its PCPU does what `pcpu/sharing.rs` of the hypervisor does, in that order.

use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicUsize};

use super::attention::{Attention, Place};
use super::tool::{Arc, AtomicBool, Mutex, spawn, yield_now};

/// An event of the VCPU.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Its PCPU only looks for interrupts.
    Look,
    /// Another one executes in its place.
    Preempt,
    /// It is entered, if it is ready.
    Run,
    /// Its guest waits for an interrupt, if it executes.
    Wait,
    /// Its guest handles what it has, if it executes.
    Handle,
}

/// An action of a sibling on an interrupt of the VCPU, which it names.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Send(u8),
    TakeBack(u8),
    /// It disables the interrupt and waits until that is effective.
    Disable(u8),
}

/// The interrupt controller of the VM, as far as it matters here.
#[derive(Debug, Default)]
struct State {
    pending: u8,
    disabled: u8,
    /// In a list register, as far as is known.
    listed: u8,
    /// The VCPU has yet to withdraw.
    settling: bool,
}

#[derive(Debug)]
struct Shared {
    attention: Attention,
    state: Mutex<State>,
    /// The interrupt between PCPUs is pending.
    kicked: AtomicBool,
    /// Counts for the test, which are no part of the model.
    kicks: AtomicU32,
    withdrawn: AtomicUsize,
}

impl Shared {
    fn call(&self, call: Call) {
        let mut state = self.state.lock().unwrap();
        match call {
            Call::Send(bit) => state.pending |= bit,
            Call::TakeBack(bit) => state.pending &= !bit,
            Call::Disable(bit) => {
                state.disabled |= bit;
                state.settling |= state.listed & bit != 0;
            }
        }
        let can_take = |place| {
            let ready = state.pending & !state.disabled;
            (if place == Place::Settled { ready & !state.listed } else { ready }) != 0
        };
        let kicks = self.attention.call(can_take);
        drop(state);
        if kicks {
            self.kicks.fetch_add(1, Relaxed);
            self.kicked.swap(true, AcqRel);
        }
        if let Call::Disable(bit) = call
            && !self.withdraws()
        {
            self.withdrawn.fetch_or(bit.into(), Relaxed);
        }
    }

    /// Returns true if GICD_CTLR.RWP is set.
    fn withdraws(&self) -> bool {
        self.state.lock().unwrap().settling && self.attention.is_running()
    }
}

/// The PCPU. It has nothing to do but its VCPU, which waits at most for an act.
struct Pcpu<'a> {
    shared: &'a Shared,
    ready: bool,
    /// The list registers.
    lists: u8,
    entries: u32,
    /// Kicks that it took while the VCPU waited, and kicks that were counted then: the VCPU pays for them, or wakes.
    taken: u32,
    paid: u32,
}

impl Pcpu<'_> {
    fn attend(&mut self) -> Option<bool> {
        let notes = self.shared.attention.take()?;
        let mut state = self.shared.state.lock().unwrap();
        state.settling = false;
        // As folding and listing again.
        state.pending |= self.lists;
        self.lists = state.pending & !state.disabled;
        state.pending &= state.disabled;
        state.listed = self.lists;
        Some(notes)
    }

    fn look(&mut self) {
        let this = std::cell::RefCell::new(self);
        let wakes = {
            let shared = this.borrow().shared;
            shared.attention.look(
                false,
                || this.borrow_mut().attend(),
                || this.borrow().lists != 0,
            )
        };
        if wakes {
            this.borrow_mut().wake();
        }
    }

    fn wake(&mut self) {
        if !self.ready {
            self.ready = true;
            self.shared.attention.leave();
        }
    }

    fn run(&mut self) {
        if self.ready && !self.shared.attention.is_running() {
            if self.shared.attention.run() {
                self.attend();
            }
            self.entries += 1;
        }
    }

    fn handle(&mut self) {
        if !self.shared.attention.is_running() {
            return;
        }
        let withdrawn = self.shared.withdrawn.load(Relaxed) as u8;
        assert_eq!(self.lists & withdrawn, 0, "it gets what was withdrawn");
        self.lists = 0; // the state does not know
    }

    fn wait(&mut self) {
        if !self.shared.attention.is_running() {
            return;
        }
        if self.shared.attention.is_noted() {
            self.attend();
        }
        if self.lists == 0 {
            self.ready = false;
            self.shared.attention.leave();
            if self.shared.attention.wait() {
                self.paid += u32::from(self.shared.attention.take_kicks().max(1));
                self.look();
            }
        }
    }

    /// Takes a kick, as an interrupt is taken before anything else. Returns true if there was one.
    fn take_kick(&mut self) -> bool {
        let kicked = self.shared.kicked.swap(false, AcqRel);
        if kicked {
            let kicks = u32::from(self.shared.attention.take_kicks());
            if !self.ready {
                self.taken += 1;
                self.paid += kicks;
            }
            self.look();
        }
        kicked
    }

    fn act(&mut self, act: Act) {
        self.take_kick();
        match act {
            Act::Look => {}
            Act::Preempt if self.shared.attention.is_running() => self.shared.attention.leave(),
            Act::Preempt => {}
            Act::Run => self.run(),
            Act::Wait => self.wait(),
            Act::Handle => self.handle(),
        }
    }
}

/// Runs the acts of the VCPU, which executes at first and is preempted or waits then, beside the calls of its
/// siblings. Then nothing is lost, and kicks were few.
pub fn run(first: Act, acts: &'static [Act], siblings: &'static [&'static [Call]]) {
    let shared = Arc::new(Shared {
        attention: Attention::new(),
        state: Mutex::new(State::default()),
        kicked: AtomicBool::new(false),
        kicks: AtomicU32::new(0),
        withdrawn: AtomicUsize::new(0),
    });
    let mut pcpu = Pcpu { shared: &shared, ready: true, lists: 0, entries: 0, taken: 0, paid: 0 };
    pcpu.run();
    pcpu.act(first);
    pcpu.entries = 0;
    let threads = siblings.iter().map(|calls| {
        let shared = shared.clone();
        spawn(move || calls.iter().for_each(|&call| shared.call(call)))
    });
    let threads: Vec<_> = threads.collect();
    for &act in acts {
        pcpu.act(act);
        yield_now();
    }
    for thread in threads {
        thread.join().unwrap();
    }
    while pcpu.take_kick() {}
    let kicks = shared.kicks.load(Relaxed);
    assert!(pcpu.entries > 0 || kicks <= policy::pace::KICKS_MAX, "{kicks} kicks while it did not execute");
    let (taken, paid) = (pcpu.taken, pcpu.paid);
    assert!(taken <= paid, "{taken} kicks were taken, {paid} are paid");
    assert!(pcpu.entries > 0 || paid <= policy::pace::KICKS_MAX, "{paid} kicks are paid");
    let place = shared.attention.place();
    if place == Place::Out {
        assert!(pcpu.ready);
        pcpu.run();
    }
    let state = shared.state.lock().unwrap();
    assert_eq!(state.pending & !state.disabled, 0, "{place:?}: an interrupt is lost");
    assert!(place != Place::Running || !state.settling, "{place:?}: never withdrawn");
}
