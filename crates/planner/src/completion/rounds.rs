//! A search in rounds.
//!
//! The first round is all of a search without time. Where there is time, each further one has twice
//! the effort and other random numbers, and begins with the best plan so far, which it can only make
//! better: more time never leads to a worse plan.

use std::cell::Cell;
use std::time::Instant;

use system::description::System;
use system::plan;

use super::advice::trials::Help;
use super::cost::Scale;
use super::toward::toward;
use super::whole::{self, Request, kinds, longer};
use super::{Objective, Obstacle, Options, Outcome, Refusal, explain, numbers, refusal};

/// Effort is doubled so often at most: what is too much for it must not take all of the time.
const DOUBLED_MAX: u32 = 6;
/// Rounds with other random numbers where the first one finds no plan, and no time is given.
const OTHER_SEEDS: u32 = 1;

/// The rounds of a search.
pub(super) struct Rounds<'a> {
    /// The request of the first round.
    pub request: Request<'a>,
    /// True if more rounds follow as long as there is time.
    pub more: bool,
    /// Returns true if somebody ended the search.
    pub interrupted: &'a dyn Fn() -> bool,
}

impl Options<'_> {
    /// Searches a plan of a system until these options end that.
    pub(super) fn searching<T>(
        &self,
        system: &System,
        search: impl FnOnce(&Rounds<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, Outcome), Refusal> {
        // Otherwise the search would look for a plan that no decision can make.
        plan::check_given(system).map_err(Refusal::Input)?;
        let start = Instant::now();
        let (candidates, cut) = (Cell::new(0), Cell::new(false));
        let stops = || {
            let over = self.time.is_some_and(|time| start.elapsed() >= time);
            cut.set(cut.get() || over || (self.stops)(candidates.get()));
            cut.get()
        };
        let request = Request::new(whole::to_plan(system), &candidates, &stops);
        let request = Request { seed: self.seed, ..request };
        let interrupted = || (self.stops)(candidates.get());
        let more = self.time.is_some();
        let found = search(&Rounds { request, more, interrupted: &interrupted })?;
        let (candidates, cut) = (candidates.get(), cut.get());
        Ok((found, Outcome { candidates, cut, slack_ppm: None }))
    }
}

impl Rounds<'_> {
    /// Returns the plan that is best for an objective, and its slack if that counts.
    pub fn best(
        &self,
        grown: &System,
        objective: Objective,
    ) -> Result<(System, Option<u64>), Refusal> {
        let (open, mut best) = self.first(grown, objective)?;
        let rounds = self.with_plan(&best);
        let mut scale = Scale::new(&open, objective, &rounds.request);
        let mut cost = None;
        rounds.repeat(|request| {
            let next = toward(&open, best.clone(), &mut scale, request);
            if !self.more {
                best = next;
                return false;
            }
            let new = scale.cost(&next);
            let is_better = cost.as_ref().is_none_or(|old| new < *old);
            if is_better {
                (best, cost) = (next, Some(new));
            }
            is_better
        });
        let slack = objective == Objective::MostSlack;
        let slack = slack.then(|| longer::slack_of(&best, &rounds.request));
        Ok((best, slack))
    }

    /// Returns the rounds that go on with this plan.
    pub fn with_plan(&self, planned: &System) -> Self {
        Self { request: self.request.with_plan(planned), ..*self }
    }

    /// Returns the description with the numbers of VCPUs, kinds of servers, overrun and protocol of
    /// locks of a plan that holds, and this plan: all that is left open can be improved by small
    /// steps.
    pub fn first(&self, grown: &System, objective: Objective) -> Result<(System, System), Refusal> {
        let mut before = None;
        let mut number = 0;
        loop {
            let ran_out = Cell::new(false);
            let request = self.of(number, &ran_out);
            let (fixed, planned) = numbers::attempt_all(grown.clone(), objective, &request);
            let obstacle = match planned {
                Ok(planned) => return Ok((kinds::fixed(&fixed, &planned), planned)),
                Err(obstacle) => obstacle,
            };
            if (request.stops)() {
                // What a whole round missed says more, and advice takes its time.
                let (fixed, obstacle) = before.unwrap_or((fixed, obstacle));
                let candidates = request.candidates.get();
                return Err(Refusal::NoPlan(explain::ended(&fixed, obstacle, candidates)));
            }
            let is_certain = matches!(obstacle, Obstacle::Input(_) | Obstacle::Certain(_));
            let is_last = !self.more && number >= OTHER_SEEDS;
            if is_last || is_certain || !ran_out.get() {
                // The first round has more to say than another one with as much effort.
                let first = before.take().filter(|_| !self.more);
                let (fixed, obstacle) = first.unwrap_or((fixed, obstacle));
                return Err(refusal(&fixed, obstacle, &Help::new(self.interrupted)));
            }
            if self.more || before.is_none() {
                before = Some((fixed, obstacle));
            }
            number += 1;
        }
    }

    /// Searches round by round. `round` returns true if it found something better.
    pub fn repeat(&self, mut round: impl FnMut(&Request<'_>) -> bool) {
        for number in 0..u32::MAX {
            let ran_out = Cell::new(false);
            let is_better = round(&self.of(number, &ran_out));
            // Nothing is left that more effort could try.
            let is_over = number > 0 && !is_better && !ran_out.get();
            if !self.more || is_over || (self.request.stops)() {
                return;
            }
        }
    }

    /// Returns the request of a round.
    fn of<'r>(&'r self, number: u32, ran_out: &'r Cell<bool>) -> Request<'r> {
        let doubled = if self.more { number.min(DOUBLED_MAX) } else { 0 };
        Request {
            effort: self.request.effort << doubled,
            seed: self.request.seed.wrapping_add(number.into()),
            doubled,
            ran_out: Some(ran_out),
            ..self.request
        }
    }
}
