//! The calls of guests.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use abi::hypercall::{
    Error, GCS_FINISH, GCS_START, LOCK, LOCK_DESTROY, LOCK_GRANTED, LOCK_HELD, LOCK_LOST,
    LOCK_OPEN, LOCK_ORPHANED, LOCK_TRY, LOCK_WAITS, UNLOCK,
};
use abi::trace::{Kind, lock_argument};
use policy::lock::Who;
use policy::lock::table::{Granted, Locked, VMS};
use policy::time::Instant;

use super::{LOCKS, Locks, Sections, tell};
use crate::arch::context::Context;
use crate::arch::cpu;
use crate::pcpu::{Assignment, Pcpu};

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
            let Granted { task, resource, orphaned } =
                take_grant(locks, &at.vcpu.sections).ok_or(Error::TryAgain)?;
            let Some(resource) = resource else {
                context.x[1] = LOCK_LOST;
                return Ok(task as u64);
            };
            context.x[1] = if orphaned { LOCK_ORPHANED } else { LOCK_HELD };
            (Kind::Lock, task, resource, task as u64)
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
    context.x[1] = first_or_last.map_err(Error::from)?.into();
    Ok(if opens { resource as u64 } else { 0 })
}

/// Returns a task of a VCPU that got a resource for which it waited.
#[inline(never)]
fn take_grant(locks: &Locks, sections: &Sections) -> Option<Granted> {
    if !sections.granted.load(Acquire) {
        return None;
    }
    let rank = sections.rank();
    locks.with(|table| {
        let granted = table.take_grant(rank);
        if granted.is_none() {
            sections.granted.store(false, Relaxed);
        }
        granted
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
            tell(next.map_err(Error::from)?);
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
            match locked.map_err(Error::from)? {
                Ok(orphaned) => Ok((Kind::Lock, if orphaned { LOCK_ORPHANED } else { LOCK_HELD })),
                Err(owner) => {
                    wait_for(locks, owner);
                    Ok((Kind::LockWait, LOCK_WAITS))
                }
            }
        }
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
