mod gic_env;
mod virtual_timer;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use abi::hypercall::{LOCK, LOCK_DESTROY, LOCK_GRANTED, LOCK_INTERRUPT, LOCK_OPEN, LOCK_WAITS, UNLOCK};
pub use gic_env::GicEnv;
use policy::rate::Rate;
use policy::time::Duration;
pub use virtual_timer::{VIRTUAL_TIMER, VirtualTimer};

use crate::arch::context::Context;
use crate::arch::cpu;
use crate::arch::gic::{Lists, SavedLists};
use crate::exits::interrupt;
use crate::locks::{self, Sections};
use crate::machine::DEVICE;
use crate::pcpu::{Assignment, Idle, Pcpu};
use crate::plan;
use crate::timer::NEVER;
use crate::vdev::gic::{Attention, Frame, Place, VGic};
use crate::Act;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Power {
    Off,
    Starting,
    On,
}

/// Registers: there are none.
pub struct ContextSlot;

impl ContextSlot {
    pub fn save(&self) {}
    pub fn load(&self) {}
    pub fn timer(&self) -> Option<u64> {
        None
    }
}

pub struct StolenTime;

impl StolenTime {
    pub fn begin(&self, _: u64) {}
    pub fn end(&self, _: u64) -> u64 {
        0
    }
}

pub struct WorkSlot;

impl WorkSlot {
    pub fn is_busy(&self) -> bool {
        false
    }
}

pub mod bell {
    use crate::pcpu::{Assignment, Pcpu};

    pub fn attend(_: &Assignment, _: &Pcpu) {}
}

pub mod color_serial {
    use crate::pcpu::{Assignment, Pcpu};

    pub fn attend(_: &Assignment, _: &'static Pcpu) {}

    pub fn wake(_: &Assignment) {}

    pub fn sample(_: &Assignment, _: &'static Pcpu, _: bool) {}
}

pub mod port {
    use crate::pcpu::{Assignment, Pcpu};
    use crate::timer::NEVER;

    pub fn attend(_: &Assignment, _: &Pcpu) {}

    pub fn due(_: &Assignment) -> u64 {
        NEVER
    }
}

pub struct Vcpu {
    pub index: usize,
    pub pcpu: &'static Pcpu,
    pub context: ContextSlot,
    pub lists: SavedLists,
    pub attention: Attention,
    pub timer: VirtualTimer,
    pub alarm: AtomicU64,
    pub stolen: StolenTime,
    pub work: WorkSlot,
    pub sections: Sections,
    /// Another one is to run after what its guest has called.
    left: AtomicBool,
    /// Its guest has asked for a resource, and waits.
    asked: AtomicBool,
    started: AtomicBool,
    ready: AtomicBool,
    /// The actions of its guest.
    acts: &'static [Act],
    done: AtomicUsize,
    /// Number of interrupts that it has handled and for which it has not waited.
    handled: AtomicUsize,
}

impl Vcpu {
    pub fn new(index: usize, pcpu: &'static Pcpu, acts: &'static [Act]) -> Self {
        let sections = Sections::new();
        sections.allow(Some(Rate::new(Duration(1), Duration(0))));
        Self {
            index,
            pcpu,
            context: ContextSlot,
            lists: SavedLists::default(),
            attention: Attention::new(),
            timer: VirtualTimer::new(),
            alarm: AtomicU64::new(NEVER),
            stolen: StolenTime,
            work: WorkSlot,
            sections,
            left: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            started: AtomicBool::new(false),
            ready: AtomicBool::new(false),
            acts,
            done: AtomicUsize::new(0),
            handled: AtomicUsize::new(0),
        }
    }

    pub fn count_interrupt(&self) {}

    pub fn is_ready(&self) -> bool {
        self.ready.load(Relaxed)
    }

    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Relaxed);
    }

    pub fn power(&self) -> Power {
        if self.started.load(Relaxed) { Power::On } else { Power::Starting }
    }

    /// Its guest has done all that it does, and nothing is left.
    pub fn assert_done(&self) {
        let left = &self.acts[self.done.load(Relaxed)..];
        assert!(left.is_empty(), "VCPU {} waits for ever: {left:?}", self.index);
        let more = self.handled.load(Relaxed);
        assert_eq!(more, 0, "VCPU {} got interrupts that nobody sent", self.index);
        assert_ne!(self.attention.place(), Place::Running, "it waits");
    }
}

/// Later than all that happens: the alarm of a VCPU that waits until then never goes off.
const FAR: u64 = 1 << 60;

pub struct Vm {
    pub index: usize,
    pub plan: plan::Vm,
    pub vcpus: Vec<Vcpu>,
    pub gic: VGic,
    /// Interrupts that are withdrawn, effectively.
    pub withdrawn: AtomicU64,
}

impl Vm {
    pub fn is_stopping(&self) -> bool {
        false
    }

    pub fn tell_stolen(&self, _: usize, _: u64) {}

    pub fn park(&'static self, _: &Assignment, _: &'static Pcpu) {}

    pub fn work(&'static self, _: &Assignment, _: &'static Pcpu) -> bool {
        false
    }

    pub fn start_vcpu(&'static self, at: &Assignment, pcpu: &'static Pcpu) -> bool {
        self.gic.start_vcpu(&GicEnv::at(at, pcpu), at.vcpu.index);
        at.vcpu.started.store(true, Relaxed);
        true
    }

    /// Lets the guest execute until it leaves the CPU, by unwinding: it never returns true or false.
    pub fn enter(&'static self, at: &Assignment, pcpu: &'static Pcpu) -> bool {
        let vcpu = at.vcpu;
        loop {
            if cpu::interrupt_pending() {
                interrupt::interrupt(&mut Context::default(), pcpu, cpu::now());
                continue;
            }
            assert!(vcpu.attention.is_running(), "a VCPU executes, and nobody knows");
            if vcpu.acts.get(vcpu.done.load(Relaxed)) == Some(&Act::Busy) {
                shuttle::thread::yield_now();
                vcpu.done.fetch_add(1, Relaxed);
                continue;
            }
            let withdrawn = self.withdrawn.load(Relaxed);
            if let Some(intid) = Lists::LOADED.handle() {
                assert_eq!(withdrawn >> intid & 1, 0, "{intid} comes though it is disabled");
                if intid != LOCK_INTERRUPT {
                    vcpu.handled.fetch_add(1, Relaxed);
                }
                continue;
            }
            match vcpu.acts.get(vcpu.done.load(Relaxed)) {
                Some(Act::Handle) if vcpu.handled.load(Relaxed) > 0 => {
                    vcpu.handled.fetch_sub(1, Relaxed);
                }
                None | Some(Act::Handle) => {
                    pcpu.wait_until(FAR, at);
                    continue;
                }
                Some(&act) => {
                    if !self.act(act, at, pcpu) {
                        if vcpu.left.swap(false, Relaxed) {
                            pcpu.idle();
                        }
                        continue;
                    }
                }
            }
            vcpu.done.fetch_add(1, Relaxed);
            if vcpu.left.swap(false, Relaxed) {
                pcpu.idle();
            }
        }
    }

    fn call(function: u32, [x1, x2]: [u64; 2], at: &Assignment, pcpu: &'static Pcpu) -> [u64; 2] {
        let mut context = Context::default();
        (context.x[1], context.x[2]) = (x1, x2);
        // Where another VCPU is to run then, the rest of the act comes later.
        match catch_unwind(AssertUnwindSafe(|| locks::call(function, &mut context, at, pcpu))) {
            Err(panic) if panic.is::<Idle>() => at.vcpu.left.store(true, Relaxed),
            Err(panic) => resume_unwind(panic),
            Ok(()) => {}
        }
        [context.x[0], context.x[1]]
    }

    /// Lets the guest ask for a resource, and wait if another one has it. Returns true if the guest has it.
    fn lock(resource: usize, at: &Assignment, pcpu: &'static Pcpu) -> bool {
        let held = if at.vcpu.asked.load(Relaxed) {
            let [task, _] = Self::call(LOCK_GRANTED, [0, 0], at, pcpu);
            task == 0
        } else {
            let [result, _] = Self::call(LOCK, [resource as u64, 0], at, pcpu);
            assert!(result <= LOCK_WAITS, "refused: {result:x}");
            at.vcpu.asked.store(result == LOCK_WAITS, Relaxed);
            result != LOCK_WAITS
        };
        if held {
            at.vcpu.asked.store(false, Relaxed);
            let others = pcpu.machine.holders[resource].swap(1, Relaxed);
            assert_eq!(others, 0, "two have the resource");
        } else if !at.vcpu.left.load(Relaxed) {
            pcpu.wait(at);
        }
        held
    }

    fn act(&'static self, act: Act, at: &Assignment, pcpu: &'static Pcpu) -> bool {
        let (env, me) = (GicEnv::of(at), at.vcpu.index);
        let write = |register: u64, intid: u32| {
            let (frame, base) = match intid {
                0..32 => (Frame::Redistributor(1), 0x1_0000),
                _ => (Frame::Distributor, 0),
            };
            let at = base + register + u64::from(intid / 32 * 4);
            self.gic.mmio_write(&env, me, frame, at, 4, 1 << (intid % 32)).expect("legal");
        };
        match act {
            Act::Handle | Act::Busy => {}
            Act::Send(target, intid) => {
                self.gic.write_sgi1r(&env, me, u64::from(intid) << 24 | 1 << target);
            }
            Act::Enable(intid) => {
                self.withdrawn.fetch_and(!(1 << intid), Relaxed);
                write(0x100, intid);
            }
            Act::Disable(intid) => write(0x180, intid),
            Act::Withdrawn(intid) => {
                let control = self.gic.mmio_read(&env, me, Frame::Distributor, 0, 4);
                if control.expect("legal") >> 31 != 0 {
                    shuttle::thread::yield_now();
                    return false;
                }
                self.withdrawn.fetch_or(1 << intid, Relaxed);
            }
            Act::Route(intid, target) => {
                let at = 0x6000 + 8 * u64::from(intid);
                self.gic.mmio_write(&env, me, Frame::Distributor, at, 8, target).expect("legal");
            }
            Act::Raise(intid) => self.gic.raise(&env, intid),
            Act::Open => {
                assert_eq!(Self::call(LOCK_OPEN, [b'r'.into(), 0], at, pcpu)[0], 0, "the first");
            }
            Act::Close => {
                assert_eq!(Self::call(LOCK_DESTROY, [0; 2], at, pcpu)[0], 0, "it was open");
            }
            Act::Lock(resource) => return Self::lock(resource, at, pcpu),
            Act::Ask(resource) => {
                let [result, _] = Self::call(LOCK, [resource as u64, 0], at, pcpu);
                assert!(result <= LOCK_WAITS, "refused: {result:x}");
            }
            Act::Unlock(resource) => {
                pcpu.machine.holders[resource].store(0, Relaxed);
                let [result, _] = Self::call(UNLOCK, [resource as u64, 0], at, pcpu);
                assert_eq!(result, 0, "another one has the resource");
            }
            Act::Fire => pcpu.machine.set_pending(DEVICE.1, true),
        }
        true
    }
}
