//! Measured values of an experiment.

use lab::Failure;
use serde::Deserialize;

use crate::job::Spread;

/// A measured value.
#[derive(Clone, Debug)]
pub struct Value {
    /// The series that it belongs to.
    pub series: String,
    /// Its place.
    pub x: String,
    /// The value as it was measured.
    pub measured: f64,
    /// The value as it is shown and judged: divided by the divisor of the experiment.
    pub shown: f64,
    /// The jobs that it comes from.
    pub spread: Option<Spread>,
    /// The values measured with each placement, of which `measured` is the median; empty with one placement.
    pub placements: Vec<f64>,
}

impl Value {
    /// A value that was measured once. Nothing divides it yet.
    pub fn new(series: String, x: String, measured: f64, spread: Option<Spread>) -> Self {
        Self { series, x, measured, shown: measured, spread, placements: Vec::new() }
    }

    /// The median of what was measured with each placement; `None` without a placement.
    pub fn median(series: String, x: String, each: &[f64], spread: Option<Spread>) -> Option<Self> {
        let placements = if each.len() > 1 { each.to_vec() } else { Vec::new() };
        Some(Self { placements, ..Self::new(series, x, median(each)?, spread) })
    }
}

/// The median: the mean of the two in the middle of an even number.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) =
        (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

/// A place of a series that has no value: the measurement is complete, and says why there is none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Absent {
    /// The series.
    pub series: String,
    /// The place.
    pub x: String,
    /// The reason why there is no value.
    pub why: String,
}

/// The reason why a measurement gave no value.
#[derive(Debug)]
pub enum NoValue {
    /// It failed.
    Failed(Failure),
    /// There is none, for this reason.
    Absent(String),
}

impl From<Failure> for NoValue {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The values of an experiment, as many as there are.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// The values, in the order of the experiment.
    pub all: Vec<Value>,
    /// The places without a value, in the order of the experiment.
    pub absent: Vec<Absent>,
}

impl From<Vec<Value>> for Values {
    fn from(all: Vec<Value>) -> Self {
        Self { all, absent: Vec::new() }
    }
}

impl Values {
    /// The value of a series at a place.
    pub fn get(&self, series: &str, x: &str) -> Option<&Value> {
        self.all.iter().find(|value| value.series == series && value.x == x)
    }

    /// Returns true if there is a value of a series at a place, or a reason why there is none.
    pub fn is_known(&self, series: &str, x: &str) -> bool {
        let absent = |it: &Absent| it.series == series && it.x == x;
        self.get(series, x).is_some() || self.absent.iter().any(absent)
    }

    /// Says for the places without a value that `filter` selects why there is none: a line for each series and reason.
    pub fn why_absent(&self, filter: impl Fn(&Absent) -> bool) -> Vec<String> {
        let mut groups: Vec<(&Absent, String)> = Vec::new();
        for absent in self.absent.iter().filter(|it| filter(it)) {
            let same = |(first, _): &&mut (&Absent, String)| {
                first.series == absent.series && first.why == absent.why
            };
            match groups.iter_mut().find(same) {
                Some((_, places)) => places.push_str(&format!(", {}", absent.x)),
                None => groups.push((absent, absent.x.clone())),
            }
        }
        let line = |(first, places): (&Absent, String)| {
            format!("no `{}` at {places}: {}", first.series, first.why)
        };
        groups.into_iter().map(line).collect()
    }

    /// The series and places of all values, then of what is absent.
    fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let values = self.all.iter().map(|it| (it.series.as_str(), it.x.as_str()));
        values.chain(self.absent.iter().map(|it| (it.series.as_str(), it.x.as_str())))
    }

    /// The names of the series, in the order of the experiment.
    pub fn series(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for (series, _) in self.names() {
            if !names.contains(&series) {
                names.push(series);
            }
        }
        names
    }

    /// The places: numbers in their order, names in that of the experiment.
    pub fn places(&self) -> Vec<&str> {
        let mut places = Vec::new();
        for (_, x) in self.names() {
            if !places.contains(&x) {
                places.push(x);
            }
        }
        if places.iter().all(|x| x.parse::<u64>().is_ok()) {
            places.sort_by_key(|x| x.parse::<u64>().ok());
        }
        places
    }

    /// The values as they were measured with one placement, counted from 0, and not divided; values that were measured once
    /// are the same in each.
    pub fn of_placement(&self, placement: usize) -> Self {
        let one = |value: &Value| {
            let measured = value.placements.get(placement).copied().unwrap_or(value.measured);
            Value { measured, shown: measured, placements: Vec::new(), ..value.clone() }
        };
        Self { all: self.all.iter().map(one).collect(), absent: self.absent.clone() }
    }

    /// Divides all values by what the experiment says. A value whose divisor is
    /// missing cannot be shown and is left out.
    pub fn divided(&self, by: Option<&DivideBy>) -> Self {
        let Some(by) = by else { return self.clone() };
        let divisor = |value: &Value| match by {
            DivideBy::X(x) => self.get(&value.series, x),
            DivideBy::Series(series) => self.get(series, &value.x),
        };
        let values = self.all.iter().filter_map(|value| {
            let divisor = divisor(value)?.measured;
            (divisor > 0.0).then(|| Value { shown: value.measured / divisor, ..value.clone() })
        });
        Self { all: values.collect(), absent: self.absent.clone() }
    }
}

/// The divisor of values.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DivideBy {
    /// The value of the same series here.
    X(String),
    /// The value of this series at the same place.
    Series(String),
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Values of series `a`, `b`, ... at the places 1, 2, ...
    pub fn values(series: &[&[f64]]) -> Values {
        let mut values = Vec::new();
        for (name, row) in ('a'..).zip(series) {
            for (x, &measured) in row.iter().enumerate() {
                let (series, x) = (name.to_string(), (x + 1).to_string());
                values.push(Value::new(series, x, measured, None));
            }
        }
        values.into()
    }

    fn shown(values: &Values) -> Vec<f64> {
        values.all.iter().map(|value| value.shown).collect()
    }

    #[test]
    fn values_are_divided_by_a_place_or_a_series() {
        let all = || values(&[&[10.0, 5.0], &[4.0, 1.0]]);
        let by_place = all().divided(Some(&DivideBy::X("1".into())));
        assert_eq!(shown(&by_place), [1.0, 0.5, 1.0, 0.25]);
        let by_series = all().divided(Some(&DivideBy::Series("b".into())));
        assert_eq!(shown(&by_series), [2.5, 5.0, 1.0, 1.0]);
        assert_eq!(shown(&all().divided(None)), [10.0, 5.0, 4.0, 1.0]);
    }

    #[test]
    fn values_without_their_divisor_are_left_out() {
        let all = values(&[&[10.0, 5.0], &[4.0]]);
        let divided = all.divided(Some(&DivideBy::Series("b".into())));
        assert_eq!(shown(&divided), [2.5, 1.0]);
    }

    #[test]
    fn the_median_of_placements_counts() {
        let value = |each: &[f64]| Value::median("a".into(), "1".into(), each, None);
        let medians = [&[3.0][..], &[9.0, 1.0, 2.0], &[4.0, 1.0, 2.0, 9.0]]
            .map(|each| value(each).map(|it| it.measured));
        assert_eq!(medians, [Some(3.0), Some(2.0), Some(3.0)]);
        assert!(value(&[]).is_none());
        let mut all = values(&[&[5.0, 10.0]]);
        all.all.extend(Value::median("b".into(), "1".into(), &[9.0, 1.0, 2.0], None));
        let first = all.of_placement(0).divided(Some(&DivideBy::Series("a".into())));
        assert_eq!(shown(&first), [1.0, 1.0, 1.8]);
    }

    #[test]
    fn places_that_are_numbers_are_sorted() {
        let mut all = values(&[&[1.0, 2.0, 3.0]]);
        all.all.rotate_left(1);
        assert_eq!(all.places(), ["1", "2", "3"]);
        all.all[0].x = "xz".into();
        assert_eq!(all.places(), ["xz", "3", "1"]);
    }
}
