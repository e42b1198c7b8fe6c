//! One global resource: who has it, and who waits for it.

use super::Who;
use super::queue::Queue;

/// The mutex of a resource. Who may use it, and what a task holds besides, is the matter of
/// [`super::table`].
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Mutex {
    owner: Option<Who>,
    waiting: Queue,
    /// Its last owner died in its section, and nobody has been told yet.
    orphaned: bool,
}

/// A resource goes to a task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Grant {
    /// The task.
    pub who: Who,
    /// The owner before died in its section: what the resource protects may be half changed.
    pub orphaned: bool,
}

impl Mutex {
    /// The task that has it.
    #[inline]
    pub fn owner(&self) -> Option<Who> {
        self.owner
    }

    /// Who waits.
    pub fn waiting(&self) -> &Queue {
        &self.waiting
    }

    /// The task gets the resource if nobody has it (rule 2).
    #[inline(always)]
    pub fn try_lock(&mut self, who: Who) -> Option<Grant> {
        if self.owner.is_some() {
            return None;
        }
        self.owner = Some(who);
        Some(Grant { who, orphaned: core::mem::take(&mut self.orphaned) })
    }

    /// The task waits for its turn (rule 5).
    #[inline]
    pub fn wait(&mut self, who: Who) {
        self.waiting.insert(who);
    }

    /// The owner releases it: it goes to the head of the queue (rule 6).
    #[inline]
    pub fn unlock(&mut self) -> Option<Grant> {
        self.owner = None;
        let next = self.waiting.pop()?;
        self.try_lock(next)
    }

    /// Nothing of a VCPU goes on: its tasks wait no more.
    pub fn forget(&mut self, vcpu: usize) {
        self.waiting.remove_vcpu(vcpu);
    }

    /// The owner goes no further: the resource goes to the next, who is told.
    pub fn orphan(&mut self) -> Option<Grant> {
        self.orphaned = true;
        self.unlock()
    }

    /// A new resource: nobody is told of an owner that died.
    pub fn reset(&mut self) {
        self.orphaned = false;
    }
}
