//! The tasks that wait for a resource: the two-level priority queue of vMPCP (figure 2). The first
//! level is ordered by VCPUs, the second by the tasks of each VCPU; arrival times do not matter.

use super::{VCPUS_MAX, Who};

/// The waiting tasks. Each operation takes constant time, and the queue has room for all possible
/// tasks.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Queue {
    /// VCPUs with waiting tasks: bit `i` is rank `i`.
    vcpus: u64,
    /// The waiting tasks of each VCPU: bit `i` is task `i`.
    tasks: [u64; VCPUS_MAX],
}

impl Default for Queue {
    fn default() -> Self {
        Self { vcpus: 0, tasks: [0; VCPUS_MAX] }
    }
}

impl Queue {
    /// Returns true if no task waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.vcpus == 0
    }

    /// Returns true if the task waits.
    pub fn contains(&self, who: Who) -> bool {
        self.tasks.get(who.vcpu()).is_some_and(|tasks| tasks & who.task_bit() != 0)
    }

    /// Returns the VCPUs with waiting tasks: bit `i` is rank `i`.
    pub fn vcpus(&self) -> u64 {
        self.vcpus
    }

    /// Puts the task into the queue.
    #[inline]
    pub fn insert(&mut self, who: Who) {
        if let Some(tasks) = self.tasks.get_mut(who.vcpu()) {
            *tasks |= who.task_bit();
            self.vcpus |= 1 << who.vcpu();
        }
    }

    /// Removes the waiting tasks of a VCPU, and returns them, one bit each.
    pub fn remove_vcpu(&mut self, vcpu: usize) -> u64 {
        let Some(tasks) = self.tasks.get_mut(vcpu) else { return 0 };
        self.vcpus &= !(1 << vcpu);
        core::mem::take(tasks)
    }

    /// Removes and returns the task of the highest priority, of the VCPU of the highest priority.
    #[inline]
    pub fn pop(&mut self) -> Option<Who> {
        let vcpu = self.vcpus.trailing_zeros() as usize;
        let tasks = self.tasks.get_mut(vcpu)?;
        let task = tasks.trailing_zeros() as usize;
        *tasks &= tasks.wrapping_sub(1);
        if *tasks == 0 {
            self.vcpus &= self.vcpus.wrapping_sub(1);
        }
        Who::new(vcpu, task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(vcpu: usize, task: usize) -> Who {
        Who::new(vcpu, task).unwrap()
    }

    #[test]
    fn the_first_vcpu_comes_first_and_in_it_the_first_task() {
        let mut queue = Queue::default();
        let order = [who(0, 63), who(2, 0), who(2, 5), who(7, 1), who(63, 0), who(63, 63)];
        for index in [4, 1, 5, 0, 3, 2] {
            queue.insert(order[index]);
        }
        queue.insert(who(7, 1));
        assert!(queue.contains(who(2, 5)) && !queue.contains(who(2, 6)));
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(popped, order);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_vcpu_leaves_with_all_its_tasks() {
        let mut queue = Queue::default();
        for it in [who(1, 0), who(3, 2), who(3, 9), who(4, 0)] {
            queue.insert(it);
        }
        assert_eq!(queue.remove_vcpu(3), 1 << 2 | 1 << 9);
        assert_eq!(queue.remove_vcpu(3), 0);
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop()],
            [Some(who(1, 0)), Some(who(4, 0)), None]
        );
    }

    #[test]
    fn numbers_that_cannot_be_name_nobody() {
        assert_eq!((Who::new(64, 0), Who::new(0, 64)), (None, None));
    }
}
