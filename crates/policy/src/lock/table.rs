//! All global resources of a system, and those that the tasks of each VCPU hold.
//!
//! The hypervisor has one table behind a lock; each call takes constant time.

use super::mutex::{Grant, Mutex};
use super::{LockError, VCPUS_MAX, Who};

/// Maximum number of VMs: the number of bits in the rights of a resource.
pub const VMS: usize = u8::BITS as usize;

/// A global resource.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Resource {
    mutex: Mutex,
    /// VMs that may open it, one bit each.
    rights: u8,
    /// VMs that have opened it.
    open: u8,
}

impl Resource {
    /// Makes a resource that these VMs may open, one bit each.
    pub fn new(rights: u8) -> Self {
        Self { mutex: Mutex::default(), rights, open: 0 }
    }

    /// Returns its mutex.
    pub fn mutex(&self) -> &Mutex {
        &self.mutex
    }
}

/// The tasks of a VCPU that hold resources; bit `i` of each set is task `i`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Holdings {
    /// Its VM.
    vm: u8,
    holds: u64,
    waits: u64,
    /// Tasks that waited and got their resource, but have not been told yet; also those that have
    /// lost the resource again ([`Table::revoke`]).
    granted: u64,
    /// Those tasks in `granted` whose previous owner died.
    orphans: u64,
}

impl Holdings {
    /// Makes the state of a VCPU of the VM with this index, which is less than 8.
    pub fn new(vm: usize) -> Self {
        Self { vm: (vm % VMS) as u8, ..Self::default() }
    }

    /// Returns true if a task of the VCPU is in a global critical section.
    #[inline]
    pub fn in_gcs(&self) -> bool {
        self.holds != 0
    }

    #[inline]
    fn vm_bit(&self) -> u8 {
        1 << self.vm
    }
}

/// The result of a request for a resource.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Locked {
    /// The task holds the resource.
    Held {
        /// The owner before died in its section.
        orphaned: bool,
    },
    /// The task has to wait.
    Waits,
}

/// A task that got the resource for which it waited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Granted {
    /// Its number.
    pub task: usize,
    /// The resource. `None`: the task has lost it again, because its VCPU was in sections for too
    /// long. The task waits no longer.
    pub resource: Option<usize>,
    /// The owner before died in its section.
    pub orphaned: bool,
}

/// All resources, and the VCPUs by their ranks.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Table<R, V> {
    resources: R,
    vcpus: V,
    /// The VCPUs of each VM: bit `i` is rank `i`.
    members: [u64; VMS],
}

impl<R, V> Table<R, V>
where
    R: AsRef<[Resource]> + AsMut<[Resource]>,
    V: AsRef<[Holdings]> + AsMut<[Holdings]>,
{
    /// Makes a table in which no VM has opened a resource and no VCPU holds one.
    pub fn new(resources: R, vcpus: V) -> Self {
        let mut members = [0; VMS];
        for (rank, vcpu) in vcpus.as_ref().iter().enumerate().take(VCPUS_MAX) {
            members[usize::from(vcpu.vm) % VMS] |= 1 << rank;
        }
        Self { resources, vcpus, members }
    }

    /// Returns the owner of a resource.
    pub fn owner(&self, resource: usize) -> Option<Who> {
        self.resources.as_ref().get(resource)?.mutex.owner()
    }

    /// Returns the resources.
    pub fn resources(&self) -> &[Resource] {
        self.resources.as_ref()
    }

    /// Returns the VCPUs by their rank.
    pub fn vcpus(&self) -> &[Holdings] {
        self.vcpus.as_ref()
    }

    /// Returns true if a task of the VCPU is in a global critical section.
    #[inline]
    pub fn in_gcs(&self, vcpu: usize) -> bool {
        self.vcpus.as_ref().get(vcpu).is_some_and(Holdings::in_gcs)
    }

    /// A VM opens a resource to which it has a right. Returns true if no other VM had it open.
    pub fn open(&mut self, vm: usize, resource: usize) -> Result<bool, LockError> {
        let resource = self.resources.as_mut().get_mut(resource).ok_or(LockError::NotOpen)?;
        let bit = 1u8.checked_shl(vm as u32).unwrap_or(0);
        if resource.rights & bit == 0 {
            return Err(LockError::NotOpen);
        }
        let new = resource.open == 0;
        if new {
            resource.mutex.reset();
        }
        resource.open |= bit;
        Ok(new)
    }

    /// A VM closes a resource that none of its tasks may hold or wait for. Returns true if no other
    /// VM has it open.
    pub fn destroy(&mut self, vm: usize, resource: usize) -> Result<bool, LockError> {
        let it = self.resources.as_mut().get_mut(resource).ok_or(LockError::NotOpen)?;
        let bit = 1u8.checked_shl(vm as u32).unwrap_or(0);
        if it.open & bit == 0 {
            return Err(LockError::NotOpen);
        }
        let owner = it.mutex.owner().map_or(0, |owner| 1 << owner.vcpu());
        if (owner | it.mutex.waiting().vcpus()) & self.members[vm % VMS] != 0 {
            return Err(LockError::Busy);
        }
        it.open &= !bit;
        Ok(it.open == 0)
    }

    /// Checks a request: the resource is open, and the task neither holds nor waits for one.
    #[inline]
    fn ask(&mut self, who: Who, resource: usize) -> Result<(&mut Mutex, &mut Holdings), LockError> {
        let vcpu = self.vcpus.as_mut().get_mut(who.vcpu()).ok_or(LockError::NotOpen)?;
        let resource = self.resources.as_mut().get_mut(resource);
        let it = resource.filter(|it| it.open & vcpu.vm_bit() != 0).ok_or(LockError::NotOpen)?;
        if (vcpu.holds | vcpu.waits) & who.task_bit() == 0 {
            return Ok((&mut it.mutex, vcpu));
        }
        Err(match () {
            () if it.mutex.owner() == Some(who) => LockError::AlreadyHeld,
            () if vcpu.holds & who.task_bit() != 0 => LockError::Nested,
            () => LockError::Waits,
        })
    }

    /// A task requests a resource, and waits for it if another task holds it.
    pub fn lock(&mut self, who: Who, resource: usize) -> Result<Locked, LockError> {
        self.take(who, resource, true)
    }

    /// A task requests a resource without waiting. Returns true if the previous owner died in its
    /// section.
    pub fn try_lock(&mut self, who: Who, resource: usize) -> Result<bool, LockError> {
        Ok(self.take(who, resource, false)? == Locked::Held { orphaned: true })
    }

    /// [`Table::lock`] if the task `waits`, otherwise [`Table::try_lock`].
    #[inline]
    pub fn take(&mut self, who: Who, resource: usize, waits: bool) -> Result<Locked, LockError> {
        let (mutex, vcpu) = self.ask(who, resource)?;
        if let Some(Grant { orphaned, .. }) = mutex.try_lock(who) {
            vcpu.holds |= who.task_bit();
            return Ok(Locked::Held { orphaned });
        }
        if !waits {
            return Err(LockError::Busy);
        }
        mutex.wait(who);
        vcpu.waits |= who.task_bit();
        // Only if the guest asks for a task that it has not told yet of a resource that was lost.
        vcpu.granted &= !who.task_bit();
        Ok(Locked::Waits)
    }

    /// A task releases a resource. Returns the next owner, which has to be told.
    #[inline]
    pub fn unlock(&mut self, who: Who, resource: usize) -> Result<Option<Who>, LockError> {
        let it = self.resources.as_mut().get_mut(resource).ok_or(LockError::NotOpen)?;
        if it.mutex.owner() != Some(who) {
            return Err(LockError::NotOwner);
        }
        let next = it.mutex.unlock();
        if let Some(vcpu) = self.vcpus.as_mut().get_mut(who.vcpu()) {
            vcpu.holds &= !who.task_bit();
            vcpu.granted &= !who.task_bit();
            vcpu.orphans &= !who.task_bit();
        }
        Ok(next.map(|next| self.grant(next)))
    }

    fn grant(&mut self, Grant { who, orphaned }: Grant) -> Who {
        if let Some(vcpu) = self.vcpus.as_mut().get_mut(who.vcpu()) {
            vcpu.waits &= !who.task_bit();
            vcpu.holds |= who.task_bit();
            vcpu.granted |= who.task_bit();
            if orphaned {
                vcpu.orphans |= who.task_bit();
            }
        }
        who
    }

    /// Returns the task of the highest priority of a VCPU that got the resource for which it
    /// waited, and has not been told yet.
    pub fn take_grant(&mut self, rank: usize) -> Option<Granted> {
        let vcpu = self.vcpus.as_mut().get_mut(rank)?;
        if vcpu.granted == 0 {
            return None;
        }
        let task = vcpu.granted.trailing_zeros() as usize;
        let bit = vcpu.granted & vcpu.granted.wrapping_neg();
        let orphaned = vcpu.orphans & bit != 0;
        vcpu.granted &= !bit;
        vcpu.orphans &= !bit;
        let who = Who::new(rank, task)?;
        let resource = self.resources().iter().position(|it| it.mutex.owner() == Some(who));
        Some(Granted { task, resource, orphaned })
    }

    /// A VCPU has been in sections for too long. If one of its tasks holds the resource, the
    /// resource goes to the next waiting task, as if the owner had died; that task is returned and
    /// has to be told. A task that has not been told yet of the resource is told nevertheless, since
    /// it waits. To be called for each resource.
    pub fn revoke(&mut self, vcpu: usize, resource: usize) -> Option<Who> {
        self.leave(vcpu, resource, false)
    }

    /// A VCPU stops. Its tasks no longer wait for the resource, and if one of them holds it, the
    /// resource goes to the next waiting task, which is returned and has to be told. To be called
    /// for each resource; then [`Table::forget`].
    pub fn stop(&mut self, vcpu: usize, resource: usize) -> Option<Who> {
        self.leave(vcpu, resource, true)
    }

    /// [`Table::stop`] if the VCPU `stops`, otherwise [`Table::revoke`].
    pub fn leave(&mut self, vcpu: usize, resource: usize, stops: bool) -> Option<Who> {
        let mutex = &mut self.resources.as_mut().get_mut(resource)?.mutex;
        if stops {
            mutex.forget(vcpu);
        }
        let owner = mutex.owner().filter(|owner| owner.vcpu() == vcpu)?;
        let next = mutex.orphan();
        if let Some(vcpu) = self.vcpus.as_mut().get_mut(vcpu) {
            vcpu.holds &= !owner.task_bit();
            vcpu.orphans &= !owner.task_bit();
        }
        Some(self.grant(next?))
    }

    /// Forgets all that the tasks of a stopped VCPU held or waited for.
    pub fn forget(&mut self, vcpu: usize) {
        if let Some(vcpu) = self.vcpus.as_mut().get_mut(vcpu) {
            *vcpu = Holdings::new(vcpu.vm.into());
        }
    }

    /// Closes all resources of a VM, all VCPUs of which have stopped.
    pub fn close_all(&mut self, vm: usize) {
        let bit = 1u8.checked_shl(vm as u32).unwrap_or(0);
        for resource in self.resources.as_mut() {
            resource.open &= !bit;
        }
    }
}
