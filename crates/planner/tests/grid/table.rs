//! What a campaign shows.

use std::time::Duration as Time;

use crate::outcome::{Found, Outcome};

/// Prints how many systems were planned, by what they are, and how long that took.
pub fn print(outcomes: &[Outcome]) {
    println!("\n| systems | all | by a simple rule | by the planner | of these of a simple rule |");
    println!("|---|---:|---:|---:|---:|");
    row("all", outcomes, |_| true);
    for tenth in 1..10 {
        let from = f64::from(tenth) / 10.0;
        let name = format!("load {from:.1} to {:.1}", from + 0.1);
        row(&name, outcomes, |it| (from..from + 0.1).contains(&it.load));
    }
    for (name, least, most) in
        [("no resource", 0, 0), ("1 or 2 resources", 1, 2), ("3 to 6", 3, 6), ("7 or more", 7, 99)]
    {
        row(name, outcomes, |it| (least..=most).contains(&it.draft.resources.len()));
    }
    row("no accesses counted", outcomes, |it| !it.has_accesses());
    row("accesses, no limit planned", outcomes, |it| it.has_accesses() && !it.has_limits());
    row("limits planned", outcomes, Outcome::has_limits);
    row("no colours", outcomes, |it| !colored(it));
    row("colours", outcomes, colored);
    for (name, least, most) in SIZES {
        row(name, outcomes, |it| (least..=most).contains(&it.draft.tasks()));
    }
    println!("\n| processor time of the planner | half | 9 of 10 | 99 of 100 | longest | sum |");
    println!("|---|---:|---:|---:|---:|---:|");
    times("all", outcomes.iter().map(|it| it.time).collect());
    let with = |yes: bool| outcomes.iter().filter(move |it| (it.found == Found::Yes) == yes);
    times("planned", with(true).map(|it| it.time).collect());
    times("not planned", with(false).map(|it| it.time).collect());
    for (name, least, most) in SIZES {
        let of = outcomes.iter().filter(|it| (least..=most).contains(&it.draft.tasks()));
        times(name, of.map(|it| it.time).collect());
    }
}

const SIZES: [(&str, usize, usize); 3] =
    [("to 30 tasks", 0, 30), ("31 to 100 tasks", 31, 100), ("more than 100 tasks", 101, 9_999)];

fn colored(outcome: &Outcome) -> bool {
    outcome.draft.vms.iter().any(|vm| vm.colors == crate::draft::Colors::Planned)
}

fn row(name: &str, outcomes: &[Outcome], is: impl Fn(&Outcome) -> bool) {
    let of: Vec<&Outcome> = outcomes.iter().filter(|it| is(it)).collect();
    let simple = of.iter().filter(|it| it.simple.is_some()).count();
    let planned = of.iter().filter(|it| it.found == Found::Yes).count();
    let short = of.iter().filter(|it| it.is_short()).count();
    println!("| {name} | {} | {simple} | {planned} | {} |", of.len(), simple - short);
}

fn times(name: &str, mut times: Vec<Time>) {
    times.sort_unstable();
    let Some(last) = times.len().checked_sub(1) else { return };
    let part = |percent: usize| times[(times.len() * percent / 100).min(last)].as_secs_f64() * 1e3;
    let [half, most, nearly, all] = [50, 90, 99, 100].map(part);
    let sum: Time = times.iter().sum();
    println!(
        "| {name} | {half:.1} ms | {most:.1} ms | {nearly:.1} ms | {all:.1} ms | {:.1} s |",
        sum.as_secs_f64()
    );
}
