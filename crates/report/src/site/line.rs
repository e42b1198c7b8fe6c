//! The line of a task or a chain over the results of its system.

use crate::proof::page::svg::{Anchor, Svg};
use crate::proof::page::units::time;

/// The times of a task or chain in a result.
pub struct Point {
    /// The time at which the result was made, for people.
    pub date: String,
    /// The deadline, if it has one.
    pub deadline_ns: Option<u64>,
    /// The bound, if it has one.
    pub bound_ns: Option<u64>,
    /// The longest executed time, if there is one.
    pub executed_ns: Option<u64>,
}

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 110.0;
/// Room for marks at the left and the right, and for names above and below.
const EDGE: f64 = 8.0;
const NAMES: f64 = 16.0;
/// Half the size of a mark.
const MARK: f64 = 3.0;

/// A series by its class, with the word in its tips.
type Series = (&'static str, &'static str, fn(&Point) -> Option<u64>);

const SERIES: [Series; 3] = [
    ("deadline", "deadline", |it| it.deadline_ns),
    ("run", "longest executed", |it| it.executed_ns),
    ("bound", "bound", |it| it.bound_ns),
];

/// The meaning of the lines, for the head of a page.
pub const LEGEND: &str = "<ul class=\"legend\">\
<li><svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 14 16\"><path class=\"bound-line\" d=\"M0 8L14 8\"/></svg>bound</li>\
<li><svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 14 16\"><path class=\"run-line\" d=\"M0 8L14 8\"/></svg>longest executed time</li>\
<li><svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 14 16\"><path class=\"deadline-line\" d=\"M0 8L14 8\"/></svg>deadline or limit, where it is not far above</li>\
</ul>\n";

/// Returns the drawing, if some result has a time. Results are at equal distances, in the order of time.
pub fn drawing(name: &str, points: &[Point]) -> Option<String> {
    let longest = points.iter().flat_map(|it| [it.bound_ns, it.executed_ns]).flatten().max()?;
    // Deadlines far above would press the lines together.
    let near = |ns: u64| ns <= longest.saturating_mul(2);
    let deadlines = points.iter().filter_map(|it| it.deadline_ns).filter(|&ns| near(ns));
    let top = deadlines.max().unwrap_or(0).max(longest).max(1);
    let last = points.len().saturating_sub(1).max(1) as f64;
    let x = |index: usize| match points.len() {
        1 => WIDTH / 2.0,
        _ => EDGE + (WIDTH - 2.0 * EDGE) * index as f64 / last,
    };
    let y = |ns: u64| NAMES + (HEIGHT - 2.0 * NAMES) * (1.0 - ns as f64 / top as f64);
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let bottom = HEIGHT - NAMES;
    svg.line("grid", [0.0, NAMES], [WIDTH, NAMES], "");
    svg.line("axis-line", [0.0, bottom], [WIDTH, bottom], "");
    svg.text("tick", [0.0, NAMES - 4.0], Anchor::Start, &time(top));
    for (class, word, of) in SERIES {
        let of = |point: &Point| of(point).filter(|&ns| ns <= top);
        let places: Vec<(usize, u64)> =
            points.iter().enumerate().filter_map(|(index, it)| Some((index, of(it)?))).collect();
        // A result without this time interrupts nothing if its command does not state it; therefore lines go on.
        let line: Vec<[f64; 2]> = places.iter().map(|&(index, ns)| [x(index), y(ns)]).collect();
        if line.len() > 1 {
            svg.path(&format!("{class}-line"), &line);
        }
        for (index, ns) in places.into_iter().filter(|_| class != "deadline") {
            let (x, y) = (x(index) - MARK, y(ns) - MARK);
            let tip = format!("{}: {word} {}", points[index].date, time(ns));
            svg.rect(&format!("{class}-dot"), [x, y, 2.0 * MARK, 2.0 * MARK], &tip);
        }
    }
    if let [first, .., last] = points {
        svg.text("tick", [0.0, HEIGHT - 3.0], Anchor::Start, &first.date);
        svg.text("tick", [WIDTH, HEIGHT - 3.0], Anchor::End, &last.date);
    }
    let name = format!("Bound and longest executed time of {name} over time");
    Some(format!("<figure class=\"over-time\">{}</figure>\n", svg.html(&name, "")))
}
