//! The verdict of the analysis, in words.

use analysis::Reason;
use analysis::overheads::Source;
use verdict::{Part, TaskVerdict, Term, VcpuVerdict, Verdict};

use crate::amount::time;

/// Terms of a bound that are shown.
const TERMS_SHOWN: usize = 4;

/// Returns why tasks can be late.
pub fn reasons(verdict: &Verdict) -> String {
    let late = verdict.tasks().filter(|(_, task)| !task.ok);
    late.map(|(vcpu, task)| format!("\n{}", why(vcpu, task))).collect()
}

/// Returns notes on VCPUs without tasks that may get less than their budget, on VCPUs with tasks
/// whose bounds do not contain evictions or accesses caused by other VCPUs, and on platforms
/// without overheads.
pub fn notes(verdict: &Verdict) -> Vec<String> {
    let vcpus = || verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
    let short = vcpus().filter(|vcpu| !vcpu.ok && vcpu.tasks.is_empty());
    let note = |vcpu: &VcpuVerdict| {
        format!(
            "VCPU {} of VM `{}` may not get its budget in each period: VCPUs above it can take \
             too much at a time",
            vcpu.vcpu, vcpu.vm
        )
    };
    let evicted = |vcpu: &VcpuVerdict| {
        format!(
            "other VCPUs of its PCPU have colours of VCPU {} of VM `{}`: `color_reload` does not \
             contain the lines that they evict, so `wcet` has to",
            vcpu.vcpu, vcpu.vm
        )
    };
    let shared = vcpus().filter(|vcpu| vcpu.shares_colors).map(evicted);
    let limited = |vcpu: &VcpuVerdict| {
        format!(
            "VCPU {} of VM `{}` has a `bandwidth` and shares its PCPU: `accesses` has to contain the \
             accesses of the hypervisor that stop and resume it each time that another VCPU runs",
            vcpu.vcpu, vcpu.vm
        )
    };
    let limited = vcpus().filter(|vcpu| vcpu.limited_beside_others).map(limited);
    let unknown = "the platform has no `[overheads]`: the bounds contain no time of the hypervisor";
    let unknown = verdict.overheads_unknown.then(|| unknown.to_owned());
    short.map(note).chain(shared).chain(limited).chain(unknown).collect()
}

/// Returns in a sentence why a task can be late; `None` if it meets its deadline.
pub fn reason(vcpu: &VcpuVerdict, task: &TaskVerdict) -> Option<String> {
    (!task.ok).then(|| why(vcpu, task).lines().next().unwrap_or_default().to_owned())
}

/// Returns why a task can be late, with the longest parts of its bound.
fn why(vcpu: &VcpuVerdict, task: &TaskVerdict) -> String {
    let name = format!("task `{}` on VCPU {} of VM `{}`", task.task, vcpu.vcpu, vcpu.vm);
    let Some(wcrt) = task.wcrt_ns else {
        return format!("{name} has no bound: {}\n", why_no_bound(vcpu, task));
    };
    let late = time(wcrt.saturating_sub(task.deadline_ns));
    let mut text = format!("{name} can be late by {late}: {}\n", time(wcrt));
    if let Some(jobs) = task.jobs.filter(|jobs| *jobs > 1) {
        text.push_str(&match jobs {
            2 => "  after a job of its own that is late too\n".to_owned(),
            _ => format!("  after {} jobs of its own that are late too\n", jobs - 1),
        });
    }
    task.terms.iter().take(TERMS_SHOWN).for_each(|term| {
        text.push_str(&format!("  {:>12}  {}\n", time(term.time_ns), part(term)));
    });
    text
}

/// Returns why a task without a bound has none.
pub fn why_no_bound(vcpu: &VcpuVerdict, task: &TaskVerdict) -> String {
    match task.failure {
        Some(Reason::Overload) => "it and the tasks above need more time than there is".into(),
        Some(Reason::NoSupply) if vcpu.failure == Some(Reason::Others) => {
            "nothing limits how often VCPUs below, which run first while in critical sections, delay the budget of its VCPU".into()
        }
        Some(Reason::NoSupply) if vcpu.budget_ns.is_some() => match vcpu.at_least_ns {
            Some(needed) => format!(
                "its VCPU may have to wait for {} or longer until it has had its budget, but its period is {}",
                time(needed),
                time(vcpu.period_ns.unwrap_or_default()),
            ),
            None => "other VCPUs can delay the budget of its VCPU for longer than a period".into(),
        },
        Some(Reason::NoSupply) => {
            "another VCPU of the background class is above its VCPU".into()
        }
        Some(Reason::Depends) => "a task above it, which suspends itself, has no bound".into(),
        Some(Reason::Memory) => {
            let vms: Vec<_> =
                vcpu.unlimited_neighbours.iter().map(|vm| format!("`{vm}`")).collect();
            format!(
                "nothing limits its memory interference: give `accesses` of this task and those \
                 above it, or a `bandwidth` that counts accesses to VM {}",
                vms.join(", ")
            )
        }
        Some(Reason::MemoryBudget) => {
            "nothing limits how often its VCPU waits for its memory budget: give `accesses` of \
             this task and those above it, which may not suspend themselves, and a `bandwidth` \
             that counts accesses and that no other VCPU shares"
                .into()
        }
        Some(Reason::UnknownWcet) => {
            "the description has no execution time for as few colours as it has".into()
        }
        Some(Reason::Unschedulable) => "it is above the deadline".into(),
        Some(Reason::Others) => {
            "nothing limits how long it waits for a resource: a task that is served first has no bound, or requests it too often"
                .into()
        }
        Some(Reason::Refused) => {
            "tasks of its VCPU can be so late that the hypervisor refuses to let them enter critical sections"
                .into()
        }
        Some(Reason::Combined) => {
            "critical sections are not analysed together with `color_reload`, memory accesses, tasks \
             of the same priority, sporadic servers, sections on a VCPU of the background class, or VCPUs of the \
             same VM that have a task without bound for such a reason"
                .into()
        }
        Some(Reason::SectionOverhead) => {
            let taken = time(vcpu.in_section_ns.unwrap_or_default());
            format!(
                "the hypervisor may take {taken} of its VCPU in a critical section: set \
                 `section_overhead` to more than that (default: 100us)"
            )
        }
        Some(Reason::Overflow) => "the bound is longer than 64 bits of nanoseconds".into(),
        Some(Reason::LimitReached) | None => {
            "the search reached its limit before it found one".into()
        }
    }
}

/// Describes a part of a bound.
pub fn part(term: &Term) -> String {
    let jobs = |count: u64| if count == 1 { "1 job".into() } else { format!("{count} jobs") };
    let other = match (&term.task, term.jobs) {
        (Some(task), Some(count)) => format!("{} of `{task}`", jobs(count)),
        _ => String::new(),
    };
    match term.term {
        Part::Preemption => format!("{other} above it"),
        Part::Cache => format!("loading the cache again after {other}"),
        Part::Supply => "without supply: its VCPU waits for budget or for other VCPUs".into(),
        Part::Memory => "waiting for memory accesses of other PCPUs".into(),
        Part::MemoryBudget => "its VCPU waits for its memory budget".into(),
        Part::Servers => "VCPUs above its own".into(),
        Part::Execution => "its own execution".into(),
        Part::Blocking => "tasks below it that cannot be preempted".into(),
        Part::Suspension => "suspending itself".into(),
        Part::Remote => "waiting for resources that others hold".into(),
        Part::OverheadJob => "the hypervisor: calls and waits of these jobs".into(),
        Part::Overhead(Source::Release) => "the hypervisor: interrupts that release jobs".into(),
        Part::Overhead(Source::Switch) => "the hypervisor: its VCPU wakes and gets budget".into(),
        Part::Overhead(Source::Preemption) => {
            "the hypervisor: VCPUs above its own leave the PCPU".into()
        }
        Part::Overhead(Source::Kick) => "the hypervisor: other VCPUs wake and have to wait".into(),
        Part::Overhead(Source::Request) => "the hypervisor: other VCPUs request resources".into(),
        Part::Overhead(Source::Console) => "the hypervisor: the console".into(),
        Part::Overhead(Source::Memory) => "the hypervisor: limits of memory accesses".into(),
        Part::Overhead(Source::Late) => "the hypervisor: interrupts are served late".into(),
        Part::Jitter => "jitter of its releases".into(),
    }
}
