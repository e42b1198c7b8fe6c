//! Reads an experiment.

mod file;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use system::diagnostic::{Diagnostic, Errors, Place, Source};
use toml::Spanned;

use super::{Experiment, Point};
use crate::axis::Axis;
use crate::kind::Kind;
use crate::{Scalar, allocation, locks, servers, shard};

/// Most points.
const POINTS: usize = 100_000;
/// Most systems of a point: the random stream has this number of bits for the index of a system.
const SYSTEMS: u64 = 1 << shard::INDEX_BITS;
/// Most rows of all points together: they are put into one table in memory.
const ROWS: u64 = 100_000_000;
/// Systems of a shard, if nothing is said.
const PER_SHARD: u64 = 50;

/// An experiment as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    seed: Spanned<i64>,
    systems: Spanned<i64>,
    systems_per_shard: Option<Spanned<i64>>,
    #[serde(default)]
    grid: BTreeMap<Spanned<String>, Spanned<Axis>>,
    allocation: Option<Spanned<allocation::Settings>>,
    locks: Option<Spanned<locks::Settings>>,
    servers: Option<Spanned<servers::Settings>>,
}

/// Collects mistakes.
struct Reader {
    source: Arc<Source>,
    mistakes: Vec<Diagnostic>,
}

impl Reader {
    fn wrong(&mut self, code: &'static str, span: Range<usize>, message: String) {
        let place = Place::new(&self.source, span);
        self.mistakes.push(Diagnostic::new(code, message).at(&place, ""));
    }

    /// Returns a number in a range; the least one if it is none of them.
    fn number(&mut self, name: &str, value: &Spanned<i64>, least: u64, most: u64) -> u64 {
        let number = u64::try_from(*value.get_ref()).ok();
        number.filter(|number| (least..=most).contains(number)).unwrap_or_else(|| {
            let message =
                format!("`{name}` is {}, and has to be {least} to {most}", value.get_ref());
            self.wrong("out-of-range", value.span(), message);
            least
        })
    }

    /// Returns the kind of systems, and its place in the file.
    fn kind(&mut self, file: &File) -> Option<(Kind, Range<usize>)> {
        let mut kinds: Vec<(Kind, Range<usize>)> = Vec::new();
        if let Some(it) = &file.allocation {
            kinds.push((Kind::Allocation(it.get_ref().clone()), it.span()));
        }
        if let Some(it) = &file.locks {
            kinds.push((Kind::Locks(it.get_ref().clone()), it.span()));
        }
        if let Some(it) = &file.servers {
            kinds.push((Kind::Servers(it.get_ref().clone()), it.span()));
        }
        let help = "give one of the tables [allocation], [locks] and [servers]";
        match kinds.len() {
            0 => {
                let end = self.source.text().len();
                self.wrong("missing-key", end..end, "what is drawn is missing".into());
            }
            1 => return kinds.pop(),
            _ => {
                let message = "an experiment draws one kind of systems".into();
                self.wrong("several-kinds", kinds.swap_remove(1).1, message);
            }
        }
        if let Some(mistake) = self.mistakes.pop() {
            self.mistakes.push(mistake.help(help));
        }
        None
    }

    /// Names and values of the parameters that differ, in the order of the file.
    fn grid(&mut self, file: &File, kind: &Kind) -> Vec<(String, Vec<Scalar>, Range<usize>)> {
        let mut axes: Vec<_> = file.grid.iter().collect();
        axes.sort_by_key(|(name, _)| name.span().start);
        let mut grid = Vec::new();
        for (name, axis) in axes {
            let parameter = name.get_ref();
            if !kind.population().parameters().contains(&parameter.as_str()) {
                let message = format!("a grid cannot have `{parameter}` here");
                self.wrong("unknown-key", name.span(), message);
                let help = format!("parameters are {}", kind.population().parameters().join(", "));
                if let Some(mistake) = self.mistakes.pop() {
                    self.mistakes.push(mistake.help(help));
                }
                continue;
            }
            let values = axis.get_ref().values().and_then(|values| {
                let mut tried = kind.clone();
                values.iter().try_for_each(|value| tried.population_mut().set(parameter, value))?;
                Ok(values)
            });
            match values {
                Ok(values) => grid.push((parameter.clone(), values, axis.span())),
                Err(error) => {
                    self.wrong("wrong-value", axis.span(), format!("`{parameter}`: {error}"))
                }
            }
        }
        grid
    }
}

/// Reads an experiment, and draws the first system of each point.
pub fn experiment(name: &str, text: &str) -> Result<Experiment, Errors> {
    let mut reader = Reader { source: Source::new(name, text), mistakes: Vec::new() };
    let file = file::read::<File>(&reader.source)?;
    let seed = reader.number("seed", &file.seed, 0, i64::MAX as u64);
    let systems = reader.number("systems", &file.systems, 1, SYSTEMS);
    let per_shard = file.systems_per_shard.as_ref();
    let systems_per_shard =
        per_shard.map_or(PER_SHARD, |value| reader.number("systems_per_shard", value, 1, SYSTEMS));
    let kind = reader.kind(&file);
    let Some((kind, span)) = kind else {
        return Err(Errors::unless_none(reader.mistakes, ()).expect_err("there is no kind"));
    };
    let grid = reader.grid(&file, &kind);
    let count = grid.iter().fold(1, |count: usize, axis| count.saturating_mul(axis.1.len()));
    if count > POINTS || (count as u64).saturating_mul(systems) > ROWS {
        let message = format!(
            "{count} points with {systems} systems each are too many: at most {POINTS} points and \
             {ROWS} systems in all"
        );
        let at = grid.first().map_or(file.systems.span(), |axis| axis.2.clone());
        reader.wrong("too-many", at, message);
    }
    Errors::unless_none(std::mem::take(&mut reader.mistakes), ())?;
    let points = (0..count).map(|number| point(&kind, &grid, number)).collect();
    let parameters = grid.iter().map(|(name, ..)| name.clone()).collect();
    let experiment = Experiment {
        title: file.title,
        text: text.to_owned(),
        seed,
        systems,
        systems_per_shard,
        parameters,
        points,
    };
    // One mistake of the parameters is enough: others have the same reason as a rule.
    for number in 0..experiment.points.len() {
        if let Err(error) = shard::first(&experiment, number) {
            // It is the grid's fault if there is one.
            let at = grid.first().map_or(span, |axis| axis.2.clone());
            reader.wrong("impossible-system", at, error.to_string());
            break;
        }
    }
    Errors::unless_none(reader.mistakes, experiment)
}

/// Returns a point by its number: the last parameter changes fastest.
fn point(kind: &Kind, grid: &[(String, Vec<Scalar>, Range<usize>)], number: usize) -> Point {
    let (mut kind, mut rest) = (kind.clone(), number);
    let mut values = Vec::with_capacity(grid.len());
    for (parameter, all, _) in grid.iter().rev() {
        let value = all[rest % all.len()].clone();
        rest /= all.len();
        // Each value was tried before.
        let _ = kind.population_mut().set(parameter, &value);
        values.push(value);
    }
    values.reverse();
    Point { values, kind }
}
