//! The time that the hypervisor takes from the VCPUs of a described system.

use analysis::overheads::{Costs, Neighbour, Overheads, Source};
use analysis::{Duration, Kind, Server, TOO_LONG, Task};
use system::description::{Link, System};
use system::plan::{Locks, MemoryBudget};

use crate::costs::Calls;
use crate::member::{Excess, Member};

/// Adds the overheads to VCPUs, PCPU by PCPU and the highest priority first; `console`: the PCPU
/// that serves the console.
pub(crate) fn attach(members: &mut [Member<'_>], described: Option<&System>, console: Option<u32>) {
    let context: Vec<_> = members.iter().map(|it| Facts::new(it, described)).collect();
    for place in 0..members.len() {
        let Some(costs) = members[place].costs else { continue };
        let pcpu = context[place].pcpu;
        let first = context.iter().position(|it| it.pcpu == pcpu).unwrap_or(place);
        let here: Vec<(usize, &Facts)> =
            context.iter().enumerate().filter(|(_, it)| it.pcpu == pcpu).collect();
        let own = &context[place];
        let shares = here.len() > 1 || own.shares;
        let tasks = &members[place].tasks;
        let others = here.len() as u64 - 1;
        let mut overheads = Overheads::new(costs, others).of_vcpu(own.server, tasks, shares);
        for (other, facts) in here.iter().filter(|(other, _)| *other != place) {
            let neighbour = match facts.server {
                Some(server) if *other < place => Neighbour::Above(server),
                _ => Neighbour::Below,
            };
            overheads = overheads.beside(neighbour, own.server);
        }
        let limited = here.iter().filter(|(other, _)| *other <= place);
        for (period, grants) in limited.filter_map(|(_, facts)| facts.memory) {
            overheads = overheads.with_memory(period, grants);
        }
        for other in context.iter().enumerate().filter(|(other, _)| *other != place).map(|it| it.1)
        {
            let meets = here.iter().any(|(_, facts)| facts.meets(other));
            if let (Some(requests), true) = (other.requests, meets || other.pcpu == pcpu) {
                overheads = overheads.with_requests(requests, other.waiting, other.pcpu == pcpu);
            }
        }
        let waits = tasks.iter().any(|task| task.suspension() > Duration(0)) || own.waiting > 0;
        for rings in described.into_iter().flat_map(|system| system.rings_for(own.vm)) {
            overheads = overheads.with_rings([rings.interval, rings.early], waits);
        }
        let frames: Vec<_> =
            described.into_iter().flat_map(|system| frames(system, own.vm)).collect();
        let excess = if frames.is_empty() { 0 } else { costs.excess().0 };
        overheads = overheads.with_frames(frames);
        if console == Some(pcpu) {
            overheads = overheads.with_console();
        }
        if own.server.is_none() && shares {
            overheads = overheads.with_debts(place - first);
        }
        let above =
            here.iter().take_while(|(other, _)| *other <= place).map(|(_, facts)| facts.hold);
        let vcpus_above = (place - first) as u64;
        let locks = described.map_or(Locks::default(), |system| system.locks);
        let allowed = described.map_or(Duration(0), |system| system.section_overhead);
        let executed = in_section((costs, &overheads), own, (above.sum(), vcpus_above), locks);
        // A task below can just have sent more than a link lets through when a task above gets its resource.
        let executed = if executed == 0 { 0 } else { executed.saturating_add(excess) };
        let in_section = match executed {
            0 => Ok(0),
            executed if executed <= allowed.0 => Ok(executed + 2 * costs.late.0),
            executed => Err(Excess { taken: executed, allowed: allowed.0 }),
        };
        let mut jobs = jobs(&members[place], costs, others, excess);
        let member = &mut members[place];
        // If the time is more than the allowance, no task of the VCPU gets a bound.
        for (job, calls) in jobs.iter_mut().zip(&member.calls) {
            let inside = calls.sections.saturating_mul(in_section.unwrap_or_default());
            *job = job.saturating_add(inside).min(TOO_LONG);
        }
        member.in_section = in_section;
        for (task, cost) in member.tasks.iter_mut().zip(&jobs) {
            *task = task.with_more_wcet(Duration(*cost));
        }
        (member.job_overheads, member.overheads) = (jobs, Some(overheads));
    }
}

/// Returns the limits on frames that a VM sends by each of its links: interval, and how early frames may come. The hypervisor reads the
/// time in whole ticks: what is a tick apart can be nearer by almost a tick.
fn frames(system: &System, vm: usize) -> impl Iterator<Item = [Duration; 2]> {
    let counter = system.platform.value.counter;
    let tick = counter.map_or(0, |counter| 1_000_000_000u64.div_ceil(counter.0.max(1)));
    let limits = system.links_of(vm).map(Link::frames);
    limits.map(move |it| [it.interval, Duration(it.early.0.saturating_add(tick))])
}

/// Returns the time that the hypervisor takes while a VCPU is in a section; zero if it never is.
/// `above`: the time for which the VCPU and those above can be in sections.
fn in_section(
    (costs, overheads): (Costs, &Overheads),
    own: &Facts,
    (above, vcpus_above): (u64, u64),
    locks: Locks,
) -> u64 {
    if own.hold == 0 {
        return 0;
    }
    // As `vmpcp::section::response`, or longer.
    let gaps = own.server.map_or(0, |server| {
        let gaps = match (locks, own.overruns, server.kind()) {
            (Locks::Mpcp, ..) => own.hold.div_ceil(server.budget().0) + 1,
            (_, true, Kind::Periodic) => 1,
            (_, true, _) => 0,
            _ => own.hold.div_ceil(server.budget().0),
        };
        gaps.saturating_mul(server.gap().0)
    });
    let window = above.saturating_add(gaps).min(TOO_LONG - 1);
    // The console interrupts whichever VCPU executes: this one for as long as it may be in
    // sections, in one more piece for each VCPU above.
    let console = |window: u64| overheads.in_window(Source::Console, Duration(window)).0;
    let pieces = console(1).saturating_mul(vcpus_above);
    let again = overheads.again_in_window(Duration(window)).0;
    let again =
        again - console(window) + console(own.hold).saturating_add(pieces).min(console(window));
    again.saturating_add(costs.switch.0 + 2 * costs.exit.0).min(TOO_LONG)
}

/// Returns the cost of each job of the tasks: its calls, and the cost of each of its waits, while
/// others wake; `excess`: what a task below can have begun meanwhile.
fn jobs(member: &Member<'_>, costs: Costs, others: u64, excess: u64) -> Vec<u64> {
    let waits = |task: &Task, calls: &Calls| {
        u64::from(task.suspension() > Duration(0)).saturating_add(calls.sections)
    };
    let pairs = || member.tasks.iter().zip(&member.calls);
    // Each other task that waits can continue meanwhile.
    let waiting = pairs().filter(|(task, calls)| waits(task, calls) > 0).count() as u64;
    let interrupts = waiting.saturating_sub(1).saturating_mul(costs.interrupt.0);
    let kicks = others.saturating_mul(costs.kicks().0);
    let wait = costs.wait().saturating_add(interrupts).saturating_add(kicks);
    let wait = wait.saturating_add(excess);
    let cost = |(task, calls): (&Task, &Calls)| {
        let exits = calls.exits.saturating_add(calls.sections.saturating_mul(2));
        let called = exits.saturating_mul(costs.exit.0);
        waits(task, calls).saturating_mul(wait).saturating_add(called).min(TOO_LONG)
    };
    pairs().map(cost).collect()
}

/// Properties of a VCPU that affect other VCPUs.
struct Facts {
    pcpu: u32,
    server: Option<Server>,
    /// The longest time for which the VCPU may be in sections.
    hold: u64,
    /// True if the VCPU may continue without budget in sections.
    overruns: bool,
    /// True if a scheduler decides on its PCPU even if the VCPU is the only one.
    shares: bool,
    /// Interval, and how early entries may come, if the VCPU may be in sections.
    requests: Option<[Duration; 2]>,
    /// Number of its tasks with sections.
    waiting: u64,
    vm: usize,
    /// Resources of several VMs that it may open.
    resources: Vec<usize>,
    /// Period of its limit on accesses, and the number of times that it gets a part of the limit in each.
    memory: Option<(Duration, u64)>,
}

impl Facts {
    fn new(member: &Member<'_>, described: Option<&System>) -> Self {
        let may_be_inside = member.vcpu.hold > Duration(0);
        let resources = described.map(|system| &*system.resources).unwrap_or_default();
        let enforced = member.enforced(resources);
        let memory = memory(member, described);
        Self {
            pcpu: member.vcpu.pcpu.0,
            server: member.server(),
            hold: member.vcpu.hold.0,
            overruns: member.vcpu.server.is_some_and(|server| server.overrun > Duration(0)),
            shares: member.vcpu.server.is_some() || may_be_inside || memory.is_some(),
            requests: may_be_inside.then_some([enforced.interval, enforced.early]),
            waiting: member.calls.iter().filter(|calls| calls.sections > 0).count() as u64,
            vm: member.vm_index,
            resources: enforced.resources,
            memory,
        }
    }

    /// Returns true if one of the two can hold a resource for which the other one waits.
    fn meets(&self, other: &Self) -> bool {
        let both = self.requests.is_some() && other.requests.is_some();
        both && (self.vm == other.vm
            || self.resources.iter().any(|it| other.resources.contains(it)))
    }
}

/// Returns the period of a VCPU's limit on memory accesses, and how often the VCPU gets a part of
/// its VM's budget in each period.
fn memory(member: &Member<'_>, described: Option<&System>) -> Option<(Duration, u64)> {
    if let Some(MemoryBudget { period, .. }) = member.vcpu.memory_budget {
        return Some((period, 1));
    }
    let system = described?;
    let vm = system.vms.get(member.vm_index)?;
    let budget = vm.bandwidth.as_ref()?.budget(system.platform.value.bandwidth.as_ref()?)?;
    let credits = vm.compensation.as_ref().map_or(1, |it| u64::from(it.value.periods));
    // `policy::bandwidth::Pool`: a quarter of the share of each CPU at a time.
    let parts = match vm.vcpus.len() as u64 {
        1 => 1,
        cpus => 4 * cpus + 2,
    };
    Some((budget.period, parts.saturating_mul(credits)))
}
