//! The limits of memory accesses of a plan, as the threads of PCPUs keep them.

use abi::plan::events;
use host::machine::{Credits, Event, Limits, SharedLimit, VmLimits};
use system::plan::{CounterSource, Plan, Vm};

use crate::kvm::limits;

/// Returns the limits of a plan, if it has some. Times are in nanoseconds.
pub fn limits(plan: &Plan) -> Option<Limits> {
    let counter = plan.platform.bandwidth_counter.as_ref().filter(|_| limits::are_in(plan))?;
    Some(Limits { event: event(counter.source), vms: plan.vms.iter().map(of_vm).collect() })
}

fn of_vm(vm: &Vm) -> VmLimits {
    let credits = vm
        .compensation
        .map(|it| Credits { periods: it.periods, flush_task_switch: it.flush_task_switch });
    let shared = vm.memory_budget.map(|it| SharedLimit {
        accesses: it.accesses,
        period: it.period.0,
        credits,
    });
    let own = vm.vcpus.iter().any(|vcpu| vcpu.memory_budget.is_some());
    VmLimits { own, shared, critical: vm.critical }
}

/// Returns what Linux counts for an event. Names are numbers of Arm's CPUs in a plan; other numbers are those of the CPU.
fn event(source: CounterSource) -> Event {
    match source {
        CounterSource::REFILLS => Event::CacheMisses,
        CounterSource::Pmu { event: events::INSTRUCTIONS } => Event::Instructions,
        CounterSource::Pmu { event } => Event::Raw(event),
        CounterSource::Cycles => Event::Cycles,
        // No platform with KVM has the cache model.
        CounterSource::Clock | CounterSource::Cachescope => Event::Clock,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_events_are_those_of_linux_and_numbers_those_of_the_cpu() {
        for (source, counted) in [
            (CounterSource::Pmu { event: 0x17 }, Event::CacheMisses),
            (CounterSource::Pmu { event: 0x08 }, Event::Instructions),
            (CounterSource::Pmu { event: 0x412e }, Event::Raw(0x412e)),
            (CounterSource::Cycles, Event::Cycles),
            (CounterSource::Clock, Event::Clock),
        ] {
            assert_eq!(event(source), counted, "{source:?}");
        }
    }
}
