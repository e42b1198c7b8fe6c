//! Links between VMs: each VM has a virtio network card, and EL2 is the wire.
//!
//! The VM that sends pays. A store that tells its card of frames begins long work ([`super::work`]) of the VCPU: each chunk copies one
//! frame out of the buffers of the sender, and into those of the receiver, as far as the sender may send so much (the limit of the
//! link). Each frame counts in the limit, also one that may not pass; and the first one that finds too little in it ends the work: the
//! next chunk drops all that wait. So beside the frames within the limit, such a store costs the sender one frame and that chunk at most.
//! The receiver is interrupted only as often as the limit on interrupts lets it; what the sender may not tell yet it tells
//! late, as an end of a serial line does (`port`).
//!
//! Both VMs are untrusted, and each may do anything with its rings and registers at any time:
//!
//! - Rings and buffers are accessed only as RAM of their own VM ([`Ram`]), by code that trusts nothing in it
//!   ([`crate::vdev::virtio`]). What is wrong in the ring of the receiver breaks the card of the receiver, and the frame is dropped.
//! - Nobody waits for the other VM. A receiver that resets its card while a frame is copied into its buffers tries again
//!   ([`Served::Busy`]) until that is done, which takes a chunk at most: other frames are dropped from then on. Another VCPU of
//!   its own VM that sends can keep it longer. Afterwards nothing is written there any more.
//! - When a VM stops or restarts, its rings are forgotten before its memory is reset. What was sent to it is lost. The limits
//!   survive, so that a restart gains nothing.

use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

use policy::channel::{Bucket, Moderation, Parameters, Signal};
use policy::time::Instant;

use super::port::notes::Notes;
use super::{GicEnv, Vm};
use crate::arch::{cpu, regs};
use crate::lock::Mutex;
use crate::machine;
use crate::pcpu::{Assignment, Pcpu};
use crate::plan;
use crate::timer::{NEVER, Purpose};
use crate::vdev::virtio::Memory;
use crate::vdev::virtio::card::{Card, Effect, RECEIVE, TRANSMIT};
use crate::vdev::virtio::queue::{Queue, SIZE_MAX};
use crate::vdev::virtio::wire::{self, Counts, Dropped, Sender, Sent};

/// The links of a VM.
pub struct Links {
    all: Vec<Link>,
    notes: Notes,
}

/// An end of a link.
struct Link {
    plan: plan::LinkEnd,
    card: Mutex<Card>,
    receive: Mutex<Receive>,
    transmit: Mutex<Transmit>,
    /// The limit on interrupts of the other end. It survives restarts of the VM.
    moderation: Mutex<Moderation>,
    /// The time at which it has to tell something late, in ticks.
    due: AtomicU64,
    /// The driver resets or starts the card: nothing comes until that is done.
    moving: AtomicBool,
    /// A ring was found to be wrong. Set only with the lock of that ring, and cleared only with that of the card.
    broken: AtomicBool,
}

/// The ring into which the other end sends. Only for a moment has a VCPU of another VM its lock.
struct Receive(Option<Queue>);

/// The ring out of which this end sends.
struct Transmit {
    queue: Option<Queue>,
    sender: Sender,
}

/// Frames that are to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Index of the link.
    link: usize,
    /// Most frames that are still to be sent.
    left: u16,
    /// The driver wants to be interrupted for those that were sent.
    done: bool,
    /// One frame was more than this end may send: the next chunk drops those behind it.
    drops: bool,
    /// The syndrome of the store after which the guest continues.
    syndrome: u64,
}

/// The result of an access to a card.
pub enum Served {
    /// A load gets this value.
    Value(u64),
    /// The card does not take the access.
    Refused,
    /// Another VCPU is at the card, or a frame is on its way: the guest has to try again.
    Busy,
    /// The store is done, and frames are to be sent.
    Transmit(Sending),
}

/// RAM of a VM whose pages do not move.
struct Ram<'a>(&'a Vm);

impl Ram<'_> {
    /// Finds the region in which an address lies, and its offset there.
    fn at(&self, address: u64) -> Option<(crate::arch::memory::GuestMemory, u64)> {
        let mut regions = self.0.memory.iter();
        let (guest, memory) = regions.find(|(guest, _)| guest.has(address))?;
        Some((*memory, address - guest.start))
    }
}

impl Memory for Ram<'_> {
    fn load(&self, address: u64, data: &mut [u8]) -> bool {
        self.at(address).is_some_and(|(memory, offset)| memory.load(offset, data))
    }

    fn store(&self, address: u64, data: &[u8]) -> bool {
        self.at(address).is_some_and(|(memory, offset)| memory.store(offset, data))
    }

    fn load_u16(&self, address: u64) -> Option<u16> {
        let (memory, offset) = self.at(address)?;
        memory.load_u16(offset)
    }

    fn store_u16(&self, address: u64, value: u16) -> bool {
        self.at(address).is_some_and(|(memory, offset)| memory.store_u16(offset, value))
    }
}

impl Links {
    /// Makes those of a VM.
    #[inline(never)]
    pub fn new(ends: &[plan::LinkEnd]) -> Self {
        let mut all = Vec::with_capacity(ends.len());
        for end in ends {
            all.extend(Link::new(end));
        }
        Self { all, notes: Notes::new() }
    }

    /// Returns true if there is something to do for them, now or later.
    pub fn have_news(&self) -> bool {
        !self.all.is_empty() && (self.notes.told() != 0 || self.due_after(0) != NEVER)
    }

    /// Returns when the first late tell is due, in ticks, of those that are due after `time`.
    #[inline(never)]
    pub fn due_after(&self, time: u64) -> u64 {
        let dues = self.all.iter().map(|link| link.due.load(Relaxed));
        dues.filter(|due| *due > time).min().unwrap_or(NEVER)
    }

    /// There is something to do at this link.
    pub fn tell(&self, link: usize) {
        self.notes.tell(link);
    }

    /// Returns the counts of this end of a link, when the machine stops.
    pub fn counts(&self, link: usize) -> Counts {
        self.all.get(link).map_or(Counts::default(), |link| link.transmit.lock().sender.counts())
    }
}

impl Link {
    #[inline(never)]
    fn new(end: &plan::LinkEnd) -> Option<Self> {
        // The limits are within those of plans: none of these fails.
        let bucket = |parameters: Parameters| Bucket::new(parameters).ok();
        let [own, other] = end.macs;
        Some(Self {
            plan: *end,
            card: Mutex::new(Card::new(own)),
            receive: Mutex::new(Receive(None)),
            transmit: Mutex::new(Transmit {
                queue: None,
                sender: Sender::new(own, other, bucket(end.limit)?),
            }),
            moderation: Mutex::new(Moderation::new(end.tells).ok()?),
            due: AtomicU64::new(NEVER),
            moving: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        })
    }

    /// Something has come for the other end: tells it, now or later.
    #[inline(never)]
    fn message(&self) {
        self.moderate(|moderation, now| moderation.message(now) == Signal::Now);
    }

    /// Tells the other end late, if it is time for that.
    #[inline(never)]
    fn tell_late(&self) {
        self.moderate(Moderation::due);
    }

    /// Tells the other end something if `tells` says so.
    fn moderate(&self, tells: impl FnOnce(&mut Moderation, Instant) -> bool) {
        let mut moderation = self.moderation.lock();
        let tells = tells(&mut moderation, Instant(cpu::now()));
        // Under the lock, so that it is never another one than that of the limit.
        self.due.store(moderation.waits().map_or(NEVER, |due| due.0), Relaxed);
        drop(moderation);
        if tells {
            let (peer, link) = self.plan.peer;
            machine::tell_link(peer, link);
        }
    }

    /// The card is told what its VM has to know. Under its lock, so that its interrupt follows its state.
    #[inline(never)]
    fn settle(&self, card: &mut Card, vm: &'static Vm, env: &GicEnv) {
        vm.gic.set_line(env, self.plan.interrupt, card.interrupt());
    }
}

/// Serves an access of the guest to one of its cards; `None` if there is none.
#[inline(never)]
pub fn access(at: &Assignment, ipa: u64, bytes: u64, write: Option<u64>) -> Option<Served> {
    let links = &at.vm.links;
    let number = links.all.iter().position(|link| link.plan.registers.has(ipa))?;
    let link = &links.all[number];
    let offset = ipa - link.plan.registers.start;
    let served = serve(link, at, offset, bytes as usize, write, number);
    if links.notes.left(number) {
        hear(at.vm, number, &GicEnv::of(at));
    }
    if matches!(served, Served::Busy) {
        cpu::relax();
    }
    Some(served)
}

#[inline(never)]
fn serve(
    link: &Link,
    at: &Assignment,
    offset: u64,
    bytes: usize,
    write: Option<u64>,
    number: usize,
) -> Served {
    let Some(mut card) = link.card.try_lock() else { return Served::Busy };
    let Some(value) = write else {
        return card.read(offset, bytes).map_or(Served::Refused, Served::Value);
    };
    let effect = if Card::moves_rings(offset) {
        link.moving.store(true, Relaxed);
        let (Some(mut receive), Some(mut transmit)) =
            (link.receive.try_lock(), link.transmit.try_lock())
        else {
            return Served::Busy;
        };
        link.moving.store(false, Relaxed);
        let effect = card.write(offset, bytes, value);
        if let Some(Effect::Start(_) | Effect::Stop) = effect {
            // What was wrong with the rings before is forgotten with them.
            link.broken.store(false, Relaxed);
            let rings = match effect {
                Some(Effect::Start(rings)) => rings,
                _ => [None; 2],
            };
            receive.0 = rings[RECEIVE].and_then(Queue::new);
            transmit.queue = rings[TRANSMIT].and_then(Queue::new);
        }
        effect
    } else {
        card.write(offset, bytes, value)
    };
    link.settle(&mut card, at.vm, &GicEnv::of(at));
    match effect {
        None => Served::Refused,
        Some(Effect::Transmit) => {
            // Nothing has changed the syndrome since the exit.
            let syndrome = regs::esr_el2::read();
            Served::Transmit(Sending {
                link: number,
                left: SIZE_MAX,
                done: false,
                drops: false,
                syndrome,
            })
        }
        Some(_) => Served::Value(0),
    }
}

/// Sends the next frame, or drops the rest, for a VCPU, which is the one to run on this CPU. Returns true if there is none left.
#[inline(never)]
pub fn send(sending: &mut Sending, at: &Assignment, pcpu: &Pcpu) -> bool {
    let link = &at.vm.links.all[sending.link];
    let Some(sent) = send_frame(link, sending, at.vm) else {
        // Another VCPU of the VM sends.
        cpu::relax();
        return false;
    };
    if sent && sending.left > 0 {
        return false;
    }
    at.vcpu.context.with(|context| context.skip(sending.syndrome));
    if sending.done || link.broken.load(Relaxed) {
        at.vm.links.notes.tell(sending.link);
        hear(at.vm, sending.link, &GicEnv::of(at));
    }
    let due = link.due.load(Relaxed);
    if due < pcpu.deadline(Purpose::Telling) {
        pcpu.set_deadline(Purpose::Telling, due);
    }
    true
}

/// Sends a frame, or drops the rest. Returns false if there is none left, and `None` if another VCPU is at the ring.
#[inline(never)]
fn send_frame(link: &Link, sending: &mut Sending, vm: &'static Vm) -> Option<bool> {
    let mut transmit = link.transmit.try_lock()?;
    let Transmit { queue, sender } = &mut *transmit;
    let Some(ring) = queue else { return Some(false) };
    let mut tells = false;
    let memory = Ram(vm);
    let is_last = sending.drops;
    let sent = if is_last {
        sender.drop_all(ring, &memory)
    } else {
        sender.send(ring, &memory, Instant(cpu::now()), |frame| {
            tells = deliver(link.plan.peer, frame)?;
            Ok(())
        })
    };
    let sent = sent.and_then(|sent| {
        if sent != Sent::Nothing {
            sending.done |= ring.wants_interrupt(&memory)?;
        }
        Ok(sent)
    });
    let goes_on = match sent {
        Ok(sent) => {
            sending.drops = sent == Sent::Dropped(Dropped::Rate);
            sent != Sent::Nothing && !is_last
        }
        Err(_) => {
            *queue = None;
            link.broken.store(true, Relaxed);
            false
        }
    };
    drop(transmit);
    sending.left -= 1;
    if tells {
        link.message();
    }
    Some(goes_on)
}

/// Brings a frame to an end of a link. Returns true if its driver wants to be interrupted.
#[inline(never)]
fn deliver((vm, number): (usize, usize), frame: &[u8]) -> Result<bool, Dropped> {
    let vm = machine::vms().get(vm).ok_or(Dropped::Away)?;
    let link = vm.links.all.get(number).ok_or(Dropped::Away)?;
    if link.moving.load(Relaxed) {
        return Err(Dropped::Away);
    }
    let mut receive = link.receive.try_lock().ok_or(Dropped::Away)?;
    let queue = receive.0.as_mut().ok_or(Dropped::Away)?;
    let memory = Ram(vm);
    let delivered = wire::deliver(queue, &memory, frame)
        .and_then(|delivered| Ok((delivered, delivered && queue.wants_interrupt(&memory)?)));
    match delivered {
        Ok((true, wants)) => Ok(wants),
        Ok((false, _)) => Err(Dropped::Full),
        Err(_) => {
            // Its driver has to know, once for each time that it starts the card.
            receive.0 = None;
            link.broken.store(true, Relaxed);
            drop(receive);
            machine::tell_link(vm.index, number);
            Err(Dropped::Away)
        }
    }
}

/// Does the noted work of a link, once. A VCPU on another CPU that is there does it, or has a VCPU called for it.
#[inline(never)]
fn hear(vm: &'static Vm, number: usize, env: &GicEnv) {
    let (link, notes) = (&vm.links.all[number], &vm.links.notes);
    if let Some(mut card) = notes.attend(number, || link.card.try_lock()) {
        card.returned();
        if link.broken.swap(false, Relaxed) {
            card.breaks();
        }
        link.settle(&mut card, vm, env);
        drop(card);
        if notes.left(number) {
            machine::call_one(vm);
        }
    }
}

/// A VCPU, which executes or waits on this CPU, brings the links of its VM up to date.
pub(super) fn attend(at: &Assignment, pcpu: &'static Pcpu) {
    if at.vm.links.have_news() {
        attend_news(at, pcpu);
    }
}

/// The same, and late tells if the VCPU is the one to run: then it pays for them.
#[inline(never)]
fn attend_news(at: &Assignment, pcpu: &'static Pcpu) {
    let (links, now) = (&at.vm.links, cpu::now());
    let (is_next, env) = (pcpu.is_next(at), GicEnv::at(at, pcpu));
    let told = links.notes.told();
    for (number, link) in links.all.iter().enumerate() {
        if is_next && link.due.load(Relaxed) <= now {
            link.tell_late();
        }
        if told >> number & 1 != 0 {
            hear(at.vm, number, &env);
        }
    }
    if is_next {
        let ports = at.vm.ports.due_after(now);
        pcpu.set_deadline(Purpose::Telling, links.due_after(now).min(ports));
    } else if !at.vcpu.is_ready() {
        // It waits, and wakes to tell what is late: at once if a VCPU that went off did not do that in time.
        let due = links.due_after(0);
        if due != NEVER {
            pcpu.set_alarm(at, due);
        }
    }
}

/// Takes the rings of a VM that runs no more: nothing is written there any more. No frame begins on any link once all are marked,
/// so that this waits for those that are on their way, at the same time on different CPUs, and for no other.
fn stop(links: &[Link]) {
    for link in links {
        link.moving.store(true, Relaxed);
    }
    for link in links {
        link.receive.lock().0 = None;
        link.transmit.lock().queue = None;
    }
    for link in links {
        link.moving.store(false, Relaxed);
    }
}

/// The VM ends for good: it tells now all that it has to tell.
#[inline(never)]
pub(super) fn end(vm: &'static Vm) {
    stop(&vm.links.all);
    for link in &vm.links.all {
        link.moderate(|moderation, _| {
            let waits = moderation.waits().is_some();
            moderation.emptied();
            waits
        });
    }
}

/// Resets the cards. Frames that were sent to the VM are lost, and those that it has sent stay.
#[inline(never)]
pub(super) fn reset(vm: &'static Vm) {
    vm.links.notes.forget();
    stop(&vm.links.all);
    for link in &vm.links.all {
        let mut card = link.card.lock();
        link.broken.store(false, Relaxed);
        card.reset();
        link.settle(&mut card, vm, &GicEnv::any(vm));
    }
}
