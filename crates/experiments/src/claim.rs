//! Published claims, compared with measured values.

mod checks;
mod figures;
mod judged;
mod line;
mod placements;
mod shares;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use crate::points::Points;
use crate::values::Values;
use checks::{Limit, One, Pair, Plateau, Ratios, Steadier, Straight};
use figures::{Found, greatest, least};
use line::line;
use shares::{Above, Flat, Widens};

pub use judged::{Judged, Verdict};

/// A published statement, or one of ours, and how it is checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The statement that must hold here.
    pub text: String,
    /// The source of the statement: author and place.
    pub source: String,
    /// The published statement, in the words or with the figures of the source.
    pub published: String,
    /// The places that it is about; default: all.
    pub at: Option<Points>,
    /// Its check; none: see `why_not`.
    pub check: Option<Check>,
    /// The reason why it cannot be checked.
    pub why_not: Option<String>,
}

/// A check of a statement.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// From a place on, the values of each series differ by at most `within_percent`.
    Plateau(Plateau),
    /// No value is above the limit.
    AtMost(Limit),
    /// No value is below the limit.
    AtLeast(Limit),
    /// One value at least reaches the limit.
    Reaches(Limit),
    /// At every place, a series differs by at most `percent` from another.
    Within(Pair),
    /// At some place, a series is above another by at least `percent`.
    Exceeds(Pair),
    /// Counts of two series over the places are distributed alike: up to every place, their
    /// shares differ by at most `percent`.
    Distribution(Pair),
    /// The values lie on a straight line, each within `within_percent`.
    Linear(Straight),
    /// At every place, each series by another one is within limits.
    Ratios(Ratios),
    /// The value at the last place is above that at the first.
    Grows(One),
    /// The values of each series lie closer together than those of another one.
    Steadier(Steadier),
    /// The value at the last place is below that at the first.
    Falls(One),
    /// At every place, a series is above each of others, by an amount within limits.
    Above(Above),
    /// The values of each series differ by at most `by`.
    Flat(Flat),
    /// A series is above each of others by more at the last place than at the first.
    Widens(Widens),
}

impl Claim {
    /// The series that the statement names.
    pub fn series(&self) -> impl Iterator<Item = &str> {
        let named: Vec<&String> = match &self.check {
            Some(Check::AtMost(it) | Check::AtLeast(it) | Check::Reaches(it)) => vec![&it.series],
            Some(Check::Within(it) | Check::Exceeds(it) | Check::Distribution(it)) => {
                vec![&it.series, &it.of]
            }
            Some(Check::Linear(it)) => vec![&it.series],
            Some(Check::Ratios(it)) => it.series.iter().chain([&it.of]).collect(),
            Some(Check::Steadier(it)) => it.series.iter().chain([&it.than]).collect(),
            Some(Check::Grows(it) | Check::Falls(it)) => vec![&it.series],
            Some(Check::Above(it)) => it.series(),
            Some(Check::Flat(it)) => it.series(),
            Some(Check::Widens(it)) => it.series(),
            Some(Check::Plateau(_)) | None => vec![],
        };
        named.into_iter().map(String::as_str)
    }

    /// Returns true if the statement is about a series at a place.
    fn concerns(&self, series: &str, x: &str) -> bool {
        let mut named = self.series().peekable();
        (named.peek().is_none() || named.any(|it| it == series)) && self.is_about(x)
    }

    /// Holds the statement against the values. Values that refute it decide; without one of the values that the
    /// statement is about it cannot be confirmed.
    pub fn judge(&self, values: &Values) -> Judged {
        let Some(check) = &self.check else {
            let why = self.why_not.clone().unwrap_or_else(|| "it is not measured".into());
            return Judged { verdict: Verdict::NotCheckable, measured: why };
        };
        let result = match check {
            Check::Plateau(it) => self.plateau(values, it),
            Check::AtMost(it) => {
                let most = greatest(self.of(values, &it.series));
                most.map(|(most, x)| (most <= it.limit, format!("at most {most:.3}, at {x}")))
            }
            Check::AtLeast(it) => {
                let least = least(self.of(values, &it.series));
                least.map(|(least, x)| (least >= it.limit, format!("at least {least:.3}, at {x}")))
            }
            Check::Reaches(it) => {
                let most = greatest(self.of(values, &it.series));
                most.map(|(most, x)| (most >= it.limit, format!("up to {most:.3}, at {x}")))
            }
            Check::Within(it) => {
                let most = greatest(self.differences(values, it).map(|(by, x)| (by.abs(), x)));
                most.map(|(by, x)| {
                    (by <= it.percent, format!("differs by at most {by:.2} %, at {x}"))
                })
            }
            Check::Exceeds(it) => {
                let most = greatest(self.differences(values, it));
                most.map(|(by, x)| (by >= it.percent, format!("up to {by:.1} % above, at {x}")))
            }
            Check::Distribution(it) => {
                let most = greatest(self.shares(values, it).into_iter());
                most.map(|(by, x)| {
                    (by <= it.percent, format!("shares differ by at most {by:.2} %, up to {x}"))
                })
            }
            Check::Linear(it) => {
                let points: Vec<_> = self
                    .of(values, &it.series)
                    .filter_map(|(y, x)| Some((x.parse::<f64>().ok()?, y)))
                    .collect();
                line(&points).map(|(start, slope, off)| {
                    let text = format!("{start:.0} + {slope:.1} x, within {off:.2} %");
                    (off <= it.within_percent, text)
                })
            }
            Check::Ratios(it) => self.ratios(values, it),
            Check::Grows(it) => self.ends(values, it).map(|(up, text)| (up.is_gt(), text)),
            Check::Falls(it) => self.ends(values, it).map(|(up, text)| (up.is_lt(), text)),
            Check::Above(it) => it.judge(self, values),
            Check::Flat(it) => it.judge(self, values),
            Check::Widens(it) => it.judge(self, values),
            Check::Steadier(it) => {
                let spreads = it
                    .series
                    .iter()
                    .map(|series| Some((self.spread(values, series)?, series.as_str())));
                let spreads: Option<Vec<Found<'_>>> = spreads.collect();
                let most = spreads.and_then(|spreads| greatest(spreads.into_iter()));
                most.zip(self.spread(values, &it.than)).map(|((most, series), than)| {
                    let text =
                        format!("at most {most:.2} % apart, {series}, and {than:.2} % there");
                    (most < than, text)
                })
            }
        };
        let absent = values.why_absent(|it| self.concerns(&it.series, &it.x)).join("; ");
        let (verdict, measured) = match result {
            Some((false, measured)) => (Verdict::NotConfirmed, measured),
            Some((true, measured)) if absent.is_empty() => (Verdict::Confirmed, measured),
            Some((true, measured)) => {
                (Verdict::NotCheckable, format!("{absent}; elsewhere {measured}"))
            }
            None if absent.is_empty() => {
                (Verdict::NotCheckable, "the values for it were not measured".into())
            }
            None => (Verdict::NotCheckable, absent),
        };
        Judged { verdict, measured }
    }
}
