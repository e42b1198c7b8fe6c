//! Budgets of memory accesses, and the counter of accesses.

use abi::plan::names;
use units::Bytes;

use super::Node;
use crate::plan::{BandwidthCounter, Compensation, CounterSource, MemoryBudget, Vm};

pub(super) fn counter(counter: &BandwidthCounter) -> Node {
    let mut node = Node::new(names::BANDWIDTH_COUNTER);
    node.comment = "counts memory accesses".into();
    node.strings(names::SOURCE, &[counter.source.as_str()]);
    if let CounterSource::Pmu { event } = counter.source {
        let known = CounterSource::EVENTS.iter().find(|(_, number)| *number == event);
        let name = known.map_or(String::new(), |(name, _)| format!(", {name}"));
        node.numbers(names::EVENT, &[event.into()]).comment(format!("{event:#x}{name}"));
    }
    node.numbers(names::BITS, &[counter.bits]);
    let interrupts: Vec<u32> = counter.interrupts.iter().map(|it| it.0).collect();
    let whose = if interrupts.len() > 1 { "INTID of each PCPU" } else { "INTID" };
    node.numbers(names::INTERRUPTS, &interrupts).comment(whose);
    if let Some(access) = counter.access {
        node.numbers(names::ACCESS_BYTES, &[access.0 as u32]).comment("what one access moves");
    }
    node
}

/// Writes the properties of a VM about the memory accesses of all of its VCPUs.
pub(super) fn vm(node: &mut Node, vm: &Vm, access: Option<Bytes>) {
    budget(node, vm.memory_budget, access);
    if let Some(Compensation { periods, flush_task_switch }) = vm.compensation {
        node.numbers(names::COMPENSATION, &[periods])
            .comment("credits are given up every so many periods");
        if flush_task_switch {
            node.flag(names::FLUSH_TASK_SWITCH)
                .comment("and at switches of tasks on the critical side");
        }
    }
    if vm.critical {
        node.flag(names::CRITICAL).comment("its accesses count for the compensation of others");
    }
}

pub(super) fn budget(node: &mut Node, budget: Option<MemoryBudget>, access: Option<Bytes>) {
    let Some(budget) = budget else { return };
    let accesses = match access {
        Some(access) => format!("{} accesses, {}", budget.accesses, budget.rate(access)),
        None => budget.accesses.to_string(),
    };
    node.longs(names::MEMORY_BUDGET, &[budget.accesses], 1).comment(accesses);
    node.longs(names::MEMORY_PERIOD_NS, &[budget.period.0], 1).comment(budget.period.to_string());
}
