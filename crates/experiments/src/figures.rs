//! The figures of an experiment.

use lab::Failure;
use report::{Axis, BarChart, Bars, Line, LineChart};

use crate::experiment::{Figure, Plan, Plot};
use crate::values::Values;

/// The figure of an experiment that has one.
const ONLY: &str = "plot";

impl Plan {
    /// Title and file of each figure.
    pub fn figures(&self, values: &Values) -> Vec<(&str, String)> {
        let name = |file: &str| format!("{file}.svg");
        match self.plot {
            None => vec![],
            Some(_) if self.figures.is_empty() => vec![(self.title.as_str(), name(ONLY))],
            Some(_) => {
                let drawn = self.figures.iter().filter(|figure| figure.has_values(values));
                drawn.map(|figure| (figure.title.as_str(), name(&figure.file))).collect()
            }
        }
    }

    /// Draws the figures, in the same order; none if there is nothing to draw.
    pub fn draw(&self, values: &Values) -> Result<Vec<String>, Failure> {
        let all = || values.series().into_iter().map(str::to_owned).collect();
        let (title, x, y) = (self.title.clone(), self.x.clone(), self.y.clone());
        let svg = match self.plot {
            _ if values.all.is_empty() => return Ok(vec![]),
            None => return Ok(vec![]),
            Some(Plot::Bars) => vec![bars(self, values).svg()],
            Some(Plot::Lines) if self.figures.is_empty() => {
                let file = ONLY.into();
                vec![lines(&Figure { file, title, x, y, series: all() }, values).svg()]
            }
            Some(Plot::Lines) => {
                let drawn = self.figures.iter().filter(|figure| figure.has_values(values));
                drawn.map(|figure| lines(figure, values).svg()).collect()
            }
        };
        let svg: Result<Vec<String>, _> = svg.into_iter().collect();
        svg.map_err(|error| Failure::new("figure", error))
    }
}

fn lines(figure: &Figure, values: &Values) -> LineChart {
    let line = |series: &String| {
        let here = values
            .places()
            .into_iter()
            .filter_map(|x| Some((x.parse().ok()?, values.get(series, x)?.shown)));
        Line { name: series.clone(), points: here.collect() }
    };
    LineChart {
        title: figure.title.clone(),
        x: Axis::from_zero(&figure.x),
        y: Axis::from_zero(&figure.y),
        lines: figure.series.iter().map(line).filter(|line| !line.points.is_empty()).collect(),
    }
}

fn bars(plan: &Plan, values: &Values) -> BarChart {
    let places = values.places();
    let bars = |series: &str| {
        let shown = |x: &&str| values.get(series, x).map(|value| value.shown);
        Bars { name: series.into(), values: places.iter().map(shown).collect() }
    };
    BarChart {
        title: plan.title.clone(),
        y: plan.y.clone(),
        categories: places.iter().map(|&x| x.to_owned()).collect(),
        series: values.series().into_iter().map(bars).collect(),
    }
}
