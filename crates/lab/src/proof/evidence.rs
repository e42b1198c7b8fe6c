//! Combines the results about a system.

use std::collections::BTreeMap;

use ::trace::Trace;
use report::proof::{Check, Proof, Run, Theorems, VmRun};
use report::verdicts::Row;
use verdict::Verdict;

use super::execute::Executed;
use super::lanes::{self, Window};
use super::{caches, chains, described, judge, sections, tasks, traffic};
use crate::decisions::wrong_decisions;
use crate::failure::Failure;
use crate::header::header;
use crate::kvm::Colors;
use crate::load::{self, System};
use crate::responses::{Key, responses};

/// The origin of executed times.
const MODEL: &str = "executed times are those of a model of caches and bus in QEMU, not of a chip";
/// The same under KVM.
const MEASURED: &str =
    "measured, not promised: Linux and what is below it can take any time, which no bound contains";
/// The remark on the part that is missing without isolation there.
const NO_SERVERS: &str = "without isolation VCPUs have priorities alone, as threads of Linux with SCHED_FIFO have, and no servers";
/// The assumptions of bounds.
const DESCRIBED: &str = "bounds hold as long as the execution times, memory accesses and critical sections of \
                         the description do";
/// The sentence for systems in which no VCPU shares a PCPU or has a budget.
const NO_DECISIONS: &str = "nothing is decided at run time: each VCPU has a PCPU for itself";

/// All evidence.
pub struct Evidence<'a> {
    /// The system with its plan.
    pub system: &'a System,
    /// Remarks on the machine, a sentence each, if it is this one, whose times are no promise.
    pub measured: Option<&'a [String]>,
    /// The system without isolation, if it has some.
    pub plain: Option<&'a System>,
    /// The simulation of the plan.
    pub simulated: Trace,
    /// The run with the plan.
    pub with: Executed,
    /// The run without isolation.
    pub without: Option<Executed>,
}

impl Evidence<'_> {
    /// Returns the proof that follows from the evidence, and the verdicts in it; `notes` come first.
    pub fn proof(
        &self,
        notes: Vec<String>,
        theorems: Option<Theorems>,
    ) -> Result<(Proof, Vec<Row>), Failure> {
        let Self { system, with, without, .. } = self;
        let verdict = verdict(system)?;
        let verdict_without = self.plain.map(self::verdict).transpose()?;
        let header = header(&system.plan, system.description.as_deref(), 0);
        let (tasks, places) = tasks::tasks(system, &header, &verdict, verdict_without.as_ref());
        let counted = without.as_ref().filter(|run| run.counts.is_some());
        let series = counted.map(|run| run.folder.as_path());
        let mut proof = Proof {
            name: system.plan.name.clone(),
            measured: self.measured.is_some(),
            notes,
            platform: described::platform(system, with.counts.as_ref()),
            vms: described::vms(system),
            decisions: described::decisions(system),
            tasks,
            chains: chains::chains(&verdict, verdict_without.as_ref()),
            check_without: verdict_without.as_ref().map(check).unwrap_or_default(),
            check_with: check(&verdict),
            traffic: traffic::traffic(system, &with.trace, series)?,
            theorems,
            ..Proof::default()
        };
        let tasks = &mut proof.tasks;
        let found = responses(&self.simulated, None);
        tasks::add(tasks, &places, found, |task| &mut task.simulated);
        let found = responses(&with.trace, Some(&with.known));
        tasks::add(tasks, &places, found, |task| &mut task.with);
        chains::add(&mut proof.chains, system, &self.simulated, |chain| &mut chain.simulated);
        chains::add(&mut proof.chains, system, &with.trace, |chain| &mut chain.with);

        let mut window = Window::of(&with.trace);
        if let Some(without) = without {
            let found = responses(&without.trace, Some(&without.known));
            tasks::add(tasks, &places, found, |task| &mut task.without);
            chains::add(&mut proof.chains, system, &without.trace, |chain| &mut chain.without);
            window = Window::of(&without.trace);
            proof.without = Some(self.run(without, &window, &places)?);
            window.reason = "the same time as in the run without isolation".into();
        }
        proof.with = Some(self.run(with, &window, &places)?);
        let window = Window::of(&self.simulated);
        proof.simulation = Some(Run {
            time_ns: length(&self.simulated),
            timeline: Some(lanes::timeline(&self.simulated, &self.resources(), &window)),
            ..Run::default()
        });

        let decisions = wrong_decisions(&system.plan, &with.trace)?;
        proof.notes.extend(decisions.is_none().then(|| NO_DECISIONS.into()));
        let mut rows = judge::rows(&proof, &with.problems, decisions.as_deref());
        rows.extend(with.rows());
        proof.notes.extend(with.colors.iter().filter_map(Colors::note));
        proof.failures = judge::failures(&rows);
        proof.notes.extend(judge::notes(&proof));
        proof.notes.push(DESCRIBED.into());
        match self.measured {
            Some(remarks) => {
                proof.notes.extend(self.plain.map(|_| NO_SERVERS.into()));
                proof.notes.extend(remarks.iter().cloned().chain([MEASURED.into()]));
            }
            None => proof.notes.push(MODEL.into()),
        }
        proof.holds = proof.failures.is_empty();
        Ok((proof, rows))
    }

    fn run(
        &self,
        run: &Executed,
        window: &Window,
        places: &BTreeMap<Key, usize>,
    ) -> Result<Run, Failure> {
        let names: Vec<String> = self.system.plan.vms.iter().map(|vm| vm.name.clone()).collect();
        let beyond = match &run.counts {
            Some(_) => caches::beyond(run, &names)?,
            None => vec![caches::Beyond::default(); names.len()],
        };
        let vms = run.known.vms.iter().zip(beyond).map(|(vm, beyond)| VmRun {
            state: match &vm.ended {
                Some((state, reason)) => format!("{state} ({reason})"),
                None => "running".into(),
            },
            restarts: vm.report.as_ref().map_or(0, |report| report.restarts),
            exits: vm.report.as_ref().map(|report| report.exits),
            bus_wait_ns: beyond.bus_wait_ns,
            memory_lines: beyond.memory_lines,
        });
        let resources = self.resources();
        Ok(Run {
            time_ns: length(&run.trace),
            timeline: Some(lanes::timeline(&run.trace, &resources, window)),
            cache: run.counts.as_ref().map(|it| caches::cache(run, it, &names)).transpose()?,
            vms: vms.collect(),
            sections: sections::sections(&run.trace, &resources, places),
            notes: run.notes(),
        })
    }

    /// Returns the names of the resources that tasks share.
    fn resources(&self) -> Vec<&str> {
        let resources = self.system.description.iter().flat_map(|it| &it.resources);
        resources.map(|it| it.name.value.as_str()).collect()
    }
}

fn verdict(system: &System) -> Result<Verdict, Failure> {
    match system.description.as_deref() {
        Some(described) => load::verdict(&system.plan, described),
        None => Ok(Verdict::of_plan(&system.plan, None)),
    }
}

fn check(verdict: &Verdict) -> Check {
    Check { schedulable: Some(verdict.schedulable), notes: crate::explain::notes(verdict) }
}

fn length(trace: &Trace) -> u64 {
    trace.clock().length_ns(trace.last().saturating_sub(trace.zero()))
}
