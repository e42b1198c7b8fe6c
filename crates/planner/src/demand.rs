//! The processor time that a VCPU needs, as a function of the number of its colours: `C^v(k)`.

use analysis::Duration;
use analysis::utilization::Share;
use policy::color::ColorSet;

/// The needs of a VCPU with a certain number of colours.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Point {
    /// The budget: `C^v(k)`.
    pub budget: Duration,
    /// The colours of its tasks, numbered from 0; there may be fewer of them than there
    /// could be.
    pub sets: Vec<ColorSet>,
}

/// Budgets of a VCPU by the number of its colours. More colours never need more budget.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Demand {
    period: Duration,
    /// Points with 1, 2, ... colours; none where deadlines are missed with the whole processor.
    points: Vec<Option<Point>>,
}

impl Demand {
    /// Returns the demand of a VCPU with this period, whose needs with 1, 2, ... colours are
    /// `points`. Where more colours need more, the additional colours stay unused (vCache, Alg. 2,
    /// line 40).
    pub fn new(period: Duration, points: Vec<Option<Point>>) -> Self {
        let mut points = points;
        for k in 1..points.len() {
            let (before, from) = points.split_at_mut(k);
            if let Some(fewer) = &before[k - 1]
                && from[0].as_ref().is_none_or(|point| point.budget > fewer.budget)
            {
                from[0] = Some(fewer.clone());
            }
        }
        Self { period, points }
    }

    /// Returns the period of the VCPU: `T^v`.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Returns the largest number of colours for which the demand is known.
    pub fn colors(&self) -> usize {
        self.points.len()
    }

    /// Returns the needs with `k` colours; `None` if these are not enough.
    pub fn point(&self, k: usize) -> Option<&Point> {
        self.points.get(k.checked_sub(1)?)?.as_ref()
    }

    /// Returns the part of a processor that it needs with `k` colours: `C^v(k) / T^v`.
    pub fn share(&self, k: usize) -> Option<Share> {
        Some(Share::up(self.point(k)?.budget, self.period))
    }

    /// Returns the fewest colours that are enough: `x` (vCache, section 5.4).
    pub fn least_colors(&self) -> Option<usize> {
        Some(self.points.iter().position(Option::is_some)? + 1)
    }
}

/// A VCPU, its tasks, and its demand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Vcpu {
    /// Indices of its tasks, ascending; not empty.
    pub tasks: Vec<usize>,
    /// The demand.
    pub demand: Demand,
}

/// Returns the tasks with these indices.
pub(crate) fn members<'a>(tasks: &'a [crate::Task], indices: &[usize]) -> Vec<&'a crate::Task> {
    indices.iter().map(|&index| &tasks[index]).collect()
}
