//! Changes of means of a series against another: a table of its own on the page.

use report::markdown;
use serde::Deserialize;

use crate::values::Values;

/// A series against another, over the same places.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The series.
    pub series: String,
    /// The other one.
    pub of: String,
    /// The published statement about it.
    #[serde(default)]
    pub published: String,
}

/// The table. `places`: those that count.
pub fn table(changes: &[Change], values: &Values, places: &[String]) -> String {
    let rows = changes.iter().filter_map(|change| {
        let all = |series: &str| -> Option<Vec<f64>> {
            places.iter().map(|x| Some(values.get(series, x)?.shown)).collect()
        };
        let (own, of) = (all(&change.series)?, all(&change.of)?);
        let of_means = own.iter().sum::<f64>() / of.iter().sum::<f64>() - 1.0;
        let each = own.iter().zip(&of).map(|(own, of)| own / of - 1.0);
        let of_each = each.sum::<f64>() / own.len().max(1) as f64;
        let percent = |change: f64| format!("{:+.1} %", change * 100.0);
        let (series, of) = (change.series.clone(), change.of.clone());
        Some(vec![series, of, percent(of_means), percent(of_each), change.published.clone()])
    });
    let heading =
        ["mean of", "against", ">change of the mean", ">mean of the changes", ">published"];
    markdown::table(&heading, &rows.collect::<Vec<_>>()).trim_end().to_owned()
}
