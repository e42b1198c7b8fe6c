//! Lanes with bars over a common time.

use std::ops::Range;

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::theme::{self, FONT, GRID, INK, PAPER, TEXT, TITLE};
use super::{Error, drawing, finite};

/// A chart of lanes with bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Gantt {
    /// Title of the chart.
    pub title: String,
    /// The axis of time, with its unit.
    pub x: String,
    /// The time that is shown.
    pub range: Range<f64>,
    /// The lanes from top to bottom.
    pub lanes: Vec<Lane>,
}

/// A lane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// Its name, at the left.
    pub name: String,
    /// Its bars.
    pub bars: Vec<Span>,
    /// Times with an arrow upwards: releases.
    pub arrows: Vec<f64>,
    /// Lines from a point to another, with values of 0 to 1: a budget while it is used.
    pub lines: Vec<[(f64, f64); 2]>,
}

/// A bar in a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Start and end of the bar.
    pub time: Range<f64>,
    /// Number of its colour.
    pub series: usize,
}

/// Most bars and arrows that a chart shows.
pub const GANTT_PIECES_MAX: usize = 20_000;

const WIDTH: u32 = 1100;
const LANE: u32 = 34;
/// Width of the names of the lanes.
const NAMES: i32 = 180;
/// The part of a lane that its bars fill, from below.
const FILLED: f64 = 0.68;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl Gantt {
    /// Returns the chart as an SVG document.
    pub fn svg(&self) -> Result<String, Error> {
        let pieces: usize = self.lanes.iter().map(|lane| lane.bars.len() + lane.arrows.len()).sum();
        if pieces == 0 {
            return Err(Error::Empty(self.title.clone()));
        }
        if pieces > GANTT_PIECES_MAX {
            return Err(Error::TooMuch { chart: self.title.clone(), pieces });
        }
        finite(&self.title, &self.x, [self.range.start, self.range.end].into_iter())?;
        for lane in &self.lanes {
            let bars = lane.bars.iter().flat_map(|bar| [bar.time.start, bar.time.end]);
            let line = lane.lines.iter().flatten().flat_map(|&(at, value)| [at, value]);
            finite(&self.title, &lane.name, bars.chain(line).chain(lane.arrows.iter().copied()))?;
        }
        let mut svg = String::new();
        self.draw(&mut svg)?;
        Ok(theme::with_dark_colors(&svg))
    }

    fn draw(&self, svg: &mut String) -> Result<(), Error> {
        let failed = drawing(&self.title);
        let lanes = self.lanes.len() as u32;
        let area = SVGBackend::with_string(svg, (WIDTH, lanes * LANE + 90)).into_drawing_area();
        area.fill(&PAPER).map_err(&failed)?;
        let text = (FONT, TEXT).into_font().color(&INK);
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, (FONT, TITLE).into_font().color(&INK))
            .margin(14)
            .margin_left(NAMES)
            .margin_right(40)
            .x_label_area_size(40)
            .build_cartesian_2d(self.range.clone(), f64::from(lanes)..0.0)
            .map_err(&failed)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(PAPER)
            .label_style(text.clone())
            .x_desc(&self.x)
            .draw()
            .map_err(&failed)?;
        for (index, lane) in self.lanes.iter().enumerate() {
            lane.draw(&mut chart, index as f64).map_err(&failed)?;
            let (left, bottom) = chart.backend_coord(&(self.range.start, index as f64 + 1.0));
            let name = text.clone().pos(Pos::new(HPos::Right, VPos::Bottom));
            let place = (left - 8, bottom - 6);
            area.draw(&Text::new(lane.name.clone(), place, name)).map_err(&failed)?;
        }
        area.present().map_err(&failed)
    }
}

impl Lane {
    fn draw(
        &self,
        chart: &mut Chart<'_, '_>,
        index: f64,
    ) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let (bottom, top) = (index + 1.0, index + 1.0 - FILLED);
        let range = chart.x_range();
        let (start, end) = (range.start, range.end);
        chart.draw_series([PathElement::new(vec![(start, bottom), (end, bottom)], GRID)])?;
        chart.draw_series(self.bars.iter().map(|bar| {
            let corners = [(bar.time.start, top), (bar.time.end, bottom)];
            Rectangle::new(corners, theme::series(bar.series).filled())
        }))?;
        let height = |value: f64| bottom - value.clamp(0.0, 1.0) * FILLED;
        chart.draw_series(self.lines.iter().map(|line| {
            let points = line.map(|(at, value)| (at, height(value)));
            PathElement::new(points.to_vec(), INK)
        }))?;
        for &at in &self.arrows {
            let (x, low) = chart.backend_coord(&(at, bottom));
            let (_, high) = chart.backend_coord(&(at, index + 0.12));
            let area = chart.plotting_area().strip_coord_spec();
            let base = area.get_base_pixel();
            let at = |x: i32, y: i32| (x - base.0, y - base.1);
            let shaft = vec![at(x, low), at(x, high)];
            area.draw(&PathElement::new(shaft, INK))?;
            let head = vec![at(x - 3, high + 5), at(x, high), at(x + 3, high + 5)];
            area.draw(&PathElement::new(head, INK))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Gantt {
        let bar = |time, series| Span { time, series };
        Gantt {
            title: "Two VCPUs".into(),
            x: "time in ms".into(),
            range: 0.0..10.0,
            lanes: vec![
                Lane {
                    name: "PCPU 0".into(),
                    bars: vec![bar(0.0..2.0, 0), bar(2.0..7.0, 1)],
                    ..Lane::default()
                },
                Lane {
                    name: "rt/0".into(),
                    bars: vec![bar(0.0..2.0, 0)],
                    arrows: vec![0.0, 5.0],
                    lines: vec![[(0.0, 1.0), (2.0, 0.0)]],
                },
            ],
        }
    }

    #[test]
    fn bars_arrows_and_names_are_there() {
        let svg = chart().svg().expect("a chart");
        for part in ["Two VCPUs", "PCPU 0", "rt/0", "time in ms"] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
        // The paper is one too.
        assert_eq!(svg.matches("<rect").count(), 1 + 3, "{svg}");
        let mut more = chart();
        more.lanes[1].arrows.push(7.0);
        let lines = |svg: &str| svg.matches("<polyline").count();
        assert!(lines(&more.svg().expect("a chart")) > lines(&svg));
    }

    #[test]
    fn charts_that_nobody_can_read_are_refused() {
        let mut many = chart();
        many.lanes[1].arrows = vec![1.0; GANTT_PIECES_MAX + 1];
        let error = many.svg().expect_err("too much");
        assert!(error.to_string().contains("shorter time"), "{error}");
        many.lanes.clear();
        assert_eq!(many.svg(), Err(Error::Empty("Two VCPUs".into())));
    }
}
