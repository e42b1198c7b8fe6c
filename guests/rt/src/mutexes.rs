//! The guest's own mutexes for tasks of several of its processors: `policy::lock::table`, which the
//! hypervisor uses for those between VMs.

use policy::lock::table::{Holdings, Locked, Resource, Table};
use policy::lock::{LockError, Who};

use crate::arch::lock::InterruptLock;
use crate::arch::{CPUS_MAX, cpu};

/// Most of them.
pub const MUTEXES_MAX: usize = 8;

struct Mutexes {
    table: Table<[Resource; MUTEXES_MAX], [Holdings; CPUS_MAX]>,
    /// The rank of each processor among them.
    ranks: [usize; CPUS_MAX],
}

/// Held for a constant number of instructions.
static MUTEXES: InterruptLock<Option<Mutexes>> = InterruptLock::new(None);

/// Makes them, once. `order`: the processors, that with the highest priority first.
#[inline(never)] // it takes much of a stack
pub fn make(order: [usize; CPUS_MAX]) {
    let resources = core::array::from_fn(|_| Resource::new(1));
    let mut table = Table::new(resources, [Holdings::new(0); CPUS_MAX]);
    for resource in 0..MUTEXES_MAX {
        // The guest has a right to all of them.
        let _ = table.open(0, resource);
    }
    let mut ranks = [0; CPUS_MAX];
    for (rank, processor) in order.into_iter().enumerate() {
        ranks[processor] = rank;
    }
    MUTEXES.with(|slot| *slot = Some(Mutexes { table, ranks }));
}

/// Calls `f` with the table and the rank of this processor.
fn with<R>(f: impl FnOnce(&mut Mutexes, usize) -> Option<R>) -> Option<R> {
    MUTEXES.with(|slot| {
        let mutexes = slot.as_mut()?;
        let rank = mutexes.ranks[cpu::index()];
        f(mutexes, rank)
    })
}

/// A task of this processor asks for a resource.
pub(crate) fn lock(task: usize, resource: usize) -> Result<Locked, LockError> {
    with(|mutexes, rank| {
        let who = Who::new(rank, task)?;
        Some(mutexes.table.lock(who, resource))
    })
    .unwrap_or(Err(LockError::NotOpen))
}

/// A task of this processor releases a resource: the processor of the task that gets it, if one waits.
pub(crate) fn unlock(task: usize, resource: usize) -> Result<Option<usize>, LockError> {
    with(|mutexes, rank| {
        let who = Who::new(rank, task)?;
        let next = mutexes.table.unlock(who, resource);
        let processor = |who: Who| mutexes.ranks.iter().position(|it| *it == who.vcpu());
        Some(next.map(|next| next.and_then(processor)))
    })
    .unwrap_or(Err(LockError::NotOwner))
}

/// A task of this processor that got a resource for which it waited; each is told once.
pub(crate) fn granted() -> Option<usize> {
    with(|mutexes, rank| Some(mutexes.table.take_grant(rank)?.task))
}

/// Returns true if tasks of this processor hold resources.
pub(crate) fn in_section() -> bool {
    with(|mutexes, rank| Some(mutexes.table.in_gcs(rank))).unwrap_or(false)
}
