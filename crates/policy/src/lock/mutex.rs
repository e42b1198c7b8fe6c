//! One global resource: its owner and its queue.

use super::Who;
use super::queue::Queue;

/// The mutex of a resource. [`super::table`] checks the rights of tasks and the other resources
/// that they hold.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Mutex {
    owner: Option<Who>,
    waiting: Queue,
    /// The last owner died in its section, and no task has been told yet.
    orphaned: bool,
}

/// A task that gets a resource.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Grant {
    /// The task.
    pub who: Who,
    /// The previous owner died in its section: the data that the resource protects may be
    /// inconsistent.
    pub orphaned: bool,
}

impl Mutex {
    /// Returns the owner.
    #[inline]
    pub fn owner(&self) -> Option<Who> {
        self.owner
    }

    /// Returns the waiting tasks.
    pub fn waiting(&self) -> &Queue {
        &self.waiting
    }

    /// Gives the resource to the task if the resource is free (rule 2).
    #[inline(always)]
    pub fn try_lock(&mut self, who: Who) -> Option<Grant> {
        if self.owner.is_some() {
            return None;
        }
        self.owner = Some(who);
        Some(Grant { who, orphaned: core::mem::take(&mut self.orphaned) })
    }

    /// Puts the task into the queue (rule 5).
    #[inline]
    pub fn wait(&mut self, who: Who) {
        self.waiting.insert(who);
    }

    /// The owner releases the resource, which goes to the head of the queue (rule 6).
    #[inline]
    pub fn unlock(&mut self) -> Option<Grant> {
        self.owner = None;
        let next = self.waiting.pop()?;
        self.try_lock(next)
    }

    /// Removes the tasks of a VCPU that stopped from the queue.
    pub fn forget(&mut self, vcpu: usize) {
        self.waiting.remove_vcpu(vcpu);
    }

    /// The owner died: the resource goes to the head of the queue, which is told.
    pub fn orphan(&mut self) -> Option<Grant> {
        self.orphaned = true;
        self.unlock()
    }

    /// Resets the resource: its next owner is not told of an earlier one that died.
    pub fn reset(&mut self) {
        self.orphaned = false;
    }
}
