//! The resources that VMs share: `policy::lock::table`, behind a lock for all PCPUs.
//!
//! The lock serves in order, and is held for a constant number of instructions, in which a thread does nothing else: it kicks
//! others afterwards. Threads of PCPUs have CPUs of their own, so that the one that holds the lock executes meanwhile, unless
//! Linux or something below it takes its CPU; then others wait as long. A call takes the lock only if it can change something,
//! as in the hypervisor (`hypervisor/src/locks.rs`), whose rules these are.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize};

use abi::hypercall::Error;
use policy::lock::table::{Granted, Holdings, Locked, Resource, Table, VMS};
use policy::lock::{RESOURCES_MAX, VCPUS_MAX, Who, rank};
use policy::rate::Rate;
use spin::mutex::TicketMutex;

use super::Id;

/// The resources that VMs share, and all VCPUs.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    /// The resources: for each its name, as guests pass it, and the VMs that may open it, one bit each.
    pub resources: Vec<([u64; 2], u8)>,
    /// All VCPUs.
    pub vcpus: Vec<Sharer>,
}

/// A VCPU that may share resources.
#[derive(Clone, Copy, Debug)]
pub struct Sharer {
    /// The VCPU.
    pub id: Id,
    /// Its priority; a larger number comes first.
    pub priority: u32,
    /// Limit on its entries into critical sections; `None`: it enters none.
    pub rate: Option<Rate>,
}

/// The resources, and their owners.
#[derive(Debug)]
pub struct Locks {
    table: TicketMutex<Table<Vec<Resource>, Vec<Holdings>>>,
    names: Vec<([u64; 2], u8)>,
    /// The resources that each VM has open, one bit each; they change only while the lock is held.
    open: [AtomicU16; VMS],
    /// VCPUs of each VM that have not stopped.
    alive: [AtomicUsize; VMS],
    /// The VCPUs by their rank.
    homes: Vec<Home>,
}

const _: () = assert!(RESOURCES_MAX <= u16::BITS as usize);

/// The state of a VCPU that threads tell each other.
#[derive(Debug)]
struct Home {
    id: Id,
    /// Its thread.
    thread: usize,
    /// Its tasks hold resources. It changes only while the lock is held.
    holds: AtomicBool,
    /// Its tasks got resources for which they waited, and it may not have asked for all of them yet.
    granted: AtomicBool,
    /// Its guest has not been told of that.
    untold: AtomicBool,
    /// Somebody waits for what its tasks hold: from now on it matters for how long.
    awaited: AtomicBool,
}

/// The thread that has to look at what others told it.
#[must_use]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Told(pub usize);

impl Locks {
    /// Makes resources that no VM has opened. `thread`: the number of the thread that runs a VCPU. `None` if nothing is shared.
    pub fn new(sharing: &Sharing, thread: impl Fn(Id) -> usize) -> Option<Self> {
        if sharing.resources.is_empty() {
            return None;
        }
        let vcpus = &sharing.vcpus[..sharing.vcpus.len().min(VCPUS_MAX)];
        let priorities: Vec<u32> = vcpus.iter().map(|it| it.priority).collect();
        let mut ranks = vec![0; vcpus.len()];
        rank(&priorities, &mut ranks);
        let mut ranked: Vec<_> = ranks.into_iter().zip(vcpus).collect();
        ranked.sort_unstable_by_key(|(rank, _)| *rank);
        let alive = [const { AtomicUsize::new(0) }; VMS];
        let home = |(_, Sharer { id, .. }): &(u8, &Sharer)| {
            alive[usize::from(id.vm) % VMS].fetch_add(1, Relaxed);
            Home {
                id: *id,
                thread: thread(*id),
                holds: false.into(),
                granted: false.into(),
                untold: false.into(),
                awaited: false.into(),
            }
        };
        let homes: Vec<Home> = ranked.iter().map(home).collect();
        let resources = sharing.resources.iter().map(|(_, vms)| Resource::new(*vms)).collect();
        let holdings = homes.iter().map(|home| Holdings::new(home.id.vm.into())).collect();
        Some(Self {
            table: TicketMutex::new(Table::new(resources, holdings)),
            names: sharing.resources.clone(),
            open: [const { AtomicU16::new(0) }; VMS],
            alive,
            homes,
        })
    }

    /// Returns the rank of a VCPU, if it has one.
    pub fn rank(&self, id: Id) -> Option<usize> {
        self.homes.iter().position(|home| home.id == id)
    }

    /// Calls `act` with the table. `act` must wait for nothing, and tell nobody.
    fn with<T>(&self, act: impl FnOnce(&mut Table<Vec<Resource>, Vec<Holdings>>) -> T) -> T {
        act(&mut self.table.lock())
    }

    /// A VM opens the resource with this name. Returns its number, and whether no other VM had it open.
    pub fn open(&self, vm: u8, name: [u64; 2]) -> Result<[u64; 2], Error> {
        let vm = usize::from(vm) % VMS;
        let named = self.names.iter().position(|(other, _)| *other == name);
        let resource = named.filter(|it| self.names[*it].1 >> vm & 1 != 0).ok_or(Error::Denied)?;
        if self.open[vm].load(Relaxed) >> resource & 1 != 0 {
            return Ok([resource as u64, 0]);
        }
        let new = self.with(|table| {
            let new = table.open(vm, resource);
            if new.is_ok() {
                self.open[vm].fetch_or(1 << resource, Relaxed);
            }
            new
        });
        Ok([resource as u64, new.map_err(Error::from)?.into()])
    }

    /// A task asks for a resource, and waits if another one has it. Returns the thread that has to be told then.
    pub fn lock(&self, who: Who, resource: usize) -> Result<(Locked, Option<Told>), Error> {
        let home = self.homes.get(who.vcpu()).ok_or(Error::Denied)?;
        self.with(|table| {
            let locked = table.lock(who, resource).map_err(Error::from)?;
            let owner = match locked {
                Locked::Held { .. } => {
                    home.holds.store(true, Relaxed);
                    None
                }
                Locked::Waits => table.owner(resource),
            };
            let owner = owner.and_then(|owner| self.homes.get(owner.vcpu()));
            let told = owner.map(|owner| {
                owner.awaited.store(true, Release);
                Told(owner.thread)
            });
            Ok((locked, told))
        })
    }

    /// A task releases a resource. Returns the thread of the VCPU that gets it.
    pub fn unlock(&self, who: Who, resource: usize) -> Result<Option<Told>, Error> {
        let home = self.homes.get(who.vcpu()).ok_or(Error::Denied)?;
        if !home.holds.load(Relaxed) {
            let exists = resource < self.names.len();
            return Err(if exists { Error::NotOwner } else { Error::Denied });
        }
        self.with(|table| {
            let next = table.unlock(who, resource);
            home.holds.store(table.in_gcs(who.vcpu()), Relaxed);
            Ok(next.map_err(Error::from)?.and_then(|next| self.grant(next)))
        })
    }

    /// Returns a task of a VCPU that got a resource for which it waited. Each is told once.
    pub fn take_grant(&self, rank: usize) -> Option<Granted> {
        let home = self.homes.get(rank)?;
        if !home.granted.load(Acquire) {
            return None;
        }
        self.with(|table| {
            let granted = table.take_grant(rank);
            if granted.is_none() {
                home.granted.store(false, Relaxed);
            }
            granted
        })
    }

    /// The lock is held.
    fn grant(&self, who: Who) -> Option<Told> {
        let home = self.homes.get(who.vcpu())?;
        home.granted.store(true, Release);
        home.untold.store(true, Release);
        // Last: a thread that sees that the VCPU is in a section also sees that there is something to tell.
        home.holds.store(true, Release);
        Some(Told(home.thread))
    }

    /// Passes the resources that the tasks of a VCPU hold to the tasks that wait for them, and calls `tell` with the threads of
    /// these. `stops`: the VCPU never executes again, so that its tasks wait for nothing any more, either.
    pub fn leave(&self, rank: usize, stops: bool, mut tell: impl FnMut(Told)) {
        let Some(home) = self.homes.get(rank) else { return };
        let mut told = [None; RESOURCES_MAX];
        self.with(|table| {
            for (resource, told) in (0..self.names.len()).zip(&mut told) {
                let next = table.leave(rank, resource, stops);
                *told = next.and_then(|next| self.grant(next));
            }
            if stops {
                let vm = usize::from(home.id.vm) % VMS;
                table.forget(rank);
                home.granted.store(false, Relaxed);
                home.untold.store(false, Relaxed);
                if self.alive[vm].fetch_sub(1, Relaxed) == 1 {
                    table.close_all(vm);
                    self.open[vm].store(0, Relaxed);
                }
            }
            home.holds.store(table.in_gcs(rank), Relaxed);
        });
        told.into_iter().flatten().for_each(&mut tell);
    }

    /// All VCPUs of a VM, each of which has stopped, start again. It waits for nobody, and nobody for it.
    pub fn come(&self, vm: u8) {
        let vcpus = self.homes.iter().filter(|home| home.id.vm == vm).count();
        self.alive[usize::from(vm) % VMS].store(vcpus, Release);
    }

    /// Returns true if tasks of the VCPU hold resources.
    pub fn is_inside(&self, rank: usize) -> bool {
        self.homes.get(rank).is_some_and(|home| home.holds.load(Acquire))
    }

    /// Returns true if the guest has to be told that tasks got resources; it counts as told.
    pub fn take_untold(&self, rank: usize) -> bool {
        take(self.homes.get(rank).map(|home| &home.untold))
    }

    /// Returns true if somebody began to wait for what the VCPU holds; it counts as told.
    pub fn take_awaited(&self, rank: usize) -> bool {
        take(self.homes.get(rank).map(|home| &home.awaited))
    }
}

fn take(flag: Option<&AtomicBool>) -> bool {
    // Read first: it is rarely set, and this happens often.
    flag.is_some_and(|flag| flag.load(Acquire) && flag.swap(false, Acquire))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;

    const NAME: [u64; 2] = [1, 2];

    /// One resource of all VMs, each of which has one VCPU with a thread of its own. The last VM has the highest priority.
    fn locks(vms: u8) -> Locks {
        let sharer = |vm| Sharer { id: Id { vm, vcpu: 0 }, priority: vm.into(), rate: None };
        let sharing =
            Sharing { resources: vec![(NAME, 0xff)], vcpus: (0..vms).map(sharer).collect() };
        let locks = Locks::new(&sharing, |id| id.vm.into()).expect("a resource");
        for vm in 0..vms {
            assert_eq!(locks.open(vm, NAME), Ok([0, u64::from(vm == 0)]));
        }
        locks
    }

    fn who(locks: &Locks, vm: u8) -> Who {
        let rank = locks.rank(Id { vm, vcpu: 0 }).expect("a rank");
        Who::new(rank, 0).expect("a task")
    }

    #[test]
    fn owners_are_told_that_others_wait_and_waiters_that_they_own() {
        let locks = locks(3);
        let [low, middle, high] = [0, 1, 2].map(|vm| who(&locks, vm));
        assert_eq!(high.vcpu(), 0, "the largest priority comes first");
        assert_eq!(locks.lock(low, 0), Ok((Locked::Held { orphaned: false }, None)));
        assert_eq!(locks.lock(low, 0), Err(Error::AlreadyHeld));
        for waiter in [middle, high] {
            assert_eq!(locks.lock(waiter, 0), Ok((Locked::Waits, Some(Told(0)))));
            assert!(locks.take_awaited(low.vcpu()) && !locks.take_awaited(low.vcpu()));
        }
        assert_eq!(locks.unlock(high, 0), Err(Error::NotOwner));
        assert_eq!(locks.unlock(low, 0), Ok(Some(Told(2))));
        assert!(!locks.is_inside(low.vcpu()) && locks.is_inside(high.vcpu()));
        assert!(locks.take_untold(high.vcpu()) && !locks.take_untold(high.vcpu()));
        let granted = Granted { task: 0, resource: Some(0), orphaned: false };
        assert_eq!(locks.take_grant(high.vcpu()), Some(granted));
        assert_eq!(locks.take_grant(high.vcpu()), None);
    }

    #[test]
    fn what_a_stopped_vcpu_held_goes_on_and_the_next_owner_knows() {
        let locks = locks(2);
        let [low, high] = [0, 1].map(|vm| who(&locks, vm));
        assert!(locks.lock(low, 0).is_ok() && locks.lock(high, 0).is_ok());
        let mut told = Vec::new();
        locks.leave(low.vcpu(), true, |it| told.push(it));
        assert_eq!(told, [Told(1)]);
        let granted = Granted { task: 0, resource: Some(0), orphaned: true };
        assert_eq!(locks.take_grant(high.vcpu()), Some(granted));
        assert_eq!(locks.lock(low, 0), Err(Error::Denied), "its VM has closed it");
        assert_eq!(locks.open(2, NAME), Ok([0, 0]), "the other VM still has it open");

        // Its VM starts again.
        locks.come(0);
        assert_eq!(locks.open(0, NAME), Ok([0, 0]));
        assert_eq!(locks.unlock(low, 0), Err(Error::NotOwner), "it has forgotten what it held");
        assert_eq!(locks.lock(low, 0), Ok((Locked::Waits, Some(Told(1)))));
        locks.leave(low.vcpu(), true, |_| {});
        assert_eq!(locks.lock(low, 0), Err(Error::Denied), "its VM has closed it again");
    }

    /// Otherwise the task would wait for ever.
    #[test]
    fn a_task_that_loses_what_it_got_before_it_knew_is_told() {
        let locks = locks(2);
        let [low, high] = [0, 1].map(|vm| who(&locks, vm));
        let second = Who::new(high.vcpu(), 1).expect("a task");
        assert_eq!(locks.lock(high, 0), Ok((Locked::Held { orphaned: false }, None)));
        for waiter in [second, low] {
            assert_eq!(locks.lock(waiter, 0), Ok((Locked::Waits, Some(Told(1)))));
        }
        assert_eq!(locks.unlock(high, 0), Ok(Some(Told(1))));
        let mut told = Vec::new();
        locks.leave(high.vcpu(), false, |it| told.push(it));
        assert_eq!(told, [Told(0)]);
        assert!(!locks.is_inside(high.vcpu()) && locks.is_inside(low.vcpu()));
        let lost = Granted { task: 1, resource: None, orphaned: false };
        assert_eq!(locks.take_grant(high.vcpu()), Some(lost));
        assert_eq!(locks.take_grant(high.vcpu()), None);
        assert_eq!(locks.unlock(second, 0), Err(Error::NotOwner));
    }

    #[test]
    fn names_and_rights_are_checked() {
        let sharer = Sharer { id: Id { vm: 1, vcpu: 0 }, priority: 0, rate: None };
        let sharing = Sharing { resources: vec![(NAME, 0b10)], vcpus: vec![sharer] };
        let locks = Locks::new(&sharing, |_| 0).expect("a resource");
        assert_eq!(locks.open(0, NAME), Err(Error::Denied));
        assert_eq!(locks.open(1, [1, 3]), Err(Error::Denied));
        assert_eq!(locks.lock(who(&locks, 1), 0), Err(Error::Denied), "it is not open");
        assert_eq!(locks.unlock(who(&locks, 1), 9), Err(Error::Denied));
        assert!(Locks::new(&Sharing::default(), |_| 0).is_none());
    }

    /// Threads of four VMs count in a variable that only the resource protects.
    #[test]
    fn threads_hold_it_one_at_a_time() {
        const TIMES: u64 = 2_000;
        let (locks, count) = (locks(4), AtomicU64::new(0));
        let work = |vm| {
            let who = who(&locks, vm);
            for _ in 0..TIMES {
                if locks.lock(who, 0).expect("an answer").0 == Locked::Waits {
                    while locks.take_grant(who.vcpu()).is_none() {
                        thread::yield_now();
                    }
                }
                let before = count.load(Relaxed);
                thread::yield_now();
                count.store(before + 1, Relaxed);
                let _ = locks.unlock(who, 0).expect("it holds it");
            }
        };
        thread::scope(|scope| (0..4).for_each(|vm| drop(scope.spawn(move || work(vm)))));
        assert_eq!(count.load(Relaxed), 4 * TIMES);
    }
}
