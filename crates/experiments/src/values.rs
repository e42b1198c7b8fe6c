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
}

/// The values of an experiment, as many as there are.
#[derive(Debug, Default)]
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

    /// Divides all values by what the experiment says. A value whose divisor is
    /// missing cannot be shown and is left out.
    pub fn divided(self, by: Option<&DivideBy>) -> Self {
        let Some(by) = by else { return self };
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
                values.push(Value { series, x, measured, shown: measured, spread: None });
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
    fn places_that_are_numbers_are_sorted() {
        let mut all = values(&[&[1.0, 2.0, 3.0]]);
        all.0.rotate_left(1);
        assert_eq!(all.places(), ["1", "2", "3"]);
        all.0[0].x = "xz".into();
        assert_eq!(all.places(), ["xz", "3", "1"]);
    }
}
