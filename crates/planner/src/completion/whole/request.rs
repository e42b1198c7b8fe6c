//! Requests to the search.

use std::cell::Cell;

use system::description::System;

use super::judge::Judge;

/// Candidates that hold and are finished, before the best of them is taken.
const ENOUGH: usize = 4;

/// A request to the search.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Judged tasks, about.
    pub effort: u64,
    /// The seed of random numbers.
    pub seed: u64,
    /// PCPUs that may be used beside those that are given.
    pub pcpus: usize,
    /// True if budgets shall be as small as deadlines allow, and not as large as PCPUs allow.
    pub small: bool,
    /// The best of this number of plans is taken.
    pub enough: usize,
    /// True if VCPUs without tasks need not get their budgets in each period, as long as these fit
    /// onto their PCPU: for systems without another plan.
    pub lenient: bool,
    /// Number of times that the effort was doubled.
    pub doubled: u32,
    /// Set where a search ends because its effort was spent.
    pub ran_out: Option<&'a Cell<bool>>,
    /// Counts judged candidates.
    pub candidates: &'a Cell<u64>,
    /// Ends the search.
    pub stops: &'a dyn Fn() -> bool,
}

impl<'a> Request<'a> {
    /// Returns a request for a plan with small budgets.
    pub fn new(effort: u64, candidates: &'a Cell<u64>, stops: &'a dyn Fn() -> bool) -> Self {
        let (seed, pcpus) = (1, usize::MAX);
        let (small, enough, doubled, ran_out) = (true, ENOUGH, 0, None);
        let lenient = false;
        Self { effort, seed, pcpus, small, enough, lenient, doubled, ran_out, candidates, stops }
    }

    /// Returns the request for a search that begins with this plan: lenient if the plan holds only so.
    pub fn with_plan(self, planned: &System) -> Self {
        let [strict, lenient] = [false, true].map(|lenient| Self { lenient, ..self });
        let is_lenient = !Judge::new(&strict).holds(planned) && Judge::new(&lenient).holds(planned);
        if is_lenient { lenient } else { strict }
    }

    /// Returns the effort, or this one if that is less, doubled as often.
    pub fn at_most(&self, effort: u64) -> u64 {
        self.effort.min(effort << self.doubled)
    }
}
