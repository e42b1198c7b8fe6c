//! Measured values of an experiment.

use serde::Deserialize;

use crate::job::Spread;

/// A measured value.
#[derive(Clone, Debug)]
pub struct Value {
    /// The series that it belongs to.
    pub series: String,
    /// Its place.
    pub x: String,
    /// As it was measured.
    pub measured: f64,
    /// As it is shown and judged: divided by what the experiment says.
    pub shown: f64,
    /// The jobs that it comes from.
    pub spread: Option<Spread>,
    /// What was measured with each placement, of which `measured` is the median; empty with one placement.
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

/// The values of an experiment, as many as there are.
#[derive(Clone, Debug, Default)]
pub struct Values(pub Vec<Value>);

impl Values {
    /// The value of a series at a place.
    pub fn get(&self, series: &str, x: &str) -> Option<&Value> {
        self.0.iter().find(|value| value.series == series && value.x == x)
    }

    /// The names of the series, in the order of the experiment.
    pub fn series(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for value in &self.0 {
            if !names.contains(&value.series.as_str()) {
                names.push(value.series.as_str());
            }
        }
        names
    }

    /// The places: numbers in their order, names in that of the experiment.
    pub fn places(&self) -> Vec<&str> {
        let mut places = Vec::new();
        for value in &self.0 {
            if !places.contains(&value.x.as_str()) {
                places.push(value.x.as_str());
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
        Self(self.0.iter().map(one).collect())
    }

    /// Divides all values by what the experiment says. A value whose divisor is
    /// missing cannot be shown and is left out.
    pub fn divided(&self, by: Option<&DivideBy>) -> Self {
        let Some(by) = by else { return self.clone() };
        let divisor = |value: &Value| match by {
            DivideBy::X(x) => self.get(&value.series, x),
            DivideBy::Series(series) => self.get(series, &value.x),
        };
        let values = self.0.iter().filter_map(|value| {
            let divisor = divisor(value)?.measured;
            (divisor > 0.0).then(|| Value { shown: value.measured / divisor, ..value.clone() })
        });
        Self(values.collect())
    }
}

/// What values are divided by.
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
        Values(values)
    }

    fn shown(values: &Values) -> Vec<f64> {
        values.0.iter().map(|value| value.shown).collect()
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
        all.0.extend(Value::median("b".into(), "1".into(), &[9.0, 1.0, 2.0], None));
        let first = all.of_placement(0).divided(Some(&DivideBy::Series("a".into())));
        assert_eq!(shown(&first), [1.0, 1.0, 1.8]);
    }

    #[test]
    fn places_that_are_numbers_are_sorted() {
        let mut all = values(&[&[1.0, 2.0, 3.0]]);
        all.0.rotate_left(1);
        assert_eq!(all.places(), ["1", "2", "3"]);
        all.0[0].x = "xz".into();
        assert_eq!(all.places(), ["xz", "3", "1"]);
    }
}
