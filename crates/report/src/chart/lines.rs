//! Lines over a numeric axis.

use std::ops::Range;

use plotters::prelude::*;

use super::theme::{self, FONT, GRID, INK, PAPER, SIZE, TEXT, TITLE};
use super::{Axis, Error, drawing, finite, number};

/// A chart of lines, with a mark at each point.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// Title of the chart.
    pub title: String,
    /// The axis of the points' first numbers.
    pub x: Axis,
    /// The axis of the points' second numbers.
    pub y: Axis,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points, in the order in which they are joined.
    pub points: Vec<(f64, f64)>,
}

impl LineChart {
    /// Returns the chart as an SVG document.
    pub fn svg(&self) -> Result<String, Error> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        if points().next().is_none() {
            return Err(Error::Empty(self.title.clone()));
        }
        for line in &self.lines {
            finite(&self.title, &line.name, line.points.iter().flat_map(|&(x, y)| [x, y]))?;
        }
        let x = self.x.range(points().map(|point| point.0));
        let y = self.y.range(points().map(|point| point.1));
        let mut svg = String::new();
        let legend = emptiest_corner(points(), &x, &y);
        self.draw(&mut svg, x, y, legend)?;
        Ok(theme::with_dark_colors(&svg))
    }

    fn draw(
        &self,
        svg: &mut String,
        x: Range<f64>,
        y: Range<f64>,
        legend: SeriesLabelPosition,
    ) -> Result<(), Error> {
        let failed = drawing(&self.title);
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&PAPER).map_err(&failed)?;
        let text = (FONT, TEXT).into_font().color(&INK);
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, (FONT, TITLE).into_font().color(&INK))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(88)
            .build_cartesian_2d(x, y)
            .map_err(&failed)?;
        chart
            .configure_mesh()
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(PAPER)
            .label_style(text.clone())
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .x_label_formatter(&|value| number(*value))
            .y_label_formatter(&|value| number(*value))
            .draw()
            .map_err(&failed)?;
        for (index, line) in self.lines.iter().enumerate() {
            let color = theme::series(index);
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), color.stroke_width(2)))
                .map_err(&failed)?
                .label(&line.name)
                .legend(move |(x, y)| mark(index, (x + 10, y)));
            chart
                .draw_series(line.points.iter().map(|&point| mark(index, point)))
                .map_err(&failed)?;
        }
        chart
            .configure_series_labels()
            .position(legend)
            .background_style(PAPER)
            .border_style(GRID)
            .label_font(text)
            .draw()
            .map_err(&failed)?;
        area.present().map_err(&failed)
    }
}

/// Returns the corner for the legend: the one with the fewest points.
fn emptiest_corner<'a>(
    points: impl Iterator<Item = &'a (f64, f64)> + Clone,
    x: &Range<f64>,
    y: &Range<f64>,
) -> SeriesLabelPosition {
    use SeriesLabelPosition::{LowerLeft, LowerRight, UpperLeft, UpperRight};
    // The legend takes about half of the width and a third of the height.
    let middle = (x.start + x.end) / 2.0;
    let (low, high) = (y.start + (y.end - y.start) / 3.0, y.end - (y.end - y.start) / 3.0);
    let count =
        |inside: &dyn Fn(f64, f64) -> bool| points.clone().filter(|&&(x, y)| inside(x, y)).count();
    let corners: [(SeriesLabelPosition, usize); 4] = [
        (UpperRight, count(&|x, y| x > middle && y > high)),
        (UpperLeft, count(&|x, y| x < middle && y > high)),
        (LowerRight, count(&|x, y| x > middle && y < low)),
        (LowerLeft, count(&|x, y| x < middle && y < low)),
    ];
    let best = corners.into_iter().min_by_key(|&(_, points)| points);
    best.map_or(UpperRight, |(corner, _)| corner)
}

/// Returns the mark of a series at a point: every second one is hollow.
fn mark<C>(index: usize, at: C) -> Circle<C, i32> {
    let color = theme::series(index);
    Circle::new(at, 3, if index.is_multiple_of(2) { color.filled() } else { color.stroke_width(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> LineChart {
        LineChart {
            title: "Time <of> tasks".into(),
            x: Axis::from_zero("colours"),
            y: Axis::from_zero("time"),
            lines: vec![Line { name: "a & b".into(), points }],
        }
    }

    #[test]
    fn a_chart_has_its_texts_and_colours_for_both_kinds_of_pages() {
        let chart = chart(vec![(1.0, 1.0), (2.0, 0.5)]);
        let svg = chart.svg().expect("a chart");
        for part in ["Time &lt;of&gt; tasks", "a &amp; b", "colours", "#0072B2", "dark"] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
        assert_eq!(chart.svg().expect("a chart"), svg, "the same chart gives the same bytes");
    }

    #[test]
    fn the_legend_lies_where_nothing_is() {
        let corner = |points: &[(f64, f64)]| {
            format!("{:?}", emptiest_corner(points.iter(), &(0.0..10.0), &(0.0..10.0)))
        };
        assert_eq!(corner(&[(1.0, 9.0), (9.0, 1.0)]), "UpperRight");
        assert_eq!(corner(&[(1.0, 1.0), (9.0, 9.0)]), "UpperLeft");
    }

    #[test]
    fn nothing_and_no_numbers_are_refused() {
        assert_eq!(chart(vec![]).svg(), Err(Error::Empty("Time <of> tasks".into())));
        assert!(matches!(chart(vec![(1.0, f64::NAN)]).svg(), Err(Error::NotFinite { .. })));
    }
}
