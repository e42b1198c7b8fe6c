//! A time line: lanes with what happens from when to when. The page's script zooms it: all
//! places in the frame are linear in time, and the attributes say what they stand for.

use std::ops::Range;

use super::label::{class, short};
use super::svg::{Anchor, Svg};
use super::ticks::ticks;
use super::units::{exact_ms, instant, time};
use crate::proof::{Lane, LaneKind, Mark, MarkKind, Span, SpanKind, Timeline};

/// Most spans and marks of a time line.
pub const PIECES_MAX: usize = 4_000;
/// Most lanes of a time line.
pub const LANES_MAX: usize = 64;

/// Width in pixels; the script takes the width of the window.
const WIDTH: f64 = 1_100.0;
/// Width of the names of the lanes.
const LEFT: f64 = 132.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 6.0;
/// Height of the axis.
const BOTTOM: f64 = 30.0;
/// Height of the mark of a resource that a task has or waits for, at the top of its bars.
const SECTION: f64 = 6.0;

/// Returns the drawing, and the part of the window that it shows.
pub fn draw(timeline: &Timeline, name: &str) -> (String, Range<i64>) {
    let lanes = &timeline.lanes[..timeline.lanes.len().min(LANES_MAX)];
    let window = readable(lanes, &timeline.window_ns);
    let height: f64 = lanes.iter().map(height).sum();
    let plot = WIDTH - LEFT - RIGHT;
    let mut svg = Svg::new(WIDTH, TOP + height + BOTTOM);
    let mut top = TOP;
    for lane in lanes {
        let class = lane_class(lane.kind);
        let size = [0.0, top, WIDTH, self::height(lane)];
        svg.rect(&format!("lane {class}"), size, "");
        let indent = if matches!(lane.kind, LaneKind::Task) { 22.0 } else { 8.0 };
        let place = [indent, top + self::height(lane) / 2.0 + 4.0];
        svg.text(&format!("name {class}"), place, Anchor::Start, &short(&lane.name, 16));
        top += self::height(lane);
    }
    let scale = Scale { window: window.clone(), width: plot };
    let frame = [LEFT, 0.0, plot, TOP + height + BOTTOM];
    svg.frame("plot", frame, |svg| {
        svg.group("axis", |svg| {
            for place in ticks(window.start, window.end, 10) {
                let x = scale.x(place);
                svg.line("grid", [x, TOP], [x, TOP + height], "");
                // A text in the middle of a border would be cut off.
                let anchor = match x {
                    ..30.0 => Anchor::Start,
                    _ if x > plot - 30.0 => Anchor::End,
                    _ => Anchor::Middle,
                };
                svg.text("tick", [x, TOP + height + 18.0], anchor, &exact_ms(place));
            }
        });
        svg.group("pieces", |svg| {
            let mut top = TOP;
            for lane in lanes {
                let below = top + self::height(lane);
                for span in lane.spans.iter().filter(|span| overlaps(&span.time_ns, &window)) {
                    scale.span(svg, span, lane, top..below);
                }
                for mark in lane.marks.iter().filter(|mark| contains(&window, mark.at_ns)) {
                    let tip = tip(mark_name(mark.kind), &mark.label, &instant(mark.at_ns));
                    svg.symbol(symbol(mark), [scale.x(mark.at_ns), below - 2.0], &tip);
                }
                top = below;
            }
        });
    });
    svg.text("tick", [8.0, TOP + height + 18.0], Anchor::Start, "ms");
    let attributes = format!(
        " data-from=\"{}\" data-until=\"{}\" data-left=\"{LEFT}\" data-right=\"{RIGHT}\" data-bottom=\"{}\"",
        window.start,
        window.end,
        TOP + height
    );
    (svg.html(name, &attributes), window)
}

/// Converts times to places.
struct Scale {
    window: Range<i64>,
    width: f64,
}

impl Scale {
    fn x(&self, at_ns: i64) -> f64 {
        let whole = (i128::from(self.window.end) - i128::from(self.window.start)).max(1);
        let part = i128::from(at_ns) - i128::from(self.window.start);
        part as f64 / whole as f64 * self.width
    }

    fn span(&self, svg: &mut Svg, span: &Span, lane: &Lane, lane_y: Range<f64>) {
        let start = span.time_ns.start.max(self.window.start);
        let end = span.time_ns.end.min(self.window.end);
        let (x, until) = (self.x(start), self.x(end));
        let (class, y, height) = match span.kind {
            SpanKind::Runs => {
                let gap = if matches!(lane.kind, LaneKind::Task) { 7.0 } else { 3.0 };
                (class(span.vm), lane_y.start + gap, lane_y.end - lane_y.start - gap - 2.0)
            }
            SpanKind::Throttled => {
                ("throttled".into(), lane_y.start + 3.0, lane_y.end - lane_y.start - 5.0)
            }
            SpanKind::Waits => ("waits".into(), lane_y.start + 1.0, SECTION),
            SpanKind::Holds => ("holds".into(), lane_y.start + 1.0, SECTION),
            SpanKind::Unknown => {
                ("unknown".into(), lane_y.start + 1.0, lane_y.end - lane_y.start - 2.0)
            }
        };
        let length =
            u64::try_from(span.time_ns.end.saturating_sub(span.time_ns.start)).unwrap_or(0);
        let times = format!(
            "{} to {}: {}",
            instant(span.time_ns.start),
            instant(span.time_ns.end),
            time(length)
        );
        let tip = tip(span_name(span.kind), &span.label, &times);
        svg.rect(&class, [x, y, (until - x).max(0.6), height], &tip);
    }
}

/// Returns the largest part around the middle of the window that has not too many pieces.
fn readable(lanes: &[Lane], window: &Range<i64>) -> Range<i64> {
    let window = window.start..window.end.max(window.start.saturating_add(1));
    let middle = window.start.midpoint(window.end);
    let from_middle = |span: Range<i64>| match (span.start.max(middle), span.end.min(middle)) {
        (start, _) if start > middle => start.abs_diff(middle),
        (_, end) => end.abs_diff(middle),
    };
    let spans = lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.time_ns.clone());
    let spans = spans.filter(|span| overlaps(span, &window)).map(from_middle);
    let marks = lanes.iter().flat_map(|lane| &lane.marks).map(|mark| mark.at_ns);
    let marks = marks.filter(|at| contains(&window, *at)).map(|at| at.abs_diff(middle));
    let mut distances: Vec<u64> = spans.chain(marks).collect();
    if distances.len() <= PIECES_MAX {
        return window;
    }
    let (_, first_too_many, _) = distances.select_nth_unstable(PIECES_MAX);
    // What is as far away as that one is left out as well.
    let half = first_too_many.saturating_sub(1);
    let (start, end) = (middle.saturating_sub_unsigned(half), middle.saturating_add_unsigned(half));
    start.max(window.start)..end.min(window.end).max(start.saturating_add(1))
}

fn overlaps(span: &Range<i64>, window: &Range<i64>) -> bool {
    span.start < window.end && span.end > window.start && span.start < span.end
}

fn contains(window: &Range<i64>, at: i64) -> bool {
    (window.start..=window.end).contains(&at)
}

fn height(lane: &Lane) -> f64 {
    match lane.kind {
        LaneKind::Pcpu => 28.0,
        LaneKind::Vcpu => 22.0,
        LaneKind::Task => 28.0,
    }
}

fn lane_class(kind: LaneKind) -> &'static str {
    match kind {
        LaneKind::Pcpu => "of-pcpu",
        LaneKind::Vcpu => "of-vcpu",
        LaneKind::Task => "of-task",
    }
}

fn symbol(mark: &Mark) -> &'static str {
    match mark.kind {
        MarkKind::Release => "release",
        MarkKind::Finish => "finish",
        MarkKind::Deadline => "deadline",
        MarkKind::Miss => "miss",
    }
}

fn mark_name(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Release => "release",
        MarkKind::Finish => "complete",
        MarkKind::Deadline => "deadline, met",
        MarkKind::Miss => "deadline MISSED",
    }
}

fn span_name(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Runs => "",
        SpanKind::Throttled => "throttled",
        SpanKind::Waits => "waits",
        SpanKind::Holds => "holds",
        SpanKind::Unknown => "records are missing",
    }
}

/// Returns the parts that are not empty, joined.
fn tip(what: &str, label: &str, times: &str) -> String {
    let parts = [label, what, times];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(spans: usize) -> Timeline {
        let span = |at: usize| Span {
            time_ns: at as i64 * 1_000_000..at as i64 * 1_000_000 + 500_000,
            vm: Some(1),
            label: format!("job {at}"),
            ..Span::default()
        };
        let miss = Mark { at_ns: 2_000_000, kind: MarkKind::Miss, label: "job 1".into() };
        Timeline {
            window_ns: 0..spans as i64 * 1_000_000,
            lanes: vec![Lane {
                kind: LaneKind::Task,
                name: "fast".into(),
                spans: (0..spans).map(span).collect(),
                marks: vec![miss],
            }],
            ..Timeline::default()
        }
    }

    #[test]
    fn what_is_in_the_window_is_drawn_with_its_times() {
        let mut line = line(5);
        line.window_ns = 900_000..4_000_000;
        let (svg, window) = draw(&line, "with the plan");
        assert_eq!(window, line.window_ns);
        assert!(svg.contains("<title>job 3 · 3.000 ms to 3.500 ms: 500.0 µs</title>"), "{svg}");
        assert!(svg.contains("<title>job 1 · deadline MISSED · 2.000 ms</title>"), "{svg}");
        assert!(!svg.contains("job 0") && !svg.contains("job 4"), "outside of the window: {svg}");
    }

    #[test]
    fn a_window_with_too_much_is_cut_at_both_sides() {
        let line = line(3 * PIECES_MAX);
        let (svg, window) = draw(&line, "");
        let middle = (window.start + window.end) / 2;
        assert!((middle - line.window_ns.end / 2).abs() < 1_000_000, "{window:?}");
        let drawn = svg.matches("<rect class=\"v1\"").count();
        assert!(drawn <= PIECES_MAX && drawn > PIECES_MAX / 2, "{drawn}");
    }

    #[test]
    fn times_at_the_ends_of_what_a_number_holds_are_drawn() {
        let mut line = line(1);
        line.window_ns = i64::MIN..i64::MAX;
        line.lanes[0].spans[0].time_ns = i64::MIN..i64::MAX;
        assert!(draw(&line, "").0.contains("job 0"));
    }
}
