//! A parameter of a grid, and its values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Most values of a parameter.
const MOST: usize = 100_000;
/// Most decimals of a value.
const DECIMALS: usize = 9;

/// A value of a parameter.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Scalar {
    /// A whole number.
    Int(i64),
    /// Another number.
    Real(f64),
    /// A word.
    Text(String),
}

impl Scalar {
    /// Returns the number that it is.
    pub fn real(&self) -> Result<f64, String> {
        match self {
            Self::Int(value) => Ok(*value as f64),
            Self::Real(value) if value.is_finite() => Ok(*value),
            _ => Err(format!("expected a number, not {self}")),
        }
    }

    /// Returns the whole number that it is; not below 0.
    pub fn whole<T: TryFrom<i64>>(&self) -> Result<T, String> {
        let value = match self {
            Self::Int(value) => T::try_from(*value).ok(),
            _ => None,
        };
        value.ok_or_else(|| format!("expected a whole number of 0 or more, not {self}"))
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Text(value) => write!(f, "\"{value}\""),
        }
    }
}

/// The values of a parameter as they are written.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of values, or { from = ..., to = ..., step = ... } with numbers"
)]
pub enum Axis {
    /// The values one by one.
    List(Vec<Scalar>),
    /// A range of numbers, both ends included.
    Range(Range),
}

/// Numbers at equal distances.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    from: Scalar,
    to: Scalar,
    step: Scalar,
}

impl Axis {
    /// Returns the values: at least one, all of one type.
    pub fn values(&self) -> Result<Vec<Scalar>, String> {
        let values = match self {
            Self::List(values) => values.clone(),
            Self::Range(range) => range.values()?,
        };
        if values.is_empty() {
            return Err("there are no values".into());
        }
        if values.len() > MOST {
            return Err(format!("there are more than {MOST} values"));
        }
        let texts = values.iter().filter(|it| matches!(it, Scalar::Text(_))).count();
        if texts > 0 {
            let all = texts == values.len();
            return all.then_some(values).ok_or_else(|| "there are numbers among words".into());
        }
        if values.iter().all(|value| matches!(value, Scalar::Int(_))) {
            return Ok(values);
        }
        values.iter().map(|value| value.real().map(Scalar::Real)).collect()
    }
}

impl Range {
    /// Counted in the smallest decimal place that is written, so that no step rounds.
    fn values(&self) -> Result<Vec<Scalar>, String> {
        let ends = [&self.from, &self.to, &self.step];
        let decimals = ends.map(decimals).into_iter().collect::<Result<Vec<_>, _>>()?;
        let decimals = decimals.into_iter().max().unwrap_or(0);
        let scale = 10_f64.powi(decimals as i32);
        let scaled = |value: &Scalar| {
            let scaled = (value.real()? * scale).round();
            match scaled.abs() < 1e15 {
                true => Ok(scaled as i64),
                false => Err(format!("{value} has too many digits")),
            }
        };
        let (from, to, step) = (scaled(&self.from)?, scaled(&self.to)?, scaled(&self.step)?);
        if step <= 0 || from > to {
            return Err("`from` has to be at most `to`, and `step` more than 0".into());
        }
        let count = (to - from) / step + 1;
        if count > MOST as i64 {
            return Err(format!("there are more than {MOST} values"));
        }
        let real = ends.iter().any(|it| matches!(it, Scalar::Real(_)));
        let value = |index| {
            let value = from + index * step;
            // The nearest number to what one would write, as if it stood in the file.
            if real { Scalar::Real(value as f64 / scale) } else { Scalar::Int(value) }
        };
        Ok((0..count).map(value).collect())
    }
}

/// Decimals of a number as one would write it.
fn decimals(value: &Scalar) -> Result<usize, String> {
    let text = value.real()?.to_string();
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    match decimals <= DECIMALS {
        true => Ok(decimals),
        false => Err(format!("{value} has more than {DECIMALS} decimals")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Result<Vec<Scalar>, String> {
        #[derive(Deserialize)]
        struct File {
            x: Axis,
        }
        toml::from_str::<File>(&format!("x = {text}")).unwrap().x.values()
    }

    #[test]
    fn steps_do_not_add_up_errors() {
        let found = values("{ from = 0.1, to = 0.9, step = 0.1 }").unwrap();
        let written = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
        assert!(found.into_iter().eq(written.map(Scalar::Real)));
        let found = values("{ from = 8, to = 30, step = 8 }").unwrap();
        assert!(found.into_iter().eq([8, 16, 24].map(Scalar::Int)));
    }

    #[test]
    fn values_have_one_type() {
        assert_eq!(values("[1, 2.5]").unwrap(), [1.0, 2.5].map(Scalar::Real));
        assert!(values("[\"periodic\", 1]").is_err());
        assert!(values("[]").is_err());
    }

    #[test]
    fn endless_ranges_are_refused() {
        for wrong in [
            "{ from = 1, to = 2, step = 0 }",
            "{ from = 1, to = 2, step = -1 }",
            "{ from = 2, to = 1, step = 1 }",
            "{ from = 0, to = 1e9, step = 0.001 }",
            "{ from = 0, to = nan, step = 1 }",
            "{ from = 0, to = inf, step = 1 }",
            "{ from = 0, to = 1, step = 1e-12 }",
            "{ from = -9223372036854775808, to = 9223372036854775807, step = 1 }",
        ] {
            assert!(values(wrong).is_err(), "{wrong}");
        }
    }
}
