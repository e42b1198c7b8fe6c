//! A value as `data.csv` and `--json` have it.

use serde::{Deserialize, Serialize};

use crate::job::Spread;
use crate::values::{Absent, Value, Values};

/// A value, or the reason why there is none; the times are there if it comes from jobs.
#[derive(Default, Deserialize, Serialize)]
pub struct Row {
    series: String,
    x: String,
    measured: Option<f64>,
    shown: Option<f64>,
    jobs: Option<u64>,
    min_ns: Option<u64>,
    mean_ns: Option<u64>,
    max_ns: Option<u64>,
    llc_misses_max: Option<u64>,
    /// The values measured with each placement, with spaces between.
    #[serde(default)]
    placements: String,
    /// The reason if there is no value, or nothing if there is one; all rows have it if one of them is without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    absent: Option<String>,
}

impl Row {
    /// The rows of all values, then of what is absent.
    pub fn all(values: &Values) -> Vec<Self> {
        let absent = values.absent.iter().map(|it| Self {
            series: it.series.clone(),
            x: it.x.clone(),
            absent: Some(it.why.clone()),
            ..Self::default()
        });
        let some = (!values.absent.is_empty()).then(String::new);
        let present = values.all.iter().map(|it| Self { absent: some.clone(), ..Self::new(it) });
        present.chain(absent).collect()
    }

    fn new(value: &Value) -> Self {
        let spread = value.spread;
        Self {
            series: value.series.clone(),
            x: value.x.clone(),
            measured: Some(value.measured),
            shown: Some(value.shown),
            jobs: spread.map(|it| it.jobs),
            min_ns: spread.map(|it| it.min_ns),
            mean_ns: spread.map(|it| it.mean_ns),
            max_ns: spread.map(|it| it.max_ns),
            llc_misses_max: spread.map(|it| it.llc_misses_max),
            placements: value.placements.iter().map(f64::to_string).collect::<Vec<_>>().join(" "),
            absent: None,
        }
    }

    /// Adds what the row says to `values`.
    pub fn add_to(self, values: &mut Values) -> Result<(), String> {
        let spread = || {
            Some(Spread {
                jobs: self.jobs?,
                min_ns: self.min_ns?,
                mean_ns: self.mean_ns?,
                max_ns: self.max_ns?,
                llc_misses_max: self.llc_misses_max?,
            })
        };
        let spread = spread();
        let placements = self.placements.split_whitespace().map(str::parse).collect();
        let placements: Result<_, std::num::ParseFloatError> = placements;
        let placements = placements.map_err(|error| format!("a placement: {error}"))?;
        let Self { series, x, measured, shown, absent, .. } = self;
        let why = absent.unwrap_or_default();
        match (measured, shown) {
            (Some(measured), Some(shown)) if why.is_empty() => {
                values.all.push(Value { series, x, measured, shown, spread, placements });
            }
            (None, None) if !why.is_empty() => values.absent.push(Absent { series, x, why }),
            _ => {
                return Err(format!(
                    "`{series}` at {x} needs either a value or a reason in `absent`"
                ));
            }
        }
        Ok(())
    }
}
