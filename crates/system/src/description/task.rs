//! Reads `[[vm.task]]`.

use std::collections::BTreeMap;

use units::Duration;

use super::locks::{self, Known};
use super::names::refuse_twice;
use super::trigger::{self, Ends};
use super::vcpu::Places;
use super::{Located, Task, Wcet};
use crate::diagnostic::Diagnostic;
use crate::document::Fields;

/// Returns the tasks of a VM, which can be on these VCPUs (`None`: the VCPUs are not known), and use
/// these channels and resources.
pub(super) fn read(
    vm: &Fields<'_>,
    vcpus: Option<Places>,
    ends: Ends<'_>,
    resources: &Known,
) -> Option<Vec<Task>> {
    let tables = vm.tables("task", "[[vm.task]]");
    refuse_twice(vm, "tasks of this VM", &tables);
    let tasks: Vec<_> = tables.iter().map(|at| task(at, vcpus, ends, resources)).collect();
    let tasks: Vec<Task> = tasks.into_iter().collect::<Option<_>>()?;
    priorities(vm, &tasks);
    trigger::check_tasks(vm, &tasks);
    Some(tasks)
}

fn task(at: &Fields<'_>, vcpus: Option<Places>, ends: Ends<'_>, resources: &Known) -> Option<Task> {
    let name = at.required("name", at.string("name"), "\"control\"");
    let vcpu = vcpu(at, vcpus);
    let period = at.quantity::<Duration>("period");
    let period = at.required_or(("period", "triggered_by"), period, "\"10ms\"");
    let trigger = trigger::triggered_by(at, ends);
    let rings = trigger::rings(at, ends);
    let deadline = at.quantity::<Duration>("deadline");
    let offset = at.quantity::<Duration>("offset");
    let jitter = at.quantity::<Duration>("jitter");
    let sporadic = at.boolean("sporadic");
    let wcet = at.required("wcet", wcet(at), "\"1ms\"");
    let bcet = at.quantity::<Duration>("bcet");
    let blocking = at.quantity::<Duration>("blocking");
    let self_suspension = at.quantity::<Duration>("self_suspension");
    let sections = locks::sections(at, ends.vm, resources);
    let exits = at.integer("exits", 0, 1_000_000_000);
    let accesses = at.integer("accesses", 0, u64::MAX);
    let colors = at.colors("colors");
    let priority = at.unless_planned("priority", |at, key| at.integer(key, 0, u64::from(u32::MAX)));
    at.finish();

    // That nothing rings, or that there is no period, is no second mistake.
    if at.misspells("rings") || at.misspells("triggered_by") {
        return None;
    }
    let period = match &trigger {
        Some((channel, rings)) => Located::new(rings.interval, &channel.place),
        // A trigger that cannot be read was said.
        None if at.has("triggered_by") => return None,
        None => period?,
    };
    if at.has("rings") && rings.is_none() {
        return None;
    }
    if period.value == Duration(0) {
        at.add(
            Diagnostic::new("out-of-range", "the period is zero")
                .at(&period.place, "here")
                .help("give the time between two releases"),
        );
        // Whatever it is compared with would be too long as well.
        return None;
    }
    if let Some(deadline) = deadline.as_ref().filter(|deadline| deadline.value == Duration(0)) {
        at.add(
            Diagnostic::new("out-of-range", "the deadline is zero")
                .at(&deadline.place, "here")
                .help("give the time from arrival to deadline"),
        );
    }
    let deadline = deadline.unwrap_or(period.clone());
    let Located { value: (wcet, wcet_raised), place } = wcet?;
    let wcet = Located::new(wcet, &place);
    if let Some(bcet) = &bcet {
        positive(at, bcet);
        if bcet.value > wcet.value.shortest() {
            let message = format!(
                "the task takes {} at least, but {} at most",
                bcet.value,
                wcet.value.shortest()
            );
            at.add(
                Diagnostic::new("out-of-range", message)
                    .at(&bcet.place, "longer than the worst case")
                    .also(&wcet.place, "the worst case")
                    .help("correct one of the two"),
            );
        }
    }
    let waits = [jitter, blocking, self_suspension];
    let [jitter, blocking, self_suspension] =
        waits.map(|time| time.map_or(Duration(0), |time| time.value));
    let jitter = trigger.as_ref().map_or(jitter, |(_, rings)| rings.early);
    let sections = sections?;
    locks::check_lengths(at, &sections, &wcet);
    let (vcpu, vcpu_open) = vcpu?;
    Some(Task {
        name: name?,
        vcpu,
        vcpu_open,
        offset: offset.map_or(Duration(0), |offset| offset.value),
        period: period.value,
        sporadic: sporadic.unwrap_or(false) || trigger.is_some(),
        triggered_by: trigger.map(|(channel, _)| channel),
        rings,
        deadline: deadline.value,
        jitter,
        wcet: wcet.value,
        wcet_raised,
        blocking,
        self_suspension,
        sections,
        exits: exits.map_or(0, |exits| exits.value),
        accesses,
        colors,
        bcet: bcet.map(|bcet| bcet.value),
        priority,
    })
}

/// Returns the VCPU, and whether it is to be planned: it may be left out.
fn vcpu(at: &Fields<'_>, vcpus: Option<Places>) -> Option<(usize, bool)> {
    let last = vcpus.map_or(u64::MAX, |vcpus| vcpus.most as u64 - 1);
    let vcpu = at.unless_planned("vcpu", |at, key| at.integer(key, 0, u64::MAX));
    if !at.has("vcpu") {
        return Some((0, last != 0));
    }
    let vcpu = vcpu?;
    if vcpu.value > last {
        let (message, help) = match vcpus.is_some_and(|vcpus| vcpus.planned) {
            true => (
                format!("a VM cannot have a VCPU {}", vcpu.value),
                format!("its number of VCPUs is planned: 0 to {last} are possible"),
            ),
            false => {
                (format!("the VM has no VCPU {}", vcpu.value), format!("its VCPUs are 0 to {last}"))
            }
        };
        at.add(Diagnostic::new("unknown-name", message).at(&vcpu.place, "here").help(help));
        return None;
    }
    Some((vcpu.value as usize, false))
}

/// `wcet = "1ms"`, or `wcet = { 1 = "3ms", 4 = "2ms" }`: colours and times; and whether some were
/// raised.
fn wcet(at: &Fields<'_>) -> Option<Located<(Wcet, bool)>> {
    if !at.is_table("wcet") {
        let wcet = at.quantity::<Duration>("wcet")?;
        positive(at, &wcet);
        return Some(wcet.map(|wcet| (Wcet::Fixed(wcet), false)));
    }
    let place = at.key_place("wcet")?;
    let mut times: BTreeMap<u64, Located<Duration>> = BTreeMap::new();
    let mut complete = true;
    for entry in at.entries("wcet") {
        let colors = entry.name.value.parse().ok().filter(|colors| *colors > 0);
        if colors.is_none() {
            let message =
                format!("`{}` is not a number of cache colours", entry.name.value.escape_debug());
            at.add(
                Diagnostic::new("wrong-value", message)
                    .at(&entry.name.place, "here")
                    .help("write as in `wcet = { 1 = \"3ms\", 4 = \"2ms\" }`"),
            );
        }
        match (colors, at.entry_quantity::<Duration>(&entry)) {
            (Some(colors), Some(time)) => {
                positive(at, &time);
                if let Some(first) = times.insert(colors, time) {
                    let message = format!("{colors} colours are given twice");
                    at.add(
                        Diagnostic::new("duplicate-key", message)
                            .at(&entry.name.place, "here")
                            .also(&first.place, "and here")
                            .help("remove one of the two"),
                    );
                }
            }
            _ => complete = false,
        }
    }
    if times.is_empty() && complete {
        let help = "write as in `wcet = { 1 = \"3ms\", 4 = \"2ms\" }`";
        at.add(Diagnostic::new("wrong-value", "there is no time").at(&place, "here").help(help));
        return None;
    }
    // Analyses rely on it that more colours never take longer. Where they do, the times with fewer
    // are counted as long as those with more: longer than they are, but safe.
    let mut raised = false;
    let mut longest = Duration(0);
    let mut monotone = BTreeMap::new();
    for (colors, time) in times.into_iter().rev() {
        raised |= time.value < longest;
        longest = longest.max(time.value);
        monotone.insert(colors, longest);
    }
    complete.then(|| Located::new((Wcet::ByColors(monotone), raised), &place))
}

fn positive(at: &Fields<'_>, time: &Located<Duration>) {
    if time.value == Duration(0) {
        at.add(
            Diagnostic::new("out-of-range", "the execution time is zero")
                .at(&time.place, "here")
                .help("give the time that one job takes"),
        );
    }
}

/// On one VCPU priorities are given to all tasks or none. Tasks whose VCPU is planned can be on any.
fn priorities(vm: &Fields<'_>, tasks: &[Task]) {
    for task in tasks {
        let may_meet = |other: &&Task| task.vcpu_open || other.vcpu_open || other.vcpu == task.vcpu;
        let mut siblings = tasks.iter().filter(may_meet);
        if task.priority.is_some() {
            continue;
        }
        if let Some(given) = siblings.find_map(|other| other.priority.as_ref()) {
            let message = format!("task `{}` has no priority", task.name.value);
            vm.add(
                Diagnostic::new("missing-key", message)
                    .at(&task.name.place, "this task")
                    .also(&given.place, "but this one has")
                    .help("give all tasks of a VCPU a priority, or none"),
            );
        }
    }
}
