//! Replays the decisions of a trace with the plan, and compares the results.

use std::fmt::Display;

use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use system::plan::{Budget, Class, Locks, Plan, Server, Vcpu, Vm};
use trace::{
    Choice, Header, Memory, Planned, Replay, Rules, Source, Stopped, Trace, VcpuId, VmHeader, Why,
};

use crate::amount::micros;
use crate::failure::Failure;

/// Repeats the decisions of a trace with the code of the hypervisor, for each PCPU on which
/// something is decided. `None`: nothing is decided with this plan. `name` is the name of the trace
/// in messages.
pub fn replays<S: Source>(
    plan: &Plan,
    trace: &S,
    name: &str,
) -> Result<Option<Vec<Replay>>, Failure> {
    let frequency_hz = trace.header().frequency_hz;
    let planned = planned(plan, frequency_hz)?;
    if planned.is_empty() {
        return Ok(None);
    }
    let failed = |error: &dyn Display| Failure::new("no-replay", format!("{name}: {error}"));
    let replays = trace::replay(trace, &planned, rules(plan, frequency_hz));
    let replays = replays.map_err(|error| failed(&error))?;
    trace.check().map_err(|error| failed(&error))?;
    Ok(Some(replays))
}

/// Describes the first decision of each PCPU that does not follow from its recorded inputs, in one
/// sentence each. `None`: the plan has no server and no memory budget, so nothing is decided.
pub fn wrong_decisions(plan: &Plan, trace: &Trace) -> Result<Option<Vec<String>>, Failure> {
    let Some(replays) = replays(plan, trace, &trace.header.name)? else { return Ok(None) };
    let sentence = |replay: &Replay| {
        let stopped = replay.stopped.as_ref()?;
        let (pcpu, at) = (replay.pcpu, micros(trace.clock().ns(stopped.ticks)));
        Some(format!("PCPU {pcpu} at {at}: {}", why(stopped, &trace.header)))
    };
    Ok(Some(replays.iter().filter_map(sentence).collect()))
}

/// Says in which PCPUs, VMs or places of VCPUs a trace differs from a plan; `None` if in none.
pub fn difference(plan: &Header, trace: &Header) -> Option<String> {
    if plan.pcpus != trace.pcpus {
        return Some(format!("it has {} PCPUs, the plan has {}", trace.pcpus, plan.pcpus));
    }
    let names = |header: &Header| {
        let names = header.vms.iter().map(|vm| format!("`{}`", vm.name));
        names.collect::<Vec<_>>().join(", ")
    };
    if names(plan) != names(trace) {
        return Some(format!("its VMs are {}, those of the plan {}", names(trace), names(plan)));
    }
    let mut pairs = plan.vms.iter().zip(&trace.vms);
    pairs.find_map(|(plan, trace)| {
        let pcpus = |vm: &VmHeader| {
            let pcpus = vm.vcpus.iter().map(|vcpu| vcpu.pcpu.to_string());
            pcpus.collect::<Vec<_>>().join(", ")
        };
        (pcpus(plan) != pcpus(trace)).then(|| {
            let name = &trace.name;
            format!(
                "the VCPUs of `{name}` ran on PCPUs {}, but the plan puts them on {}",
                pcpus(trace),
                pcpus(plan)
            )
        })
    })
}

/// Returns why a replay stopped, in words.
pub fn why(stopped: &Stopped, header: &Header) -> String {
    let choice = |choice| match choice {
        Choice::Run(vcpu) => header.vcpu_name(vcpu),
        Choice::Idle => "nothing".into(),
    };
    let budget = |ticks: Option<u64>| ticks.map_or("no limit".into(), |it| format!("{it} ticks"));
    match stopped.why {
        Why::Decision { expected, recorded } => format!(
            "it ran {}, but its recorded inputs lead to {}",
            choice(recorded),
            choice(expected)
        ),
        Why::Budget { vcpu, expected, recorded } => format!(
            "{} had a budget of {}, but its recorded inputs lead to {}",
            header.vcpu_name(vcpu),
            budget(recorded),
            budget(expected)
        ),
        Why::Accesses { vcpu, expected, recorded } => format!(
            "{} was allowed {recorded} accesses, but its recorded inputs lead to {}",
            header.vcpu_name(vcpu),
            expected.map_or("no limit".into(), |it| it.to_string())
        ),
        Why::Grant(vcpu) => format!(
            "{} requested accesses from its VM's budget either in the trace or in the replay, but not in both",
            header.vcpu_name(vcpu)
        ),
        Why::Section(vcpu) => format!(
            "{} had to wait in a critical section, or stayed in one for too long, either in the trace or in the replay, but not in both",
            header.vcpu_name(vcpu)
        ),
        Why::Vcpu(vcpu) => {
            format!("{} is not on this PCPU in the plan", header.vcpu_name(vcpu))
        }
        Why::Time => "the time of a record is before that of the record before it".into(),
        Why::Lost { records } => {
            format!("{records} records were lost, so later decisions cannot be checked")
        }
    }
}

/// Returns the rules for all VCPUs as the hypervisor applies them; prices are rounded up to whole
/// ticks.
pub(crate) fn rules(plan: &Plan, frequency_hz: u64) -> Rules {
    let price =
        |price: Option<units::Duration>| price.map_or(0, |price| ticks(price, frequency_hz) + 1);
    let [switch, kick] = [plan.platform.switch, plan.platform.kick].map(price);
    Rules { ceilings: plan.locks == Locks::Vmpcp, switch, kick }
}

/// Returns the PCPUs of a plan on which somebody decides: their VCPUs, the one with the highest
/// priority first.
fn planned(plan: &Plan, frequency_hz: u64) -> Result<Vec<(usize, Vec<Planned>)>, Failure> {
    let decides = |planned: &Planned| {
        planned.server.is_some() || planned.memory.is_some() || planned.may_hold
    };
    let pcpus = all_planned(plan, frequency_hz)?.into_iter().enumerate();
    Ok(pcpus.filter(|(_, vcpus)| vcpus.iter().any(decides)).collect())
}

/// Returns the VCPUs of each PCPU of a plan, the one with the highest priority first.
pub(crate) fn all_planned(plan: &Plan, frequency_hz: u64) -> Result<Vec<Vec<Planned>>, Failure> {
    let mut pcpus = Vec::new();
    for pcpu in 0..plan.platform.cpus.len() {
        let mut vcpus = Vec::new();
        for (vm, number) in plan.vms.iter().zip(0..) {
            for (vcpu, index) in vm.vcpus.iter().zip(0..) {
                if vcpu.pcpu.0 as usize == pcpu {
                    let id = VcpuId { vm: number, vcpu: index };
                    let shares =
                        plan.resources.iter().any(|it| it.vms.contains(&u32::from(number)));
                    let planned = self::vcpu(id, vm, vcpu, shares, frequency_hz)?;
                    vcpus.push((vcpu, planned));
                }
            }
        }
        vcpus.sort_by_key(|(vcpu, _)| vcpu.order());
        pcpus.push(vcpus.into_iter().map(|(_, planned)| planned).collect());
    }
    Ok(pcpus)
}

/// Returns a VCPU in ticks: budgets of time rounded down, periods exact, as the hypervisor has
/// them. `shares`: the VM may open resources that VMs share.
fn vcpu(
    vcpu: VcpuId,
    vm: &Vm,
    plan: &Vcpu,
    shares: bool,
    frequency_hz: u64,
) -> Result<Planned, Failure> {
    let period = |period| whole_ticks(period, frequency_hz);
    let memory = match (plan.memory_budget, vm.memory_budget) {
        (Some(own), _) => Some(Memory::Own(own.accesses, period(own.period)?)),
        (None, Some(shared)) => Some(Memory::Shared(period(shared.period)?)),
        (None, None) => None,
    };
    let server = plan.server.map(|server| self::server(server, frequency_hz)).transpose()?;
    // As the hypervisor has it.
    let hold = (plan.hold.0 > 0).then(|| ticks(plan.hold, frequency_hz).max(1));
    let may_hold = hold.is_some() && shares;
    Ok(Planned { vcpu, server, memory, hold, may_hold })
}

fn server(server: Server, frequency_hz: u64) -> Result<Policy, Failure> {
    let Class::Reserved(kind, Budget { budget, period }) = server.class else {
        return Ok(Policy::Background);
    };
    // As the hypervisor has it: the overrun together with the budget is rounded down.
    let both = units::Duration(budget.0.saturating_add(server.overrun.0));
    let budget = ticks(budget, frequency_hz);
    Ok(kind.policy(Parameters {
        budget: Duration(budget),
        period: Duration(whole_ticks(period, frequency_hz)?),
        start: Instant(0),
        overrun: Duration(ticks(both, frequency_hz) - budget),
    }))
}

const SECOND: u128 = 1_000_000_000;

fn product(time: units::Duration, frequency_hz: u64) -> u128 {
    u128::from(time.0) * u128::from(frequency_hz)
}

fn ticks(time: units::Duration, frequency_hz: u64) -> u64 {
    u64::try_from(product(time, frequency_hz) / SECOND).unwrap_or(u64::MAX)
}

fn whole_ticks(period: units::Duration, frequency_hz: u64) -> Result<u64, Failure> {
    if product(period, frequency_hz).is_multiple_of(SECOND) {
        return Ok(ticks(period, frequency_hz));
    }
    let period = period.0;
    Err(Failure::new(
        "not-whole-ticks",
        format!("a period of {period} ns is no whole number of ticks at {frequency_hz} Hz"),
    ))
}
