//! The verdict, and the story that leads to it.

use super::Part;
use super::label::{self, escape, prose};
use super::units::{count, counted, time};
use crate::proof::{Chain, ChainTimes, Check, Proof, Responses, Run, Task};

/// The end of a step of the story.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Good,
    Bad,
    Unknown,
}

/// The mark of a step, its result, and details.
type Outcome = (Mark, String, Vec<String>);

/// Returns the beginning of the page.
pub fn header(proof: &Proof, parts: &[Part]) -> String {
    let (class, sign) = if proof.holds { ("good", "✓") } else { ("bad", "✗") };
    let mut html = format!(
        "<p class=\"verdict {class}\"><span class=\"sign\" aria-hidden=\"true\">{sign}</span><span>{}</span></p>\n",
        verdict(proof)
    );
    html.push_str(&list("failures", &proof.failures));
    html.push_str(&steps(proof, parts));
    html.push_str(&reasons(proof));
    let notes: Vec<String> = [&proof.notes, &proof.check_with.notes]
        .into_iter()
        .flatten()
        .chain(
            [&proof.simulation, &proof.without, &proof.with]
                .into_iter()
                .flatten()
                .flat_map(|run| &run.notes),
        )
        .cloned()
        .collect();
    if !notes.is_empty() {
        html.push_str(&format!(
            "<details open>\n<summary>What this rests on</summary>\n{}</details>\n",
            list("notes", &notes)
        ));
    }
    html
}

/// Returns the answer in a sentence.
fn verdict(proof: &Proof) -> String {
    let name = escape(&proof.name);
    let misses = |of: fn(&Task) -> &Option<Responses>| {
        let known: Vec<u64> =
            proof.tasks.iter().filter_map(|task| of(task).as_ref().map(|it| it.missed)).collect();
        (!known.is_empty()).then(|| known.iter().fold(0_u64, |sum, it| sum.saturating_add(*it)))
    };
    let without = match misses(|task| &task.without) {
        Some(0) => "; without isolation none was missed in the run either",
        Some(missed) => &format!("; without isolation {} missed", were(missed)),
        None => "",
    };
    if proof.holds && proof.measured {
        return format!(
            "With its plan, <strong>{name}</strong> met every deadline in the simulation and in the run on this machine: measured, not \
             promised{without}."
        );
    }
    if proof.holds {
        return format!(
            "With its plan, <strong>{name}</strong> meets every deadline: the analysis bounds each response time, and simulation and \
             execution stayed within every bound{without}."
        );
    }
    let with = match misses(|task| &task.with) {
        Some(missed) if missed > 0 => format!(": {} missed with the plan", were(missed)),
        _ => String::new(),
    };
    format!("The plan of <strong>{name}</strong> does not hold{with}.")
}

fn were(missed: u64) -> String {
    match missed {
        1 => "1\u{a0}deadline was".into(),
        _ => format!("{} were", counted(missed, "deadline")),
    }
}

/// Returns two rows of steps: those without isolation, and those with the plan.
fn steps(proof: &Proof, parts: &[Part]) -> String {
    let step = |kind: &str, title: &str, link: &str, (mark, result, details): Outcome| {
        let (class, sign, word) = match mark {
            Mark::Good => ("good", "✓", "holds"),
            Mark::Bad => ("bad", "✗", "does not hold"),
            Mark::Unknown => ("open", "–", "not known"),
        };
        let details: String = details.iter().map(|it| format!("<li>{it}</li>")).collect();
        // There is a link if there is more.
        let title = match parts.iter().any(|part| part.id == link) {
            true => format!("<a href=\"#{link}\">{title}</a>"),
            false => title.to_owned(),
        };
        format!(
            "<li class=\"{kind} {class}\"><h3>{title}</h3><p class=\"result\"><span class=\"sign\" role=\"img\" aria-label=\"{word}\">{sign}</span>{result}</p><ul>{details}</ul></li>\n"
        )
    };
    // What is measured is told with the notes, because no bound promises anything there.
    let bounded = !proof.measured;
    let analysed =
        check(proof, &proof.check_without, |task| task.bound_without_ns, |it| &it.bounds_without);
    let executed = run(proof, &proof.without, |task| &task.without, false);
    let without = [
        step("analysed", "Analysed", "tasks", analysed),
        step("executed", "Executed", "time", executed),
    ];
    let analysed = check(proof, &proof.check_with, |task| task.bound_with_ns, |it| &it.bounds_with);
    let simulated = run(proof, &proof.simulation, |task| &task.simulated, true);
    let executed = run(proof, &proof.with, |task| &task.with, bounded);
    let with = [
        step("analysed", "Planned and analysed", "plan", analysed),
        step("simulated", "Simulated", "tasks", simulated),
        step("executed", "Executed", "time", executed),
    ];
    [("Without isolation", without.concat()), ("With the plan", with.concat())]
        .map(|(title, steps)| {
            format!("<h2 class=\"row\">{title}</h2>\n<ul class=\"steps\">\n{steps}</ul>\n")
        })
        .concat()
}

fn check(
    proof: &Proof,
    check: &Check,
    bound: fn(&Task) -> Option<u64>,
    of_chain: fn(&Chain) -> &ChainTimes,
) -> Outcome {
    let with_deadline: Vec<&Task> =
        proof.tasks.iter().filter(|task| task.deadline_ns.is_some()).collect();
    let in_time = |task: &&&Task| {
        bound(task).zip(task.deadline_ns).is_some_and(|(bound, deadline)| bound <= deadline)
    };
    let bounded = with_deadline.iter().filter(in_time).count();
    let mut details = vec![format!(
        "{} of {} tasks bounded by their deadline",
        count(bounded as u64),
        count(with_deadline.len() as u64)
    )];
    let limited: Vec<&Chain> = proof.chains.iter().filter(|it| it.has_limit()).collect();
    let within = limited.iter().filter(|chain| chain.is_within(of_chain(chain))).count();
    if !limited.is_empty() {
        let (within, all) = (count(within as u64), counted(limited.len() as u64, "chain"));
        details.push(format!("{within} of {all} within the limits"));
    }
    match check.schedulable {
        Some(true) => (Mark::Good, "schedulable".into(), details),
        Some(false) => (Mark::Bad, "not schedulable".into(), details),
        None => (Mark::Unknown, "not analysed".into(), Vec::new()),
    }
}

fn run(
    proof: &Proof,
    run: &Option<Run>,
    of: fn(&Task) -> &Option<Responses>,
    bounded: bool,
) -> Outcome {
    let Some(run) = run else { return (Mark::Unknown, "not done".into(), Vec::new()) };
    let responses: Vec<(&Task, &Responses)> =
        proof.tasks.iter().filter_map(|task| Some((task, of(task).as_ref()?))).collect();
    let missed = responses.iter().fold(0_u64, |sum, (_, it)| sum.saturating_add(it.missed));
    let jobs = responses.iter().fold(0_u64, |sum, (_, it)| sum.saturating_add(it.jobs));
    let mut details = vec![format!("{} in {}", counted(jobs, "job"), time(run.time_ns))];
    // What is not as it should be, the worst first.
    let mut wrong = Vec::new();
    if missed > 0 {
        wrong.push(format!("{} missed", counted(missed, "deadline")));
    }
    if bounded {
        let above = responses
            .iter()
            .filter(|(task, it)| {
                it.max_ns.zip(task.bound_with_ns).is_some_and(|(max, bound)| max > bound)
            })
            .count();
        match above {
            0 => details.push("no response above its bound".into()),
            _ => wrong
                .push(format!("{} with a response above the bound", counted(above as u64, "task"))),
        }
    }
    if let Some(cache) = &run.cache {
        let across = cache.cross_vm_evictions();
        let evictions = format!("{} across VMs", counted(across, "eviction"));
        if across > 0 { &mut wrong } else { &mut details }.push(evictions);
    }
    let wait = run.vms.iter().filter_map(|vm| vm.bus_wait_ns).reduce(u64::saturating_add);
    details.extend(wait.map(|wait| format!("{} of waiting for the bus", time(wait))));
    let mut unseen = unseen(proof, of);
    // The notes themselves stand below.
    unseen.extend((!run.notes.is_empty()).then(|| counted(run.notes.len() as u64, "problem")));
    let (mark, mut results) = match (wrong.is_empty(), unseen.is_empty()) {
        (false, _) => (Mark::Bad, [wrong, unseen].concat()),
        (true, false) => (Mark::Unknown, unseen),
        (true, true) => (Mark::Good, vec!["no deadline missed".into()]),
    };
    let result = results.remove(0);
    (mark, result, [details, results].concat())
}

/// Says of how many tasks no job was complete in a run, if there are any.
fn unseen(proof: &Proof, of: fn(&Task) -> &Option<Responses>) -> Vec<String> {
    let has_job = |task: &Task| of(task).as_ref().is_some_and(|it| it.jobs > 0);
    let without = proof.tasks.iter().filter(|task| !has_job(task)).count();
    if without == 0 && !proof.tasks.is_empty() {
        return Vec::new();
    }
    if without == proof.tasks.len() {
        return vec!["no complete job was seen".into()];
    }
    vec![format!("{} without a complete job", counted(without as u64, "task"))]
}

/// Returns why the system is not schedulable without isolation.
fn reasons(proof: &Proof) -> String {
    let of_tasks = proof.tasks.iter().enumerate().filter_map(|(place, task)| {
        let reason = task.reason_without.as_ref()?;
        Some(format!("<strong>{}</strong>: {}", escape(&label::task(proof, place)), prose(reason)))
    });
    let notes = proof.check_without.notes.iter().map(|note| prose(note));
    let items: String =
        of_tasks.chain(notes).take(100).map(|item| format!("<li>{item}</li>\n")).collect();
    if items.is_empty() {
        return String::new();
    }
    format!(
        "<details open>\n<summary>Why it is not schedulable without isolation</summary>\n<ul>\n{items}</ul>\n</details>\n"
    )
}

fn list(class: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String =
        items.iter().take(100).map(|it| format!("<li>{}</li>\n", prose(it))).collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
}
