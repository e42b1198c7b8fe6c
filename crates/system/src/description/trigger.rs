//! Reads `triggered_by` and `rings` of tasks: a task rings for a channel when its jobs are done, and the
//! rings of a channel release the jobs of another one.

use super::{Channel, Located, Task, Vcpu};
use crate::diagnostic::Diagnostic;
use crate::document::Fields;
use crate::plan::{Class, Rings};
use crate::suggest;

/// The channels, and the VM whose tasks are read.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    /// `None`: they cannot be read, which was said.
    pub channels: Option<&'a [Channel]>,
    /// Index of the VM.
    pub vm: usize,
}

/// Keys that a period has, and that a task without one cannot have.
const OF_PERIODS: [(&str, &str); 4] = [
    ("period", "the rings of its channel release its jobs: remove one of the two"),
    ("offset", "the first ring releases its first job: remove it"),
    ("jitter", "`ring_burst` of the channel says how early rings may come: remove it"),
    ("sporadic", "a task that rings release is always sporadic: remove it"),
];

/// Reads `triggered_by`: index of the channel, and the limit on its rings.
pub(super) fn triggered_by(at: &Fields<'_>, ends: Ends<'_>) -> Option<(Located<usize>, Rings)> {
    let name = at.string("triggered_by");
    if !at.has("triggered_by") {
        return None;
    }
    for (key, help) in OF_PERIODS {
        at.forbid(key, "the task has `triggered_by`", help);
    }
    let help = "remove them, or release the task by a `period`";
    at.forbid("sections", "critical sections of a task with `triggered_by` are not analysed", help);
    let name = name?;
    let (index, channel) = named(at, &name, ends)?;
    let mistake = |message: String, help: &str| {
        at.add(Diagnostic::new("wrong-value", message).at(&name.place, "here").help(help));
    };
    if channel.from == ends.vm {
        let message = format!("the VM writes channel `{}`: its rings tell the readers", name.value);
        mistake(message, "name a channel that the VM reads");
        return None;
    }
    if !channel.to.contains(&ends.vm) {
        let message = format!("the VM does not read channel `{}`", name.value);
        mistake(message, "add the VM to `to` of the channel, or name a channel that it reads");
        return None;
    }
    let rings = rings_of(at, &name, channel)?;
    // A bell has one interrupt for all channels: a ring for one releases what another one triggers.
    let others = || ends.channels.into_iter().flatten().enumerate().filter(|(it, _)| *it != index);
    let other = others().find(|(_, it)| it.rings.is_some() && it.to.contains(&ends.vm));
    if let Some((_, other)) = other {
        let message = format!(
            "the VM also reads channel `{}`, which has rings: the interrupt does not say for which of \
             the two channels a ring came",
            other.name.value
        );
        let help = "remove `ring_every` from the other channel, or let another VM read it";
        let mistake = Diagnostic::new("wrong-value", message).at(&name.place, "here");
        at.add(mistake.also(&other.name.place, "the other channel").help(help));
        return None;
    }
    Some((Located::new(index, &name.place), rings))
}

/// Reads `rings`: index of the channel.
pub(super) fn rings(at: &Fields<'_>, ends: Ends<'_>) -> Option<Located<usize>> {
    let name = at.string("rings")?;
    let (index, channel) = named(at, &name, ends)?;
    if channel.from != ends.vm {
        let message = format!("the VM does not write channel `{}`", name.value);
        let help = "only the VM in `from` of a channel can ring for it: name a channel that this VM writes";
        at.add(Diagnostic::new("wrong-value", message).at(&name.place, "here").help(help));
        return None;
    }
    rings_of(at, &name, channel)?;
    Some(Located::new(index, &name.place))
}

fn rings_of(at: &Fields<'_>, name: &Located<String>, channel: &Channel) -> Option<Rings> {
    if channel.rings.is_none() {
        let message = format!("channel `{}` has no rings", name.value);
        let help = "add `ring_every` to the channel: the least time between two rings";
        let mistake = Diagnostic::new("wrong-value", message).at(&name.place, "here");
        at.add(mistake.also(&channel.name.place, "this channel").help(help));
    }
    channel.rings
}

fn named<'c>(
    at: &Fields<'_>,
    name: &Located<String>,
    ends: Ends<'c>,
) -> Option<(usize, &'c Channel)> {
    let channels = ends.channels?;
    let found = channels.iter().enumerate().find(|(_, it)| it.name.value == name.value);
    if found.is_none() {
        let known: Vec<&str> = channels.iter().map(|it| it.name.value.as_str()).collect();
        let message = format!("there is no channel `{}`", name.value.escape_debug());
        let help = match known.is_empty() {
            true => "describe it under `[[channel]]`, with `ring_every`".into(),
            false => suggest::help(&name.value, &known),
        };
        at.add(Diagnostic::new("unknown-name", message).at(&name.place, "here").help(help));
    }
    found
}

/// Refuses a second task that a channel triggers, or that rings for it, in one VM.
pub(super) fn check_tasks(vm: &Fields<'_>, tasks: &[Task]) {
    let twice = |key: fn(&Task) -> Option<&Located<usize>>, what: &str, help: &str| {
        for (index, task) in tasks.iter().enumerate() {
            let Some(channel) = key(task) else { continue };
            let same = |it: &&Task| key(it).is_some_and(|it| it.value == channel.value);
            let Some(first) = tasks[..index].iter().find(same).and_then(key) else { continue };
            let mistake = Diagnostic::new("wrong-value", what).at(&channel.place, "again here");
            vm.add(mistake.also(&first.place, "first here").help(help));
        }
    };
    let help = "let one task do the work of both, or start the other one from it";
    twice(|task| task.triggered_by.as_ref(), "a channel triggers one task of a VM", help);
    let help = "let one of them ring, or describe a channel for each: the limit is for the rings of one task";
    twice(|task| task.rings.as_ref(), "one task of a VM rings for a channel", help);
}

/// Refuses triggers in VMs for whose VCPUs the time until an interrupt is taken has no bound. `most`:
/// the largest number of VCPUs that the VM can have.
pub(super) fn check_vcpus(vm: &Fields<'_>, vcpus: &[Vcpu], most: usize, tasks: &[Task]) {
    for trigger in tasks.iter().filter_map(|task| task.triggered_by.as_ref()) {
        let (message, help) = if most > 1 {
            (
                "a VM whose task has `triggered_by` has one VCPU: with several, any of them can be \
                 told of a ring, and no bound is known for how long it takes to pass that on",
                "write `vcpus = 1`, or put the task into a VM of its own",
            )
        } else if vcpus.iter().any(is_background) {
            (
                "a task of a VCPU in the background cannot have `triggered_by`: nothing limits when it \
                 answers a ring",
                "give the VCPU a server with a budget",
            )
        } else {
            continue;
        };
        vm.add(Diagnostic::new("wrong-value", message).at(&trigger.place, "here").help(help));
    }
}

fn is_background(vcpu: &Vcpu) -> bool {
    vcpu.server.as_ref().is_some_and(|server| server.class.value == Class::Background)
}
