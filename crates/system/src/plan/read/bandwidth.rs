//! Budgets of memory accesses, and the counter of accesses.

use abi::plan::{names, words};
use units::{Bytes, Duration};

use super::Cursor;
use crate::address::IntId;
use crate::plan::{BandwidthCounter, Compensation, CounterSource, MemoryBudget};

/// `bandwidth-counter` of the platform.
pub(super) fn counter(at: &Cursor<'_>) -> Option<BandwidthCounter> {
    let source = match at.word(names::SOURCE, &words::COUNTERS) {
        Some(word) => {
            let others = [CounterSource::Cycles, CounterSource::Cachescope];
            match others.into_iter().find(|source| source.as_str() == word) {
                Some(source) => {
                    useless(at, &[names::EVENT], "only the PMU counts one of several events");
                    Some(source)
                }
                None => event(at).map(|event| CounterSource::Pmu { event }),
            }
        }
        None => at.skip(names::EVENT),
    };
    let bits = at.number(names::BITS);
    let interrupts = at.numbers(names::INTERRUPTS);
    let access = at.optional(names::ACCESS_BYTES).then(|| at.number(names::ACCESS_BYTES));
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
    let number = at.number(names::EVENT)?;
    let event = u16::try_from(number);
    if event.is_err() {
        let message = format!("{number:#x} is not the number of an event");
        at.wrong(names::EVENT, message, "events are 0 to 0xffff");
    }
    event.ok()
}

/// Returns the memory budget of a VM or VCPU: `Some(None)` if it has none, `None` if it cannot be
/// read.
pub(super) fn budget(at: &Cursor<'_>) -> Option<Option<MemoryBudget>> {
    if !at.optional(names::MEMORY_BUDGET) {
        useless(at, &[names::MEMORY_PERIOD_NS], "there is no `memory-budget`");
        return Some(None);
    }
    let (accesses, period) = (at.long(names::MEMORY_BUDGET), at.long(names::MEMORY_PERIOD_NS));
    Some(Some(MemoryBudget { accesses: accesses?, period: Duration(period?) }))
}

/// Returns the credits of a VM: as for [`budget`].
pub(super) fn compensation(vm: &Cursor<'_>) -> Option<Option<Compensation>> {
    if !vm.optional(names::COMPENSATION) {
        useless(vm, &[names::FLUSH_TASK_SWITCH], "there is no `compensation`");
        return Some(None);
    }
    let periods = vm.number(names::COMPENSATION);
    let flush_task_switch = vm.flag(names::FLUSH_TASK_SWITCH);
    Some(Some(Compensation { periods: periods?, flush_task_switch }))
}

fn useless(at: &Cursor<'_>, properties: &[&str], why: &str) {
    for property in properties {
        if at.optional(property) {
            at.wrong(property, format!("has no meaning: {why}"), "remove it");
        }
    }
}
