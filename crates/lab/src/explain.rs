//! The verdict of the analysis, in words.

use std::cmp::Reverse;

use analysis::overheads::Source;
use verdict::{ChainVerdict, Part, StepVerdict, TaskVerdict, Term, VcpuVerdict, Verdict};

use crate::amount::time;

/// Terms of a bound that are shown.
const TERMS_SHOWN: usize = 4;

/// Returns why tasks and chains can be late.
pub fn reasons(verdict: &Verdict) -> String {
    let late = verdict.tasks().filter(|(_, task)| !task.ok);
    let tasks = late.map(|(vcpu, task)| format!("\n{}", why(vcpu, task)));
    let chains = verdict.chains.iter().filter_map(|chain| Some(format!("\n{}", of_chain(chain)?)));
    tasks.chain(chains).collect()
}

/// Returns why a chain can be late, if it can, with the longest parts of its bound.
pub(crate) fn of_chain(chain: &ChainVerdict) -> Option<String> {
    let mut text = format!("{}\n", chain.why()?);
    if chain.unbounded_step.is_some() {
        return Some(text);
    }
    let part = |step: &StepVerdict| step.wait_ns.saturating_add(step.wcrt_ns.unwrap_or(0));
    let mut steps: Vec<&StepVerdict> = chain.steps.iter().collect();
    steps.sort_by_key(|step| Reverse(part(step)));
    for step in steps.into_iter().take(TERMS_SHOWN) {
        let (name, wcrt) = (step.name(), time(step.wcrt_ns.unwrap_or(0)));
        let why = match step.wait_ns {
            0 => format!("`{name}` responds"),
            wait => format!("`{name}` reads once in {}, and responds in {wcrt}", time(wait)),
        };
        text.push_str(&format!("  {:>12}  {why}\n", time(part(step))));
    }
    Some(text)
}

/// Returns notes on VCPUs without tasks that may get less than their budget.
pub fn unserved(verdict: &Verdict) -> Vec<String> {
    let vcpus = verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
    let short = vcpus.filter(|vcpu| !vcpu.ok && vcpu.tasks.is_empty());
    let note = |vcpu: &VcpuVerdict| {
        format!(
            "VCPU {} of VM `{}` may not get its budget in each period: VCPUs above it can take \
             too much at a time",
            vcpu.vcpu, vcpu.vm
        )
    };
    short.map(note).collect()
}

/// Returns these notes, and those on VCPUs with tasks whose bounds do not contain evictions or
/// accesses caused by other VCPUs, and on platforms without overheads.
pub fn notes(verdict: &Verdict) -> Vec<String> {
    let vcpus = || verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
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
    unserved(verdict).into_iter().chain(shared).chain(limited).chain(unknown).collect()
}

/// Returns in a sentence why a task can be late; `None` if it meets its deadline.
pub fn reason(vcpu: &VcpuVerdict, task: &TaskVerdict) -> Option<String> {
    (!task.ok).then(|| why(vcpu, task).lines().next().unwrap_or_default().to_owned())
}

/// Returns why a task can be late, with the longest parts of its bound.
pub(crate) fn why(vcpu: &VcpuVerdict, task: &TaskVerdict) -> String {
    let name = format!("task `{}` on VCPU {} of VM `{}`", task.task, vcpu.vcpu, vcpu.vm);
    let Some(wcrt) = task.wcrt_ns else {
        return format!("{name} has no bound: {}\n", vcpu.why_no_bound(task));
    };
    let late = time(wcrt.saturating_sub(task.deadline_ns));
    let mut text = format!("{name} can be late by {late}: {}\n", time(wcrt));
    if let Some(jobs) = task.jobs.filter(|jobs| *jobs > 1) {
        let earlier = time((jobs - 1).saturating_mul(task.period_ns));
        let before = match jobs {
            2 => "the job before, which is late too".to_owned(),
            _ => format!("{} jobs before, which are late too", jobs - 1),
        };
        text.push_str(&format!("  counted from {earlier} earlier, from {before}:\n"));
    }
    task.terms.iter().take(TERMS_SHOWN).for_each(|term| {
        text.push_str(&format!("  {:>12}  {}\n", time(term.time_ns), part(term)));
    });
    let smaller = task.terms.iter().skip(TERMS_SHOWN).map(|it| it.time_ns);
    let smaller = smaller.fold(0, u64::saturating_add);
    if smaller > 0 {
        text.push_str(&format!("  {:>12}  smaller parts\n", time(smaller)));
    }
    text
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
        Part::Overhead(Source::Ring) => {
            "the hypervisor: other VMs ring for channels, and tell by serial lines and links".into()
        }
        Part::Overhead(Source::Frame) => "the hypervisor: frames that its VM sends by links".into(),
        Part::Overhead(Source::Console) => "the hypervisor: the console".into(),
        Part::Overhead(Source::Memory) => "the hypervisor: limits of memory accesses".into(),
        Part::Overhead(Source::Late) => "the hypervisor: interrupts are served late".into(),
        Part::Jitter => "jitter of its releases".into(),
    }
}
