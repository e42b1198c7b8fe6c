//! Sets of tasks of a VCPU.

/// Maximum number of tasks of a simulated VCPU.
pub const TASKS_MAX: usize = GROUPS * GROUP;

const GROUPS: usize = 16;
const GROUP: usize = u64::BITS as usize;

/// Tasks of a VCPU, by their numbers, with more room than [`policy::task::ReadyTasks`].
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TaskSet {
    /// The groups in which there are tasks, one bit each.
    groups: u64,
    tasks: [u64; GROUPS],
}

impl TaskSet {
    /// Puts the task into the set. Numbers from [`TASKS_MAX`] on are ignored.
    #[inline]
    pub fn insert(&mut self, task: usize) {
        if let Some(group) = self.tasks.get_mut(task / GROUP) {
            *group |= 1 << (task % GROUP);
            self.groups |= 1 << (task / GROUP);
        }
    }

    /// Removes the task from the set.
    #[inline]
    pub fn remove(&mut self, task: usize) {
        if let Some(group) = self.tasks.get_mut(task / GROUP) {
            *group &= !(1 << (task % GROUP));
            if *group == 0 {
                self.groups &= !(1 << (task / GROUP));
            }
        }
    }

    /// Returns true if the task is in the set.
    #[inline]
    pub fn contains(&self, task: usize) -> bool {
        self.tasks.get(task / GROUP).is_some_and(|group| group >> (task % GROUP) & 1 != 0)
    }

    /// Returns true if there is no task in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.groups == 0
    }

    /// Returns the task of the highest priority: the one with the lowest number.
    #[inline]
    pub fn highest(&self) -> Option<usize> {
        let group = self.groups.trailing_zeros() as usize;
        Some(group * GROUP + self.tasks.get(group)?.trailing_zeros() as usize)
    }

    /// Returns the task of the highest priority that is also in `raised`; if there is none, the task
    /// of the highest priority.
    #[inline]
    pub fn highest_raised(&self, raised: &Self) -> Option<usize> {
        let mut groups = self.groups & raised.groups;
        while groups != 0 {
            let group = groups.trailing_zeros() as usize;
            let both = self.tasks[group] & raised.tasks[group];
            if both != 0 {
                return Some(group * GROUP + both.trailing_zeros() as usize);
            }
            groups &= groups - 1;
        }
        self.highest()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set_with_a_first_member(
            steps in prop::collection::vec((any::<bool>(), any::<bool>(), 0..TASKS_MAX + 9), 1..60),
        ) {
            let (mut sets, mut known) = ([TaskSet::default(), TaskSet::default()], [(), ()].map(|()| BTreeSet::new()));
            for (other, insert, task) in steps {
                let (set, known) = (&mut sets[usize::from(other)], &mut known[usize::from(other)]);
                if insert {
                    set.insert(task);
                    known.extend((task < TASKS_MAX).then_some(task));
                } else {
                    set.remove(task);
                    known.remove(&task);
                }
            }
            let [set, raised] = &sets;
            prop_assert_eq!(set.highest(), known[0].first().copied());
            prop_assert_eq!(set.is_empty(), known[0].is_empty());
            let both = known[0].intersection(&known[1]).next().or(known[0].first());
            prop_assert_eq!(set.highest_raised(raised), both.copied());
            prop_assert!((0..TASKS_MAX + 9).all(|task| set.contains(task) == known[0].contains(&task)));
        }
    }
}
