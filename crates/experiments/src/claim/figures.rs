//! The figures that decide: extremes, differences, spreads and shares of the values of series.

use std::cmp::Ordering;

use super::Claim;
use super::checks::{One, Pair, Plateau, Ratios};
use crate::values::Values;

/// A number and where it was found.
pub(super) type Found<'a> = (f64, &'a str);

impl Claim {
    pub(super) fn is_about(&self, x: &str) -> bool {
        self.at.as_ref().is_none_or(|at| at.0.iter().any(|it| it == x))
    }

    /// Values of a series, and where.
    pub(super) fn of<'a>(
        &self,
        values: &'a Values,
        series: &str,
    ) -> impl Iterator<Item = Found<'a>> {
        let here = values.all.iter().filter(move |it| it.series == series && self.is_about(&it.x));
        here.map(|value| (value.shown, value.x.as_str()))
    }

    /// Returns the percentage by which the greatest value of a series is above its least.
    pub(super) fn spread(&self, values: &Values, series: &str) -> Option<f64> {
        let (low, _) = least(self.of(values, series))?;
        let (high, _) = greatest(self.of(values, series))?;
        (low > 0.0).then(|| (high / low - 1.0) * 100.0)
    }

    /// Returns the percentages by which the first series is above the second, with their places.
    pub(super) fn differences<'a>(
        &self,
        values: &'a Values,
        pair: &Pair,
    ) -> impl Iterator<Item = Found<'a>> {
        self.of(values, &pair.series).filter_map(|(value, x)| {
            let of = values.get(&pair.of, x)?.shown;
            (of > 0.0).then(|| ((value / of - 1.0) * 100.0, x))
        })
    }

    /// Returns the percentages of all by which the shares of two series up to a place differ, with the places.
    pub(super) fn shares<'a>(&self, values: &'a Values, pair: &Pair) -> Vec<Found<'a>> {
        let places = values.places();
        let running = |series: &str| {
            let here = places.iter().filter(|x| self.is_about(x));
            let counts: Option<Vec<f64>> =
                here.map(|x| values.get(series, x).map(|value| value.shown)).collect();
            let counts = counts.unwrap_or_default();
            let all: f64 = counts.iter().sum();
            let sums = counts.into_iter().scan(0.0, |sum, count| {
                *sum += count;
                Some(*sum)
            });
            sums.map(|sum| if all > 0.0 { sum * 100.0 / all } else { 0.0 }).collect::<Vec<_>>()
        };
        let (first, second) = (running(&pair.series), running(&pair.of));
        let here = places.iter().filter(|x| self.is_about(x)).copied();
        first.iter().zip(second).zip(here).map(|((a, b), x)| ((a - b).abs(), x)).collect()
    }

    /// Compares the value at the last place with that at the first.
    pub(super) fn ends(&self, values: &Values, one: &One) -> Option<(Ordering, String)> {
        let mut all = self.of(values, &one.series);
        let ((first, from), (last, to)) = (all.next()?, all.last()?);
        Some((last.total_cmp(&first), format!("{first:.3} at {from}, {last:.3} at {to}")))
    }

    pub(super) fn ratios(&self, values: &Values, ratios: &Ratios) -> Option<(bool, String)> {
        let ratio = |series, (value, x): Found<'_>| {
            let of = values.get(&ratios.of, x)?.shown;
            (of > 0.0).then(|| (value / of, format!("{series}, at {x}")))
        };
        let all = || {
            ratios.series.iter().flat_map(|series| {
                self.of(values, series).filter_map(move |found| ratio(series, found))
            })
        };
        let (low, low_at) = all().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (high, high_at) = all().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let holds = ratios.least.is_none_or(|least| low >= least)
            && ratios.most.is_none_or(|most| high <= most);
        Some((holds, format!("{low:.3} ({low_at}) to {high:.3} ({high_at})")))
    }

    pub(super) fn plateau(&self, values: &Values, plateau: &Plateau) -> Option<(bool, String)> {
        let of_series = |series: &str| {
            let after = || {
                self.of(values, series)
                    .filter(|(_, x)| x.parse::<u64>().is_ok_and(|x| x >= plateau.from))
            };
            let ((low, _), (high, _)) = (least(after())?, greatest(after())?);
            // One place alone is no plateau.
            (after().count() > 1 && low > 0.0).then(|| (high / low - 1.0) * 100.0)
        };
        let spans = values.series().into_iter().filter_map(|it| Some((of_series(it)?, it)));
        let (span, series) = greatest(spans)?;
        let text = format!("differ by at most {span:.2} %, in `{series}`");
        Some((span <= plateau.within_percent, text))
    }
}

pub(super) fn greatest<'a>(found: impl Iterator<Item = Found<'a>>) -> Option<Found<'a>> {
    found.max_by(|a, b| a.0.total_cmp(&b.0))
}

pub(super) fn least<'a>(found: impl Iterator<Item = Found<'a>>) -> Option<Found<'a>> {
    found.min_by(|a, b| a.0.total_cmp(&b.0))
}
