//! Summaries of the systems of each point.

use crate::{Cell, Experiment, Journal, Scalar, Shard, Summarize, shard};

/// A line for each point.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The points in their order.
    pub points: Vec<PointSummary>,
    /// Names of the columns, with what they count.
    pub columns: Vec<String>,
    /// The summary of each column.
    summarized: Vec<Summarize>,
}

/// The summary of the systems of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointSummary {
    /// Values of the parameters of the grid.
    pub values: Vec<Scalar>,
    /// Systems that are evaluated.
    pub systems: u64,
    /// The summary of each column: a share of 0 to 1, a mean, a maximum, or a sum; `None` if there
    /// is nothing to count.
    pub cells: Vec<Option<f64>>,
}

/// Sums over the cells of a column.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    sum: i128,
    max: Option<i64>,
}

impl Summary {
    /// Summarises all finished shards.
    pub fn new(experiment: &Experiment, journal: &Journal) -> Self {
        Self::of(experiment, journal.shards())
    }

    /// Summarises shards. Sums are whole numbers, so that their order does not matter.
    pub fn of<'a>(experiment: &Experiment, shards: impl Iterator<Item = &'a Shard>) -> Self {
        let columns = experiment.columns();
        let mut sums = vec![vec![Sum::default(); columns.len()]; experiment.points().len()];
        let mut systems = vec![0; experiment.points().len()];
        for it in shards {
            let Ok((point, _)) = shard::place(experiment, it.number()) else { continue };
            systems[point] += it.rows().len() as u64;
            for row in it.rows() {
                for ((column, cell), sum) in columns.iter().zip(row).zip(&mut sums[point]) {
                    let counts = match column.summarize {
                        Summarize::MeanWhere(other) => row[other] == Cell::Bool(true),
                        _ => true,
                    };
                    let value = match *cell {
                        Cell::Bool(value) => i64::from(value),
                        Cell::Int(value) => value,
                        Cell::Missing => continue,
                    };
                    if counts {
                        sum.count += 1;
                        sum.sum += i128::from(value);
                        sum.max = sum.max.max(Some(value));
                    }
                }
            }
        }
        let summarized: Vec<Summarize> = columns.iter().map(|column| column.summarize).collect();
        let of_point = |((point, sums), systems): ((&crate::Point, &Vec<Sum>), u64)| PointSummary {
            values: point.values().to_vec(),
            systems,
            cells: sums.iter().zip(&summarized).map(|(sum, how)| sum.value(*how)).collect(),
        };
        let points = experiment.points().iter().zip(&sums).zip(systems).map(of_point).collect();
        let heading = |column: &crate::Column| match column.summarize {
            Summarize::Share => format!("{}_share", column.name),
            Summarize::Mean | Summarize::MeanWhere(_) => format!("{}_mean", column.name),
            Summarize::Max => format!("{}_max", column.name),
            Summarize::Zero => format!("{}_sum", column.name),
        };
        Self { points, columns: columns.iter().map(heading).collect(), summarized }
    }

    /// Returns true if nothing was found that refutes an analysis.
    pub fn holds(&self) -> bool {
        let of_point = |point: &PointSummary| {
            let mut cells = point.cells.iter().zip(&self.summarized);
            cells.all(|(cell, how)| *how != Summarize::Zero || cell.is_none_or(|sum| sum == 0.0))
        };
        self.points.iter().all(of_point)
    }

    /// Returns the lines for people: names of columns, and cells.
    pub fn lines(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let percent = |name: &str| name.ends_with("_ppb_mean") || name.ends_with("_ppm_max");
        let heading = |name: &String| {
            let known = ["_ok_share", "_share", "_ppb_mean", "_ppm_max", "_mean", "_max", "_sum"];
            let end = known.into_iter().find(|end| name.ends_with(end)).unwrap_or_default();
            let unit = match end {
                "_ok_share" | "_share" => " ok %",
                _ if percent(name) => " %",
                _ => "",
            };
            format!("{}{unit}", name.trim_end_matches(end))
        };
        let cell = |(cell, name): (&Option<f64>, &String)| match cell {
            None => "-".into(),
            Some(value) if name.ends_with("_share") => format!("{:.1}", value * 100.0),
            Some(value) if name.ends_with("_ppb_mean") => format!("{:.2}", value / 1e7),
            Some(value) if name.ends_with("_ppm_max") => format!("{:.2}", value / 1e4),
            Some(value) if name.ends_with("_mean") => format!("{value:.1}"),
            Some(value) => format!("{value:.0}"),
        };
        let line = |point: &PointSummary| {
            let values = point.values.iter().map(|value| match value {
                Scalar::Text(text) => text.clone(),
                number => number.to_string(),
            });
            let cells = point.cells.iter().zip(&self.columns).map(cell);
            values.chain([point.systems.to_string()]).chain(cells).collect()
        };
        (self.columns.iter().map(heading).collect(), self.points.iter().map(line).collect())
    }
}

impl Sum {
    fn value(&self, how: Summarize) -> Option<f64> {
        match how {
            Summarize::Max => self.max.map(|max| max as f64),
            Summarize::Zero => Some(self.sum as f64),
            _ => (self.count > 0).then(|| self.sum as f64 / self.count as f64),
        }
    }
}
