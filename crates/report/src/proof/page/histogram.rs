//! Histograms of response times: jobs of the run with the plan upwards, jobs of the run without
//! isolation downwards.

use super::svg::{Anchor, Svg};
use super::ticks::ticks;
use super::units::{counted, exact, exact_ms, time};
use crate::proof::{Responses, Task};

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 12.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 26.0;
/// Bars for each run; the last one is for all that is later, too.
const BINS: usize = 48;
/// Least width of a bar.
const BAR: f64 = 3.0;

/// Returns the histogram; none if responses of single jobs are not known.
pub fn chart(name: &str, task: &Task) -> Option<String> {
    let times = |of: &Option<Responses>| of.as_ref().map_or(Vec::new(), |it| it.times_ns.clone());
    let (with, without) = (times(&task.with), times(&task.without));
    if with.is_empty() && without.is_empty() {
        return None;
    }
    let end = end(task, &with, &without);
    let (with, without) = (bins(&with, end), bins(&without, end));
    let most = with.iter().chain(&without).map(|bin| bin.jobs).max().unwrap_or(1);
    let x = |ns: u64| LEFT + ns.min(end) as f64 / end as f64 * (WIDTH - LEFT - RIGHT);
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
        svg.text("tick", [at, HEIGHT - 9.0], anchor, &exact_ms(place));
    }
    for (class, bins, up) in [("hist-with", &with, true), ("hist-without", &without, false)] {
        for bin in bins.iter().filter(|bin| bin.jobs > 0) {
            let length = half * (1.0 + bin.jobs as f64).ln() / (1.0 + most as f64).ln();
            let y = if up { middle - length } else { middle };
            let run = if up { "with the plan" } else { "without isolation" };
            let range = match bin.least == bin.longest {
                true => time(bin.least),
                false => format!("{} to {}", time(bin.least), time(bin.longest)),
            };
            let tip = format!("{} {run} · {range}", counted(bin.jobs, "job"));
            // From the shortest to the longest: no bar lies behind a line that no job has passed.
            let width = (x(bin.longest) - x(bin.least)).max(BAR);
            let left = (x(bin.longest) - width).max(LEFT);
            svg.rect(class, [left, y, width, length], &tip);
        }
    }
    svg.line("axis-line", [LEFT, middle], [WIDTH - RIGHT, middle], "");
    limits(&mut svg, task, end, &x);
    Some(svg.html(&format!("Response times of the jobs of {name}"), ""))
}

/// Lines of bound and deadline, with their names.
fn limits(svg: &mut Svg, task: &Task, end: u64, x: &dyn Fn(u64) -> f64) {
    let mut line = |class: &str, ns: u64, name: &str| {
        svg.line(class, [x(ns), TOP - 4.0], [x(ns), HEIGHT - BOTTOM], name);
    };
    let bound = task.bound_with_ns.filter(|&it| it <= end);
    if let Some(bound) = bound {
        line("bound-end", bound, &format!("bound {}", time(bound)));
    }
    let deadline = task.deadline_ns.filter(|&it| it <= end);
    if let Some(deadline) = deadline {
        line("limit", deadline, &format!("deadline {}", exact(deadline)));
    }
    if let Some(bound) = bound {
        let (at, anchor) = match x(bound) {
            ..56.0 => (x(bound) + 4.0, Anchor::Start),
            at => (at - 4.0, Anchor::End),
        };
        svg.text("bound-name", [at, TOP - 8.0], anchor, "bound");
    }
    if let Some(deadline) = deadline {
        svg.text("limit-name", [x(deadline) + 4.0, TOP - 8.0], Anchor::Start, "deadline");
    }
}

/// Returns where the axis ends: behind the deadline and all that happened, with place for names. If something
/// took much longer it ends at twice the deadline; if nothing comes near the deadline, before that.
fn end(task: &Task, with: &[u64], without: &[u64]) -> u64 {
    let longest = with.iter().chain(without).chain(&task.bound_with_ns).copied().max().unwrap_or(0);
    let longest = match task.deadline_ns {
        Some(deadline) if longest >= deadline / 3 => {
            longest.min(deadline.saturating_mul(2)).max(deadline)
        }
        _ => longest,
    };
    longest.saturating_add(longest / 5).max(1_000)
}

/// The jobs of a bar.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    jobs: u64,
    least: u64,
    longest: u64,
}

fn bins(times_ns: &[u64], end: u64) -> [Bin; BINS] {
    let mut bins = [Bin::default(); BINS];
    for &time in times_ns {
        let place = u128::from(time) * BINS as u128 / u128::from(end.max(1));
        let bin = &mut bins[usize::try_from(place).unwrap_or(BINS).min(BINS - 1)];
        bin.least = if bin.jobs == 0 { time } else { bin.least.min(time) };
        bin.longest = bin.longest.max(time);
        bin.jobs += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_is_in_a_bar_however_late() {
        let counts = bins(&[0, 999, 1_000, u64::MAX], 1_000);
        assert_eq!((counts[0].jobs, counts[BINS - 1].jobs), (1, 3));
        assert_eq!((counts[BINS - 1].least, counts[BINS - 1].longest), (999, u64::MAX));
    }

    #[test]
    fn the_axis_ends_behind_the_deadline_and_not_far_from_it() {
        let task = Task { deadline_ns: Some(10_000_000), ..Task::default() };
        assert_eq!(end(&task, &[5_000_000], &[]), 12_000_000);
        assert_eq!(end(&task, &[], &[u64::MAX]), 24_000_000);
        assert_eq!(end(&task, &[1_000_000], &[]), 1_200_000, "nothing comes near the deadline");
        assert_eq!(end(&Task::default(), &[], &[u64::MAX]), u64::MAX);
    }

    #[test]
    fn bars_end_where_the_longest_job_does() {
        let task = |times_ns: Vec<u64>| Task {
            bound_with_ns: Some(2_100_000),
            deadline_ns: Some(50_000_000),
            with: Some(Responses { times_ns, ..Responses::default() }),
            ..Task::default()
        };
        let svg = chart("t", &task(vec![2_000_000, 2_099_000])).expect("a chart");
        assert!(svg.contains("1\u{a0}job with the plan · 2.099 ms<"), "{svg}");
        assert!(!svg.contains("deadline"), "it is far behind the end: {svg}");
        let number =
            |text: &str| -> f64 { text.split('"').next().unwrap_or("").parse().expect("a number") };
        let after = |svg: &str, word: &str| svg.rsplit(word).next().unwrap_or("").to_owned();
        let bar = after(&svg, "class=\"hist-with\" x=\"");
        let right = number(&bar) + number(&after(&bar[..60], "width=\""));
        let bound = number(&after(&svg, "class=\"bound-end\" x1=\""));
        assert!(right < bound, "{right} {bound}");
        assert_eq!(chart("t", &Task::default()), None);
    }
}
