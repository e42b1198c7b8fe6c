//! How a VCPU shares its PCPU.

use units::Duration;

use super::Cursor;
use crate::plan::{Budget, Class, Server};

/// The server of a VCPU: `Some(None)` if it has none, `None` if it cannot be read.
pub(super) fn read(vcpu: &Cursor<'_>) -> Option<Option<Server>> {
    if !vcpu.optional("server") {
        let alone = ["budget-ns", "period-ns", "overrun-ns", "priority"];
        useless(vcpu, &alone, "there is no `server`");
        return Some(None);
    }
    let word = vcpu.word("server", &Class::WORDS);
    if word == Some("background") {
        useless(vcpu, &["budget-ns", "period-ns"], "the background has no budget");
    }
    let class = match word {
        Some(word) => Class::named(word, || budget(vcpu)),
        None => vcpu.skip("budget-ns").or_else(|| vcpu.skip("period-ns")),
    };
    let overrun = match vcpu.optional("overrun-ns") {
        true => vcpu.long("overrun-ns").map(Duration),
        false => Some(Duration(0)),
    };
    let priority = vcpu.number("priority");
    Some(Some(Server { class: class?, priority: priority?, overrun: overrun? }))
}

fn budget(vcpu: &Cursor<'_>) -> Option<Budget> {
    let (budget, period) = (vcpu.long("budget-ns"), vcpu.long("period-ns"));
    Some(Budget { budget: Duration(budget?), period: Duration(period?) })
}

fn useless(vcpu: &Cursor<'_>, properties: &[&str], why: &str) {
    for property in properties {
        if vcpu.optional(property) {
            vcpu.wrong(property, format!("has no meaning: {why}"), "remove it");
        }
    }
}
