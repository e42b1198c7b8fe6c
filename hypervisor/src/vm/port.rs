//! Ports: the ends of serial lines between VMs. Each is a virtual PL011, and a [`Wire`] leads to the other end.
//!
//! The VM that sends pays: it copies its bytes when it accesses its port, and shows them to the other VM, which is
//! interrupted then, only as often as the limit of the line lets it. What it may not tell yet it tells *late*: a timer
//! reminds a VCPU that executes or waits, and one that does neither the next time that it executes.
//!
//! Neither VM takes a lock of the other one. What one tells the other is a note, as for rings (`bell`), and
//! a VCPU of the other VM brings its port up to date ([`attend`]).
//!
//! No CPU waits for a VCPU of the same VM that is at the port: interrupts of its PCPU would be late for as long. A guest that
//! accesses the port then tries again, and what others have to do there is left to that VCPU ([`Notes`]).

pub(super) mod notes;

use alloc::vec::Vec;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use notes::Notes;
use policy::rate::Rate;
use policy::time::Instant;

use super::{GicEnv, Vm, link};
use crate::arch::cpu;
use crate::lock::{Mutex, MutexGuard};
use crate::machine;
use crate::pcpu::{Assignment, Pcpu};
use crate::plan;
use crate::timer::{NEVER, Purpose};
use crate::vdev::pl011::{self, Line, Pl011};
use crate::vdev::wire::Wire;

/// The ports of a VM.
pub struct Ports {
    all: Vec<Port>,
    notes: Notes,
}

/// An end of a serial line.
struct Port {
    plan: plan::SerialEnd,
    outgoing: &'static Wire,
    incoming: &'static Wire,
    end: Mutex<End>,
    /// The time at which it has to tell something late, in ticks.
    due: AtomicU64,
}

/// The part of an end that changes.
struct End {
    uart: Pl011,
    /// The time from which on it may interrupt the other end again. It survives restarts of the VM.
    from: i64,
    /// The end has to tell something then.
    late: bool,
}

/// A VCPU of the same VM is at the port.
pub struct Busy;

/// The wire into which the PL011 sends its bytes.
struct Sender(&'static Wire);

impl Line for Sender {
    fn send(&mut self, byte: u8) -> bool {
        self.0.send(&[byte]) == 1
    }

    fn send_all(&mut self, bytes: &[u8]) -> usize {
        self.0.send(bytes)
    }
}

impl Ports {
    /// Makes those of a VM; `wires`: two for each line, the first one from its first VM to the second.
    #[inline(never)]
    pub fn new(ends: &[plan::SerialEnd], wires: &[&'static Wire]) -> Self {
        let mut all = Vec::new();
        for end_plan in ends {
            let wire = |other: usize| wires[2 * end_plan.line + (end_plan.side ^ other)];
            let state = End { uart: Pl011::new(), from: Rate::START, late: false };
            let (outgoing, incoming) = (wire(0), wire(1));
            let (end, due) = (Mutex::new(state), AtomicU64::new(NEVER));
            all.push(Port { plan: *end_plan, outgoing, incoming, end, due });
        }
        Self { all, notes: Notes::new() }
    }

    /// Returns true if there is something to do for them, now or later.
    #[inline(always)]
    pub fn have_news(&self) -> bool {
        !self.all.is_empty() && (self.notes.told() != 0 || self.due_after(0) != NEVER)
    }

    /// Returns when the first late tell is due, in ticks, of those that are due after `time`.
    #[inline(never)]
    pub(super) fn due_after(&self, time: u64) -> u64 {
        let dues = self.all.iter().map(|port| port.due.load(Relaxed));
        dues.filter(|due| *due > time).min().unwrap_or(NEVER)
    }

    /// The other end of this port has told something.
    pub fn tell(&self, port: usize) {
        self.notes.tell(port);
    }
}

impl Port {
    #[inline(never)]
    fn try_lock(&self) -> Option<MutexGuard<'_, End>> {
        self.end.try_lock()
    }

    /// Gives the PL011 the bytes for which it has room.
    #[inline(never)]
    fn receive(&self, end: &mut End) {
        while end.uart.has_room()
            && let Some(byte) = self.incoming.receive()
        {
            end.uart.receive(byte, false);
        }
    }

    /// Sends the bytes that had no room before.
    #[inline(never)]
    fn send_rest(&self, end: &mut End) {
        if end.uart.is_sending() {
            end.uart.line_ready(&mut Sender(self.outgoing));
        }
    }

    /// Sends the bytes that had no room before, and shows those that wait, which the guest then reads itself.
    fn hear(&self, end: &mut End) {
        self.send_rest(end);
        end.uart.announce(self.incoming.waiting() as usize);
    }

    /// The state has changed: the interrupt follows it, and the other end is told. `vm`: that of the port.
    #[inline(never)]
    fn settle(&self, end: &mut End, vm: &'static Vm, env: &GicEnv) {
        vm.gic.set_line(env, self.plan.interrupt, end.uart.interrupt());
        end.late |= self.incoming.has_room_again() || self.outgoing.has_news();
        self.tell_late(end, false);
    }

    /// Shows and tells the other end all that it has to know, if it may be interrupted now, or if `at_once`.
    #[inline(never)]
    fn tell_late(&self, end: &mut End, at_once: bool) {
        if !end.late {
            return;
        }
        let now = Instant(cpu::now());
        if at_once || Rate::may_enter(end.from, now) {
            end.late = false;
            end.from = self.plan.limit.enter(end.from, now);
            self.due.store(NEVER, Relaxed);
            self.outgoing.show();
            let (peer, port) = self.plan.peer;
            machine::tell(peer, port);
        } else {
            self.due.store(end.from as u64, Relaxed);
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
) -> Option<Result<u64, Busy>> {
    let number = at.vm.ports.all.iter().position(|port| port.plan.registers.has(ipa))?;
    let mut value = 0;
    let serve = |port: &Port, end: &mut End| {
        let offset = ipa - port.plan.registers.start;
        // What the guest clears is what it knows: the rest is sent behind that, and its interrupt stays.
        let clears = write.is_some() && pl011::clears_interrupts(offset);
        port.receive(end);
        if !clears {
            port.send_rest(end);
        }
        match write {
            None => value = end.uart.read(offset, bytes as usize),
            Some(value) => {
                end.uart.write(offset, bytes as usize, value, &mut Sender(port.outgoing));
            }
        }
        port.receive(end);
        if clears {
            port.send_rest(end);
        }
    };
    if !visit(at.vm, number, &GicEnv::of(at), serve) {
        cpu::relax();
        return Some(Err(Busy));
    }
    let due = at.vm.ports.all[number].due.load(Relaxed);
    if due < pcpu.deadline(Purpose::Telling) {
        pcpu.set_deadline(Purpose::Telling, due);
    }
    Some(Ok(value))
}

/// Does something at a port, and its consequences. Returns false if a VCPU on another CPU is at the port.
fn visit(vm: &'static Vm, number: usize, env: &GicEnv, what: impl FnOnce(&Port, &mut End)) -> bool {
    let port = &vm.ports.all[number];
    let Some(mut end) = port.try_lock() else { return false };
    what(port, &mut end);
    port.settle(&mut end, vm, env);
    drop(end);
    if vm.ports.notes.left(number) {
        hear(vm, number, env);
    }
    true
}

/// Does the noted work of a port, once. A VCPU on another CPU that is there does it, or has a VCPU called for it.
#[inline(never)]
fn hear(vm: &'static Vm, number: usize, env: &GicEnv) {
    let (port, notes) = (&vm.ports.all[number], &vm.ports.notes);
    if let Some(mut end) = notes.attend(number, || port.try_lock()) {
        port.hear(&mut end);
        port.settle(&mut end, vm, env);
        drop(end);
        if notes.left(number) {
            machine::call_one(vm);
        }
    }
}

/// A VCPU, which executes or waits on this CPU, brings the ports and links of its VM up to date.
#[inline(always)]
pub fn attend(at: &Assignment, pcpu: &'static Pcpu) {
    if at.vm.has_ends {
        attend_ends(at, pcpu);
    }
}

/// The same, where there are some.
#[inline(never)]
fn attend_ends(at: &Assignment, pcpu: &'static Pcpu) {
    if at.vm.ports.have_news() {
        serve(at, pcpu);
    }
    link::attend(at, pcpu);
}

/// Returns true if there is something to do for the ports and links of a VM, now or later.
pub fn have_news(vm: &Vm) -> bool {
    vm.has_ends && (vm.ports.have_news() || vm.links.have_news())
}

/// The same, and late tells if the VCPU is the one to run: then it pays for them.
#[inline(never)]
fn serve(at: &Assignment, pcpu: &'static Pcpu) {
    let (ports, now) = (&at.vm.ports, cpu::now());
    let (is_next, env) = (pcpu.is_next(at), GicEnv::at(at, pcpu));
    let told = ports.notes.told();
    for (number, port) in ports.all.iter().enumerate() {
        let is_due = is_next && port.due.load(Relaxed) <= now;
        if is_due {
            ports.tell(number);
        }
        if is_due || told >> number & 1 != 0 {
            hear(at.vm, number, &env);
        }
    }
    if is_next {
        // Who is at a port whose time has come tells what is late there.
        let links = at.vm.links.due_after(now);
        pcpu.set_deadline(Purpose::Telling, ports.due_after(now).min(links));
    } else if !at.vcpu.is_ready() {
        // It waits, and wakes to tell what is late: at once if a VCPU that went off did not do that in time.
        let due = ports.due_after(0);
        if due != NEVER {
            pcpu.set_alarm(at, due);
        }
    }
}

/// The VM ends for good: it tells now all that it has to tell.
#[inline(never)]
pub(super) fn end(vm: &'static Vm) {
    for port in &vm.ports.all {
        port.tell_late(&mut port.end.lock(), true);
    }
}

/// Resets the ports: bytes that were sent to the VM are lost, and those that it has sent stay.
#[inline(never)]
pub(super) fn reset(vm: &'static Vm) {
    vm.ports.notes.forget();
    for port in &vm.ports.all {
        let mut end = port.end.lock();
        end.uart.reset();
        port.incoming.discard();
        port.settle(&mut end, vm, &GicEnv::any(vm));
    }
}

/// Returns when a VCPU has to tell something late for its VM, in ticks, by a serial line or by a link.
#[inline(always)]
pub fn due(at: &Assignment) -> u64 {
    let vm = at.vm;
    if vm.has_ends { vm.ports.due_after(0).min(vm.links.due_after(0)) } else { NEVER }
}
