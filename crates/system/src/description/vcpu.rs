//! Reads the VCPUs of a VM.

use policy::server::kind::Kind;
use units::Duration;

use super::{Located, PLANNED, Server, Task, Vcpu, bandwidth};
use crate::diagnostic::{Diagnostic, Place};
use crate::document::Fields;
use crate::plan::{ANALYZED_VCPUS_MAX, Budget, COUNT_MAX, Class};
use crate::suggest;

/// Stands for a period that is to be planned.
const PERIOD: Duration = Duration(10_000_000);

/// The VCPUs of a VM.
pub(super) struct Vcpus {
    vcpus: Vec<Vcpu>,
    /// Place of the key if their number is to be planned: there is one, and all are like it.
    planned: Option<Place>,
}

/// The VCPUs that tasks can name.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// Their number, at least 1.
    pub most: usize,
    /// True if there can be fewer, as the planner chooses.
    pub planned: bool,
}

impl Vcpus {
    /// Returns the VCPUs that tasks can name.
    pub fn places(&self) -> Places {
        let planned = self.planned.is_some();
        Places { most: if planned { COUNT_MAX } else { self.vcpus.len() }, planned }
    }

    /// Returns the VCPUs, at least as many as these tasks name, and the place of the key that
    /// leaves their number to the planner.
    pub fn with_tasks(self, vm: &Fields<'_>, tasks: &[Task]) -> (Vec<Vcpu>, Option<Place>) {
        let Self { mut vcpus, planned } = self;
        let Some(place) = &planned else { return (vcpus, None) };
        if tasks.iter().all(|task| !task.vcpu_open) {
            let (message, help) = match tasks.is_empty() {
                true => (
                    "the number of VCPUs is to be planned, but the VM has no tasks",
                    "describe its tasks as `[[vm.task]]`, or give a number, as in `vcpus = 2`",
                ),
                false => (
                    "the number of VCPUs is to be planned, but all tasks name theirs",
                    "leave out `vcpu` of some tasks, or give a number, as in `vcpus = 2`",
                ),
            };
            let mistake = Diagnostic::new("wrong-value", message);
            vm.add(mistake.at(place, "nothing to plan").help(help));
        }
        let named = tasks.iter().filter(|task| !task.vcpu_open).map(|task| task.vcpu + 1);
        if let Some(first) = vcpus.first().cloned() {
            vcpus.resize(named.max().unwrap_or(1).max(1), first);
        }
        (vcpus, planned)
    }
}

/// `vcpus = 2`, `vcpus = "planned"`, or `[[vm.vcpu]]` tables; one VCPU if none is given.
/// [`super::limits`] has the limit of their number.
pub(super) fn read(vm: &Fields<'_>) -> Option<Vcpus> {
    let tables = vm.tables("vcpu", "[[vm.vcpu]]");
    if vm.is_string("vcpus") {
        return like_one(vm, &tables);
    }
    let given = |vcpus| Vcpus { vcpus, planned: None };
    let count = vm.integer("vcpus", 1, u64::MAX);
    if tables.is_empty() {
        let count = if vm.has("vcpus") { count?.value } else { 1 };
        // More than that are refused.
        let count = count.min(ANALYZED_VCPUS_MAX as u64 + 1);
        return Some(given(vec![Vcpu::default(); count as usize]));
    }
    let counted = count.filter(|count| count.value != tables.len() as u64);
    if let Some(count) = counted {
        let message = format!("`vcpus` is {}, but there are {}", count.value, tables.len());
        vm.add(
            Diagnostic::new("wrong-value", format!("{message} `[[vm.vcpu]]`"))
                .at(&count.place, "does not agree")
                .help("remove `vcpus`: the tables are counted"),
        );
    }
    let vcpus: Vec<_> = tables.iter().map(vcpu).collect();
    vcpus.into_iter().collect::<Option<_>>().map(given)
}

/// `vcpus = "planned"`: a table `[[vm.vcpu]]` describes all VCPUs.
fn like_one(vm: &Fields<'_>, tables: &[Fields<'_>]) -> Option<Vcpus> {
    let planned = vm.string("vcpus").filter(|text| is_planned(vm, text));
    if let (Some(planned), Some(more)) = (&planned, tables.get(1)) {
        let message = format!("`vcpus` is planned, but there are {} `[[vm.vcpu]]`", tables.len());
        vm.add(
            Diagnostic::new("wrong-value", message)
                .at(&planned.place, "does not agree")
                .also(more.place(), "one more")
                .help("leave one table, which describes all VCPUs; or remove `vcpus`"),
        );
    }
    let vcpus: Vec<_> = tables.iter().map(vcpu).collect();
    let planned = planned?.place;
    for table in tables.iter().take(1).filter(|_| tables.len() == 1) {
        let why = "the number of VCPUs is planned, and all of them would be there";
        table.forbid("pcpu", why, "remove it, or give the number of VCPUs");
        let wrong = |message: &str, place: &Place, why: &str, help: &str| {
            let mistake = Diagnostic::new("wrong-value", message).at(place, why);
            vm.add(mistake.also(&planned, "planned").help(help));
        };
        if let Some(server) = table.peek("server").filter(|it| it.value == "background") {
            let message = "a number of VCPUs of the background cannot be planned";
            let help = "give another `server`, or the number of VCPUs";
            wrong(message, &server.place, "without a budget", help);
        }
        let server = vcpus.first().and_then(|vcpu| vcpu.as_ref()?.server.as_ref());
        if let Some(place) = server.and_then(|server| server.overrun.as_ref()) {
            let message = "which VCPUs can overrun depends on their number";
            let help = "say `overrun = \"planned\"`, or give the number of VCPUs";
            wrong(message, place, "given for all", help);
        }
    }
    let first = vcpus.into_iter().next().unwrap_or_else(|| Some(Vcpu::default()))?;
    Some(Vcpus { vcpus: vec![first], planned: Some(planned) })
}

/// Returns true if the text leaves the number of VCPUs to the planner; reports it if not.
fn is_planned(vm: &Fields<'_>, text: &Located<String>) -> bool {
    if text.value == PLANNED {
        return true;
    }
    let message = format!("`{}` is no number of VCPUs", text.value.escape_debug());
    let help = match (text.value.parse::<u64>(), suggest::closest(&text.value, [PLANNED])) {
        (Ok(number), _) => format!("write the number without quotes: `vcpus = {number}`"),
        (Err(_), Some(meant)) => format!("did you mean `{meant}`?"),
        (Err(_), None) => {
            "write a number, as in `vcpus = 2`; with `vcpus = \"planned\"` the planner \
                   chooses it"
                .into()
        }
    };
    vm.add(Diagnostic::new("wrong-value", message).at(&text.place, "here").help(help));
    false
}

fn vcpu(at: &Fields<'_>) -> Option<Vcpu> {
    let pcpu = at.unless_planned("pcpu", |at, key| at.integer(key, 0, u64::MAX));
    let server = server(at);
    let bandwidth = bandwidth::read(at);
    for key in ["compensation", "flush"] {
        let help = "give the budget to the VM, or remove this";
        at.forbid(key, "only a budget of all VCPUs of a VM gets credits", help);
    }
    at.forbid("critical", "a VM is critical as a whole", "write it under `[[vm]]`");
    at.finish();
    Some(Vcpu { pcpu, server: server?, bandwidth: bandwidth? })
}

/// Reads `server` and the keys that belong to it: `Some(None)` if there is none, `None` if it cannot
/// be read.
fn server(at: &Fields<'_>) -> Option<Option<Server>> {
    let mut words = Class::WORDS.map(|word| (word, word)).to_vec();
    // Until the kind is planned.
    words.push((PLANNED, Kind::Deferrable.name()));
    let class = at.choice("server", &words);
    let kind_open = at.peek("server").filter(|word| word.value == PLANNED).map(|it| it.place);
    let budget = at.unless_planned("budget", Fields::quantity::<Duration>);
    let period = at.unless_planned("period", Fields::quantity::<Duration>);
    let priority = at.unless_planned("priority", |at, key| at.integer(key, 0, u64::from(u32::MAX)));
    let (overrun, overrun_open) = match at.is_string("overrun") {
        true => (None, at.choice("overrun", &[(PLANNED, ())]).map(|it| it.place)),
        false => {
            let overrun = at.boolean("overrun").filter(|overrun| *overrun);
            (overrun.and_then(|_| at.key_place("overrun")), None)
        }
    };
    for key in ["budget", "period", "priority", "overrun"] {
        let help = "add `server`, or remove this";
        at.forbid_without("server", key, "the VCPU has no `server`", help);
    }
    if !at.has("server") {
        return Some(None);
    }
    let class = class?;
    if class.value == "background" {
        for key in ["budget", "period"] {
            let help = "the background gets the time that other VCPUs leave: remove this";
            at.forbid(key, "the background has no budget", help);
        }
        let class = class.map(|_| Class::Background);
        let (open, period_open, period) = (false, false, None);
        return Some(Some(Server {
            class,
            period,
            priority,
            open,
            period_open,
            kind_open,
            overrun,
            overrun_open,
        }));
    }
    // What is not there is planned: a budget, or both.
    let (open, period_open) = (!at.has("budget"), !at.has("budget") && !at.has("period"));
    let period = match period_open {
        true => Some(Located::new(PERIOD, &class.place)),
        false => at.required("period", period, "\"10ms\""),
    };
    let whole = || period.clone().map(|period| Located::new(period.value, &class.place));
    let budget = if open { whole() } else { budget };
    let (budget, period) = (budget?, period?);
    lengths(at, &budget, &period);
    let place = budget.place;
    let budget = Budget { budget: budget.value, period: period.value };
    let class = Located::new(Class::named(class.value, || Some(budget))?, &place);
    let period = (!period_open).then_some(period.place);
    Some(Some(Server {
        class,
        period,
        priority,
        open,
        period_open,
        kind_open,
        overrun,
        overrun_open,
    }))
}

fn lengths(at: &Fields<'_>, budget: &Located<Duration>, period: &Located<Duration>) {
    let wrong = |message, place: &Place, help: &str| {
        Diagnostic::new("out-of-range", message).at(place, "here").help(help)
    };
    if period.value == Duration(0) {
        let help = "give the time between two budgets";
        at.add(wrong("the period is zero".into(), &period.place, help));
        return;
    }
    if budget.value < Budget::SHORTEST {
        let help = format!("a budget is at least {}", Budget::SHORTEST);
        at.add(wrong(format!("the budget is {}", budget.value), &budget.place, &help));
    }
    if period.value > Budget::LONGEST_PERIOD {
        let help = format!("a period is at most {}", Budget::LONGEST_PERIOD);
        at.add(wrong(format!("the period is {}", period.value), &period.place, &help));
    }
    if budget.value > period.value {
        let message = format!("the budget is {}, the period {}", budget.value, period.value);
        let help = "a budget is a part of each period";
        at.add(wrong(message, &budget.place, help).also(&period.place, "the period"));
    }
}
