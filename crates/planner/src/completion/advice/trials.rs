//! A bound on the work of advice, in tasks and not in time: the same description has the same
//! advice every time.

use std::cell::Cell;

use system::description::System;

use super::super::holds;

/// Most tasks of the systems that are tried for one advice.
const MOST: u64 = 6_000;
/// The work of a trial beside its tasks.
const OF_EACH: u64 = 4;

/// Tries changed systems, as long as the work for that is not spent.
pub(in super::super) struct Trials {
    most: u64,
    spent: Cell<u64>,
    is_over: Cell<bool>,
}

impl Default for Trials {
    fn default() -> Self {
        Self::new(MOST)
    }
}

impl Trials {
    fn new(most: u64) -> Self {
        Self { most, spent: Cell::new(0), is_over: Cell::new(false) }
    }

    /// Returns true if a system can be completed such that all deadlines are met; false without a
    /// trial if the work is spent.
    pub fn holds(&self, system: &System) -> bool {
        let tasks: usize = system.vms.iter().map(|vm| vm.tasks.len()).sum();
        let spent = self.spent.get() + OF_EACH + tasks as u64;
        if self.is_over() || spent > self.most {
            self.is_over.set(true);
            return false;
        }
        self.spent.set(spent);
        holds(system)
    }

    /// Returns true if a trial was left out because the work is spent.
    pub fn is_over(&self) -> bool {
        self.is_over.get()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::together::{Found, smallest};
    use super::*;

    /// Two PCPUs that are too full: at least two tasks have to take less.
    fn system() -> System {
        let vm = |(name, pcpu): (&str, u64)| {
            format!(
                "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n\
                 [[vm.vcpu]]\nserver = \"periodic\"\nperiod = \"10ms\"\npcpu = {pcpu}\n\
                 [[vm.task]]\nname = \"t\"\nperiod = \"40ms\"\nwcet = \"22ms\"\n"
            )
        };
        let vms: String = [("a", 0), ("b", 0), ("c", 1), ("d", 1)].into_iter().map(vm).collect();
        let text = format!("platform = \"zcu102\"\n{vms}");
        System::from_toml("s.toml", &text, Path::new("")).unwrap_or_else(|it| panic!("{it}"))
    }

    /// The same limit always leads to the same set, and no trial is beyond it.
    #[test]
    fn the_work_has_a_limit_that_is_no_time() {
        let system = system();
        let find = |most: u64| {
            let trials = Trials::new(most);
            let found = smallest(&system, &trials);
            assert!(trials.spent.get() <= most);
            (found, trials.spent.get(), trials.is_over())
        };
        for most in [0, 7, 40, 80] {
            assert_eq!(find(most), find(most));
            assert!(matches!(find(most), (Found::NotAllTried, _, true)), "{most}");
        }
        let (found, spent, is_over) = find(MOST);
        assert!(matches!(found, Found::Set(_)) && !is_over, "{found:?}");
        assert!(spent > 80);
        assert_eq!(find(MOST), (found, spent, is_over));
    }
}
