//! The content of the screen: lines of text, each with a look.

use lab::amount::time;
use report::text::table;
use trace::live::{TaskView, VcpuView, View};

/// The look of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Look {
    Plain,
    /// The head of a table.
    Head,
    /// A task has missed deadlines, or events are lost.
    Bad,
    /// A VCPU was throttled.
    Limited,
}

/// Returns the lines for a system with this name.
pub fn of(name: &str, view: &View) -> Vec<(Look, String)> {
    let seconds = |ns: u64| format!("{:.3} s", ns as f64 / 1e9);
    let (now, interval) = (seconds(view.time_ns), seconds(view.interval_ns));
    let mut lines =
        vec![(Look::Plain, format!("{name}: {now} since the start, the last {interval}:"))];
    if view.lost > 0 {
        let lost = format!("{} events were lost: the numbers are too small", view.lost);
        lines.push((Look::Bad, lost));
    }
    let head = [
        "VCPU",
        ">PCPU",
        "server",
        ">used",
        ">of budget",
        ">used up",
        ">accesses",
        ">throttled",
        ">waited",
    ];
    let limited = |it: &VcpuView| if it.throttled > 0 { Look::Limited } else { Look::Plain };
    let rows = view.vcpus.iter().map(|it| (limited(it), vcpu(it, view.interval_ns)));
    add(&mut lines, &head, rows.collect());
    if !view.tasks.is_empty() {
        lines.push((Look::Plain, String::new()));
        let head = ["task", "VCPU", ">jobs", ">misses", ">longest response", ">deadline"];
        let late = |it: &TaskView| if it.misses > 0 { Look::Bad } else { Look::Plain };
        add(&mut lines, &head, view.tasks.iter().map(|it| (late(it), task(it))).collect());
    }
    lines
}

/// Returns the lines as one text.
pub fn text(lines: &[(Look, String)]) -> String {
    lines.iter().map(|(_, line)| format!("{line}\n")).collect()
}

fn add(lines: &mut Vec<(Look, String)>, head: &[&str], rows: Vec<(Look, Vec<String>)>) {
    let (looks, rows): (Vec<Look>, Vec<Vec<String>>) = rows.into_iter().unzip();
    let looks = std::iter::once(Look::Head).chain(looks);
    lines.extend(looks.zip(table(head, &rows).lines().map(str::to_owned)));
}

fn vcpu(it: &VcpuView, interval_ns: u64) -> Vec<String> {
    let share = |part: u64, whole: u64| match whole {
        0 => "-".into(),
        _ => format!("{:.1} %", part as f64 * 100.0 / whole as f64),
    };
    let budget = it.budget_ns;
    vec![
        it.name.clone(),
        it.pcpu.to_string(),
        it.server.clone().unwrap_or_else(|| "its own PCPU".into()),
        share(it.used_ns, interval_ns),
        budget.map_or("-".into(), |budget| share(it.used_ns, budget)),
        budget.map_or("-".into(), |_| it.used_up.to_string()),
        it.accesses.to_string(),
        it.throttled.to_string(),
        if it.waited_ns > 0 { time(it.waited_ns) } else { "-".into() },
    ]
}

fn task(it: &TaskView) -> Vec<String> {
    vec![
        it.name.clone(),
        it.vcpu.clone(),
        it.jobs.to_string(),
        it.misses.to_string(),
        it.longest_ns.map_or("-".into(), time),
        it.deadline_ns.map_or("-".into(), time),
    ]
}
