//! Global critical sections: the calls of guests for them, and the resources that VMs share.
//!
//! `policy::lock::table` decides who owns a resource. The table is behind one lock for all PCPUs,
//! which serves them in order and is held for a constant number of instructions, in which a PCPU
//! takes no other lock. Waiters are one bit for each VCPU and task: there is room for all of them,
//! and the next owner is found in constant time. A call takes the lock only if it can change
//! something. A call without the right, about a resource that is not open, not held or not granted,
//! is refused before, from constant data or from the state of the VCPU. Each request counts as an
//! entry into a section, whatever the answer is, and [`policy::lock::rate`] limits the entries.
//! Opening and closing a resource is not limited, but waits for the lock in order.
//!
//! A task that has to wait is the guest's matter. When the task gets the resource, the PCPU of its
//! VCPU is kicked and makes an interrupt of the VCPU pending; then the guest asks which task got
//! which resource. Even if the guest masks the interrupt, the PCPU tells its scheduler that the
//! VCPU is in a global critical section, so that the VCPU has priority and may overrun. Only the
//! PCPU of a VCPU tells that scheduler. When a VCPU goes off, its resources go to the next waiters,
//! which are told that the owner died.
//!
//! When the running VCPU enters or leaves a section and nothing else has changed, it stays the one
//! to run: this is noted without a decision (`policy::cpu::fast`). All other cases take
//! one path that is small and slower.
//!
//! No guest is trusted to leave its sections ([`policy::lock::hold`]). After `hold-ns` of execution
//! in sections without a pause the VCPU counts as outside: its priority is its normal one again,
//! its overrun ends, and its resources go to the next waiters. A guest that keeps its described
//! lengths never reaches the limit: a task requests a resource only while its VCPU executes
//! outside, so that each task is in at most one section until then (vMPCP, Eq. 1). The timer is set
//! for this limit only if another VCPU is affected: after a decision on the same PCPU, or after a
//! kick by a VCPU of another PCPU that begins to wait.
//!
//! A PCPU whose only VCPU may open resources has a scheduler for these rules, and its WFI traps.

use alloc::vec::Vec;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU16};

use abi::hypercall::{
    Error, GCS_FINISH, GCS_START, LOCK, LOCK_DESTROY, LOCK_GRANTED, LOCK_HELD, LOCK_INTERRUPT,
    LOCK_OPEN, LOCK_ORPHANED, LOCK_TRY, LOCK_WAITS, UNLOCK,
};
use abi::trace::{Kind, lock_argument};
use policy::lock::rate::Rate;
use policy::lock::table::{Granted, Holdings, Locked, Resource, Table, VMS};
use policy::lock::{LockError, RESOURCES_MAX, VCPUS_MAX, Who, rank};
use policy::time::Instant;

use crate::arch::context::Context;
use crate::arch::cpu;
use crate::arch::percpu::StaticRef;
use crate::lock::Mutex;
use crate::machine;
use crate::pcpu::{Assignment, Pcpu};
use crate::plan;
use crate::vm::{GicEnv, Vcpu, Vm};

/// The resources that VMs share, and their owners.
pub struct Locks {
    table: Mutex<Table<Vec<Resource>, Vec<Holdings>>>,
    /// Names of the resources, as guests pass them, and the VMs that may open them, one bit each.
    names: Vec<([u64; 2], u8)>,
    /// The resources that each VM has open, one bit each; they change only while the lock of the
    /// table is held.
    open: [AtomicU16; VMS],
    /// The VCPUs by their rank.
    homes: [Home; VCPUS_MAX],
}

const _: () = assert!(RESOURCES_MAX <= u16::BITS as usize);

impl Locks {
    /// Calls `act` with the table. `act` must take no lock and tell no CPU: the caller acts on the
    /// result afterwards.
    #[inline(always)]
    fn with<T>(&self, act: impl FnOnce(&mut Table<Vec<Resource>, Vec<Holdings>>) -> T) -> T {
        act(&mut self.table.lock())
    }

    /// Returns true if a VM may open a resource.
    fn may_open(&self, vm: usize, resource: usize) -> bool {
        self.names.get(resource).is_some_and(|(_, vms)| vms >> (vm % VMS) & 1 != 0)
    }

    /// Returns true if a VM has a resource open.
    #[inline(always)]
    fn has_open(&self, vm: usize, resource: usize) -> bool {
        resource < RESOURCES_MAX && self.open[vm % VMS].load(Relaxed) >> resource & 1 != 0
    }

    /// Marks the VCPU of a task that got a resource for which it waited, and returns the VCPU. The
    /// lock of the table is held. The VCPU's own CPU raises the interrupt that tells the guest, so
    /// that this CPU waits for no lock of another VM.
    #[cold]
    #[inline(never)]
    fn grant(&self, who: Who) -> Option<&'static Vcpu> {
        let (_, vcpu) = self.vcpu(who)?;
        let sections = &vcpu.sections;
        sections.granted.store(true, Release);
        sections.untold.store(true, Release);
        // Last: a CPU that sees that the VCPU is in a section also sees that there is something to
        // tell.
        sections.holds.store(true, Release);
        Some(vcpu)
    }

    /// Returns the VCPU of a task, and its VM.
    fn vcpu(&self, who: Who) -> Option<(&'static Vm, &'static Vcpu)> {
        let home = self.homes.get(who.vcpu())?;
        let &vm = machine::vms().get(usize::from(home.vm))?;
        Some((vm, vm.vcpus.get(usize::from(home.vcpu))?))
    }
}

/// The place of a VCPU: index of its VM, and its own index there.
#[derive(Clone, Copy, Default)]
struct Home {
    vm: u8,
    vcpu: u8,
}

/// Empty if the VMs share no resources.
static LOCKS: StaticRef<Locks> = StaticRef::empty();

/// Makes the resources of the plan. Called once, at boot.
#[inline(never)]
pub fn make(plan: &plan::Locks<'_>, vms: &[&'static Vm]) -> Option<Locks> {
    if plan.resources.is_empty() {
        return None;
    }
    // Loops, because chains of iterators would compile to much more code.
    let (mut count, mut all) = (0, [Home::default(); VCPUS_MAX]);
    let mut priorities = [0; VCPUS_MAX];
    for vm in vms {
        for (index, vcpu) in vm.plan.vcpus.iter().enumerate() {
            if let (Some(home), Some(priority)) = (all.get_mut(count), priorities.get_mut(count)) {
                *home = Home { vm: vm.index as u8, vcpu: index as u8 };
                *priority = vcpu.server.map_or(0, |server| server.priority);
                count += 1;
            }
        }
    }
    let mut ranks = [0; VCPUS_MAX];
    rank(priorities.get(..count).unwrap_or_default(), &mut ranks);
    let mut homes = all;
    let mut vcpus = Vec::new();
    vcpus.resize(count, Holdings::default());
    for (home, rank) in all.into_iter().zip(ranks).take(count) {
        let Home { vm, vcpu } = home;
        let place = usize::from(rank);
        if let Some(vcpu) = vms.get(usize::from(vm)).and_then(|vm| vm.vcpus.get(usize::from(vcpu)))
            && let (Some(home_of), Some(holdings)) = (homes.get_mut(place), vcpus.get_mut(place))
        {
            vcpu.sections.rank.store(rank, Relaxed);
            (*home_of, *holdings) = (home, Holdings::new(vm.into()));
        }
    }
    let mut resources = Vec::new();
    let mut names = Vec::new();
    for resource in &plan.resources {
        resources.push(Resource::new(resource.vms));
        names.push((packed(resource.name), resource.vms));
    }
    let open = [const { AtomicU16::new(0) }; VMS];
    Some(Locks { table: Mutex::new(Table::new(resources, vcpus)), names, open, homes })
}

/// Publishes the resources. Called once, at boot.
pub fn publish(locks: Option<&'static Locks>) {
    LOCKS.set(locks);
}

/// Packs a name into two registers.
fn packed(name: &str) -> [u64; 2] {
    let mut bytes = [0; 16];
    for (byte, from) in bytes.iter_mut().zip(name.bytes()) {
        *byte = from;
    }
    let number = u128::from_le_bytes(bytes);
    [number as u64, (number >> 64) as u64]
}

/// Returns true if a VM may open a resource.
pub fn are_open_to(vm: &Vm) -> bool {
    LOCKS.own().is_some_and(|locks| (0..locks.names.len()).any(|it| locks.may_open(vm.index, it)))
}

/// The critical sections of a VCPU. Only its own CPU changes them, except for `holds`, which others
/// change while they hold the lock of the table.
#[derive(Debug)]
pub struct Sections {
    rank: AtomicU8,
    /// Time from which on the VCPU may enter the next section, and the limit on entries
    /// ([`Rate::parts`]).
    from: AtomicI64,
    rate: [AtomicI64; 2],
    /// The `from` value of the last refusal that was traced: each refusal is traced once.
    refused: AtomicI64,
    /// True if the guest says that it is in one of a mutex of its own.
    inside: AtomicBool,
    /// True if its tasks hold resources that VMs share.
    holds: AtomicBool,
    /// `granted`: tasks got resources for which they waited, and the guest may not have asked for
    /// all of them yet. `untold`: the interrupt that notifies the guest is not pending yet.
    granted: AtomicBool,
    untold: AtomicBool,
    /// True if the scheduler was told that the VCPU is in a section.
    told: AtomicBool,
}

impl Sections {
    /// Makes a VCPU that is in no section.
    pub const fn new() -> Self {
        Self {
            rank: AtomicU8::new(0),
            from: AtomicI64::new(Rate::NEVER),
            rate: [const { AtomicI64::new(0) }; 2],
            refused: AtomicI64::new(Rate::START),
            inside: AtomicBool::new(false),
            holds: AtomicBool::new(false),
            granted: AtomicBool::new(false),
            untold: AtomicBool::new(false),
            told: AtomicBool::new(false),
        }
    }

    fn rank(&self) -> usize {
        self.rank.load(Relaxed).into()
    }

    /// Sets the limit of the plan on entries, if there is one. Called at boot.
    pub fn allow(&self, rate: Option<Rate>) {
        let Some(rate) = rate else { return };
        self.from.store(Rate::START, Relaxed);
        for (part, value) in self.rate.iter().zip(rate.parts()) {
            part.store(value, Relaxed);
        }
    }

    /// Returns true if it may enter one now; for whom [`Sections::refusal`] says why not.
    #[inline(always)]
    fn may_enter(&self, now: Instant) -> bool {
        Rate::may_enter(self.from.load(Relaxed), now)
    }

    /// A task requests a resource, which counts as an entry whatever the result is.
    #[inline(always)]
    fn ask(&self, at: &Assignment, pcpu: &Pcpu, now: u64) -> Result<(), Error> {
        if !self.may_enter(Instant(now)) {
            return Err(self.refusal(at, pcpu, now));
        }
        self.enter(Instant(now));
        Ok(())
    }

    /// Counts an entry into a section.
    #[inline(always)]
    fn enter(&self, now: Instant) {
        let [interval, rest] = &self.rate;
        let rate = Rate::from_parts([interval.load(Relaxed), rest.load(Relaxed)]);
        self.from.store(rate.enter(self.from.load(Relaxed), now), Relaxed);
    }

    /// Returns the reason for which the VCPU may not enter a section now.
    #[cold]
    #[inline(never)]
    fn refusal(&self, at: &Assignment, pcpu: &Pcpu, now: u64) -> Error {
        match self.from.load(Relaxed) {
            Rate::NEVER => Error::Denied,
            from => {
                // Traced once, however often the VCPU asks until then.
                if self.refused.swap(from, Relaxed) != from {
                    pcpu.record_at(now, Some(at), Kind::TooOften, (from as u64).wrapping_sub(now));
                }
                Error::TooOften
            }
        }
    }

    /// Returns the state that the scheduler has to be told, if it has changed: true if the VCPU is
    /// in a section. The state counts as told.
    #[inline(always)]
    fn should_tell(&self) -> Option<bool> {
        // A CPU that sees a grant also sees that there is something to tell.
        let inside = self.inside.load(Relaxed) || self.holds.load(Acquire);
        let is_news = inside != self.told.load(Relaxed);
        if is_news {
            self.told.store(inside, Relaxed);
        }
        is_news.then_some(inside)
    }

    /// Returns true if the scheduler knows it to be in one.
    pub fn is_inside(&self) -> bool {
        self.told.load(Relaxed)
    }
}

/// Serves a call of a guest. Does not return if another VCPU is to run afterwards.
#[inline(never)]
pub fn call(function: u32, context: &mut Context, at: &Assignment, pcpu: &'static Pcpu) {
    let sections = &at.vcpu.sections;
    let now = cpu::now();
    let result = match function {
        GCS_START if sections.may_enter(Instant(now)) => {
            sections.enter(Instant(now));
            sections.inside.store(true, Relaxed);
            0
        }
        GCS_START => sections.refusal(at, pcpu, now).to_x0(),
        GCS_FINISH if sections.inside.load(Relaxed) => {
            sections.inside.store(false, Relaxed);
            0
        }
        GCS_FINISH => Error::NotOwner.to_x0(),
        _ => shared_call(function, context, at, pcpu, now),
    };
    context.x[0] = result;
    let inside = sections.should_tell();
    if let Some(inside) = inside
        && !pcpu.change_gcs_of_running(at, inside, now)
    {
        pcpu.change_gcs(at, inside);
        pcpu.go_on(at);
    }
}

#[inline(never)]
fn shared_call(
    function: u32,
    context: &mut Context,
    at: &Assignment,
    pcpu: &'static Pcpu,
    now: u64,
) -> u64 {
    let [_, x1, x2, ..] = context.x;
    shared(function, [x1, x2], context, (at, pcpu), now).unwrap_or_else(Error::to_x0)
}

/// Serves a call about a resource that VMs share.
fn shared(
    function: u32,
    [x1, x2]: [u64; 2],
    context: &mut Context,
    (at, pcpu): (&Assignment, &'static Pcpu),
    now: u64,
) -> Result<u64, Error> {
    let locks = LOCKS.own().ok_or(Error::Denied)?;
    let rank = at.vcpu.sections.rank();
    let (kind, task, resource, result) = match function {
        LOCK | LOCK_TRY | UNLOCK => {
            let task = usize::try_from(x2).unwrap_or(usize::MAX);
            let who = Who::new(rank, task).ok_or(Error::Invalid)?;
            let resource = usize::try_from(x1).unwrap_or(usize::MAX);
            let (kind, result) = act(locks, function, who, resource, (at, pcpu), now)?;
            (kind, task, resource, result)
        }
        LOCK_GRANTED => {
            let (granted, resource) =
                take_grant(locks, &at.vcpu.sections).ok_or(Error::TryAgain)?;
            context.x[1] = if granted.orphaned { LOCK_ORPHANED } else { LOCK_HELD };
            (Kind::Lock, granted.task, resource, granted.task as u64)
        }
        _ => return openings(locks, function, [x1, x2], context, at.vm.index),
    };
    pcpu.record_at(now, Some(at), kind, lock_argument(task as u8, resource as u8, true));
    Ok(result)
}

/// Opens or closes a resource for a VM.
fn openings(
    locks: &Locks,
    function: u32,
    [x1, x2]: [u64; 2],
    context: &mut Context,
    vm: usize,
) -> Result<u64, Error> {
    let opens = function == LOCK_OPEN;
    let resource = match function {
        LOCK_OPEN => {
            let named = locks.names.iter().position(|(name, _)| *name == [x1, x2]);
            named.filter(|it| locks.may_open(vm, *it)).ok_or(Error::Denied)?
        }
        LOCK_DESTROY => usize::try_from(x1).unwrap_or(usize::MAX),
        _ => return Err(Error::NotSupported),
    };
    let first_or_last = match locks.has_open(vm, resource) {
        true if opens => Ok(false),
        false if !opens => return Err(Error::Denied),
        is_open => locks.with(|table| {
            let changed =
                if is_open { table.destroy(vm, resource) } else { table.open(vm, resource) };
            if changed.is_ok() {
                // Not a toggle: another VCPU of the VM may have made the same call meanwhile.
                let (open, bit) = (&locks.open[vm % VMS], 1 << resource);
                match is_open {
                    true => open.fetch_and(!bit, Relaxed),
                    false => open.fetch_or(bit, Relaxed),
                };
            }
            changed
        }),
    };
    context.x[1] = first_or_last.map_err(error)?.into();
    Ok(if opens { resource as u64 } else { 0 })
}

/// Returns a task of a VCPU that got a resource for which it waited, and the resource.
#[inline(never)]
fn take_grant(locks: &Locks, sections: &Sections) -> Option<(Granted, usize)> {
    if !sections.granted.load(Acquire) {
        return None;
    }
    let rank = sections.rank();
    locks.with(|table| {
        let Some(granted) = table.take_grant(rank) else {
            sections.granted.store(false, Relaxed);
            return None;
        };
        let who = Who::new(rank, granted.task);
        let resource = table.resources().iter().position(|it| it.mutex().owner() == who);
        Some((granted, resource.unwrap_or_default()))
    })
}

/// Locks or unlocks a resource for a task. Returns the kind of the trace record, and the result.
#[inline(always)]
fn act(
    locks: &Locks,
    function: u32,
    who: Who,
    resource: usize,
    (at, pcpu): (&Assignment, &Pcpu),
    now: u64,
) -> Result<(Kind, u64), Error> {
    let sections = &at.vcpu.sections;
    match function {
        UNLOCK => {
            if !sections.holds.load(Relaxed) {
                let exists = resource < locks.names.len();
                return Err(if exists { Error::NotOwner } else { Error::Denied });
            }
            let next = locks.with(|table| {
                let next = table.unlock(who, resource);
                sections.holds.store(table.in_gcs(who.vcpu()), Relaxed);
                next.map(|next| next.and_then(|next| locks.grant(next)))
            });
            tell(next.map_err(error)?);
            Ok((Kind::Unlock, 0))
        }
        _ => {
            sections.ask(at, pcpu, now)?;
            let locked = locks.with(|table| match table.take(who, resource, function == LOCK) {
                Ok(Locked::Held { orphaned }) => {
                    sections.holds.store(true, Relaxed);
                    Ok(Ok(orphaned))
                }
                Ok(Locked::Waits) => Ok(Err(table.owner(resource))),
                Err(error) => Err(error),
            });
            match locked.map_err(error)? {
                Ok(orphaned) => Ok((Kind::Lock, if orphaned { LOCK_ORPHANED } else { LOCK_HELD })),
                Err(owner) => {
                    wait_for(locks, owner);
                    Ok((Kind::LockWait, LOCK_WAITS))
                }
            }
        }
    }
}

fn error(error: LockError) -> Error {
    match error {
        LockError::NotOpen => Error::Denied,
        LockError::AlreadyHeld => Error::AlreadyHeld,
        LockError::Waits => Error::AlreadyWaits,
        LockError::Nested => Error::Nested,
        LockError::NotOwner => Error::NotOwner,
        LockError::Busy => Error::Busy,
    }
}

/// Kicks the CPU of a VCPU of which a task got a resource for which it waited. The kick comes even
/// if the guest has masked the interrupt, because the VCPU is in a section now.
#[inline(always)]
fn tell(granted: Option<&Vcpu>) {
    if let Some(vcpu) = granted {
        vcpu.pcpu.kick();
    }
}

/// Kicks the CPU of an owner for which a task begins to wait: from now on the length of the owner's
/// section matters.
#[cold]
#[inline(never)]
fn wait_for(locks: &Locks, owner: Option<Who>) {
    if let Some((_, vcpu)) = owner.and_then(|owner| locks.vcpu(owner)) {
        vcpu.pcpu.kick();
    }
}

/// Changes that [`look`] found.
pub struct News {
    /// The scheduler was told that the VCPU entered or left sections.
    pub decided: bool,
    /// The interrupt that reports grants is pending now.
    pub raised: bool,
}

/// Handles a kick of this CPU: tasks of its VCPU may have got resources.
#[inline(never)]
pub fn look(at: &Assignment, pcpu: &'static Pcpu) -> News {
    let sections = &at.vcpu.sections;
    let news = sections.should_tell();
    let raised = sections.untold.load(Acquire);
    if raised {
        // Before raising the interrupt: another grant may come meanwhile.
        sections.untold.swap(false, Acquire);
        at.vm.gic.raise_private(&GicEnv::at(at, pcpu), at.vcpu.index, LOCK_INTERRUPT);
    }
    // Not the fast path: others may wait for the granted resources.
    if let Some(inside) = news {
        pcpu.change_gcs(at, inside);
    }
    News { decided: news.is_some(), raised }
}

/// Revokes the resources of a VCPU of this CPU that waits inside a section without a pending
/// interrupt, because its guest ignores the grant interrupt.
#[inline(never)]
pub fn end_of_waiting(at: &Assignment, pcpu: &'static Pcpu) {
    if at.vcpu.sections.is_inside() {
        leave(at, false);
        pcpu.change_gcs(at, false);
    }
}

/// Passes the resources of a VCPU of this CPU to the next waiters after it was in sections for too
/// long. The scheduler already treats the VCPU as outside.
#[inline(never)]
pub fn revoke(at: &Assignment) {
    leave(at, false);
}

/// Passes the resources of a VCPU of this CPU that goes off to the next waiters.
#[inline(never)]
pub fn stop(at: &Assignment, pcpu: &'static Pcpu) {
    let told = at.vcpu.sections.told.load(Relaxed);
    leave(at, true);
    if told {
        pcpu.change_gcs(at, false);
    }
}

/// Passes the resources of a VCPU to the next waiters. `stops`: its tasks no longer wait for
/// resources either.
#[inline(never)]
fn leave(at: &Assignment, stops: bool) {
    let sections = &at.vcpu.sections;
    sections.inside.store(false, Relaxed);
    sections.told.store(false, Relaxed);
    let Some(locks) = LOCKS.own() else { return };
    let rank = sections.rank();
    for resource in 0..locks.names.len() {
        let next = locks.with(|table| {
            let next = table.leave(rank, resource, stops);
            sections.holds.store(!stops && table.in_gcs(rank), Relaxed);
            next.and_then(|next| locks.grant(next))
        });
        tell(next);
    }
    if stops {
        locks.with(|table| {
            table.forget(rank);
            sections.granted.store(false, Relaxed);
            sections.untold.store(false, Relaxed);
            sections.holds.store(false, Relaxed);
        });
    }
}

/// Closes all resources of a VM, all VCPUs of which are off.
pub fn close(vm: &Vm) {
    if let Some(locks) = LOCKS.own() {
        locks.with(|table| {
            table.close_all(vm.index);
            locks.open[vm.index % VMS].store(0, Relaxed);
        });
    }
}
