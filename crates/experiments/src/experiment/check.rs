//! Checks of rules that the types of an experiment cannot state.

use std::num::NonZeroU64;

use lab::Failure;

use super::{EXPERIMENT, Experiment, Measure, Plan, Plot, Runs};
use crate::claim::Claim;
use crate::template::PLACEMENT;
use crate::values::DivideBy;

impl Experiment {
    /// Refuses what contradicts itself.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let runs = self.plan.runs.iter().find_map(|runs| self.plan.mistake(runs));
        match runs.or_else(|| self.unknown_name()) {
            Some(text) => {
                let file = self.folder.join(EXPERIMENT);
                Err(Failure::new("experiment", format!("{}: {text}", file.display())))
            }
            None => Ok(()),
        }
    }

    /// Returns the mistake in the names of series.
    fn unknown_name(&self) -> Option<String> {
        let Plan { runs, divide_by, figures, plot, changes, .. } = &self.plan;
        let series: Vec<&str> = runs.iter().map(|runs| runs.series.as_str()).collect();
        let columns = self.published.columns();
        if let Some(both) = columns.iter().find(|column| series.contains(column)) {
            return Some(format!(
                "`{both}` is a series and a column of published values: rename one"
            ));
        }
        let named: Vec<&str> = self.published.claims.iter().flat_map(Claim::series).collect();
        let published = named.iter().find(|name| columns.contains(name));
        if let (Some(column), Some(_)) = (published, divide_by) {
            return Some(format!(
                "a statement names the published `{column}`, which nothing divides: remove `divide_by`"
            ));
        }
        if !figures.is_empty() && !matches!(plot, Some(Plot::Lines)) {
            return Some("figures are lines over numbers: say `plot = \"lines\"`".into());
        }
        let divisor = match divide_by {
            Some(DivideBy::Series(name)) => Some(name.as_str()),
            _ => None,
        };
        let drawn = figures.iter().flat_map(|figure| figure.series.iter().map(String::as_str));
        let compared = changes.iter().flat_map(|it| [it.series.as_str(), it.of.as_str()]);
        let measured = named.into_iter().filter(|name| !columns.contains(name));
        let mut all = measured.chain(divisor).chain(drawn).chain(compared);
        let unknown = all.find(|name| !series.contains(name))?;
        Some(format!("no run is of the series `{unknown}`"))
    }
}

impl Plan {
    /// Returns the mistake in measurements.
    fn mistake(&self, runs: &Runs) -> Option<String> {
        let series = &runs.series;
        if runs.x.0.is_empty() {
            return Some(format!("the run of `{series}` has no place in `x`"));
        }
        let boots = runs.measure.boots();
        let needs_scope = !matches!(runs.measure, Measure::Console(_) | Measure::Moment(_));
        if self.plain && boots && needs_scope {
            return Some(format!("the run of `{series}` needs cachescope: remove `plain`"));
        }
        let needs_system =
            boots || matches!(runs.measure, Measure::Promised(_) | Measure::Moment(_));
        let system = match (needs_system, runs.system.is_some()) {
            (true, false) => Some(format!("the run of `{series}` names no `system`")),
            (false, true) => Some(format!("the run of `{series}` boots no `system`: remove it")),
            _ => None,
        };
        self.sets(runs).or_else(|| placements(runs)).or(system)
    }

    /// Returns the mistake in the random systems of measurements.
    fn sets(&self, runs: &Runs) -> Option<String> {
        use Measure as M;
        let (series, measure) = (&runs.series, &runs.measure);
        let allocates = matches!(measure, M::Utilization(_) | M::Excess(_));
        let analyses = matches!(measure, M::Schedulable(_));
        let plans = matches!(measure, M::Planned(_) | M::PlanningTime(_));
        let draws = matches!(measure, M::Reduction(_) | M::Length(_));
        let tables = [
            (allocates, self.allocation.is_some(), "allocates", "task sets", "allocation"),
            (analyses, self.locks.is_some(), "analyses", "task sets", "locks"),
            (plans, self.peers.is_some(), "plans", "systems", "peers"),
            (draws, self.chains.is_some(), "draws", "chains", "chains"),
        ];
        let (needs, .., does, what, table) =
            tables.into_iter().find(|(needs, has, ..)| needs != has)?;
        Some(match needs {
            true => format!("`{series}` {does} {what}: say which in `[{table}]`"),
            false => format!("`{series}` {does} no {what}: `[{table}]` has no use"),
        })
    }
}

/// Returns the mistake in the placements of measurements.
fn placements(runs: &Runs) -> Option<String> {
    let series = &runs.series;
    let several = runs.placements > NonZeroU64::MIN;
    let named = runs.append.values().any(|text| text.contains(PLACEMENT));
    match (several, named) {
        (true, true) if runs.measure.repeats() => None,
        (false, false) => None,
        (true, true) => {
            Some(format!("`{series}` is no time, count or text of one boot: remove `placements`"))
        }
        (true, false) => Some(format!(
            "all placements of `{series}` are alike: say `bulkhead.placement={PLACEMENT}` in `append` \
             of a Linux VM"
        )),
        (false, true) => {
            Some(format!("`{series}` has one placement: say how many in `placements`"))
        }
    }
}
