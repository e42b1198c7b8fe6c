//! Charts.

mod bars;
mod gantt;
mod lines;
mod theme;
mod whiskers;

use thiserror::Error as ThisError;

pub use bars::{BarChart, Bars};
pub use gantt::{GANTT_PIECES_MAX, Gantt, Lane, Span};
pub use lines::{Line, LineChart};
pub use whiskers::{Whisker, WhiskerChart, Whiskers};

/// The reason why there is no chart.
#[derive(Debug, Eq, PartialEq, ThisError)]
pub enum Error {
    /// There is nothing to show.
    #[error("the chart `{0}` has no values")]
    Empty(String),
    /// A value is not a number, or infinite.
    #[error("the chart `{chart}` has the value {value} in `{series}`")]
    NotFinite {
        /// Title of the chart.
        chart: String,
        /// Name of the line or of the bars.
        series: String,
        /// The value as text.
        value: String,
    },
    /// There is more to show than anybody can read.
    #[error(
        "the chart `{chart}` would have {pieces} bars and arrows, at most {GANTT_PIECES_MAX} are \
         possible: show a shorter time"
    )]
    TooMuch {
        /// Title of the chart.
        chart: String,
        /// Bars and arrows in it.
        pieces: usize,
    },
    /// The library refused to draw.
    #[error("the chart `{chart}` cannot be drawn: {reason}")]
    Drawing {
        /// Title of the chart.
        chart: String,
        /// The error of the library.
        reason: String,
    },
}

/// An axis of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity, with its unit.
    pub label: String,
    /// True if the axis begins at zero; false if it begins near the least value.
    pub from_zero: bool,
}

impl Axis {
    /// Returns an axis that begins at zero.
    pub fn from_zero(label: &str) -> Self {
        Self { label: label.into(), from_zero: true }
    }

    /// Returns the range of the axis that shows all these values. A range has a width even if all
    /// values are equal.
    fn range(&self, values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
        let (low, high) =
            values.fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(it), high.max(it)));
        let low = if self.from_zero { low.min(0.0) } else { low };
        let width = if high > low { high - low } else { high.abs().max(1.0) };
        let below = if self.from_zero && low >= 0.0 { 0.0 } else { width * 0.03 };
        low - below..low + width * 1.05
    }
}

/// Returns a number at an axis: whole ones without a point, long ones with spaces. Places of ticks
/// are sums, so that a whole number may not be quite whole.
fn number(value: f64) -> String {
    if (value - value.round()).abs() > 0.0005 {
        return format!("{value:.3}").trim_end_matches('0').to_owned();
    }
    let value = value.round() + 0.0;
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Fails with the first value that is no number.
fn finite(chart: &str, series: &str, values: impl Iterator<Item = f64>) -> Result<(), Error> {
    for value in values {
        if !value.is_finite() {
            return Err(Error::NotFinite {
                chart: chart.into(),
                series: series.into(),
                value: value.to_string(),
            });
        }
    }
    Ok(())
}

/// Returns the error of the library for this chart.
fn drawing<E: std::error::Error>(chart: &str) -> impl Fn(E) -> Error {
    move |error| Error::Drawing { chart: chart.into(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_all_values_and_are_never_empty() {
        let zero = Axis::from_zero("");
        let near = Axis { from_zero: false, ..zero.clone() };
        for values in [vec![1.0, 2.0, 1.5], vec![0.0], vec![7.0, 7.0], vec![-3.0, -1.0]] {
            for axis in [&zero, &near] {
                let range = axis.range(values.iter().copied());
                assert!(range.end > range.start, "{values:?}: {range:?}");
                assert!(values.iter().all(|it| range.contains(it)), "{values:?}: {range:?}");
            }
        }
        assert_eq!(zero.range([5.0].into_iter()).start, 0.0);
    }

    #[test]
    fn numbers_at_axes_are_short() {
        let shown = [0.0, 0.5, 0.7 + 0.1 + 0.2, 12.0, -1500.0, 8_000_000.0].map(number);
        assert_eq!(shown, ["0", "0.5", "1", "12", "-1\u{202f}500", "8\u{202f}000\u{202f}000"]);
    }

    #[test]
    fn values_that_are_no_numbers_are_named() {
        let error = finite("chart", "line", [1.0, f64::NAN].into_iter()).expect_err("not finite");
        assert_eq!(error.to_string(), "the chart `chart` has the value NaN in `line`");
    }
}
