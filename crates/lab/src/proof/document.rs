//! A proof for programs. Names are stable and carry their units.

use report::proof::{Chain, ChainTimes, Checked, Proof, Responses, Run, Theorems};
use serde::Serialize;

use crate::made::Made;

/// `results.json`.
#[derive(Serialize)]
pub struct Document<'a> {
    format: &'static str,
    /// True if everything holds with the plan.
    ok: bool,
    name: &'a str,
    /// "exact", or "measured" under KVM, where times are no promise.
    times: &'static str,
    /// The path of the page; `null` if earlier results are kept.
    report: Option<String>,
    schedulable_without: Option<bool>,
    schedulable_with: Option<bool>,
    failures: &'a [String],
    notes: &'a [String],
    reasons: Vec<ReasonDocument<'a>>,
    tasks: Vec<TaskDocument<'a>>,
    chains: Vec<ChainDocument<'a>>,
    theorems: Option<TheoremsDocument<'a>>,
    without: Option<RunDocument<'a>>,
    with: Option<RunDocument<'a>>,
    budgets: Vec<BudgetDocument<'a>>,
    files: Vec<FileDocument<'a>>,
    /// The origin of the document.
    made: Made,
    errors: [(); 0],
}

#[derive(Serialize)]
struct ReasonDocument<'a> {
    decision: &'a str,
    value: &'a str,
    trials: &'a [String],
}

#[derive(Serialize)]
struct TaskDocument<'a> {
    vm: &'a str,
    vcpu: usize,
    task: &'a str,
    period_ns: Option<u64>,
    deadline_ns: Option<u64>,
    wcet_ns: Option<u64>,
    accesses: Option<u64>,
    bound_without_ns: Option<u64>,
    bound_with_ns: Option<u64>,
    simulated: Option<ResponsesDocument>,
    without: Option<ResponsesDocument>,
    with: Option<ResponsesDocument>,
}

#[derive(Serialize)]
struct ChainDocument<'a> {
    chain: &'a str,
    steps: &'a [String],
    max_reaction_ns: Option<u64>,
    max_age_ns: Option<u64>,
    bounds_without: ChainTimesDocument,
    bounds_with: ChainTimesDocument,
    simulated: ChainTimesDocument,
    without: ChainTimesDocument,
    with: ChainTimesDocument,
}

#[derive(Serialize)]
struct TheoremsDocument<'a> {
    folder: &'a str,
    /// The version of Coq that has checked them, if one has.
    checked_by_coq: Option<&'a str>,
    /// True if it compiled the proofs for an earlier check.
    proofs_compiled_earlier: bool,
    /// The file that Coq does not accept, and its message.
    refused: Option<&'a str>,
    bounds: Vec<TheoremDocument<'a>>,
    without: Vec<UnprovedDocument<'a>>,
}

#[derive(Serialize)]
struct TheoremDocument<'a> {
    vm: &'a str,
    vcpu: usize,
    task: &'a str,
    file: &'a str,
    theorem: &'a str,
    response_ns: u64,
    /// Its assumptions besides the description, which nobody has proved.
    hypotheses: &'a [String],
}

#[derive(Serialize)]
struct UnprovedDocument<'a> {
    vm: &'a str,
    vcpu: usize,
    task: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct ChainTimesDocument {
    reaction_ns: Option<u64>,
    age_ns: Option<u64>,
}

#[derive(Serialize)]
struct ResponsesDocument {
    jobs: u64,
    missed_deadlines: u64,
    response_max_ns: Option<u64>,
}

#[derive(Serialize)]
struct RunDocument<'a> {
    time_ns: u64,
    cross_vm_evictions: Option<u64>,
    evictions: Vec<EvictionDocument<'a>>,
    vms: Vec<VmDocument<'a>>,
    sections: Vec<SectionDocument<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct EvictionDocument<'a> {
    came: &'a str,
    went: &'a str,
    evictions: u64,
}

#[derive(Serialize)]
struct VmDocument<'a> {
    vm: &'a str,
    state: &'a str,
    bus_wait_ns: Option<u64>,
    memory_lines: Option<u64>,
}

#[derive(Serialize)]
struct SectionDocument<'a> {
    resource: &'a str,
    task: &'a str,
    times: u64,
    waits: u64,
    wait_max_ns: u64,
    hold_max_ns: u64,
}

#[derive(Serialize)]
struct BudgetDocument<'a> {
    vm: &'a str,
    /// None: of all VCPUs together.
    vcpu: Option<usize>,
    period_ns: u64,
    budget_accesses: Option<u64>,
    /// Accesses beyond the budget that the analysis counts with.
    overshoot_accesses: u64,
    /// Most accesses in a period.
    without_accesses_max: Option<u64>,
    with_accesses_max: Option<u64>,
    periods: usize,
    /// Periods in which the budget was used up.
    throttled_periods: usize,
}

#[derive(Serialize)]
struct FileDocument<'a> {
    purpose: &'a str,
    name: &'a str,
    sha256: &'a str,
}

impl<'a> Document<'a> {
    /// Returns the document of a proof; `report`: the path of its page, if it is written.
    pub fn new(proof: &'a Proof, report: Option<String>) -> Self {
        let vm = |index: usize| proof.vms.get(index).map_or("", |vm| vm.name.as_str());
        let tasks = proof.tasks.iter().map(|task| TaskDocument {
            vm: vm(task.vm),
            vcpu: task.vcpu,
            task: &task.name,
            period_ns: task.period_ns,
            deadline_ns: task.deadline_ns,
            wcet_ns: task.wcet_ns,
            accesses: task.accesses,
            bound_without_ns: task.bound_without_ns,
            bound_with_ns: task.bound_with_ns,
            simulated: task.simulated.as_ref().map(responses),
            without: task.without.as_ref().map(responses),
            with: task.with.as_ref().map(responses),
        });
        let budgets = proof.traffic.iter().map(|it| BudgetDocument {
            vm: vm(it.vm),
            vcpu: it.vcpu,
            period_ns: it.window_ns,
            budget_accesses: it.budget_accesses,
            overshoot_accesses: it.overshoot_accesses,
            without_accesses_max: it.without_accesses.iter().max().copied(),
            with_accesses_max: it.with_accesses.iter().max().copied(),
            periods: it.with_accesses.len(),
            throttled_periods: it.throttled_windows.len(),
        });
        let files = proof.origin.files.iter().map(|file| FileDocument {
            purpose: &file.purpose,
            name: &file.name,
            sha256: &file.sha256,
        });
        let reasons = proof.decisions.iter().map(|it| ReasonDocument {
            decision: &it.name,
            value: &it.value,
            trials: &it.trials,
        });
        Self {
            format: "bulkhead-proof-v1",
            ok: proof.holds,
            name: &proof.name,
            times: if proof.measured { "measured" } else { "exact" },
            report,
            schedulable_without: proof.check_without.schedulable,
            schedulable_with: proof.check_with.schedulable,
            failures: &proof.failures,
            notes: &proof.notes,
            reasons: reasons.collect(),
            tasks: tasks.collect(),
            chains: proof.chains.iter().map(chain).collect(),
            theorems: proof.theorems.as_ref().map(theorems),
            without: proof.without.as_ref().map(|run| run_document(proof, run)),
            with: proof.with.as_ref().map(|run| run_document(proof, run)),
            budgets: budgets.collect(),
            files: files.collect(),
            made: Made::now("prove"),
            errors: [],
        }
    }
}

fn chain(it: &Chain) -> ChainDocument<'_> {
    let times =
        |it: &ChainTimes| ChainTimesDocument { reaction_ns: it.reaction_ns, age_ns: it.age_ns };
    ChainDocument {
        chain: &it.name,
        steps: &it.steps,
        max_reaction_ns: it.max_reaction_ns,
        max_age_ns: it.max_age_ns,
        bounds_without: times(&it.bounds_without),
        bounds_with: times(&it.bounds_with),
        simulated: times(&it.simulated),
        without: times(&it.without),
        with: times(&it.with),
    }
}

fn theorems(it: &Theorems) -> TheoremsDocument<'_> {
    let bounds = it.bounds.iter().map(|it| TheoremDocument {
        vm: &it.vm,
        vcpu: it.vcpu,
        task: &it.task,
        file: &it.file,
        theorem: &it.theorem,
        response_ns: it.response_ns,
        hypotheses: &it.hypotheses,
    });
    let without = it.without.iter().map(|it| UnprovedDocument {
        vm: &it.vm,
        vcpu: it.vcpu,
        task: &it.task,
        reason: &it.reason,
    });
    let (checked_by_coq, refused) = match &it.checked {
        Checked::Nothing | Checked::NoCoq => (None, None),
        Checked::By { version, .. } => (Some(version.as_str()), None),
        Checked::Refused { refused, .. } => (None, Some(refused.as_str())),
    };
    TheoremsDocument {
        folder: &it.folder,
        checked_by_coq,
        proofs_compiled_earlier: matches!(it.checked, Checked::By { earlier: true, .. }),
        refused,
        bounds: bounds.collect(),
        without: without.collect(),
    }
}

fn responses(it: &Responses) -> ResponsesDocument {
    ResponsesDocument { jobs: it.jobs, missed_deadlines: it.missed, response_max_ns: it.max_ns }
}

fn run_document<'a>(proof: &'a Proof, run: &'a Run) -> RunDocument<'a> {
    let mut evictions = Vec::new();
    if let Some(cache) = &run.cache {
        for (came, row) in cache.owners.iter().zip(&cache.evictions) {
            for (went, &count) in cache.owners.iter().zip(row) {
                let (came, went) = (came.name.as_str(), went.name.as_str());
                evictions.push(EvictionDocument { came, went, evictions: count });
            }
        }
    }
    let vms = proof.vms.iter().zip(&run.vms).map(|(vm, it)| VmDocument {
        vm: &vm.name,
        state: &it.state,
        bus_wait_ns: it.bus_wait_ns,
        memory_lines: it.memory_lines,
    });
    let sections = run.sections.iter().map(|it| SectionDocument {
        resource: &it.resource,
        task: proof.tasks.get(it.task).map_or("", |task| &task.name),
        times: it.times,
        waits: it.waits,
        wait_max_ns: it.wait_max_ns,
        hold_max_ns: it.hold_max_ns,
    });
    RunDocument {
        time_ns: run.time_ns,
        cross_vm_evictions: run.cache.as_ref().map(|cache| cache.cross_vm_evictions()),
        evictions,
        vms: vms.collect(),
        sections: sections.collect(),
        notes: &run.notes,
    }
}
