//! Checks of shares, which are compared by their differences.

use serde::Deserialize;

use super::{Claim, Found, greatest, least};
use crate::values::Values;

/// See [`super::Check::Above`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Above {
    series: String,
    of: Vec<String>,
    least: Option<f64>,
    most: Option<f64>,
}

/// See [`super::Check::Flat`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flat {
    series: Vec<String>,
    by: f64,
}

/// See [`super::Check::Widens`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Widens {
    series: String,
    of: Vec<String>,
}

impl Above {
    pub fn series(&self) -> Vec<&String> {
        self.of.iter().chain([&self.series]).collect()
    }

    pub fn judge(&self, claim: &Claim, values: &Values) -> Option<(bool, String)> {
        let named = self.of.iter().flat_map(|of| {
            let differences = differences(claim, values, &self.series, of);
            differences.map(move |(by, x)| (by, format!("{of}, at {x}")))
        });
        let named: Vec<(f64, String)> = named.collect();
        let all = || named.iter().map(|(by, name)| (*by, name.as_str()));
        let ((low, low_at), (high, high_at)) = (least(all())?, greatest(all())?);
        let holds = self.least.is_none_or(|limit| low >= limit)
            && self.most.is_none_or(|limit| high <= limit);
        Some((holds, format!("above by {low:.2} ({low_at}) to {high:.2} ({high_at})")))
    }
}

impl Flat {
    pub fn series(&self) -> Vec<&String> {
        self.series.iter().collect()
    }

    pub fn judge(&self, claim: &Claim, values: &Values) -> Option<(bool, String)> {
        let spans = self.series.iter().filter_map(|series| {
            let all = || claim.of(values, series);
            let ((low, _), (high, _)) = (least(all())?, greatest(all())?);
            Some((high - low, series.as_str()))
        });
        let (most, series) = greatest(spans)?;
        Some((most <= self.by, format!("differ by at most {most:.2}, in `{series}`")))
    }
}

impl Widens {
    pub fn series(&self) -> Vec<&String> {
        self.of.iter().chain([&self.series]).collect()
    }

    pub fn judge(&self, claim: &Claim, values: &Values) -> Option<(bool, String)> {
        let more = self.of.iter().filter_map(|of| {
            let mut all = differences(claim, values, &self.series, of);
            let ((first, _), (last, _)) = (all.next()?, all.last()?);
            Some((last - first, of.as_str()))
        });
        let (by, of) = least(more)?;
        Some((by > 0.0, format!("by {by:.2} more at the last place, in comparison with `{of}`")))
    }
}

/// Returns the differences by which a series is above another, with their places.
fn differences<'a>(
    claim: &Claim,
    values: &'a Values,
    series: &str,
    of: &str,
) -> impl Iterator<Item = Found<'a>> {
    claim
        .of(values, series)
        .filter_map(move |(value, x)| Some((value - values.get(of, x)?.shown, x)))
}
