//! Reads the server of a VCPU.

use abi::plan::names;

use units::Duration;

use super::Cursor;
use crate::plan::{Budget, Class, Server};

/// Returns the server of a VCPU: `Some(None)` if it has none, `None` if it cannot be read.
pub(super) fn read(vcpu: &Cursor<'_>) -> Option<Option<Server>> {
    if !vcpu.optional(names::SERVER) {
        let alone = [names::BUDGET_NS, names::PERIOD_NS, names::OVERRUN_NS, names::PRIORITY];
        useless(vcpu, &alone, "there is no `server`");
        return Some(None);
    }
    let word = vcpu.word(names::SERVER, &Class::WORDS);
    if word == Some(Class::Background.as_str()) {
        useless(vcpu, &[names::BUDGET_NS, names::PERIOD_NS], "the background has no budget");
    }
    let class = match word {
        Some(word) => Class::named(word, || budget(vcpu)),
        None => vcpu.skip(names::BUDGET_NS).or_else(|| vcpu.skip(names::PERIOD_NS)),
    };
    let overrun = match vcpu.optional(names::OVERRUN_NS) {
        true => vcpu.long(names::OVERRUN_NS).map(Duration),
        false => Some(Duration(0)),
    };
    let priority = vcpu.number(names::PRIORITY);
    Some(Some(Server { class: class?, priority: priority?, overrun: overrun? }))
}

fn budget(vcpu: &Cursor<'_>) -> Option<Budget> {
    let (budget, period) = (vcpu.long(names::BUDGET_NS), vcpu.long(names::PERIOD_NS));
    Some(Budget { budget: Duration(budget?), period: Duration(period?) })
}

fn useless(vcpu: &Cursor<'_>, properties: &[&str], why: &str) {
    for property in properties {
        if vcpu.optional(property) {
            vcpu.wrong(property, format!("has no meaning: {why}"), "remove it");
        }
    }
}
