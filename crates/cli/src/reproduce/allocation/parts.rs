//! Sums over some task sets, and the file that keeps them while an experiment runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use analysis::utilization::Share;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::schemes::{Problem, Scheme};
use super::{Excess, Statistic};
use crate::failure::Failure;

/// The file, in the folder of the experiment's results.
const FILE: &str = "parts.jsonl";

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

impl Part {
    /// Allocates these task sets; none if it was stopped.
    pub fn compute(
        problem: &Problem,
        number: u64,
        sets: Range<u64>,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, Failure> {
        let mut part = Self { number, sets: sets.end - sets.start, ..Self::default() };
        let mut sums: BTreeMap<(Scheme, usize), (u64, u128)> = BTreeMap::new();
        let pairs = || problem.pairs();
        part.excesses =
            pairs().map(|(one, other, k)| (one, other, k, Excesses::default())).collect();
        for set in sets {
            if stop.load(Ordering::SeqCst) {
                return Ok(None);
            }
            let totals = problem.solve(set)?;
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

/// The parts that are computed, here and in the file.
#[derive(Debug)]
pub struct Parts {
    path: PathBuf,
    file: File,
    done: BTreeMap<u64, Part>,
}

impl Parts {
    /// Reads what an interrupted run of the same program has computed for the same problem.
    pub fn open(folder: &Path, problem: &Problem, sets: u64) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let failed = |error: std::io::Error| {
            Failure::new("output", format!("cannot write {}: {error}", path.display()))
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let first = serde_json::to_string(&(program(), sets, problem))
            .map_err(|error| Failure::new("output", error))?;
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines();
        let mut done = BTreeMap::new();
        if lines.next() == Some(first.as_str()) {
            // A line that was cut off is computed again.
            let parts = lines.filter_map(|line| serde_json::from_str::<Part>(line).ok());
            done.extend(parts.map(|part| (part.number, part)));
        }
        let mut file = File::create(&path).map_err(failed)?;
        writeln!(file, "{first}").map_err(failed)?;
        let mut parts = Self { path, file, done: BTreeMap::new() };
        done.into_values().try_for_each(|part| parts.add(part))?;
        Ok(parts)
    }

    /// Whether a part is computed.
    pub fn has(&self, number: u64) -> bool {
        self.done.contains_key(&number)
    }

    /// How many are.
    pub fn count(&self) -> usize {
        self.done.len()
    }

    /// Keeps a part.
    pub fn add(&mut self, part: Part) -> Result<(), Failure> {
        let line = serde_json::to_string(&part).map_err(|error| Failure::new("output", error))?;
        writeln!(self.file, "{line}").map_err(|error| {
            Failure::new("output", format!("cannot write {}: {error}", self.path.display()))
        })?;
        self.done.insert(part.number, part);
        Ok(())
    }

    /// Removes the file: all is computed.
    pub fn remove(self) -> Result<(), Failure> {
        fs::remove_file(&self.path).map_err(|error| {
            Failure::new("output", format!("cannot remove {}: {error}", self.path.display()))
        })
    }

    /// All parts together.
    pub fn sums(&self, problem: &Problem) -> Sums {
        let mut sums = Sums::default();
        for (scheme, k) in problem.places() {
            sums.sums.entry((scheme, k)).or_default();
        }
        for part in self.done.values() {
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

/// What tells this program from others: its digest.
fn program() -> String {
    let bytes = std::env::current_exe().and_then(fs::read).unwrap_or_default();
    Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
