//! Memory accesses against budgets.

use std::collections::BTreeSet;

use super::Part;
use super::label::{self, escape};
use super::svg::{Anchor, Svg};
use super::units::{count, counted, exact, ms};
use crate::proof::{Proof, Traffic};

/// Most charts.
const CHARTS_MAX: usize = 16;
/// Most windows that are drawn on their own; of more than that, the largest of neighbours is.
const COLUMNS: usize = 540;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 28.0;

/// Returns the part, if accesses were counted.
pub fn part(proof: &Proof) -> Option<Part> {
    let known = |it: &&Traffic| !it.with_accesses.is_empty() || !it.without_accesses.is_empty();
    let all: Vec<&Traffic> = proof.traffic.iter().filter(known).collect();
    if all.is_empty() {
        return None;
    }
    let charts: String = all.iter().take(CHARTS_MAX).map(|it| figure(proof, it)).collect();
    let more = match all.len().saturating_sub(CHARTS_MAX) {
        0 => String::new(),
        more => format!("<p>{} not shown.</p>\n", counted(more as u64, "more chart")),
    };
    let html = format!(
        "<p>Memory accesses in each window of time. A VCPU that has used its budget up waits for the next window; what is \
         under way when that is noticed may still go beyond it, by no more than the analysis counts with.</p>\n\
         {LEGEND}<div class=\"charts wide\">\n{charts}</div>\n{more}"
    );
    Some(Part { id: "memory", nav: "Memory", title: "Memory accesses against budgets", html })
}

const LEGEND: &str = "<ul class=\"legend\">\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"hist-with\" y=\"2\" width=\"14\" height=\"12\"/></svg>with the plan</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><path class=\"free\" d=\"M0 10L5 10L5 4L14 4\"/></svg>without isolation</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><line class=\"budget\" x1=\"0\" y1=\"7\" x2=\"14\" y2=\"7\"/></svg>budget</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><line class=\"limit\" x1=\"0\" y1=\"7\" x2=\"14\" y2=\"7\"/></svg>budget and analysed overshoot</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"throttle\" y=\"5\" width=\"14\" height=\"4\"/></svg>had to wait</li>\
</ul>\n";

fn figure(proof: &Proof, traffic: &Traffic) -> String {
    let name = match traffic.vcpu {
        Some(vcpu) => label::vcpu(proof, traffic.vm, vcpu),
        None => label::vm(proof, traffic.vm),
    };
    let most = |of: &[u64]| of.iter().copied().max();
    let mut text =
        format!("<strong>{}</strong>, windows of {}: ", escape(&name), exact(traffic.window_ns));
    let number = |of: Option<u64>| of.map_or("not known".into(), count);
    match traffic.budget_accesses {
        Some(budget) => {
            let limit = budget.saturating_add(traffic.overshoot_accesses);
            let with = most(&traffic.with_accesses);
            let verdict = match with {
                Some(with) if with > limit => " <strong class=\"bad\">✗ above the limit</strong>",
                Some(_) => " <strong class=\"good\">✓ never above the limit</strong>",
                None => "",
            };
            text.push_str(&format!(
                "budget {}, limit {}; most with the plan {}, without isolation {}; waited in {}.{verdict}",
                count(budget),
                count(limit),
                number(with),
                number(most(&traffic.without_accesses)),
                counted(traffic.throttled_windows.len() as u64, "window"),
            ));
        }
        None => text.push_str(&format!(
            "no budget; most with the plan {}, without isolation {}.",
            number(most(&traffic.with_accesses)),
            number(most(&traffic.without_accesses))
        )),
    }
    format!(
        "<figure>\n<figcaption>{text}</figcaption>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Chart of accesses\">{}</div>\n</figure>\n",
        chart(&name, traffic)
    )
}

/// Returns the chart. Where accesses without isolation are far above the budget, the axis ends at
/// four times what matters with the plan.
fn chart(name: &str, traffic: &Traffic) -> String {
    let most = |of: &[u64]| of.iter().copied().max().unwrap_or(0);
    let limit = traffic.budget_accesses.map(|it| it.saturating_add(traffic.overshoot_accesses));
    let inner = most(&traffic.with_accesses).max(limit.unwrap_or(0));
    let outer = match inner {
        0 => most(&traffic.without_accesses),
        _ => most(&traffic.without_accesses).min(inner.saturating_mul(4)),
    };
    let top = inner.max(outer).max(1) as f64 * 1.05;
    let windows = traffic.with_accesses.len().max(traffic.without_accesses.len()).max(1);
    // Windows that share a column.
    let together = windows.div_ceil(COLUMNS);
    let columns = windows.div_ceil(together);
    let width = (WIDTH - LEFT - RIGHT) / columns as f64;
    let y = |accesses: f64| HEIGHT - BOTTOM - accesses.min(top) / top * (HEIGHT - TOP - BOTTOM);
    let x = |column: usize| LEFT + column as f64 * width;
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let ticks = super::ticks::ticks(0, i64::try_from(inner.max(outer)).unwrap_or(i64::MAX), 5);
    for tick in ticks {
        let at = y(tick as f64);
        svg.line("grid", [LEFT, at], [WIDTH - RIGHT, at], "");
        svg.text("tick", [LEFT - 6.0, at + 4.0], Anchor::End, &count(tick.unsigned_abs()));
    }
    let waits: BTreeSet<usize> = traffic.throttled_windows.iter().map(|it| it / together).collect();
    for (column, of) in traffic.with_accesses.chunks(together).enumerate() {
        let accesses = most(of);
        let tip = format!(
            "with the plan · {} · {} accesses",
            window(traffic, column, together),
            count(accesses)
        );
        let height = y(0.0) - y(accesses as f64);
        // Neighbours overlap a little: between their edges the paper would shine through.
        let size = [x(column), y(accesses as f64), width + 0.3, height];
        svg.rect("hist-with", size, &tip);
        if waits.contains(&column) {
            svg.rect(
                "throttle",
                [x(column), HEIGHT - BOTTOM + 1.0, width.max(0.8), 4.0],
                "had to wait",
            );
        }
    }
    let mut points = Vec::new();
    for (column, of) in traffic.without_accesses.chunks(together).enumerate() {
        let at = y(most(of) as f64);
        points.extend([[x(column), at], [x(column + 1), at]]);
    }
    if !points.is_empty() {
        svg.path("free", &points);
    }
    if let Some(budget) = traffic.budget_accesses {
        let tip = format!("budget: {}", count(budget));
        svg.line("budget", [LEFT, y(budget as f64)], [WIDTH - RIGHT, y(budget as f64)], &tip);
    }
    if let Some(limit) = limit.filter(|_| traffic.overshoot_accesses > 0) {
        let tip = format!("budget and analysed overshoot: {}", count(limit));
        svg.line("limit", [LEFT, y(limit as f64)], [WIDTH - RIGHT, y(limit as f64)], &tip);
    }
    if most(&traffic.without_accesses) as f64 > top {
        let text = format!("▲ without isolation up to {}", count(most(&traffic.without_accesses)));
        svg.text("late", [WIDTH - RIGHT, TOP - 4.0], Anchor::End, &text);
    }
    svg.line("axis-line", [LEFT, HEIGHT - BOTTOM], [WIDTH - RIGHT, HEIGHT - BOTTOM], "");
    let whole = traffic.window_ns.saturating_mul(windows as u64);
    for tick in super::ticks::ticks(0, i64::try_from(whole).unwrap_or(i64::MAX), 6) {
        let at = LEFT + tick as f64 / whole.max(1) as f64 * (WIDTH - LEFT - RIGHT);
        let anchor = if at > WIDTH - 40.0 { Anchor::End } else { Anchor::Middle };
        let text = format!("{}", tick as f64 / 1e6);
        svg.text("tick", [at, HEIGHT - 8.0], anchor, &text);
    }
    svg.text("tick", [4.0, HEIGHT - 8.0], Anchor::Start, "ms");
    svg.html(&format!("Memory accesses of {name} in each window"), "")
}

/// Returns which windows a column shows.
fn window(traffic: &Traffic, column: usize, together: usize) -> String {
    let start = traffic.window_ns.saturating_mul((column * together) as u64);
    match together {
        1 => format!("window at {} ms", ms(start)),
        _ => format!("most of {together} windows at {} ms", ms(start)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(windows: usize) -> Traffic {
        Traffic {
            window_ns: 1_000_000,
            budget_accesses: Some(100),
            overshoot_accesses: 10,
            with_accesses: (0..windows).map(|it| if it == 7 { 104 } else { 50 }).collect(),
            without_accesses: vec![5_000; windows],
            throttled_windows: vec![7],
            ..Traffic::default()
        }
    }

    #[test]
    fn the_largest_of_windows_that_share_a_column_is_seen() {
        let few = chart("vm", &traffic(20));
        assert!(few.contains("window at 7.000 ms · 104 accesses"), "{few}");
        let many = chart("vm", &traffic(5 * COLUMNS));
        assert!(many.contains("most of 5 windows at 5.000 ms · 104 accesses"), "{many}");
        assert_eq!(many.matches("class=\"hist-with\"").count(), COLUMNS);
        assert_eq!(many.matches("class=\"throttle\"").count(), 1);
        assert!(many.contains("▲ without isolation up to 5\u{202f}000"));
    }

    #[test]
    fn a_budget_that_is_overdrawn_is_said() {
        let proof = Proof::default();
        let mut of = traffic(20);
        assert!(figure(&proof, &of).contains("never above the limit"));
        of.with_accesses[3] = 111;
        assert!(figure(&proof, &of).contains("✗ above the limit"));
    }
}
