//! Sums over some task sets.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use analysis::utilization::Share;
use lab::Failure;
use serde::{Deserialize, Serialize};

use super::schemes::Problem;
use super::{Excess, Scheme, Statistic};
use crate::sets::{self, Parts};

/// Sums over some task sets.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Part {
    number: u64,
    /// Task sets.
    sets: u64,
    /// Those that all schemes allocate with all numbers of colours.
    comparable: u64,
    /// By scheme and number of colours: task sets that it allocates, and the sum of what
    /// those that are comparable need.
    sums: Vec<(Scheme, usize, u64, u128)>,
    /// By scheme, another one and number of colours: by how much the first one needs more.
    excesses: Vec<(Scheme, Scheme, usize, Excesses)>,
}

/// By how much a scheme needs more than another, in 10^-9 of what that needs, rounded up.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct Excesses {
    /// Task sets that both allocate.
    sets: u64,
    /// Those for which both need the same.
    equal: u64,
    sum: i128,
    least: Option<i128>,
    most: Option<i128>,
}

impl Excesses {
    /// Of one task set.
    fn of(one: Share, other: Share) -> Self {
        const UNITS: i128 = 1_000_000_000;
        let (one, other) = (one.0 as i128, (other.0 as i128).max(1));
        // For negative numbers this division rounds up, too.
        let more = (one - other) * UNITS;
        let more = more / other + i128::from(more > 0 && more % other > 0);
        let equal = u64::from(one == other);
        Self { sets: 1, equal, sum: more, least: Some(more), most: Some(more) }
    }

    fn add(&mut self, other: &Self) {
        self.sets += other.sets;
        self.equal += other.equal;
        self.sum += other.sum;
        self.least = [self.least, other.least].into_iter().flatten().min();
        self.most = self.most.max(other.most);
    }
}

impl sets::Problem for Problem {
    type Part = Part;

    /// Allocates these task sets.
    fn compute(
        &self,
        number: u64,
        sets: Range<u64>,
        stop: &AtomicBool,
    ) -> Result<Option<Part>, Failure> {
        let mut part = Part { number, sets: sets.end - sets.start, ..Part::default() };
        let mut sums: BTreeMap<(Scheme, usize), (u64, u128)> = BTreeMap::new();
        let pairs = || self.pairs();
        part.excesses =
            pairs().map(|(one, other, k)| (one, other, k, Excesses::default())).collect();
        for set in sets {
            if stop.load(Ordering::SeqCst) {
                return Ok(None);
            }
            let totals = self.solve(set)?;
            let is_comparable = totals.values().all(Option::is_some);
            part.comparable += u64::from(is_comparable);
            let total = |scheme, k| totals.get(&(scheme, k)).copied().flatten();
            for (one, other, k, excesses) in &mut part.excesses {
                if let (Some(one), Some(other)) = (total(*one, *k), total(*other, *k)) {
                    excesses.add(&Excesses::of(one, other));
                }
            }
            for (at, total) in totals {
                let (planned, sum) = sums.entry(at).or_default();
                *planned += u64::from(total.is_some());
                *sum += total.filter(|_| is_comparable).map_or(0, |total| total.0);
            }
        }
        let sums = sums.into_iter();
        part.sums = sums.map(|((scheme, k), (planned, sum))| (scheme, k, planned, sum)).collect();
        Ok(Some(part))
    }
}

impl sets::Part for Part {
    fn number(&self) -> u64 {
        self.number
    }
}

/// Sums over all task sets.
#[derive(Debug, Default)]
pub struct Sums {
    sets: u64,
    comparable: u64,
    sums: BTreeMap<(Scheme, usize), (u64, u128)>,
    excesses: BTreeMap<(Scheme, Scheme, usize), Excesses>,
}

impl Sums {
    /// All parts together.
    pub fn of(parts: &Parts<Part>, problem: &Problem) -> Self {
        let mut sums = Self::default();
        for (scheme, k) in problem.places() {
            sums.sums.entry((scheme, k)).or_default();
        }
        for part in parts.all() {
            sums.sets += part.sets;
            sums.comparable += part.comparable;
            for &(scheme, k, planned, sum) in &part.sums {
                let all = sums.sums.entry((scheme, k)).or_default();
                *all = (all.0 + planned, all.1 + sum);
            }
            for (one, other, k, excesses) in &part.excesses {
                sums.excesses.entry((*one, *other, *k)).or_default().add(excesses);
            }
        }
        sums
    }

    /// By how many percent a scheme needs more than another.
    pub fn excess_percent(&self, excess: Excess, k: usize) -> Option<f64> {
        let found = self.excesses.get(&(excess.scheme, excess.of, k))?;
        let percent = |excess: i128| excess as f64 / 1e7;
        match excess.take {
            Statistic::Min => found.least.map(percent),
            Statistic::Max => found.most.map(percent),
            Statistic::Mean => (found.sets > 0).then(|| percent(found.sum) / found.sets as f64),
        }
    }

    /// Mean of what comparable task sets need, in percent of a processor.
    pub fn mean_percent(&self, scheme: Scheme, k: usize) -> Option<f64> {
        let (_, sum) = *self.sums.get(&(scheme, k))?;
        let percent = sum as f64 / (Share::WHOLE.0 / 100) as f64;
        (self.comparable > 0).then(|| percent / self.comparable as f64)
    }

    /// How many task sets the values come from, and which schemes fail how often.
    pub fn note(&self) -> String {
        let mut failures: BTreeMap<Scheme, u64> = BTreeMap::new();
        for ((scheme, _), (planned, _)) in &self.sums {
            let failed = failures.entry(*scheme).or_default();
            *failed = (*failed).max(self.sets - planned);
        }
        let failures: Vec<String> = failures
            .into_iter()
            .filter(|(_, failed)| *failed > 0)
            .map(|(scheme, failed)| format!("{scheme} {failed}"))
            .collect();
        let failures = match failures.is_empty() {
            true => "no scheme fails for any".into(),
            false => format!("most that a scheme fails for at one place: {}", failures.join(", ")),
        };
        let pairs: BTreeSet<_> = self.excesses.keys().map(|(one, other, _)| (one, other)).collect();
        if pairs.is_empty() {
            return format!(
                "Means are over the {} of {} task sets that all schemes allocate at all places; \
                 {failures}.",
                self.comparable, self.sets
            );
        }
        let compared: Vec<String> = pairs.into_iter().map(|pair| self.compared(pair)).collect();
        format!("Of {} task sets: {}; {failures}.", self.sets, compared.join("; "))
    }

    /// How many task sets excesses come from.
    fn compared(&self, pair: (&Scheme, &Scheme)) -> String {
        let here = self.excesses.iter().filter(|((one, other, _), _)| (one, other) == pair);
        let each: Vec<String> = here
            .map(|((_, _, k), Excesses { sets, equal, .. })| {
                format!("{sets} at {k} ({equal} need the same)")
            })
            .collect();
        format!("{} is compared with {} for {}", pair.0, pair.1, each.join(", "))
    }
}
