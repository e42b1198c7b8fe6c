//! The search of `bulkhead plan`: its objective and its end.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use lab::amount::percent;
use lab::load::{self, System};
use planner::completion::{Changed, Objective, Options, Outcome, advice};
use system::description;
use system::diagnostic::{Diagnostic, Errors};

use super::{PlanOptions, written};
use crate::failure::Failure;
use crate::signals::Signals;

/// Time between two lines of progress.
const BETWEEN: Duration = Duration::from_millis(500);

/// A plan, the outcome of the search, and the differences from the old plan if there is one.
pub struct Found {
    /// The plan.
    pub system: System,
    /// The outcome of the search.
    pub outcome: Outcome,
    /// The changes to an old plan.
    pub changes: Option<Vec<Changed>>,
}

/// Plans. A signal ends the search with the best plan so far.
pub fn plan(options: &PlanOptions) -> Result<Found, Failure> {
    searching(options, |ends| {
        let wanted = |system: &description::System| {
            // Before the search, which can take long.
            if let Some(target) = options.target() {
                written::can_be_written(system, target)?;
            }
            ends.options(options, system)
        };
        match &options.from {
            Some(old) => {
                let old = (old.as_path(), options.changes);
                let (system, improved) = load::plan_from(&options.file, old, wanted)?;
                let changes = Some(improved.changes);
                Ok(Found { system, outcome: improved.outcome, changes })
            }
            None => {
                let (system, outcome) = load::plan_with(&options.file, wanted)?;
                Ok(Found { system, outcome, changes: None })
            }
        }
    })
}

/// Returns a mistake in an objective that is an option: where it has no place in the description, it
/// is in the option.
fn of_option(named: &description::Objective, mistake: Diagnostic) -> lab::Failure {
    if mistake.place.is_some() {
        return lab::Failure::Mistakes(mistake.into());
    }
    let help = mistake.help.map_or(String::new(), |help| format!("\nhelp: {help}"));
    let text = format!("`--objective {named}`: {}{help}", mistake.message);
    lab::Failure::new(mistake.code, text)
}

/// The conditions that end a search.
pub struct Ends<'a> {
    stops: &'a dyn Fn(u64) -> bool,
}

impl<'a> Ends<'a> {
    /// Returns the options of the planner for a description.
    pub fn options(
        &self,
        options: &PlanOptions,
        system: &description::System,
    ) -> Result<Options<'a>, lab::Failure> {
        let objective = match &options.objective {
            None => Objective::Described,
            Some(named) => {
                Objective::of(system, named).map_err(|mistake| of_option(named, *mistake))?
            }
        };
        Ok(Options { objective, seed: options.seed, time: options.time, stops: self.stops })
    }
}

/// Searches with a line of progress, until a signal comes.
pub fn searching<T>(
    options: &PlanOptions,
    search: impl FnOnce(&Ends<'_>) -> Result<T, lab::Failure>,
) -> Result<T, Failure> {
    let signals = Signals::catch_first()?;
    let progress = Progress::new(options.time.is_some() || options.front.is_some());
    let stops = |candidates: u64| {
        progress.show(candidates);
        signals.caught().is_some()
    };
    let found = search(&Ends { stops: &stops });
    progress.end();
    match (found, signals.caught()) {
        (Ok(found), _) => Ok(found),
        // That there is none was known: only the search for help was ended.
        (Err(lab::Failure::NoPlan(errors)), Some(_)) if has_help(&errors) => {
            Err(lab::Failure::NoPlan(errors).into())
        }
        (Err(lab::Failure::NoPlan(_)), Some(signal)) => Err(Failure::Interrupted(
            signal,
            "no plan yet: the search was ended before it found one",
        )),
        (Err(failure), _) => Err(failure.into()),
    }
}

/// Returns true if help was searched for, until a signal ended that.
fn has_help(errors: &Errors) -> bool {
    let ended = |help: &String| help.ends_with(advice::INTERRUPTED);
    errors.entries().iter().any(|entry| entry.help.as_ref().is_some_and(ended))
}

/// Returns the sentence about the outcome of the search.
pub fn show(options: &PlanOptions, outcome: &Outcome) -> String {
    let slack = outcome
        .slack_ppm
        .map_or(String::new(), |ppm| format!("all execution times can grow by {}\n", percent(ppm)));
    let is_asked = options.objective.is_some() || options.time.is_some() || options.front.is_some();
    if outcome.candidates == 0 || !is_asked && !outcome.cut {
        return slack;
    }
    let end = if outcome.cut { ", until the search was ended" } else { "" };
    format!("{slack}the best of {} candidates{end}\n", outcome.candidates)
}

/// A line on the terminal while the search goes on.
struct Progress {
    start: Instant,
    shown: Cell<Option<Instant>>,
    is_on: bool,
}

impl Progress {
    fn new(wanted: bool) -> Self {
        let is_on = wanted && io::stderr().is_terminal();
        Self { start: Instant::now(), shown: Cell::new(None), is_on }
    }

    fn show(&self, candidates: u64) {
        let now = Instant::now();
        let is_new = self.shown.get().is_none_or(|last| now - last >= BETWEEN);
        if self.is_on && is_new {
            self.shown.set(Some(now));
            let seconds = self.start.elapsed().as_secs();
            // A terminal that is gone ends no search.
            let _ = write!(io::stderr(), "\r{candidates} candidates in {seconds} s");
            let _ = io::stderr().flush();
        }
    }

    fn end(&self) {
        if self.shown.get().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
