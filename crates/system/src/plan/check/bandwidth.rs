//! Rules of memory budgets.

use abi::limits::{PRIVATE_INTERRUPTS, RESERVED_INTERRUPTS};
use abi::plan::names;

use super::Mistakes;
use crate::plan::path::{vcpu, vm};
use crate::plan::{BandwidthCounter, Compensation, MemoryBudget, Plan, Vm};

const COUNTER: &str = "/platform/bandwidth-counter";

pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    let counter = plan.platform.bandwidth_counter.as_ref();
    if let Some(counter) = counter {
        bits(counter, mistakes);
        interrupts(plan, counter, mistakes);
    }
    for (index, one) in plan.vms.iter().enumerate() {
        let node = vm(index);
        of_vm(plan, &node, one, mistakes);
        if let Some(it) = one.memory_budget {
            budget(&node, it, one.compensation, counter, mistakes);
        }
        for (at, it) in one.vcpus.iter().enumerate() {
            let Some(own) = it.memory_budget else { continue };
            let node = vcpu(index, at);
            budget(&node, own, None, counter, mistakes);
            if one.memory_budget.is_some() {
                let message = "the VM has a budget for all of its VCPUs together";
                let help = "give budgets to the VM or to its VCPUs";
                mistakes.add(&node, names::MEMORY_BUDGET, message, help);
            }
        }
    }
}

fn bits(counter: &BandwidthCounter, mistakes: &mut Mistakes) {
    if !matches!(counter.bits, 32 | 64) {
        let message = format!("a counter of {} bits", counter.bits);
        mistakes.add(COUNTER, names::BITS, message, "counters have 32 or 64 bits");
    }
    if counter.access.is_some_and(|access| access.0 == 0) {
        let help = "write the bytes that one access moves, or remove it";
        mistakes.add(COUNTER, names::ACCESS_BYTES, "an access moves nothing", help);
    }
    if counter.access.is_some_and(|access| u32::try_from(access.0).is_err()) {
        let help = "write the bytes that one access moves: less than 4 GiB";
        mistakes.add(COUNTER, names::ACCESS_BYTES, "does not fit into a cell", help);
    }
}

/// One private interrupt, or a shared one of its own for each PCPU.
fn interrupts(plan: &Plan, counter: &BandwidthCounter, mistakes: &mut Mistakes) {
    let mut wrong =
        |message: String, help: &str| mistakes.add(COUNTER, names::INTERRUPTS, message, help);
    let pcpus = plan.platform.cpus.len();
    match counter.interrupts[..] {
        [only] if RESERVED_INTERRUPTS.contains(&only.0) => {
            let help = "25 is the maintenance interrupt, 26 and 27 are timers: use another one";
            wrong(format!("the hypervisor itself uses INTID {only}"), help);
        }
        [only] if PRIVATE_INTERRUPTS.contains(&only.0) => {}
        [] => wrong("there is none".into(), "name the interrupt of an overflow"),
        [only] if !only.is_shared() => {
            let help = "private interrupts are 16 to 31, shared ones 32 to 1019";
            wrong(format!("INTID {only} is neither private nor shared"), help);
        }
        ref each => {
            if each.len() != pcpus {
                let help = "give one private interrupt, or a shared one for each PCPU";
                wrong(format!("there are {} for {pcpus} PCPUs", each.len()), help);
            }
            if let Some(other) = each.iter().find(|it| !it.is_shared()) {
                let help = "shared interrupts are 32 to 1019; a private one stands alone";
                wrong(format!("INTID {other} is not a shared interrupt"), help);
            }
        }
    }
}

/// Checks the keys of a VM about the memory accesses of all of its VCPUs.
fn of_vm(plan: &Plan, node: &str, one: &Vm, mistakes: &mut Mistakes) {
    let has_counter = plan.platform.bandwidth_counter.is_some();
    if one.critical && !has_counter {
        let message = "nothing counts the accesses of the VM";
        mistakes.add(node, names::CRITICAL, message, "add `bandwidth-counter` to the platform");
    }
    let Some(Compensation { periods, .. }) = one.compensation else { return };
    if one.memory_budget.is_none() {
        let help = "add `memory-budget`, or remove it";
        mistakes.add(node, names::COMPENSATION, "the VM has no budget for all of its VCPUs", help);
    }
    if periods < Compensation::FEWEST_PERIODS {
        let message = format!("credits are given up after {periods} periods");
        let help = format!("{} periods are the fewest", Compensation::FEWEST_PERIODS);
        mistakes.add(node, names::COMPENSATION, message, &help);
    }
    if one.critical {
        let help = "remove one of the two";
        mistakes.add(node, names::COMPENSATION, "the VM is critical itself", help);
    } else if !plan.vms.iter().any(|vm| vm.critical) {
        let help = "make the VM `critical` whose accesses count, or remove it";
        mistakes.add(node, names::COMPENSATION, "no VM is critical", help);
    }
}

fn budget(
    node: &str,
    budget: MemoryBudget,
    compensation: Option<Compensation>,
    counter: Option<&BandwidthCounter>,
    mistakes: &mut Mistakes,
) {
    let MemoryBudget { accesses, period } = budget;
    if accesses == 0 {
        let help = "its VCPUs would never run: write at least 1, or remove the property";
        mistakes.add(node, names::MEMORY_BUDGET, "the budget is 0", help);
    }
    let (shortest, longest) = (MemoryBudget::SHORTEST_PERIOD, MemoryBudget::LONGEST_PERIOD);
    if period < shortest || period > longest {
        let help = format!("periods of memory budgets are {shortest} to {longest}");
        mistakes.add(node, names::MEMORY_PERIOD_NS, format!("the period is {period}"), &help);
    }
    let Some(counter) = counter else {
        let help = "add `bandwidth-counter` to the platform";
        mistakes.add(node, names::MEMORY_BUDGET, "nothing counts the accesses", help);
        return;
    };
    let largest = BandwidthCounter::largest_budget(counter.bits);
    let most = budget.most(compensation);
    if most > largest {
        let message = format!("a counter of {} bits cannot wait for {most}", counter.bits);
        let help = format!("budget and credits of a period are at most {largest} accesses");
        mistakes.add(node, names::MEMORY_BUDGET, message, &help);
    }
}
