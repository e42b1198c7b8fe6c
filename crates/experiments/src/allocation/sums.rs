//! Sums over some task sets.

use std::collections::{BTreeMap, BTreeSet};

use analysis::utilization::Share;
use serde::{Deserialize, Serialize};
use sweep::allocation::Scheme;

use crate::experiment::{Excess, Measure};
use crate::job::Statistic;
use crate::sets;

/// The need of a scheme by number of colours: none where it fails.
pub type Totals = BTreeMap<(Scheme, usize), Option<Share>>;

/// Sums over some task sets.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Sums {
    number: u64,
    /// Task sets.
    sets: u64,
    /// Number of task sets that all schemes allocate with all numbers of colours.
    comparable: u64,
    /// By scheme and number of colours: task sets that it allocates, and the sum of what
    /// those that are comparable need.
    sums: Vec<(Scheme, usize, u64, u128)>,
    /// By scheme, another one and number of colours: by how much the first one needs more.
    excesses: Vec<(Scheme, Scheme, usize, Excesses)>,
}

/// Excesses of the need of a scheme over that of another, in 10^-9 of the latter, rounded up.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct Excesses {
    /// Task sets that both allocate.
    sets: u64,
    /// Number of task sets for which both need the same.
    equal: u64,
    sum: i128,
    least: Option<i128>,
    most: Option<i128>,
}

impl Excesses {
    /// Returns the excess of one task set.
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

impl Sums {
    /// Over no task set: of the part with this number, for schemes and numbers of colours, and pairs of schemes.
    pub fn new(
        number: u64,
        places: impl Iterator<Item = (Scheme, usize)>,
        pairs: impl Iterator<Item = (Scheme, Scheme, usize)>,
    ) -> Self {
        let sums = places.map(|(scheme, k)| (scheme, k, 0, 0)).collect();
        let excesses = pairs.map(|(one, of, k)| (one, of, k, Excesses::default())).collect();
        Self { number, sets: 0, comparable: 0, sums, excesses }
    }

    /// Adds a task set.
    pub fn count(&mut self, totals: &Totals) {
        let is_comparable = totals.values().all(Option::is_some);
        let total = |scheme, k| totals.get(&(scheme, k)).copied().flatten();
        self.sets += 1;
        self.comparable += u64::from(is_comparable);
        for (scheme, k, planned, sum) in &mut self.sums {
            let total = total(*scheme, *k);
            *planned += u64::from(total.is_some());
            *sum += total.filter(|_| is_comparable).map_or(0, |total| total.0);
        }
        for (one, of, k, excesses) in &mut self.excesses {
            if let (Some(one), Some(of)) = (total(*one, *k), total(*of, *k)) {
                excesses.add(&Excesses::of(one, of));
            }
        }
    }

    /// Returns the percentage by which a scheme needs more than another.
    fn excess_percent(&self, excess: Excess, k: usize) -> Option<f64> {
        let wanted = (excess.scheme, excess.of, k);
        let found = &self.excesses.iter().find(|it| (it.0, it.1, it.2) == wanted)?.3;
        let percent = |excess: i128| excess as f64 / 1e7;
        match excess.take {
            Statistic::Min => found.least.map(percent),
            Statistic::Max => found.most.map(percent),
            Statistic::Mean => (found.sets > 0).then(|| percent(found.sum) / found.sets as f64),
        }
    }

    /// Mean of what comparable task sets need, in percent of a processor.
    fn mean_percent(&self, scheme: Scheme, k: usize) -> Option<f64> {
        let (.., sum) = *self.sums.iter().find(|it| (it.0, it.1) == (scheme, k))?;
        let percent = sum as f64 / (Share::WHOLE.0 / 100) as f64;
        (self.comparable > 0).then(|| percent / self.comparable as f64)
    }

    /// Returns how many task sets excesses come from.
    fn compared(&self, pair: (Scheme, Scheme)) -> String {
        let here = self.excesses.iter().filter(|it| (it.0, it.1) == pair);
        let each = here.map(|(.., k, excesses)| {
            format!("{} at {k} ({} need the same)", excesses.sets, excesses.equal)
        });
        let each: Vec<String> = each.collect();
        format!("{} is compared with {} for {}", pair.0, pair.1, each.join(", "))
    }
}

impl sets::Sums for Sums {
    fn number(&self) -> u64 {
        self.number
    }

    fn add(&mut self, part: &Self) {
        self.sets += part.sets;
        self.comparable += part.comparable;
        for (all, part) in self.sums.iter_mut().zip(&part.sums) {
            (all.2, all.3) = (all.2 + part.2, all.3 + part.3);
        }
        for (all, part) in self.excesses.iter_mut().zip(&part.excesses) {
            all.3.add(&part.3);
        }
    }

    fn percent(&self, measure: &Measure, x: &str) -> Option<f64> {
        let k = x.parse().ok()?;
        match *measure {
            Measure::Utilization(scheme) => self.mean_percent(scheme, k),
            Measure::Excess(excess) => self.excess_percent(excess, k),
            _ => None,
        }
    }

    /// Returns how many task sets the values come from, and which schemes fail how often.
    fn note(&self) -> String {
        let mut failures: BTreeMap<Scheme, u64> = BTreeMap::new();
        for (scheme, _, planned, _) in &self.sums {
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
        let pairs: BTreeSet<_> = self.excesses.iter().map(|it| (it.0, it.1)).collect();
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
}
