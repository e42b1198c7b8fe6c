//! Bounds on the work of advice. The first one counts tasks and not time: as long as it is the only
//! one that is reached, the same description has the same advice every time. Where systems take
//! long, time ends the work before, and the advice says so.

use std::cell::Cell;
use std::time::{Duration, Instant};

use system::description::System;

use super::super::holds;

/// Most tasks of the systems that are tried for one advice.
const MOST: u64 = 6_000;
/// The work of a trial beside its tasks.
const OF_EACH: u64 = 4;
/// The longest time for all advice on a description.
pub(in super::super) const TIME: Duration = Duration::from_secs(10);

/// Conditions that end the search for help before its work is spent.
#[derive(Clone, Copy)]
pub(in super::super) struct Help<'a> {
    start: Instant,
    most: Duration,
    interrupted: &'a dyn Fn() -> bool,
}

impl<'a> Help<'a> {
    /// The time begins now.
    pub fn new(interrupted: &'a dyn Fn() -> bool) -> Self {
        Self { start: Instant::now(), most: TIME, interrupted }
    }

    fn ended(&self) -> Option<End> {
        if (self.interrupted)() {
            return Some(End::Interrupted);
        }
        (self.start.elapsed() >= self.most).then_some(End::Time)
    }
}

/// The reason why the search for help ended before everything was tried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// The work is spent.
    Work,
    /// The time is over.
    Time,
    /// Somebody ended it.
    Interrupted,
}

/// Tries changed systems, as long as the work for that is not spent.
pub(in super::super) struct Trials<'a> {
    most: u64,
    spent: Cell<u64>,
    end: Cell<Option<End>>,
    help: Help<'a>,
}

impl<'a> Trials<'a> {
    /// Returns trials that end with the help.
    pub fn new(help: Help<'a>) -> Self {
        Self { most: MOST, spent: Cell::new(0), end: Cell::new(None), help }
    }

    /// Returns true if a system can be completed such that all deadlines are met; false without a
    /// trial if the work is spent.
    pub fn holds(&self, system: &System) -> bool {
        let tasks: usize = system.vms.iter().map(|vm| vm.tasks.len()).sum();
        let spent = self.spent.get() + OF_EACH + tasks as u64;
        if self.end.get().is_none() {
            let work = (spent > self.most).then_some(End::Work);
            self.end.set(self.help.ended().or(work));
        }
        if self.is_over() {
            return false;
        }
        self.spent.set(spent);
        let holds = holds(system, &|| self.help.ended().is_some());
        if !holds {
            // It may have been ended before it found a plan.
            self.end.set(self.help.ended());
        }
        holds
    }

    /// Returns true if a trial was left out because the work is spent.
    pub fn is_over(&self) -> bool {
        self.end().is_some()
    }

    /// Returns why a trial was left out, if one was.
    pub fn end(&self) -> Option<End> {
        self.end.get()
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

    /// Time and signals end the work, and which of them did is known.
    #[test]
    fn help_ends_with_its_time_and_with_a_signal() {
        let system = system();
        let over = Help { most: Duration::ZERO, ..Help::new(&|| false) };
        for (help, end) in [(over, End::Time), (Help::new(&|| true), End::Interrupted)] {
            let trials = Trials::new(help);
            assert_eq!(smallest(&system, &trials), Found::NotAllTried);
            assert_eq!((trials.end(), trials.spent.get()), (Some(end), 0));
        }
        // In the middle of a trial, too.
        let asked = Cell::new(0);
        let interrupted = || {
            asked.set(asked.get() + 1);
            asked.get() > 2
        };
        let trials = Trials::new(Help::new(&interrupted));
        assert!(!trials.holds(&system));
        assert_eq!(trials.end(), Some(End::Interrupted));
    }

    /// The same limit always leads to the same set, and no trial is beyond it.
    #[test]
    fn the_work_has_a_limit_that_is_no_time() {
        let system = system();
        let find = |most: u64| {
            let trials = Trials { most, ..Trials::new(Help::new(&|| false)) };
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
