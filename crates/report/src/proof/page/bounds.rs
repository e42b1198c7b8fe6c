//! Response times of tasks against their deadlines: bounds, simulation, both runs.

use super::label::{short, task};
use super::svg::{Anchor, Svg};
use super::units::{percent, time};
use crate::proof::{Proof, Responses, Task};

/// Most tasks of the chart.
const TASKS_MAX: usize = 60;
const WIDTH: f64 = 1_100.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 90.0;
const ROW: f64 = 34.0;
const TOP: f64 = 22.0;
/// Least and largest end of the chart, in per cent of the deadline: later times are drawn at
/// its end.
const END: [u64; 2] = [125, 250];

/// Returns the chart, of tasks that have a deadline; none if nothing is known of any.
pub fn chart(proof: &Proof) -> Option<String> {
    let known = |task: &Task| {
        task.deadline_ns.is_some_and(|it| it > 0) && times(task).iter().any(Option::is_some)
    };
    let tasks: Vec<(usize, &Task)> =
        proof.tasks.iter().enumerate().filter(|(_, task)| known(task)).take(TASKS_MAX).collect();
    let longest = tasks.iter().filter_map(|(_, task)| {
        let deadline = u128::from(task.deadline_ns?);
        let longest = times(task).into_iter().flatten().max()?;
        u64::try_from((u128::from(longest) * 100).div_ceil(deadline)).ok()
    });
    let scale = Scale { end: end(longest.max()?) };
    let height = TOP + tasks.len() as f64 * ROW + 28.0;
    let bottom = height - 28.0;
    let mut svg = Svg::new(WIDTH, height);
    for tick in (0..=scale.end).step_by(25) {
        let class = if tick == 100 { "limit" } else { "grid" };
        let x = scale.x(tick as f64);
        svg.line(class, [x, TOP - 4.0], [x, bottom], "");
        svg.text("tick", [x, bottom + 18.0], Anchor::Middle, &format!("{tick} %"));
    }
    svg.text("limit-name", [scale.x(100.0), TOP - 8.0], Anchor::Middle, "deadline");
    for (row, (place, of)) in tasks.into_iter().enumerate() {
        let middle = TOP + (row as f64 + 0.5) * ROW;
        let name = task(proof, place);
        svg.text("name", [LEFT - 10.0, middle + 4.0], Anchor::End, &short(&name, 24));
        scale.row(&mut svg, &name, of, middle);
    }
    Some(svg.html("Response times of the tasks in per cent of their deadlines", ""))
}

/// Everything that is drawn of a task.
fn times(task: &Task) -> [Option<u64>; 5] {
    let [simulated, with, without] = [&task.simulated, &task.with, &task.without].map(longest);
    [task.bound_with_ns, task.bound_without_ns, simulated, with, without]
}

fn longest(of: &Option<Responses>) -> Option<u64> {
    of.as_ref()?.max_ns
}

/// Returns the end of the axis, in per cent, of a chart that shows this percentage.
fn end(longest: u64) -> u64 {
    longest.saturating_add(5).clamp(END[0], END[1]).next_multiple_of(25)
}

/// Converts per cent of the deadline to places.
struct Scale {
    end: u64,
}

impl Scale {
    fn x(&self, percent: f64) -> f64 {
        let end = self.end as f64;
        LEFT + percent.min(end) / end * (WIDTH - LEFT - RIGHT)
    }

    fn row(&self, svg: &mut Svg, name: &str, task: &Task, middle: f64) {
        let deadline = task.deadline_ns.unwrap_or(1);
        let at = |ns: u64| self.x(ns as f64 / deadline as f64 * 100.0);
        let of_deadline = |ns| percent(ns, deadline).unwrap_or_default();
        let tip = |what: &str, ns| {
            format!("{name} · {what} {} · {} % of the deadline", time(ns), of_deadline(ns))
        };
        if let Some(bound) = task.bound_with_ns {
            let size = [at(0), middle - 8.0, at(bound) - at(0), 16.0];
            svg.rect("bound", size, &tip("bound with the plan", bound));
            svg.line("bound-end", [at(bound), middle - 11.0], [at(bound), middle + 11.0], "");
        }
        if let Some(bound) = task.bound_without_ns {
            let (top, bottom) = ([at(bound), middle - 11.0], [at(bound), middle + 11.0]);
            svg.line("bound-without", top, bottom, &tip("bound without isolation", bound));
        }
        for (ns, symbol, what) in [
            (longest(&task.without), "dot-without", "longest executed without isolation"),
            (longest(&task.with), "dot-with", "longest executed with the plan"),
            (longest(&task.simulated), "dot-simulated", "longest simulated"),
        ] {
            let Some(ns) = ns else { continue };
            svg.symbol(symbol, [at(ns), middle], &tip(what, ns));
            if u128::from(ns) * 100 > u128::from(deadline) * u128::from(self.end) {
                let place = [self.x(self.end as f64) + 10.0, middle + 4.0];
                svg.text("late", place, Anchor::Start, &format!("▸ {} %", of_deadline(ns)));
            }
        }
    }
}

/// The meaning of the signs.
pub const LEGEND: &str = "<ul class=\"legend\">\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"bound\" y=\"2\" width=\"13\" height=\"10\"/><line class=\"bound-end\" x1=\"13\" y1=\"0\" x2=\"13\" y2=\"14\"/></svg>bound with the plan</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><line class=\"bound-without\" x1=\"7\" y1=\"0\" x2=\"7\" y2=\"14\"/></svg>bound without isolation</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><use href=\"#dot-simulated\" class=\"dot-simulated\" x=\"7\" y=\"7\"/></svg>longest simulated</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><use href=\"#dot-with\" class=\"dot-with\" x=\"7\" y=\"7\"/></svg>longest executed with the plan</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><use href=\"#dot-without\" class=\"dot-without\" x=\"7\" y=\"7\"/></svg>longest executed without isolation</li>\
</ul>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_ends_behind_what_it_shows_but_not_far_from_the_deadline() {
        assert_eq!([0, 100, 121, 160, 245, u64::MAX].map(end), [125, 125, 150, 175, 250, 250]);
    }

    #[test]
    fn what_is_later_than_the_end_has_its_number_there() {
        let responses = |max_ns| Some(Responses { max_ns: Some(max_ns), ..Responses::default() });
        let task = Task {
            name: "t".into(),
            deadline_ns: Some(1_000_000),
            without: responses(9_000_000),
            with: responses(900_000),
            ..Task::default()
        };
        let proof = Proof { tasks: vec![task], ..Proof::default() };
        let svg = chart(&proof).expect("a chart");
        assert_eq!(svg.matches("▸ 900.0 %").count(), 1, "{svg}");
        assert!(svg.contains("longest executed with the plan 900.0 µs · 90.0 % of the deadline"));
        assert_eq!(chart(&Proof::default()), None);
    }
}
