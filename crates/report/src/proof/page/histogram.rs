//! How often a task took how long: jobs of the run with the plan upwards, of that without isolation
//! downwards.

use super::svg::{Anchor, Svg};
use super::ticks::ticks;
use super::units::{counted, time};
use crate::proof::{Responses, Task};

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 12.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 26.0;
/// Bars for each run; the last one is for all that is later, too.
const BINS: usize = 48;

/// The histogram; none if responses of single jobs are not known.
pub fn chart(name: &str, task: &Task) -> Option<String> {
    let times = |of: &Option<Responses>| of.as_ref().map_or(Vec::new(), |it| it.times_ns.clone());
    let (with, without) = (times(&task.with), times(&task.without));
    if with.is_empty() && without.is_empty() {
        return None;
    }
    let end = end(task, &with, &without);
    let (with, without) = (bins(&with, end), bins(&without, end));
    let most = with.iter().chain(&without).copied().max().unwrap_or(1);
    let plot = WIDTH - LEFT - RIGHT;
    let x = |ns: u64| LEFT + ns.min(end) as f64 / end as f64 * plot;
    let middle = TOP + (HEIGHT - TOP - BOTTOM) / 2.0;
    let half = middle - TOP - 2.0;
    let mut svg = Svg::new(WIDTH, HEIGHT);
    for place in ticks(0, i64::try_from(end).unwrap_or(i64::MAX), 5) {
        let at = x(place.unsigned_abs());
        svg.line("grid", [at, TOP], [at, HEIGHT - BOTTOM], "");
        let anchor = match at {
            ..30.0 => Anchor::Start,
            _ if at > WIDTH - 30.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        let text = format!("{}", place as f64 / 1e6);
        svg.text("tick", [at, HEIGHT - 9.0], anchor, &text);
    }
    let width = plot / BINS as f64;
    for (class, counts, up) in [("hist-with", &with, true), ("hist-without", &without, false)] {
        for (bin, &jobs) in counts.iter().enumerate().filter(|(_, jobs)| **jobs > 0) {
            let length = half * (1.0 + jobs as f64).ln() / (1.0 + most as f64).ln();
            let y = if up { middle - length } else { middle };
            let from = (bin as u128 * u128::from(end) / BINS as u128) as u64;
            let until = ((bin as u128 + 1) * u128::from(end) / BINS as u128) as u64;
            let range = match bin + 1 {
                BINS => format!("{} and more", time(from)),
                _ => format!("{} to {}", time(from), time(until)),
            };
            let run = if up { "with the plan" } else { "without isolation" };
            let tip = format!("{} {run} · {range}", counted(jobs, "job"));
            svg.rect(class, [LEFT + bin as f64 * width + 0.5, y, width - 1.0, length], &tip);
        }
    }
    svg.line("axis-line", [LEFT, middle], [WIDTH - RIGHT, middle], "");
    if let Some(bound) = task.bound_with_ns.filter(|&it| it <= end) {
        svg.line(
            "bound-end",
            [x(bound), TOP - 4.0],
            [x(bound), HEIGHT - BOTTOM],
            &format!("bound {}", time(bound)),
        );
        svg.text("bound-name", [x(bound) - 4.0, TOP - 8.0], Anchor::End, "bound");
    }
    if let Some(deadline) = task.deadline_ns.filter(|&it| it <= end) {
        svg.line(
            "limit",
            [x(deadline), TOP - 4.0],
            [x(deadline), HEIGHT - BOTTOM],
            &format!("deadline {}", time(deadline)),
        );
        let (at, anchor) = if x(deadline) > WIDTH - 70.0 {
            (x(deadline) - 4.0, Anchor::End)
        } else {
            (x(deadline) + 4.0, Anchor::Start)
        };
        let y = if matches!(anchor, Anchor::End) { HEIGHT - BOTTOM - 4.0 } else { TOP - 8.0 };
        svg.text("limit-name", [at, y], anchor, "deadline");
    }
    Some(svg.html(&format!("Response times of the jobs of {name}"), ""))
}

/// Where the axis ends: a little behind the deadline and all that happened, or at twice the deadline
/// if something took longer.
fn end(task: &Task, with: &[u64], without: &[u64]) -> u64 {
    let longest = with.iter().chain(without).chain(&task.bound_with_ns).copied().max().unwrap_or(0);
    let longest = match task.deadline_ns {
        Some(deadline) => longest.min(deadline.saturating_mul(2)).max(deadline),
        None => longest,
    };
    longest.saturating_add(longest / 16).max(1_000)
}

fn bins(times_ns: &[u64], end: u64) -> [u64; BINS] {
    let mut bins = [0; BINS];
    for &time in times_ns {
        let bin = u128::from(time) * BINS as u128 / u128::from(end.max(1));
        bins[usize::try_from(bin).unwrap_or(BINS).min(BINS - 1)] += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_is_in_a_bar_however_late() {
        let counts = bins(&[0, 999, 1_000, u64::MAX], 1_000);
        assert_eq!(counts[0], 1);
        assert_eq!(counts[BINS - 1], 3);
    }

    #[test]
    fn the_axis_ends_behind_the_deadline_and_not_far_from_it() {
        let task = Task { deadline_ns: Some(8_000_000), ..Task::default() };
        assert_eq!(end(&task, &[1_000_000], &[]), 8_500_000);
        assert_eq!(end(&task, &[], &[u64::MAX]), 17_000_000);
        assert_eq!(end(&Task::default(), &[], &[u64::MAX]), u64::MAX);
    }

    #[test]
    fn what_is_not_known_has_no_chart() {
        assert_eq!(chart("t", &Task::default()), None);
        let times_ns = vec![2_000_000, 2_100_000];
        let with = Some(Responses { jobs: 2, missed: 0, max_ns: Some(2_100_000), times_ns });
        let svg = chart("t", &Task { with, ..Task::default() }).expect("a chart");
        assert_eq!(svg.matches("1\u{a0}job with the plan").count(), 2, "{svg}");
    }
}
