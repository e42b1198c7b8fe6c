//! Properties of plans that targets cannot express.

use system::plan::{OnEvent, Plan, Vm};

use crate::Target;
use crate::text::names;

/// Returns the properties of the plan that no configuration of the target can express.
pub fn missing(plan: &Plan, target: Target) -> Vec<String> {
    let mut missing = Vec::new();
    let servers = plan.vms.iter().flat_map(|vm| &vm.vcpus).any(|vcpu| vcpu.server.is_some());
    if servers {
        let holds = "the response times of `bulkhead check` do not hold";
        missing.extend(match target {
            Target::Xen => Some(format!(
                "fixed priorities of VCPUs, periodic and sporadic servers: RTDS takes the \
                 earliest deadline first among deferrable servers; {holds}"
            )),
            Target::Xvisor => Some(format!(
                "budgets: a time slice is how long a VCPU runs before others of its priority \
                 do, and it may take all of its PCPU; {holds}"
            )),
            Target::Resctrl => Some(format!(
                "budgets and periods of VCPUs: SCHED_DEADLINE has such, for the threads of \
                 the VCPUs, but no fixed priorities; {holds}"
            )),
            Target::SchedDeadline => Some(format!(
                "fixed priorities of VCPUs, periodic, deferrable and sporadic servers: the \
                 earliest deadline is first among constant bandwidth servers, whose periods \
                 begin when VCPUs wake up and find their last deadline past, or too near for \
                 what is left of the budget; {holds}"
            )),
            Target::Bao | Target::Jailhouse => None,
        });
    }
    if target != Target::Resctrl {
        for vm in &plan.vms {
            let budgets = bandwidth(vm).into_iter();
            missing.extend(budgets.map(|what| format!("{what}: nothing limits them")));
        }
    }
    let vms = &plan.vms;
    let mut lost = |what: &str, vms: Option<String>| {
        missing.extend(vms.map(|vms| format!("{what} ({vms})")));
    };
    lost("compensation for unused interference", names(vms, |vm| vm.compensation.is_some()));
    lost("colours of single tasks, vColoring", names(vms, |vm| vm.pool.is_some()));
    lost("a cache that shows the VM's colours only, virtual LLC", names(vms, |vm| vm.vllc));
    let restarts =
        |vm: &Vm| [vm.lifecycle.on_crash, vm.lifecycle.on_reset].contains(&OnEvent::Restart);
    if matches!(target, Target::Bao | Target::Jailhouse) {
        let what = "aborts of accesses where a VM has nothing, which stop it";
        lost(what, names(vms, |vm| vm.lifecycle.aborts));
    }
    match target {
        Target::Xen => lost("a limit of restarts", names(vms, restarts)),
        Target::Bao | Target::Jailhouse | Target::Xvisor | Target::SchedDeadline => {
            lost("restarts after a crash or a reset", names(vms, restarts));
        }
        Target::Resctrl => {}
    }
    for resource in &plan.resources {
        missing.push(format!("the mutex `{}` between VMs", resource.name));
    }
    for channel in &plan.channels {
        missing.push(format!("the channel `{}` between VMs", channel.name));
    }
    for line in &plan.serial_lines {
        let name = |vm: u32| plan.vms.get(vm as usize).map_or("?", |vm| vm.name.as_str());
        let [one, other] = line.vms.map(name);
        missing.push(format!("the serial line between `{one}` and `{other}`"));
    }
    for link in &plan.links {
        missing.push(format!("the link `{}` between VMs", link.name));
    }
    missing
}

/// Budgets of memory accesses of a VM, in words.
fn bandwidth(vm: &Vm) -> Vec<String> {
    let accesses = |whose: String, budget: &system::plan::MemoryBudget| {
        format!("{} memory accesses in {} for {whose}", budget.accesses, budget.period)
    };
    let of_vm = vm.memory_budget.iter().map(|budget| accesses(format!("`{}`", vm.name), budget));
    let of_vcpus = vm.vcpus.iter().enumerate().filter_map(|(index, vcpu)| {
        let whose = format!("VCPU {index} of `{}`", vm.name);
        vcpu.memory_budget.as_ref().map(|budget| accesses(whose, budget))
    });
    of_vm.chain(of_vcpus).collect()
}

/// Returns the reasons for which the target cannot run the plan at all.
pub fn impossible(plan: &Plan, target: Target) -> Vec<String> {
    if !matches!(target, Target::Bao | Target::Jailhouse) {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    for pcpu in 0..plan.platform.cpus.len() as u32 {
        let on = |vm: &Vm| {
            let count = vm.vcpus.iter().filter(|vcpu| vcpu.pcpu.0 == pcpu).count();
            (count > 0).then(|| (vm.name.clone(), count))
        };
        let vms: Vec<(String, usize)> = plan.vms.iter().filter_map(on).collect();
        if vms.iter().map(|(_, count)| count).sum::<usize>() > 1 {
            let names: Vec<String> =
                vms.iter().map(|(name, count)| format!("{count} of `{name}`")).collect();
            reasons.push(format!(
                "PCPU {pcpu} has several VCPUs ({}), and here a PCPU belongs to one VCPU",
                names.join(", ")
            ));
        }
    }
    reasons
}
