//! Response times of tasks against their deadlines: bound, simulation, both runs.

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
/// Where the chart ends, in per cent of the deadline; what is later is drawn there.
const END: u64 = 150;

/// The chart, of tasks that have a deadline; none if nothing is known of any.
pub fn chart(proof: &Proof) -> Option<String> {
    let known = |task: &Task| {
        task.deadline_ns.is_some_and(|it| it > 0)
            && (task.bound_with_ns.is_some()
                || [&task.simulated, &task.with, &task.without].iter().any(|it| it.is_some()))
    };
    let tasks: Vec<(usize, &Task)> =
        proof.tasks.iter().enumerate().filter(|(_, task)| known(task)).take(TASKS_MAX).collect();
    if tasks.is_empty() {
        return None;
    }
    let height = TOP + tasks.len() as f64 * ROW + 28.0;
    let bottom = height - 28.0;
    let mut svg = Svg::new(WIDTH, height);
    for tick in [0, 25, 50, 75, 100, 125, 150] {
        let class = if tick == 100 { "limit" } else { "grid" };
        svg.line(class, [x(tick as f64), TOP - 4.0], [x(tick as f64), bottom], "");
        svg.text("tick", [x(tick as f64), bottom + 18.0], Anchor::Middle, &format!("{tick} %"));
    }
    svg.text("limit-name", [x(100.0), TOP - 8.0], Anchor::Middle, "deadline");
    for (row, (place, of)) in tasks.into_iter().enumerate() {
        let middle = TOP + (row as f64 + 0.5) * ROW;
        let name = task(proof, place);
        svg.text("name", [LEFT - 10.0, middle + 4.0], Anchor::End, &short(&name, 24));
        self::row(&mut svg, &name, of, middle);
    }
    Some(svg.html("Response times of the tasks in per cent of their deadlines", ""))
}

fn row(svg: &mut Svg, name: &str, task: &Task, middle: f64) {
    let deadline = task.deadline_ns.unwrap_or(1);
    let at = |ns: u64| x((ns as f64 / deadline as f64 * 100.0).min(END as f64));
    let of_deadline = |ns| percent(ns, deadline).unwrap_or_default();
    let tip = |what: &str, ns| {
        format!("{name} · {what} {} · {} % of the deadline", time(ns), of_deadline(ns))
    };
    if let Some(bound) = task.bound_with_ns {
        let size = [x(0.0), middle - 8.0, at(bound) - x(0.0), 16.0];
        svg.rect("bound", size, &tip("bound", bound));
        svg.line("bound-end", [at(bound), middle - 11.0], [at(bound), middle + 11.0], "");
    }
    let longest = |of: &Option<Responses>| of.as_ref().and_then(|it| it.max_ns);
    for (of, symbol, what) in [
        (&task.without, "dot-without", "longest executed without isolation"),
        (&task.with, "dot-with", "longest executed with the plan"),
        (&task.simulated, "dot-simulated", "longest simulated"),
    ] {
        let Some(ns) = longest(of) else { continue };
        svg.symbol(symbol, [at(ns), middle], &tip(what, ns));
        if u128::from(ns) * 100 > u128::from(deadline) * u128::from(END) {
            let text = format!("▸ {} %", of_deadline(ns));
            svg.text("late", [x(END as f64) + 10.0, middle + 4.0], Anchor::Start, &text);
        }
    }
}

fn x(percent: f64) -> f64 {
    LEFT + percent / END as f64 * (WIDTH - LEFT - RIGHT)
}

/// What the signs mean.
pub const LEGEND: &str = "<ul class=\"legend\">\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"bound\" y=\"2\" width=\"13\" height=\"10\"/><line class=\"bound-end\" x1=\"13\" y1=\"0\" x2=\"13\" y2=\"14\"/></svg>analysed bound</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><use href=\"#dot-simulated\" class=\"dot-simulated\" x=\"7\" y=\"7\"/></svg>longest simulated</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><use href=\"#dot-with\" class=\"dot-with\" x=\"7\" y=\"7\"/></svg>longest executed with the plan</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><use href=\"#dot-without\" class=\"dot-without\" x=\"7\" y=\"7\"/></svg>longest executed without isolation</li>\
</ul>\n";
