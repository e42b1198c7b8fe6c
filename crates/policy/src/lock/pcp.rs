//! The local resources of a VCPU, by the priority ceiling protocol (vMPCP, section III.A, after
//! Sha, Rajkumar and Lehoczky, IEEE Trans. on Computers 1990).
//!
//! The *ceiling* of a resource is the highest priority of the tasks that use it. A task may lock a
//! resource only if its priority is higher than the ceilings of all that other tasks have locked.
//! Otherwise the task that has locked the resource with the highest ceiling blocks it and inherits
//! its priority: it executes in its place.

use super::{LockError, RESOURCES_MAX};
use crate::task::{ReadyTasks, TASKS_MAX};

const NOBODY: u8 = u8::MAX;

/// The local resources of a VCPU. Each operation examines each of them at most once.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Pcp<const RESOURCES: usize = RESOURCES_MAX> {
    ceilings: [u8; RESOURCES],
    owners: [u8; RESOURCES],
    /// Tasks that asked for a resource, and have to wait until one is released.
    blocked: ReadyTasks,
}

impl<const RESOURCES: usize> Default for Pcp<RESOURCES> {
    fn default() -> Self {
        let nobody = [NOBODY; RESOURCES];
        Self { ceilings: nobody, owners: nobody, blocked: ReadyTasks::default() }
    }
}

impl<const RESOURCES: usize> Pcp<RESOURCES> {
    /// Declares that the task uses the resource. All declarations come before the first lock.
    pub fn use_by(&mut self, task: usize, resource: usize) {
        if let Some(ceiling) = self.ceilings.get_mut(resource)
            && task < TASKS_MAX
        {
            *ceiling = (*ceiling).min(task as u8);
        }
    }

    /// Returns the resource of the highest ceiling that another task has locked.
    fn highest_of_others(&self, task: usize) -> Option<(u8, usize)> {
        let locked = self.ceilings.iter().zip(&self.owners);
        let locked = locked.filter(|(_, owner)| **owner != NOBODY && usize::from(**owner) != task);
        let (ceiling, owner) = locked.min_by_key(|(ceiling, _)| **ceiling)?;
        Some((*ceiling, usize::from(*owner)))
    }

    /// A task requests a resource. Returns true if the task gets it. Otherwise the task is blocked,
    /// stays ready, and requests the resource again when it is to run the next time.
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

    /// A task releases a resource. Blocked tasks repeat their requests.
    pub fn unlock(&mut self, task: usize, resource: usize) -> Result<(), LockError> {
        match self.owners.get_mut(resource) {
            Some(owner) if usize::from(*owner) == task => *owner = NOBODY,
            _ => return Err(LockError::NotOwner),
        }
        self.blocked = ReadyTasks::default();
        Ok(())
    }

    /// Returns the ready task that runs when the VCPU does: the one with the highest priority of
    /// those in global critical sections (`raised`), otherwise of all, or in its place the task
    /// that blocks it.
    pub fn runs(&self, ready: ReadyTasks, raised: ReadyTasks) -> Option<usize> {
        let task = ready.highest_raised(raised)?;
        Some(if raised.contains(task) { task } else { self.in_place_of(task) })
    }

    /// Returns the task that executes if this one is to run and is in no global critical section:
    /// itself, or the task that blocks it.
    pub fn in_place_of(&self, task: usize) -> usize {
        match self.blocked.contains(task) {
            true => self.highest_of_others(task).map_or(task, |(_, owner)| owner),
            false => task,
        }
    }
}
