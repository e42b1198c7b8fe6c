//! Budgets of memory accesses, and what counts them.

use units::{Bytes, Duration};

use super::Cursor;
use crate::address::IntId;
use crate::plan::{BandwidthCounter, Compensation, CounterSource, MemoryBudget};

/// `bandwidth-counter` of the platform.
pub(super) fn counter(at: &Cursor<'_>) -> Option<BandwidthCounter> {
    let source = match at.word("source", &CounterSource::WORDS) {
        Some("pmu") => event(at).map(|event| CounterSource::Pmu { event }),
        Some(word) => {
            useless(at, &["event"], "only the PMU counts one of several events");
            let cycles = word == CounterSource::Cycles.as_str();
            Some(if cycles { CounterSource::Cycles } else { CounterSource::Cachescope })
        }
        None => at.skip("event"),
    };
    let bits = at.number("bits");
    let interrupts = at.numbers("interrupts");
    let access = at.optional("access-bytes").then(|| at.number("access-bytes"));
    at.finish();
    Some(BandwidthCounter {
        source: source?,
        bits: bits?,
        interrupts: interrupts?.into_iter().map(IntId).collect(),
        access: match access {
            Some(bytes) => Some(Bytes(bytes?.into())),
            None => None,
        },
    })
}

fn event(at: &Cursor<'_>) -> Option<u16> {
    let number = at.number("event")?;
    let event = u16::try_from(number);
    if event.is_err() {
        let message = format!("{number:#x} is not the number of an event");
        at.wrong("event", message, "events are 0 to 0xffff");
    }
    event.ok()
}

/// The memory budget of a VM or VCPU: `Some(None)` if it has none, `None` if it cannot be
/// read.
pub(super) fn budget(at: &Cursor<'_>) -> Option<Option<MemoryBudget>> {
    if !at.optional("memory-budget") {
        useless(at, &["memory-period-ns"], "there is no `memory-budget`");
        return Some(None);
    }
    let (accesses, period) = (at.long("memory-budget"), at.long("memory-period-ns"));
    Some(Some(MemoryBudget { accesses: accesses?, period: Duration(period?) }))
}

/// The credits of a VM: as for [`budget`].
pub(super) fn compensation(vm: &Cursor<'_>) -> Option<Option<Compensation>> {
    if !vm.optional("compensation") {
        useless(vm, &["flush-task-switch"], "there is no `compensation`");
        return Some(None);
    }
    let periods = vm.number("compensation");
    let flush_task_switch = vm.flag("flush-task-switch");
    Some(Some(Compensation { periods: periods?, flush_task_switch }))
}

fn useless(at: &Cursor<'_>, properties: &[&str], why: &str) {
    for property in properties {
        if at.optional(property) {
            at.wrong(property, format!("has no meaning: {why}"), "remove it");
        }
    }
}
