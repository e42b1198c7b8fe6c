//! Rules of VCPUs that share a PCPU.

use abi::plan::names;

use super::{COUNT_MAX, Mistakes};
use crate::plan::path::{vcpu, vm};
use crate::plan::{Budget, Class, Plan, Server};

/// A VCPU: its node, and its server.
type Sharer = (String, Option<Server>);

/// Every VCPU has a PCPU, and those of one PCPU have servers that fit together.
pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    let mut pcpus: Vec<Vec<Sharer>> = vec![Vec::new(); plan.platform.cpus.len()];
    for (vm_index, one) in plan.vms.iter().enumerate() {
        mistakes.count(&format!("{}/vcpus", vm(vm_index)), "VCPUs", one.vcpus.len());
        for (index, it) in one.vcpus.iter().enumerate().take(COUNT_MAX) {
            let node = vcpu(vm_index, index);
            if let Some(budget) = it.server.and_then(|server| server.class.budget()) {
                lengths(&node, budget, mistakes);
            }
            match pcpus.get_mut(it.pcpu.0 as usize) {
                Some(sharers) => sharers.push((node, it.server)),
                None => {
                    let message = format!("PCPU {} does not exist", it.pcpu);
                    let last = plan.platform.cpus.len().saturating_sub(1);
                    mistakes.add(&node, names::PCPU, message, &format!("PCPUs are 0 to {last}"));
                }
            }
        }
    }
    for (pcpu, sharers) in pcpus.iter().enumerate() {
        for (index, (node, server)) in sharers.iter().enumerate() {
            beside(pcpu, node, *server, &sharers[..index], mistakes);
        }
    }
}

fn lengths(node: &str, Budget { budget, period }: Budget, mistakes: &mut Mistakes) {
    if budget < Budget::SHORTEST {
        let help = format!("give it at least {}", Budget::SHORTEST);
        mistakes.add(node, names::BUDGET_NS, format!("the budget is {budget}"), &help);
    }
    if budget > period {
        let message = format!("the budget is {budget}, the period {period}");
        mistakes.add(node, names::BUDGET_NS, message, "a budget is at most the period");
    }
    if period > Budget::LONGEST_PERIOD {
        let help = format!("periods are at most {}", Budget::LONGEST_PERIOD);
        mistakes.add(node, names::PERIOD_NS, format!("the period is {period}"), &help);
    }
}

/// A VCPU beside those before it on its PCPU.
fn beside(
    pcpu: usize,
    node: &str,
    server: Option<Server>,
    before: &[Sharer],
    mistakes: &mut Mistakes,
) {
    let share = |server: Server| server.class.budget().map_or(0, Budget::share);
    let mut shares = server.map_or(0u128, share);
    for (other_node, other) in before {
        let (Some(own), Some(other)) = (server, *other) else {
            let message = format!("PCPU {pcpu} runs {other_node} already");
            let help = "give both a `server`, or each its own PCPU";
            mistakes.add(node, names::PCPU, message, help);
            return;
        };
        if own.priority == other.priority {
            let message =
                format!("{other_node} on the same PCPU has the priority {} too", own.priority);
            mistakes.add(
                node,
                names::PRIORITY,
                message,
                "give each VCPU of a PCPU its own priority",
            );
        }
        let is_background = |server: Server| server.class == Class::Background;
        if is_background(own) != is_background(other)
            && is_background(own) == (own.priority > other.priority)
        {
            let message =
                format!("a VCPU of the background is above one with a budget: {other_node}");
            let help = "give VCPUs of the background the lowest priorities";
            mistakes.add(node, names::PRIORITY, message, help);
        }
        shares = shares.saturating_add(share(other));
    }
    if shares > Budget::WHOLE {
        let message = format!("this budget is more than others leave of PCPU {pcpu}");
        let help = "the sum of all budget / period on a PCPU is at most 1";
        mistakes.add(node, names::BUDGET_NS, message, help);
    }
}
