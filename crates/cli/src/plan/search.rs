//! The search of `bulkhead plan`: its objective and its end.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use lab::amount::percent;
use lab::load::{self, System};
use planner::completion::{Objective, Options, Outcome};
use system::description;

use crate::arguments::PlanOptions;
use crate::failure::Failure;
use crate::signals::Signals;
use crate::words::Wish;

/// Time between two lines of progress.
const BETWEEN: Duration = Duration::from_millis(500);

/// What came of it.
pub enum Answer {
    /// A plan, and what the search did.
    Planned(Box<System>, Outcome),
    /// This signal came before there was a plan.
    Interrupted(i32),
}

/// Plans. With a time for the search, a signal ends it with the best plan so far.
pub fn plan(options: &PlanOptions) -> Result<Answer, Failure> {
    let signals = options.time.map(|_| Signals::catch()).transpose()?;
    let caught = || signals.as_ref().and_then(Signals::caught);
    let progress = Progress::new(options.time.is_some());
    let stops = |candidates: u64| {
        progress.show(candidates);
        caught().is_some()
    };
    let found = load::plan_with(&options.file, |system| {
        let objective = objective(&options.objective, system, options)?;
        Ok(Options { objective, seed: options.seed, time: options.time, stops: &stops })
    });
    progress.end();
    match (found, caught()) {
        (Ok((system, outcome)), _) => Ok(Answer::Planned(Box::new(system), outcome)),
        (Err(lab::Failure::NoPlan(_)), Some(signal)) => Ok(Answer::Interrupted(signal)),
        (Err(failure), _) => Err(failure.into()),
    }
}

fn objective(
    wish: &Wish,
    system: &description::System,
    options: &PlanOptions,
) -> Result<Objective, lab::Failure> {
    let vm = match wish {
        Wish::LeastTime => return Ok(Objective::LeastTime),
        Wish::MostSlack => return Ok(Objective::MostSlack),
        Wish::FewestPcpus => return Ok(Objective::FewestPcpus),
        Wish::MostBandwidth(vm) => vm,
    };
    let names: Vec<&str> = system.vms.iter().map(|vm| vm.name.value.as_str()).collect();
    let found = names.iter().position(|name| name == vm);
    found.map(Objective::MostBandwidth).ok_or_else(|| {
        let (known, file) = (names.join("`, `"), options.file.display());
        lab::Failure::new(
            "unknown-vm",
            format!("there is no VM `{vm}` in {file}\nhelp: its VMs are `{known}`"),
        )
    })
}

/// Says what the search did, if it was asked for something.
pub fn show(options: &PlanOptions, outcome: &Outcome) -> String {
    if outcome.candidates == 0 || options.objective == Wish::LeastTime && options.time.is_none() {
        return String::new();
    }
    let slack = outcome
        .slack_ppm
        .map_or(String::new(), |ppm| format!("all execution times can grow by {}\n", percent(ppm)));
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
