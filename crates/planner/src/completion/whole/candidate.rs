//! A candidate of the search: a complete description with its judgement.

use system::description::System;

use super::fill::Weights;
use super::judge::{Judge, Judgement, Lateness};

/// A candidate with its judgement.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// A complete description.
    pub system: System,
    /// The weights by which budgets are shared.
    pub weights: Weights,
    /// The judgement.
    pub judgement: Judgement,
}

impl Candidate {
    /// Judges a description; `None` if it is no plan.
    pub fn new(judge: &Judge<'_>, system: System, weights: Weights) -> Option<Self> {
        let judgement = judge.judge(&system)?;
        Some(Self { system, weights, judgement })
    }

    /// Returns true if it holds.
    pub fn holds(&self) -> bool {
        self.judgement.holds()
    }

    /// Returns how far it is from that.
    pub fn lateness(&self) -> Lateness {
        self.judgement.lateness()
    }
}
