//! Ports: the ends of serial lines between VMs. Each is a virtual PL011, and a [`Wire`] leads to the other end.
//!
//! The VM that sends pays: it copies its bytes when it accesses its port, and shows them to the other VM, which is
//! interrupted then, only as often as the limit of the line lets it. What it may not tell yet it tells *late*: a timer
//! reminds it while it executes or waits, and otherwise it does so the next time that it executes.
//!
//! Neither VM takes a lock of the other one. What one tells the other is a note, as for rings (`bell`), and
//! a VCPU of the other VM brings its port up to date ([`attend`]).

use alloc::vec::Vec;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicU8, AtomicU64};

use policy::rate::Rate;
use policy::time::Instant;

use super::{GicEnv, Vm};
use crate::arch::cpu;
use crate::lock::{Mutex, MutexGuard};
use crate::machine;
use crate::pcpu::{Assignment, Pcpu};
use crate::plan;
use crate::timer::{NEVER, Purpose};
use crate::vdev::pl011::{Line, Pl011};
use crate::vdev::wire::Wire;

/// The ports of a VM.
pub struct Ports {
    all: Vec<Port>,
    /// Those at which the other end has told something, one bit each.
    told: AtomicU8,
    /// When the first late tell is due, in ticks.
    late: AtomicU64,
}

/// An end of a serial line.
struct Port {
    plan: plan::SerialEnd,
    outgoing: &'static Wire,
    incoming: &'static Wire,
    end: Mutex<End>,
}

/// What changes at an end.
struct End {
    uart: Pl011,
    /// The time from which on it may interrupt the other end again. It survives restarts of the VM.
    from: i64,
    /// It has to tell something then.
    late: bool,
}

/// Where the PL011 sends its bytes.
struct Sender(&'static Wire);

impl Line for Sender {
    fn send(&mut self, byte: u8) -> bool {
        self.0.send(byte)
    }
}

impl Ports {
    /// Makes those of a VM; `wires`: two for each line, the first one from its first VM to the second.
    #[inline(never)]
    pub fn new(ends: &[plan::SerialEnd], wires: &[&'static Wire]) -> Self {
        let mut all = Vec::new();
        for end in ends {
            let wire = |other: usize| wires[2 * end.line + (end.side ^ other)];
            let state = End { uart: Pl011::new(), from: Rate::START, late: false };
            let (outgoing, incoming) = (wire(0), wire(1));
            all.push(Port { plan: *end, outgoing, incoming, end: Mutex::new(state) });
        }
        Self { all, told: AtomicU8::new(0), late: AtomicU64::new(NEVER) }
    }

    /// Whether there is something to do for them.
    #[inline(always)]
    pub fn have_news(&self) -> bool {
        self.told.load(Relaxed) != 0 || self.due() != NEVER
    }

    /// When the first late tell is due, in ticks.
    #[inline(always)]
    pub fn due(&self) -> u64 {
        self.late.load(Relaxed)
    }

    /// The other end of this port has told something.
    pub fn tell(&self, port: usize) {
        self.told.fetch_or(1 << port, SeqCst);
    }
}

impl Port {
    #[inline(never)]
    fn lock(&self) -> MutexGuard<'_, End> {
        self.end.lock()
    }

    /// Gives the PL011 what it has room for.
    #[inline(never)]
    fn receive(&self, end: &mut End) {
        while end.uart.has_room()
            && let Some(byte) = self.incoming.receive()
        {
            end.uart.receive(byte, false);
        }
    }

    /// Sends what had no room before.
    #[inline(never)]
    fn send_rest(&self, end: &mut End) {
        if end.uart.is_sending() {
            end.uart.line_ready(&mut Sender(self.outgoing));
        }
    }

    /// Sends what had no room before, and shows what there is to read, which the guest then reads itself.
    fn hear(&self, end: &mut End) {
        self.send_rest(end);
        end.uart.announce(self.incoming.waiting() as usize);
    }

    /// The state has changed: the interrupt follows it, and the other end is told. `vm`: that of the port.
    #[inline(never)]
    fn settle(&self, end: &mut End, vm: &'static Vm, env: &GicEnv) {
        vm.gic.set_line(env, self.plan.interrupt, end.uart.interrupt());
        end.late |= self.incoming.has_room_again() || self.outgoing.has_news();
        self.tell_late(end, vm, false);
    }

    /// Shows and tells the other end what it has to know, if it may be interrupted now, or if `at_once`.
    #[inline(never)]
    fn tell_late(&self, end: &mut End, vm: &Vm, at_once: bool) {
        if !end.late {
            return;
        }
        let now = Instant(cpu::now());
        if at_once || Rate::may_enter(end.from, now) {
            end.late = false;
            end.from = self.plan.limit.enter(end.from, now);
            self.outgoing.show();
            let (peer, port) = self.plan.peer;
            machine::tell(peer, port);
        } else {
            vm.ports.late.fetch_min(end.from as u64, Relaxed);
        }
    }
}

/// Serves an access of the guest to one of its ports; `None` if there is none.
#[inline(never)]
pub fn access(
    at: &Assignment,
    pcpu: &Pcpu,
    ipa: u64,
    bytes: u64,
    write: Option<u64>,
) -> Option<u64> {
    let port = at.vm.ports.all.iter().find(|port| port.plan.registers.has(ipa))?;
    let offset = ipa - port.plan.registers.start;
    let mut end = port.lock();
    port.receive(&mut end);
    port.send_rest(&mut end);
    let value = match write {
        None => end.uart.read(offset, bytes as usize),
        Some(value) => {
            end.uart.write(offset, bytes as usize, value, &mut Sender(port.outgoing));
            0
        }
    };
    port.receive(&mut end);
    port.settle(&mut end, at.vm, &GicEnv::of(at));
    drop(end);
    let due = at.vm.ports.due();
    if due != NEVER {
        pcpu.advance_deadline(Purpose::Telling, due);
    }
    Some(value)
}

/// A VCPU, which executes or waits on this CPU, brings the ports of its VM up to date.
#[inline(always)]
pub fn attend(at: &Assignment, pcpu: &'static Pcpu) {
    if at.vm.ports.have_news() {
        serve(at, pcpu);
    }
}

/// The same, and late tells if the VCPU is the one to run: then it pays for them.
#[inline(never)]
fn serve(at: &Assignment, pcpu: &'static Pcpu) {
    let ports = &at.vm.ports;
    let told = ports.told.swap(0, SeqCst);
    let is_next = pcpu.is_next(at);
    let is_late = is_next && ports.late.swap(NEVER, Relaxed) != NEVER;
    for (number, port) in ports.all.iter().enumerate() {
        let is_told = told >> number & 1 != 0;
        if !is_told && !is_late {
            continue;
        }
        let mut end = port.lock();
        if is_told {
            port.hear(&mut end);
            port.settle(&mut end, at.vm, &GicEnv::at(at, pcpu));
        } else {
            port.tell_late(&mut end, at.vm, false);
        }
    }
    let due = ports.due();
    if is_next {
        pcpu.set_deadline(Purpose::Telling, due);
    } else if due != NEVER && !at.vcpu.is_ready() {
        pcpu.set_alarm(at, due);
    }
}

/// A VCPU does not wait any more: it looks for late tells when it is entered.
#[inline(always)]
pub fn wake(at: &Assignment) {
    if at.vm.ports.due() != NEVER {
        at.vcpu.attention.tell(false);
    }
}

/// A VCPU, which was to be reminded of late tells, is not the one to run any more: it looks for them when it runs again, and
/// nobody else is interrupted.
#[inline(never)]
pub fn leave(at: &Assignment, pcpu: &Pcpu) {
    at.vcpu.attention.tell(false);
    pcpu.set_deadline(Purpose::Telling, NEVER);
}

/// The VM ends for good: what it has to tell it tells now.
#[inline(never)]
pub(super) fn end(vm: &'static Vm) {
    for port in &vm.ports.all {
        port.tell_late(&mut port.lock(), vm, true);
    }
}

/// Resets the ports: what was sent to the VM is lost, and what it has sent stays.
#[inline(never)]
pub(super) fn reset(vm: &'static Vm) {
    vm.ports.told.store(0, SeqCst);
    for port in &vm.ports.all {
        let mut end = port.lock();
        end.uart.reset();
        port.incoming.discard();
        port.settle(&mut end, vm, &GicEnv::any(vm));
    }
}

/// When a VCPU that waits has to tell something for its VM, in ticks.
#[inline(always)]
pub fn due(at: &Assignment) -> u64 {
    at.vm.ports.due()
}
