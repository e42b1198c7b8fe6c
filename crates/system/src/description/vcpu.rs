//! Reads the VCPUs of a VM.

use units::Duration;

use super::{Located, Server, Vcpu, bandwidth};
use crate::diagnostic::{Diagnostic, Place};
use crate::document::Fields;
use crate::plan::{ANALYZED_VCPUS_MAX, Budget, Class};

/// Stands for a period that is to be planned.
const PERIOD: Duration = Duration(10_000_000);

/// `vcpus = 2`, or `[[vm.vcpu]]` tables; one VCPU if neither is given. [`super::limits`] has the
/// limit of their number.
pub(super) fn read(vm: &Fields<'_>) -> Option<Vec<Vcpu>> {
    let tables = vm.tables("vcpu", "[[vm.vcpu]]");
    let count = vm.integer("vcpus", 1, u64::MAX);
    if tables.is_empty() {
        let count = if vm.has("vcpus") { count?.value } else { 1 };
        // More than that are refused.
        let count = count.min(ANALYZED_VCPUS_MAX as u64 + 1);
        return Some(vec![Vcpu::default(); count as usize]);
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
    vcpus.into_iter().collect()
}

fn vcpu(at: &Fields<'_>) -> Option<Vcpu> {
    let pcpu = at.integer("pcpu", 0, u64::MAX);
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

/// `server` and what belongs to it: `Some(None)` if there is none, `None` if it cannot
/// be read.
fn server(at: &Fields<'_>) -> Option<Option<Server>> {
    let class = at.choice("server", &Class::WORDS.map(|word| (word, word)));
    let budget = at.quantity::<Duration>("budget");
    let period = at.quantity::<Duration>("period");
    let priority = at.integer("priority", 0, u64::from(u32::MAX));
    let overrun = at.boolean("overrun").filter(|overrun| *overrun);
    let overrun = overrun.and_then(|_| at.key_place("overrun"));
    if !at.has("server") {
        for key in ["budget", "period", "priority", "overrun"] {
            let help = "add `server`, or remove this";
            at.forbid(key, "the VCPU has no `server`", help);
        }
        return Some(None);
    }
    let class = class?;
    if class.value == "background" {
        for key in ["budget", "period"] {
            let help = "it gets what others leave: remove this";
            at.forbid(key, "the background has no budget", help);
        }
        let class = class.map(|_| Class::Background);
        let (open, period_open) = (false, false);
        let server = Server { class, period: None, priority, open, period_open, overrun };
        return Some(Some(server));
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
    Some(Some(Server { class, period, priority, open, period_open, overrun }))
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
