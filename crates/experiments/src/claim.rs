//! What was published, held against what was measured.

mod placements;
mod shares;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use shares::{Above, Flat, Widens};

use crate::points::Points;
use crate::values::Values;

/// A published statement, or one of ours, and how it is checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What must hold here.
    pub text: String,
    /// Who says so, and where.
    pub source: String,
    /// What was published, in the words or with the figures of the source.
    pub published: String,
    /// The places that it is about; default: all.
    pub at: Option<Points>,
    /// How it is checked; none: see `why_not`.
    pub check: Option<Check>,
    /// Why it cannot be checked.
    pub why_not: Option<String>,
}

/// How a statement is checked.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// From a place on, the values of each series differ by at most so much.
    Plateau(Plateau),
    /// No value is above the limit.
    AtMost(Limit),
    /// No value is below the limit.
    AtLeast(Limit),
    /// One value at least reaches the limit.
    Reaches(Limit),
    /// At every place, a series differs by at most so much from another.
    Within(Pair),
    /// At some place, a series is above another by at least so much.
    Exceeds(Pair),
    /// Counts of two series over the places are distributed alike: up to every place, their
    /// shares differ by at most so much.
    Distribution(Pair),
    /// The values lie on a straight line, each within so many percent.
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
    /// The values of each series differ by at most so much.
    Flat(Flat),
    /// A series is above each of others by more at the last place than at the first.
    Widens(Widens),
}

/// See [`Check::Plateau`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plateau {
    from: u64,
    within_percent: f64,
}

/// A limit of a series.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    series: String,
    limit: f64,
}

/// Two series.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    series: String,
    of: String,
    percent: f64,
}

/// See [`Check::Linear`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Straight {
    series: String,
    within_percent: f64,
}

/// See [`Check::Ratios`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratios {
    series: Vec<String>,
    of: String,
    least: Option<f64>,
    most: Option<f64>,
}

/// A series.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct One {
    series: String,
}

/// See [`Check::Steadier`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steadier {
    series: Vec<String>,
    than: String,
}

/// Whether a statement holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Confirmed,
    /// It does not.
    NotConfirmed,
    /// The values that are needed are not there.
    NotCheckable,
}

impl Verdict {
    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::NotConfirmed => "not confirmed",
            Self::NotCheckable => "not checkable",
        }
    }
}

/// A verdict and the figures that it comes from.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Judged {
    /// Whether the statement holds.
    pub verdict: Verdict,
    /// The figures that decide.
    pub measured: String,
}

/// A number and where it was found.
type Found<'a> = (f64, &'a str);

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

    /// Holds the statement against the values.
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
        match result {
            Some((true, measured)) => Judged { verdict: Verdict::Confirmed, measured },
            Some((false, measured)) => Judged { verdict: Verdict::NotConfirmed, measured },
            None => {
                let measured = "the values for it were not measured".into();
                Judged { verdict: Verdict::NotCheckable, measured }
            }
        }
    }

    fn is_about(&self, x: &str) -> bool {
        self.at.as_ref().is_none_or(|at| at.0.iter().any(|it| it == x))
    }

    /// Values of a series, and where.
    fn of<'a>(&self, values: &'a Values, series: &str) -> impl Iterator<Item = Found<'a>> {
        let here = values.0.iter().filter(move |it| it.series == series && self.is_about(&it.x));
        here.map(|value| (value.shown, value.x.as_str()))
    }

    /// By how many percent the greatest value of a series is above its least.
    fn spread(&self, values: &Values, series: &str) -> Option<f64> {
        let (low, _) = least(self.of(values, series))?;
        let (high, _) = greatest(self.of(values, series))?;
        (low > 0.0).then(|| (high / low - 1.0) * 100.0)
    }

    /// By how many percent the first series is above the second, and where.
    fn differences<'a>(&self, values: &'a Values, pair: &Pair) -> impl Iterator<Item = Found<'a>> {
        self.of(values, &pair.series).filter_map(|(value, x)| {
            let of = values.get(&pair.of, x)?.shown;
            (of > 0.0).then(|| ((value / of - 1.0) * 100.0, x))
        })
    }

    /// By how many percent of all the shares of two series up to a place differ, and the place.
    fn shares<'a>(&self, values: &'a Values, pair: &Pair) -> Vec<Found<'a>> {
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

    /// How the value at the last place compares with that at the first.
    fn ends(&self, values: &Values, one: &One) -> Option<(Ordering, String)> {
        let mut all = self.of(values, &one.series);
        let ((first, from), (last, to)) = (all.next()?, all.last()?);
        Some((last.total_cmp(&first), format!("{first:.3} at {from}, {last:.3} at {to}")))
    }

    fn ratios(&self, values: &Values, ratios: &Ratios) -> Option<(bool, String)> {
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

    fn plateau(&self, values: &Values, plateau: &Plateau) -> Option<(bool, String)> {
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

fn greatest<'a>(found: impl Iterator<Item = Found<'a>>) -> Option<Found<'a>> {
    found.max_by(|a, b| a.0.total_cmp(&b.0))
}

fn least<'a>(found: impl Iterator<Item = Found<'a>>) -> Option<Found<'a>> {
    found.min_by(|a, b| a.0.total_cmp(&b.0))
}

/// The line through points by least squares: start, slope and by how many
/// percent the worst point is off. `None` for fewer than three points.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let (x_mean, y_mean) = (
        points.iter().map(|it| it.0).sum::<f64>() / count,
        points.iter().map(|it| it.1).sum::<f64>() / count,
    );
    let over: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let under: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let slope = over / under;
    let start = y_mean - slope * x_mean;
    let off = |&(x, y): &(f64, f64)| ((start + slope * x) / y - 1.0).abs() * 100.0;
    Some((start, slope, points.iter().map(off).fold(0.0, f64::max)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::tests::values;

    fn judge(check: &str, series: &[&[f64]]) -> (Verdict, String) {
        let text = format!("text = ''\nsource = ''\npublished = ''\n{check}");
        let claim: Claim = toml::from_str(&text).expect(check);
        let judged = claim.judge(&values(series));
        (judged.verdict, judged.measured)
    }

    #[track_caller]
    fn assert_verdict(check: &str, series: &[&[f64]], verdict: Verdict, part: &str) {
        let judged = judge(check, series);
        assert!(judged.0 == verdict && judged.1.contains(part), "{judged:?}");
    }

    #[test]
    fn plateaus() {
        let check = "check.plateau = { from = 3, within-percent = 1 }";
        let check = &check.replace("within-percent", "within_percent");
        let flat: &[f64] = &[9.0, 5.0, 1.0, 1.0, 1.005];
        let steep: &[f64] = &[9.0, 5.0, 1.0, 0.9, 0.8];
        assert_verdict(check, &[flat], Verdict::Confirmed, "0.50 %, in `a`");
        assert_verdict(check, &[flat, steep], Verdict::NotConfirmed, "25.00 %, in `b`");
        assert_verdict(check, &[&steep[..3]], Verdict::NotCheckable, "not measured");
    }

    #[test]
    fn limits() {
        let series: &[&[f64]] = &[&[1.0, 3.0, 2.0]];
        let limit = |kind, limit| format!("check.{kind} = {{ series = 'a', limit = {limit} }}");
        let (yes, no) = (Verdict::Confirmed, Verdict::NotConfirmed);
        assert_verdict(&limit("at-most", 3.0), series, yes, "3.000, at 2");
        assert_verdict(&limit("at-most", 2.9), series, no, "3.000, at 2");
        assert_verdict(&limit("at-least", 1.0), series, yes, "1.000, at 1");
        assert_verdict(&limit("at-least", 1.1), series, no, "1.000, at 1");
        assert_verdict(&limit("reaches", 3.0), series, yes, "3.000, at 2");
        assert_verdict(&limit("reaches", 3.1), series, no, "3.000, at 2");
        let elsewhere = format!("at = '7'\n{}", limit("at-most", 3.0));
        assert_verdict(&elsewhere, series, Verdict::NotCheckable, "not measured");
        let here = format!("at = '3'\n{}", limit("at-most", 2.0));
        assert_verdict(&here, series, yes, "2.000, at 3");
    }

    #[test]
    fn two_series() {
        let series: &[&[f64]] = &[&[1.01, 2.0], &[1.0, 2.5]];
        let pair = |kind, percent| {
            format!("check.{kind} = {{ series = 'a', of = 'b', percent = {percent} }}")
        };
        let (yes, no) = (Verdict::Confirmed, Verdict::NotConfirmed);
        assert_verdict(&pair("within", 20.0), series, yes, "20.00 %, at 2");
        assert_verdict(&pair("within", 19.9), series, no, "20.00 %, at 2");
        assert_verdict(&pair("exceeds", 0.9), series, yes, "1.0 % above, at 1");
        assert_verdict(&pair("exceeds", 1.1), series, no, "1.0 % above, at 1");
    }

    #[test]
    fn steadiness() {
        let check = "check.steadier = { series = ['a', 'b'], than = 'c' }";
        let series: [&[f64]; 3] = [&[100.0, 101.0], &[10.0, 10.2], &[10.0, 11.0]];
        assert_verdict(check, &series, Verdict::Confirmed, "2.00 % apart, b, and 10.00 %");
        let [a, b, c] = series;
        assert_verdict(check, &[a, c, b], Verdict::NotConfirmed, "10.00 % apart, b, and 2.00 %");
        assert_verdict(check, &[a, b], Verdict::NotCheckable, "not measured");
    }

    #[test]
    fn distributions() {
        let series: &[&[f64]] = &[&[10.0, 30.0, 60.0], &[30.0, 70.0, 100.0]];
        let check = |percent| {
            format!("check.distribution = {{ series = 'a', of = 'b', percent = {percent} }}")
        };
        let (yes, no) = (Verdict::Confirmed, Verdict::NotConfirmed);
        assert_verdict(&check(10.0), series, yes, "10.00 %, up to 2");
        assert_verdict(&check(9.9), series, no, "10.00 %, up to 2");
        assert_verdict(&check(9.9), &series[..1], Verdict::NotCheckable, "not measured");
    }

    #[test]
    fn ratios_and_growth() {
        let series: &[&[f64]] = &[&[2.0, 3.0], &[2.0, 4.5], &[1.0, 2.0]];
        let ratios =
            |limits| format!("check.ratios = {{ series = ['a', 'b'], of = 'c', {limits} }}");
        let (yes, no) = (Verdict::Confirmed, Verdict::NotConfirmed);
        assert_verdict(
            &ratios("least = 1.5, most = 2.25"),
            series,
            yes,
            "1.500 (a, at 2) to 2.250",
        );
        assert_verdict(&ratios("least = 1.6"), series, no, "1.500 (a, at 2)");
        assert_verdict(&ratios("most = 2.2"), series, no, "to 2.250 (b, at 2)");
        assert_verdict("check.grows = { series = 'a' }", series, yes, "2.000 at 1, 3.000 at 2");
        assert_verdict("check.grows = { series = 'a' }", &[&[3.0, 2.0]], no, "3.000 at 1");
        assert_verdict("check.grows = { series = 'a' }", &[&[3.0]], Verdict::NotCheckable, "not");
    }

    #[test]
    fn shares() {
        let series: &[&[f64]] = &[&[99.0, 90.0], &[98.0, 10.0], &[99.0, 89.0]];
        let above = |limits| format!("check.above = {{ series = 'a', of = ['b', 'c'], {limits} }}");
        let (yes, no) = (Verdict::Confirmed, Verdict::NotConfirmed);
        let text = "above by 0.00 (c, at 1) to 80.00 (b, at 2)";
        assert_verdict(&above("least = 0.0, most = 80.0"), series, yes, text);
        assert_verdict(&above("least = 0.1"), series, no, text);
        assert_verdict(&above("most = 79.9"), series, no, text);
        let at = format!("at = '2'\n{}", above("least = 1.0"));
        assert_verdict(&at, series, yes, "1.00 (c, at 2)");
        let flat = |by| format!("check.flat = {{ series = ['a', 'c'], by = {by} }}");
        assert_verdict(&flat(10.0), series, yes, "10.00, in `c`");
        assert_verdict(&flat(9.9), series, no, "10.00, in `c`");
        assert_verdict("check.falls = { series = 'a' }", series, yes, "99.000 at 1, 90.000 at 2");
        assert_verdict("check.falls = { series = 'a' }", &[&[1.0, 1.0]], no, "1.000 at 2");
        let widens = |of| format!("check.widens = {{ series = 'a', of = [{of}] }}");
        assert_verdict(&widens("'b', 'c'"), series, yes, "1.00 more at the last place");
        assert_verdict(&widens("'a'"), series, no, "0.00 more");
        assert_verdict(&widens("'b'"), &[&[1.0], &[1.0]], Verdict::NotCheckable, "not measured");
    }

    #[test]
    fn straight_lines() {
        let check = "check.linear = { series = 'a', within_percent = 1 }";
        assert_verdict(check, &[&[3.0, 5.0, 7.0]], Verdict::Confirmed, "1 + 2.0 x, within 0.00 %");
        assert_verdict(check, &[&[1.0, 4.0, 9.0]], Verdict::NotConfirmed, "within");
        assert_verdict(check, &[&[1.0, 4.0]], Verdict::NotCheckable, "not measured");
    }

    #[test]
    fn what_needs_other_machines_says_so() {
        let why = "why_not = 'it needs silicon'";
        assert_verdict(why, &[&[1.0]], Verdict::NotCheckable, "it needs silicon");
    }
}
