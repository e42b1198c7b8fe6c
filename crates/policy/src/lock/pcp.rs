//! The local resources of a VCPU, by the priority ceiling protocol (vMPCP, section III.A, after Sha,
//! Rajkumar and Lehoczky, IEEE Trans. on Computers 1990).
//!
//! The *ceiling* of a resource is the highest priority of the tasks that use it. A task may lock a
//! resource only if its priority is higher than the ceilings of all that other tasks have locked.
//! One of these blocks it otherwise, and executes in its place: it inherits its priority.

use super::{LockError, RESOURCES_MAX};
use crate::task::{ReadyTasks, TASKS_MAX};

const NOBODY: u8 = u8::MAX;

/// The local resources of a VCPU. Each operation looks at each of them once at most.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Pcp {
    ceilings: [u8; RESOURCES_MAX],
    owners: [u8; RESOURCES_MAX],
    /// Tasks that asked for a resource, and have to wait until one is released.
    blocked: ReadyTasks,
}

impl Default for Pcp {
    fn default() -> Self {
        let nobody = [NOBODY; RESOURCES_MAX];
        Self { ceilings: nobody, owners: nobody, blocked: ReadyTasks::default() }
    }
}

impl Pcp {
    /// The task uses the resource. To be told before anything is locked.
    pub fn use_by(&mut self, task: usize, resource: usize) {
        if let Some(ceiling) = self.ceilings.get_mut(resource)
            && task < TASKS_MAX
        {
            *ceiling = (*ceiling).min(task as u8);
        }
    }

    /// The resource of the highest ceiling that a task but this one has locked.
    fn highest_of_others(&self, task: usize) -> Option<(u8, usize)> {
        let locked = self.ceilings.iter().zip(&self.owners);
        let locked = locked.filter(|(_, owner)| **owner != NOBODY && usize::from(**owner) != task);
        let (ceiling, owner) = locked.min_by_key(|(ceiling, _)| **ceiling)?;
        Some((*ceiling, usize::from(*owner)))
    }

    /// A task asks for a resource: whether it gets it. Otherwise it is blocked, and asks again when it
    /// is to run the next time. It stays ready meanwhile.
    pub fn lock(&mut self, task: usize, resource: usize) -> Result<bool, LockError> {
        if task >= TASKS_MAX || self.ceilings.get(resource).is_none_or(|it| usize::from(*it) > task)
        {
            return Err(LockError::NotOpen);
        }
        if let Some(held) = self.owners.iter().position(|owner| usize::from(*owner) == task) {
            let again = held == resource;
            return Err(if again { LockError::AlreadyHeld } else { LockError::Nested });
        }
        if self.highest_of_others(task).is_some_and(|(ceiling, _)| usize::from(ceiling) <= task) {
            self.blocked.insert(task);
            return Ok(false);
        }
        self.blocked.remove(task);
        if let Some(owner) = self.owners.get_mut(resource) {
            *owner = task as u8;
        }
        Ok(true)
    }

    /// A task releases a resource. Tasks that were blocked ask again.
    pub fn unlock(&mut self, task: usize, resource: usize) -> Result<(), LockError> {
        match self.owners.get_mut(resource) {
            Some(owner) if usize::from(*owner) == task => *owner = NOBODY,
            _ => return Err(LockError::NotOwner),
        }
        self.blocked = ReadyTasks::default();
        Ok(())
    }

    /// Which of the tasks that are ready runs when the VCPU does: the one with the highest
    /// priority of those in global critical sections (`raised`), else of all, or in its place the
    /// one that blocks it.
    pub fn runs(&self, ready: ReadyTasks, raised: ReadyTasks) -> Option<usize> {
        let task = ready.highest_raised(raised)?;
        if !self.blocked.contains(task) || raised.contains(task) {
            return Some(task);
        }
        Some(self.highest_of_others(task).map_or(task, |(_, owner)| owner))
    }
}
