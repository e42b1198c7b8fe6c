//! Medians with their least and largest values, over named places.

use plotters::prelude::*;

use super::theme::{self, FONT, GRID, INK, PAPER, SIZE, TEXT, TITLE};
use super::{Axis, Error, drawing, finite, number};

/// A chart of medians with error bars, over places with names. A second axis, at the
/// right, may show a count beside each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct WhiskerChart {
    /// Title of the chart.
    pub title: String,
    /// Names of the places, from left to right.
    pub places: Vec<String>,
    /// The quantity at the places.
    pub label: String,
    /// The axis of the values.
    pub y: Axis,
    /// The values.
    pub series: Vec<Whiskers>,
    /// The axis of counts; without one there are none.
    pub counts: Option<Axis>,
}

/// Values of one kind, one for each place; where there is none there is a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Whiskers {
    /// Name in the legend.
    pub name: String,
    /// The values.
    pub values: Vec<Option<Whisker>>,
    /// A count at each place, for the second axis.
    pub counts: Vec<Option<f64>>,
}

/// A median and the ends of its error bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Whisker {
    /// The least value.
    pub low: f64,
    /// The median.
    pub middle: f64,
    /// The largest value.
    pub high: f64,
}

/// Width of the cap of an error bar, in pixels.
const CAP: u32 = 8;
/// Distance of series at a place, as a part of the distance of places.
const BESIDE: f64 = 0.12;

/// Height of a line of the legend, as a part of the highest value.
const LEGEND_LINE: f64 = 0.08;

impl WhiskerChart {
    /// Returns the chart as an SVG document.
    ///
    /// # Errors
    ///
    /// There is nothing to show, or a value is not a number.
    pub fn svg(&self) -> Result<String, Error> {
        let values = || {
            let all = self.series.iter().flat_map(|it| it.values.iter().flatten());
            all.flat_map(|it| [it.low, it.middle, it.high])
        };
        let counts = || self.series.iter().flat_map(|it| it.counts.iter().flatten().copied());
        if values().next().is_none() {
            return Err(Error::Empty(self.title.clone()));
        }
        finite(&self.title, &self.y.label, values())?;
        finite(&self.title, "counts", counts())?;
        let right = match &self.counts {
            Some(axis) if counts().next().is_some() => Some(axis),
            _ => None,
        };
        let failed = drawing(&self.title);
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&PAPER).map_err(&failed)?;
        let text = (FONT, TEXT).into_font().color(&INK);
        // One series needs no legend; above several there is room for it.
        let entries = self.series.len() * (1 + usize::from(right.is_some()));
        let entries = if entries > 1 { entries } else { 0 };
        let highest = values().fold(0.0, f64::max) * (1.0 + LEGEND_LINE * entries as f64);
        let most = counts().fold(0.0, f64::max) * (1.0 + LEGEND_LINE * entries as f64);
        let x = -0.5..self.places.len() as f64 - 0.5;
        let second = right.map_or(0.0..1.0, |axis| axis.range(counts().chain([most])));
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, (FONT, TITLE).into_font().color(&INK))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(88)
            .right_y_label_area_size(if right.is_some() { 88 } else { 0 })
            .build_cartesian_2d(x.clone(), self.y.range(values().chain([highest])))
            .map_err(&failed)?
            .set_secondary_coord(x, second);
        let name = |place: &f64| {
            let whole = (place - place.round()).abs() < 0.01 && *place > -0.5;
            let name = whole.then(|| self.places.get(place.round() as usize)).flatten();
            name.cloned().unwrap_or_default()
        };
        chart
            .configure_mesh()
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(PAPER)
            .disable_x_mesh()
            .x_labels(2 * self.places.len())
            .label_style(text.clone())
            .x_desc(&self.label)
            .y_desc(&self.y.label)
            .x_label_formatter(&name)
            .y_label_formatter(&|value| number(*value))
            .draw()
            .map_err(&failed)?;
        if let Some(axis) = right {
            chart
                .configure_secondary_axes()
                .axis_style(INK)
                .label_style(text.clone())
                .y_desc(&axis.label)
                .y_label_formatter(&|value| number(*value))
                .draw()
                .map_err(&failed)?;
        }
        for (index, series) in self.series.iter().enumerate() {
            let color = theme::series(index);
            let middle = (self.series.len() as f64 - 1.0) / 2.0;
            let at = |place: usize| place as f64 + (index as f64 - middle) * BESIDE;
            let bars = series.values.iter().enumerate().filter_map(|(place, value)| {
                value.map(|it| {
                    let style = color.stroke_width(2);
                    ErrorBar::new_vertical(at(place), it.low, it.middle, it.high, style, CAP)
                })
            });
            chart
                .draw_series(bars)
                .map_err(&failed)?
                .label(&series.name)
                .legend(move |(x, y)| Circle::new((x + 10, y), 3, color.filled()));
            if right.is_some() {
                // Counts are hollow, and joined by a thin line.
                let points: Vec<(f64, f64)> = series
                    .counts
                    .iter()
                    .enumerate()
                    .filter_map(|(place, count)| Some((at(place), (*count)?)))
                    .collect();
                chart
                    .draw_secondary_series(LineSeries::new(points.clone(), color.stroke_width(1)))
                    .map_err(&failed)?;
                chart
                    .draw_secondary_series(
                        points.into_iter().map(|at| Circle::new(at, 4, color.stroke_width(1))),
                    )
                    .map_err(&failed)?
                    .label(format!("{}, counted", series.name))
                    .legend(move |(x, y)| Circle::new((x + 10, y), 4, color.stroke_width(1)));
            }
        }
        if entries > 0 {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperLeft)
                .background_style(PAPER)
                .border_style(GRID)
                .label_font(text)
                .draw()
                .map_err(&failed)?;
        }
        area.present().map_err(&failed)?;
        drop(chart);
        drop(area);
        Ok(theme::with_dark_colors(&svg))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(counts: Option<Axis>) -> WhiskerChart {
        let value = |middle: f64| Some(Whisker { low: middle - 1.0, middle, high: middle + 2.0 });
        WhiskerChart {
            title: "Time of a product".into(),
            places: vec!["64KiB".into(), "<1MiB>".into()],
            label: "leech".into(),
            y: Axis::from_zero("ms"),
            series: vec![Whiskers {
                name: "Linux".into(),
                values: vec![value(5.0), value(7.0)],
                counts: vec![Some(100.0), None],
            }],
            counts,
        }
    }

    #[test]
    fn places_have_names_and_counts_an_axis() {
        let svg = chart(Some(Axis::from_zero("LLC misses"))).svg().expect("a chart");
        for part in ["64KiB", "&lt;1MiB&gt;", "LLC misses", "Linux, counted", "ms", "dark"] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
        let plain = chart(None).svg().expect("a chart");
        assert!(!plain.contains("LLC misses") && !plain.contains("counted"));
    }

    #[test]
    fn nothing_and_no_numbers_are_refused() {
        let mut empty = chart(None);
        empty.series[0].values = vec![None, None];
        assert!(matches!(empty.svg(), Err(Error::Empty(_))));
        let mut odd = chart(None);
        odd.series[0].values[0] = Some(Whisker { low: 0.0, middle: f64::NAN, high: 1.0 });
        assert!(matches!(odd.svg(), Err(Error::NotFinite { .. })));
    }
}
