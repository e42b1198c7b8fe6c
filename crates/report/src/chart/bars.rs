//! Groups of bars over named categories.

use plotters::prelude::*;

use super::theme::{self, FONT, GRID, INK, PAPER, SIZE, TEXT, TITLE};
use super::{Axis, Error, drawing, finite, number};

/// A chart of bars: for each category a group, in which each series has a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// Title of the chart.
    pub title: String,
    /// The axis of the values; it begins at zero.
    pub y: String,
    /// The names of the groups.
    pub categories: Vec<String>,
    /// The series, in the order of the legend.
    pub series: Vec<Bars>,
}

/// The bars of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Its name in the legend.
    pub name: String,
    /// The values in the order of the categories; `None` leaves a gap.
    pub values: Vec<Option<f64>>,
}

/// The part of a category that its bars fill.
const FILLED: f64 = 0.8;

impl BarChart {
    /// Returns the chart as an SVG document.
    pub fn svg(&self) -> Result<String, Error> {
        let values = || self.series.iter().flat_map(|bars| bars.values.iter().flatten().copied());
        if values().next().is_none() {
            return Err(Error::Empty(self.title.clone()));
        }
        for bars in &self.series {
            finite(&self.title, &bars.name, bars.values.iter().flatten().copied())?;
        }
        let mut svg = String::new();
        // Above the bars there is room for the legend.
        let mut range = Axis::from_zero(&self.y).range(values());
        range.end *= 1.0 + 0.08 * self.series.len() as f64;
        self.draw(&mut svg, range)?;
        Ok(theme::with_dark_colors(&svg))
    }

    fn draw(&self, svg: &mut String, y: std::ops::Range<f64>) -> Result<(), Error> {
        let failed = drawing(&self.title);
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&PAPER).map_err(&failed)?;
        let text = (FONT, TEXT).into_font().color(&INK);
        // The last one belongs to such a range.
        let categories = 0..self.categories.len().saturating_sub(1);
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, (FONT, TITLE).into_font().color(&INK))
            .margin(14)
            .x_label_area_size(30)
            .y_label_area_size(88)
            .build_cartesian_2d(categories.into_segmented(), y)
            .map_err(&failed)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(PAPER)
            .label_style(text.clone())
            .y_desc(&self.y)
            .y_label_formatter(&|value| number(*value))
            .x_labels(self.categories.len())
            .x_label_formatter(&|at| {
                match at {
                    SegmentValue::CenterOf(index) => self.categories.get(*index).cloned(),
                    SegmentValue::Exact(_) | SegmentValue::Last => None,
                }
                .unwrap_or_default()
            })
            .draw()
            .map_err(&failed)?;
        // The library knows no groups: bars are drawn in pixels, between the
        // places that it computes for their category and value.
        let bounds = chart.plotting_area().get_pixel_range();
        let group = f64::from(bounds.0.end - bounds.0.start) / self.categories.len() as f64;
        let width = group * FILLED / self.series.len() as f64;
        let left = |category: usize, series: usize| {
            let group_left = category as f64 * group + group * (1.0 - FILLED) / 2.0;
            f64::from(bounds.0.start) + group_left + series as f64 * width
        };
        let (_, bottom) = chart.backend_coord(&(SegmentValue::Exact(0), 0.0));
        for (index, bars) in self.series.iter().enumerate() {
            let color = theme::series(index).filled();
            for (category, value) in bars.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let (_, top) = chart.backend_coord(&(SegmentValue::Exact(0), *value));
                let left = left(category, index);
                let corners = [(left as i32, top), ((left + width) as i32 - 1, bottom)];
                area.draw(&Rectangle::new(corners, color)).map_err(&failed)?;
            }
            // An empty series, for the legend alone.
            chart
                .draw_series(std::iter::empty::<Circle<(SegmentValue<usize>, f64), i32>>())
                .map_err(&failed)?
                .label(&bars.name)
                .legend(move |(x, y)| Rectangle::new([(x + 4, y - 6), (x + 16, y + 6)], color));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(PAPER)
            .border_style(GRID)
            .label_font(text)
            .draw()
            .map_err(&failed)?;
        area.present().map_err(&failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: Vec<Option<f64>>) -> BarChart {
        BarChart {
            title: "Slowdown".into(),
            y: "time".into(),
            categories: vec!["rt".into(), "linux".into()],
            series: vec![
                Bars { name: "alone".into(), values: vec![Some(1.0), Some(1.0)] },
                Bars { name: "together".into(), values },
            ],
        }
    }

    /// Bars of the second series.
    fn bars(svg: &str) -> usize {
        svg.matches("fill=\"#D55E00\"").count()
    }

    #[test]
    fn each_value_has_a_bar_and_a_gap_has_none() {
        let both = chart(vec![Some(2.0), Some(3.0)]).svg().expect("a chart");
        let gap = chart(vec![Some(2.0), None]).svg().expect("a chart");
        // The legend has one too.
        assert_eq!((bars(&both), bars(&gap)), (3, 2), "{both}");
        for part in ["rt", "linux", "together", "Slowdown"] {
            assert!(both.contains(part), "{part} is not in {both}");
        }
    }

    #[test]
    fn names_stand_below_the_middle_of_their_bars() {
        let svg = chart(vec![Some(2.0), Some(3.0)]).svg().expect("a chart");
        let x_before = |text: &str| -> Vec<f64> {
            let tags = svg.split('<').filter(|tag| tag.contains(text));
            tags.filter_map(|tag| tag.split("x=\"").nth(1)?.split('"').next()?.parse().ok())
                .collect()
        };
        let second: Vec<f64> = x_before("fill=\"#D55E00\"");
        let names = x_before("text-anchor=\"middle\"");
        // The second of two bars begins in the middle; the last one is that of the legend.
        for bar in &second[..2] {
            assert!(
                names.iter().any(|name| (name - bar).abs() < 3.0),
                "{names:?} {second:?}\n{svg}"
            );
        }
    }

    #[test]
    fn no_values_are_refused() {
        let mut empty = chart(vec![None, None]);
        empty.series.remove(0);
        assert_eq!(empty.svg(), Err(Error::Empty("Slowdown".into())));
    }
}
