//! Differences between two systems, or two results: the things that were moved or changed, and the parts of bounds that are why.

mod results;

use std::collections::BTreeMap;
use std::path::{self, Component, Path, PathBuf};

use report::verdicts::Place;
use serde::Serialize;
use system::description::{Located, System};
use system::plan::{self, MemoryBudget, Plan, Vcpu, Vm};
use verdict::{ChainVerdict, Part, TaskVerdict, Term, VcpuVerdict, Verdict};

use crate::amount::time;
use crate::explain::part;
use crate::failure::Failure;
use crate::load::{self, Input};
use crate::verdicts::places::{self, place, place_of};

/// Parts of a bound that are shown as a reason.
const PARTS_SHOWN: usize = 4;

/// A difference. A thing that is in one of the systems only has no other differences.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Difference {
    /// The thing that is different: `system`, `hypervisor`, `VM linux`, `VCPU linux.0`, `task linux.logger`, `chain steer`,
    /// `channel pose`; or `plan`, if the plans differ in something that is not shown.
    pub of: String,
    /// The property: `budget`, `bound` and so on; `exists` if the thing is in one of the systems only.
    pub property: &'static str,
    /// The value in the first system.
    pub before: String,
    /// The value in the second system.
    pub after: String,
    /// The parts of a bound that changed, the ones that changed most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<PartDifference>,
    /// The place at which the second description names the thing that is different, if it does.
    #[serde(skip)]
    pub place: Option<Place>,
}

/// A part of a bound that changed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PartDifference {
    /// The part in words.
    pub part: String,
    /// Its length in the first system.
    pub before_ns: u64,
    /// Its length in the second system.
    pub after_ns: u64,
}

/// Properties of something, in the order in which they are shown, and the parts of its bound.
#[derive(Default)]
struct Thing {
    properties: Vec<(&'static str, String)>,
    parts: BTreeMap<String, u64>,
}

impl Thing {
    fn new<const N: usize>(properties: [(&'static str, String); N]) -> Self {
        Self { properties: properties.into(), parts: BTreeMap::new() }
    }

    fn get(&self, property: &str) -> Option<&str> {
        let found = self.properties.iter().find(|(name, _)| *name == property);
        found.map(|(_, value)| value.as_str())
    }
}

/// All things of a system with their names, in its order.
type Things = Vec<(String, Thing)>;

/// Returns the differences between the systems of two files, or between two results. Where one is a plan, tasks are not
/// compared: plans have none.
///
/// # Errors
///
/// A file that cannot be read, a description that cannot be planned, and a result beside something else.
pub fn differences(before: &Path, after: &Path) -> Result<Vec<Difference>, Failure> {
    match [before, after].map(results::is_result) {
        [true, true] => results::differences(before, after),
        [false, false] => of_systems(before, after),
        [is_first, _] => {
            let [result, other] = if is_first { [before, after] } else { [after, before] };
            let message = format!(
                "{} is a folder or a document of a result, and {} is not\n\
                 help: compare two results, or two descriptions or plans",
                result.display(),
                other.display()
            );
            Err(Failure::new("not-comparable", message))
        }
    }
}

fn of_systems(before: &Path, after: &Path) -> Result<Vec<Difference>, Failure> {
    let folders = [before, after].map(load::folder);
    if [before, after].iter().all(|it| load::is_standard_input(it)) {
        let message = "the standard input can be one of the two, not both\nhelp: name a file";
        return Err(Failure::new("not-comparable", message));
    }
    let [before, after] = [before, after].map(load::read_or_standard_input);
    let (before, after) = (before?, after?);
    let described = match &after {
        Input::Description(system) => Some(system.clone()),
        Input::Plan(_) => None,
    };
    let both_have_tasks = [&before, &after].iter().all(|it| matches!(it, Input::Description(_)));
    let (before, old) = things(&before, folders[0], both_have_tasks)?;
    let (after, new) = things(&after, folders[1], both_have_tasks)?;
    let mut found = between(&before, &after);
    if found.is_empty() && old != new {
        let [before, after] = ["-"; 2].map(str::to_owned);
        found.push(Difference {
            of: "plan".into(),
            property: "something else",
            before,
            after,
            why: Vec::new(),
            place: None,
        });
    }
    for it in &mut found {
        it.place = described.as_ref().and_then(|system| place_of(system, &it.of)).map(place);
    }
    Ok(found)
}

fn between(before: &Things, after: &Things) -> Vec<Difference> {
    let mut found = Vec::new();
    for (of, old) in before {
        match after.iter().find(|(name, _)| name == of) {
            None => found.push(exists(of, ["yes", "no"])),
            Some((_, new)) => found.extend(compared(of, old, new)),
        }
    }
    let added = after.iter().filter(|(of, _)| before.iter().all(|(name, _)| name != of));
    found.extend(added.map(|(of, _)| exists(of, ["no", "yes"])));
    found
}

fn exists(of: &str, [before, after]: [&str; 2]) -> Difference {
    let (before, after) = (before.into(), after.into());
    Difference { of: of.into(), property: "exists", before, after, why: Vec::new(), place: None }
}

fn compared<'t>(
    of: &'t str,
    old: &'t Thing,
    new: &'t Thing,
) -> impl Iterator<Item = Difference> + 't {
    let absent = "-";
    let gone = new.properties.iter().filter(|(name, _)| old.get(name).is_none());
    let properties = old.properties.iter().chain(gone).map(|(name, _)| *name);
    properties.filter_map(move |property| {
        let [before, after] = [old, new].map(|it| it.get(property).unwrap_or(absent));
        let why = if property == BOUND { parts(old, new) } else { Vec::new() };
        let is_different = before != after;
        let (mut before, mut after) = (before.to_owned(), after.to_owned());
        if property == ARGUMENTS {
            (before, after) = (others(&before, &after), others(&after, &before));
        }
        let of = of.to_owned();
        is_different.then_some(Difference { of, property, before, after, why, place: None })
    })
}

fn parts(old: &Thing, new: &Thing) -> Vec<PartDifference> {
    let all = old.parts.keys().chain(new.parts.keys().filter(|it| !old.parts.contains_key(*it)));
    let mut found: Vec<_> = all
        .map(|part| {
            let [before_ns, after_ns] =
                [old, new].map(|it| it.parts.get(part).copied().unwrap_or(0));
            PartDifference { part: part.clone(), before_ns, after_ns }
        })
        .filter(|it| it.before_ns != it.after_ns)
        .collect();
    found.sort_by_key(|it| std::cmp::Reverse(it.before_ns.abs_diff(it.after_ns)));
    found.truncate(PARTS_SHOWN);
    found
}

/// Returns the words of a command line that another one does not have; all if it has all of them, in another order.
fn others(line: &str, other: &str) -> String {
    let words = |line: &'_ str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (own, theirs) = (words(line), words(other));
    let more: Vec<_> = own.iter().filter(|word| !theirs.contains(word)).cloned().collect();
    match more.is_empty() && theirs.iter().all(|word| own.contains(word)) {
        true => line.to_owned(),
        false => more.join(" "),
    }
}

/// Returns the path of a file, from the current folder on if the file is there.
fn found_at(folder: &Path, file: &str) -> String {
    let path = path::absolute(folder.join(file)).unwrap_or_else(|_| folder.join(file));
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    let here = std::env::current_dir().unwrap_or_default();
    plain.strip_prefix(here).unwrap_or(&plain).display().to_string()
}

/// The property of which only other words are shown.
const ARGUMENTS: &str = "arguments";
/// The property that has parts.
const BOUND: &str = "bound";

/// Returns the things that are compared, and the plan if the machine has one, with paths that do not depend on where it lies.
fn things(
    input: &Input,
    folder: &Path,
    with_tasks: bool,
) -> Result<(Things, Option<Plan>), Failure> {
    let (plan, verdict) = match input {
        Input::Plan(plan) => (Some((**plan).clone()), Verdict::of_plan(plan, None)),
        Input::Description(system) if system.platform.value.boot.is_ok() => {
            let plan = plan::make(system)?;
            let verdict = Verdict::of_plan(&plan, Some(system));
            (Some(plan), verdict)
        }
        Input::Description(system) => {
            (None, Verdict::of_description(system, &plan::assign(system)?))
        }
    };
    let mut things = Vec::new();
    if with_tasks {
        let whole = Thing::new([("in time", yes(verdict.schedulable))]);
        things.push(("system".to_owned(), whole));
    }
    match &plan {
        Some(plan) => of_plan(plan, folder, &mut things),
        None => things.extend(
            verdict
                .pcpus
                .iter()
                .flat_map(|pcpu| pcpu.vcpus.iter().map(|vcpu| analysed_vcpu(pcpu.pcpu, vcpu))),
        ),
    }
    if with_tasks {
        things.extend(verdict.tasks().map(|(vcpu, it)| task(vcpu, it)));
        if let Input::Description(system) = input {
            described_tasks(system, &mut things);
        }
        things.extend(verdict.chains.iter().map(chain));
    }
    Ok((things, plan.map(|plan| without_places(plan, folder))))
}

/// The plan with no name, and with paths of files from the current folder on.
fn without_places(mut plan: Plan, folder: &Path) -> Plan {
    plan.name.clear();
    for boot in plan.vms.iter_mut().map(|vm| &mut vm.boot) {
        for load in [Some(&mut boot.kernel), boot.initrd.as_mut()].into_iter().flatten() {
            load.file = found_at(folder, &load.file);
        }
    }
    plan
}

/// Adds the properties of tasks in descriptions that a bound does not show.
fn described_tasks(system: &System, things: &mut Things) {
    let resource =
        |index: usize| system.resources.get(index).map_or("?", |it| it.name.value.as_str());
    for vm in &system.vms {
        for task in &vm.tasks {
            let name = places::task(&vm.name.value, &task.name.value);
            let Some((_, thing)) = things.iter_mut().find(|(of, _)| *of == name) else { continue };
            let sections = task.sections.iter().map(|it| {
                format!("{} for {} after {}", resource(it.resource), it.length, it.after)
            });
            let number = |it: &Option<Located<u64>>| {
                it.as_ref().map_or("-".into(), |it| it.value.to_string())
            };
            let channel = |it: &Option<Located<usize>>| {
                let found = it.as_ref().and_then(|it| system.channels.get(it.value));
                found.map_or("-".into(), |it| it.name.value.clone())
            };
            thing.properties.extend([
                ("released by rings of", channel(&task.triggered_by)),
                ("rings for", channel(&task.rings)),
                ("first release", task.offset.to_string()),
                ("sporadic", yes(task.sporadic)),
                ("jitter", task.jitter.to_string()),
                ("blocking", task.blocking.to_string()),
                ("self-suspension", task.self_suspension.to_string()),
                ("sections", sections.collect::<Vec<_>>().join(", ")),
                ("exits", task.exits.to_string()),
                ("accesses", number(&task.accesses)),
                ("priority", number(&task.priority)),
                ("least execution time", task.bcet.map_or("-".into(), |it| it.to_string())),
                ("colours", task.colors.as_ref().map_or("-".into(), |it| it.value.to_string())),
            ]);
        }
    }
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.into()
}

fn of_plan(plan: &Plan, folder: &Path, things: &mut Things) {
    things.push((
        "hypervisor".into(),
        Thing::new([
            ("board", plan.platform.board.to_string()),
            ("memory", plan.platform.hypervisor.size.to_string()),
            (
                "colours",
                plan.platform.hypervisor_area.map_or("all".into(), |it| it.colors.to_string()),
            ),
            ("locks", plan.locks.as_str().into()),
        ]),
    ));
    for vm in &plan.vms {
        things.push((places::vm(&vm.name), of_vm(vm, folder)));
        for (index, vcpu) in vm.vcpus.iter().enumerate() {
            things.push((places::vcpu(&vm.name, index), of_vcpu(vcpu)));
        }
    }
    let name = |vm: u32| plan.vms.get(vm as usize).map_or("?", |vm| vm.name.as_str());
    for channel in &plan.channels {
        let readers: Vec<&str> = channel.to.iter().map(|vm| name(*vm)).collect();
        let thing = Thing::new([
            ("from", name(channel.from).into()),
            ("to", readers.join(" ")),
            ("size", channel.memory.size.to_string()),
            ("address", channel.memory.ipa.to_string()),
            ("rings", channel.rings.map_or("-".into(), |it| it.to_string())),
        ]);
        things.push((places::channel(&channel.name), thing));
    }
    for line in &plan.serial_lines {
        let thing = Thing::new([
            ("interrupts", line.interrupts.map(|it| it.to_string()).join(" ")),
            ("told", line.tells.to_string()),
        ]);
        let [one, other] = line.vms.map(name);
        let address = line.registers.start;
        things.push((format!("serial line {one} {other} {address}"), thing));
    }
    for link in &plan.links {
        let [one, other] = link.vms.map(name);
        let thing = Thing::new([
            ("between", format!("{one} {other}")),
            ("address", link.registers.start.to_string()),
            ("interrupts", link.interrupts.map(|it| it.to_string()).join(" ")),
            ("cards", link.macs.map(|it| it.to_string()).join(" ")),
            ("rate", link.rate.to_string()),
            ("burst", link.burst.to_string()),
            ("interrupted", link.tells.to_string()),
        ]);
        things.push((format!("link {}", link.name), thing));
    }
}

fn of_vm(vm: &Vm, folder: &Path) -> Thing {
    let lifecycle = &vm.lifecycle;
    Thing::new([
        ("memory", vm.memory_size().to_string()),
        ("colours", vm.colors().map_or("all".into(), |it| it.to_string())),
        ("extra colours", vm.pool.map_or("-".into(), |it| it.area.colors.to_string())),
        ("accesses", accesses(vm.memory_budget)),
        ("critical", yes(vm.critical)),
        ("devices", vm.devices.len().to_string()),
        ("kernel", found_at(folder, &vm.boot.kernel.file)),
        (ARGUMENTS, vm.boot.bootargs.clone().unwrap_or_else(|| "-".into())),
        ("after a crash", lifecycle.on_crash.to_string()),
        ("after a reset", lifecycle.on_reset.to_string()),
        ("aborts", yes(lifecycle.aborts)),
    ])
}

fn of_vcpu(vcpu: &Vcpu) -> Thing {
    let server = vcpu.server;
    let budget = server.and_then(|it| it.class.budget());
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    Thing::new([
        ("PCPU", vcpu.pcpu.to_string()),
        ("server", server.map_or("none", |it| it.class.as_str()).into()),
        ("budget", or_none(budget.map(|it| it.budget.to_string()))),
        ("period", or_none(budget.map(|it| it.period.to_string()))),
        ("priority", or_none(server.map(|it| it.priority.to_string()))),
        ("accesses", accesses(vcpu.memory_budget)),
    ])
}

/// `1000 in 1 ms`.
fn accesses(budget: Option<MemoryBudget>) -> String {
    budget.map_or("any".into(), |it| format!("{} in {}", it.accesses, it.period))
}

/// A VCPU of a machine that is only analysed.
fn analysed_vcpu(pcpu: u32, vcpu: &VcpuVerdict) -> (String, Thing) {
    let or_none = |ns: Option<u64>| ns.map_or("-".into(), time);
    let thing = Thing::new([
        ("PCPU", pcpu.to_string()),
        ("server", vcpu.server.unwrap_or("none").into()),
        ("budget", or_none(vcpu.budget_ns)),
        ("period", or_none(vcpu.period_ns)),
    ]);
    (places::vcpu(&vcpu.vm, vcpu.vcpu), thing)
}

fn task(vcpu: &VcpuVerdict, task: &TaskVerdict) -> (String, Thing) {
    let mut thing = Thing::new([
        ("VCPU", vcpu.vcpu.to_string()),
        ("execution time", time(task.wcet_ns)),
        ("period", time(task.period_ns)),
        ("deadline", time(task.deadline_ns)),
        (BOUND, task.bound_ns().map_or("none".into(), time)),
        ("in time", yes(task.ok)),
    ]);
    for term in &task.terms {
        *thing.parts.entry(name(term)).or_default() += term.time_ns;
    }
    (places::task(&vcpu.vm, &task.task), thing)
}

/// A part of a bound in words, without a number of jobs, which may change.
fn name(term: &Term) -> String {
    match (term.term, &term.task) {
        (Part::Preemption, Some(task)) => format!("`{task}` above it"),
        (Part::Cache, Some(task)) => format!("loading the cache again after `{task}`"),
        _ => part(term),
    }
}

fn chain(chain: &ChainVerdict) -> (String, Thing) {
    let or_none = |ns: Option<u64>| ns.map_or("none".into(), time);
    let steps: Vec<String> = chain.steps.iter().map(|step| step.name()).collect();
    let thing = Thing::new([
        ("steps", steps.join(" ")),
        ("reaction", or_none(chain.reaction_ns)),
        ("longest reaction", or_none(chain.max_reaction_ns)),
        ("data age", or_none(chain.age_ns)),
        ("longest data age", or_none(chain.max_age_ns)),
        ("in time", yes(chain.ok)),
    ]);
    (places::chain(&chain.chain), thing)
}
