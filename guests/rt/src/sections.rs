//! Critical sections of tasks (vMPCP, section III): resources of one processor, of the guest, and those
//! that VMs share. A task that waits suspends, and other tasks of its processor run.
//!
//! | resource | decided by | the VCPU in a section |
//! |---|---|---|
//! | [`Resource::Local`] | this processor, by the priority ceiling protocol (`policy::lock::pcp`) | has its priority |
//! | [`Resource::Own`] | the guest, in [`crate::mutexes`] | `GCS_START`, `GCS_FINISH` |
//! | [`Resource::Shared`] | the hypervisor | known to the hypervisor |
//!
//! Between VCPUs that may have to wait for their PCPU only `Shared` bounds waiting: a VCPU whose task was granted
//! a resource of the guest's own does not know before it runs, and has its normal priority until then. For a
//! resource of one VM let the description name this VM alone.

use abi::hypercall::{
    Error, GCS_FINISH, GCS_START, LOCK, LOCK_GRANTED, LOCK_INTERRUPT, LOCK_LOST, LOCK_OPEN,
    LOCK_ORPHANED, LOCK_WAITS, UNLOCK, resource_name,
};
use policy::lock::LockError;
use policy::lock::table::Locked;

use crate::arch::smccc::hvc;
use crate::arch::{Frame, cpu, service};
use crate::hypercall;
use crate::scheduler::{Scheduler, here};
use crate::{gic, interrupts, mutexes};

/// The interrupt by which one processor tells another that a task of it got a resource of the guest.
const GRANT: u32 = 1;

const TOO_OFTEN: i64 = Error::TooOften as i64;

/// A resource that tasks use one at a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Resource {
    /// A resource of tasks of one processor: its number, below `policy::lock::RESOURCES_MAX`.
    Local(u8),
    /// A resource of tasks of several processors of this guest: its number, below [`mutexes::MUTEXES_MAX`].
    Own(u8),
    /// A resource of tasks of VMs: its number from [`open`].
    Shared(u8),
}

impl Resource {
    fn to_word(self) -> u64 {
        match self {
            Self::Local(number) => u64::from(number),
            Self::Own(number) => 1 << 8 | u64::from(number),
            Self::Shared(number) => 2 << 8 | u64::from(number),
        }
    }

    fn from_word(word: u64) -> Option<Self> {
        let number = word as u8;
        match word >> 8 {
            0 => Some(Self::Local(number)),
            1 => Some(Self::Own(number)),
            2 => Some(Self::Shared(number)),
            _ => None,
        }
    }
}

/// Opens a resource that the description lets this VM share; `None` if there is none of this name.
pub fn open(name: &str) -> Option<Resource> {
    if hypercall::features() == 0 {
        return None;
    }
    let [first, second] = resource_name(name.as_bytes())?;
    let [resource, ..] = call(LOCK_OPEN, first, second);
    u8::try_from(resource).ok().map(Resource::Shared)
}

/// The running task takes a resource, and waits for it if another task has it. Returns true if it is
/// orphaned: its owner before stopped in its section. [`Error::NotOwner`]: the task got the resource, and its
/// processor was in sections for too long before the task could run.
pub fn lock(resource: Resource) -> Result<bool, Refused> {
    match service::lock(resource.to_word()) {
        error @ ..0 => Err(Refused(error)),
        held => Ok(held as u64 == LOCK_ORPHANED),
    }
}

/// The running task releases a resource, which goes to the task that waits with the highest priority.
pub fn unlock(resource: Resource) -> Result<(), Refused> {
    match service::unlock(resource.to_word()) {
        error @ ..0 => Err(Refused(error)),
        _ => Ok(()),
    }
}

/// A call that was refused and has changed nothing: the number of a `abi::hypercall::Error`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Refused(pub i64);

/// Lets this processor hear of resources for which its tasks have waited.
pub fn enable() {
    interrupts::set_handler(LOCK_INTERRUPT, granted);
    interrupts::set_handler(GRANT, granted);
    gic::enable(LOCK_INTERRUPT);
    gic::enable(GRANT);
}

fn call(function: u32, x1: u64, x2: u64) -> [i64; 2] {
    let [x0, x1, ..] = hvc(function.into(), [x1, x2, 0, 0, 0, 0, 0]);
    [x0 as i64, x1 as i64]
}

/// Tells the hypervisor whether tasks of this processor are in sections of the guest's own mutexes.
fn tell(inside: bool) {
    if hypercall::features() != 0 {
        call(if inside { GCS_START } else { GCS_FINISH }, 0, 0);
    }
}

fn error(error: LockError) -> i64 {
    Error::from(error) as i64
}

/// Calls `f` with the scheduler, the running task and the resource that it passed.
fn serve(frame: &mut Frame, f: impl FnOnce(&mut Scheduler, usize, Resource, &mut Frame) -> i64) {
    let resource = Resource::from_word(frame.argument());
    here(|scheduler| {
        if let Some(scheduler) = scheduler
            && let Some((task, resource)) = scheduler.running.zip(resource)
        {
            let result = f(scheduler, task, resource, frame);
            frame.set_result(result);
            scheduler.dispatch(frame);
        } else {
            frame.set_result(Error::Denied as i64);
        }
    });
}

/// The running task asks for a resource.
pub(crate) fn asked(frame: &mut Frame) {
    serve(frame, |scheduler, task, resource, frame| {
        let set = &mut scheduler.set;
        let rank = set.rank(task).unwrap_or_default();
        let result = match resource {
            Resource::Local(number) => match set.lock_local(task, number.into()) {
                Ok(true) => return 0,
                Ok(false) => {
                    frame.repeat_service();
                    return resource.to_word() as i64;
                }
                Err(refused) => return error(refused),
            },
            Resource::Own(number) => match mutexes::lock(rank, number.into()) {
                Ok(Locked::Waits) => LOCK_WAITS as i64,
                Ok(Locked::Held { .. }) => {
                    tell(true);
                    0
                }
                Err(refused) => error(refused),
            },
            Resource::Shared(number) => match call(LOCK, number.into(), rank as u64)[0] {
                TOO_OFTEN => {
                    // It is late: until it may it tries again and again, outside of sections.
                    frame.repeat_service();
                    return resource.to_word() as i64;
                }
                result => result,
            },
        };
        if result == LOCK_WAITS as i64 {
            set.suspend(task);
        } else if result >= 0 {
            set.raise(task);
        }
        result
    });
}

/// The running task releases a resource.
pub(crate) fn released(frame: &mut Frame) {
    serve(frame, |scheduler, task, resource, _| {
        let set = &mut scheduler.set;
        let rank = set.rank(task).unwrap_or_default();
        let result = match resource {
            Resource::Local(number) => {
                return set.unlock_local(task, number.into()).map_or_else(error, |()| 0);
            }
            Resource::Own(number) => match mutexes::unlock(rank, number.into()) {
                Ok(next) => {
                    if !mutexes::in_section() {
                        tell(false);
                    }
                    if let Some(processor) = next {
                        gic::send_sgi(GRANT, processor as u64);
                    }
                    0
                }
                Err(refused) => error(refused),
            },
            Resource::Shared(number) => call(UNLOCK, number.into(), rank as u64)[0],
        };
        if result >= 0 {
            set.lower(task);
        }
        result
    });
}

/// Tasks of this processor got resources for which they waited.
fn granted(intid: u32, frame: &mut Frame) {
    here(|scheduler| {
        let Some(scheduler) = scheduler else { return };
        let next = || match intid {
            GRANT => mutexes::granted().map(|rank| [rank as i64, 0]),
            _ => Some(call(LOCK_GRANTED, 0, 0)).filter(|[rank, _]| *rank >= 0),
        };
        while let Some([rank, held]) = next() {
            if intid == GRANT {
                tell(true);
            }
            let Some(task) = scheduler.set.with_rank(rank as usize) else { continue };
            if held == LOCK_LOST as i64 {
                scheduler.set.resume(task);
                scheduler.threads[task].set_result(Error::NotOwner as i64);
            } else {
                scheduler.set.raise(task);
                scheduler.threads[task].set_result(held);
            }
        }
        scheduler.dispatch(frame);
    });
    cpu::synchronize();
}
