//! Deadlines of the tasks of a run: compares the marks and results of guests with deadlines and
//! bounds of the description.

use report::verdicts::{Row, Rule};
use serde::Serialize;
use trace::Trace;
use verdict::Verdict;

use crate::amount::time;
use crate::chains::{self, Seen};
use crate::console::Known;
use crate::console::Told;
use crate::header::header;
use crate::load::System;
use crate::responses::{mean, responses};
use crate::verdicts::places;

/// A task of a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Task {
    /// The index of its VM.
    #[serde(skip)]
    pub vm: usize,
    /// Its name.
    pub name: String,
    /// Its period in microseconds, if it has one.
    pub period_us: Option<u64>,
    /// Its deadline, if it is described.
    pub deadline_ns: Option<u64>,
    /// The bound for its response time, if the analysis has one.
    pub bound_ns: Option<u64>,
    /// Jobs that ended.
    pub jobs: u64,
    /// Deadlines that were missed.
    pub misses: u64,
    /// Response times in nanoseconds, if a job ended: the shortest, the mean, and the longest.
    pub response_min_ns: Option<u64>,
    /// See above.
    pub response_mean_ns: Option<u64>,
    /// See above.
    pub response_max_ns: Option<u64>,
    /// `Some(true)` if no job was late and, where times are exact, none took longer than the bound; `None`: that was not seen.
    pub ok: Option<bool>,
}

/// The exactness of times in a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Times {
    /// Times of the host, which prove nothing about the machine.
    Host,
    /// Measured on the machine that is meant, whose Linux promises nothing.
    Measured,
    /// One instruction takes 1 ns, but QEMU runs its CPUs in turns that are longer than response
    /// times.
    Turns,
    /// One instruction takes 1 ns, and turns are too short to matter, but the CPUs of QEMU share a clock: a job takes as long as
    /// what other CPUs execute at that time, too.
    Shared,
    /// Times are those of the machine.
    Exact,
}

/// The tasks of a run.
#[derive(Clone, Debug)]
pub struct Tasks {
    all: Vec<Task>,
    chains: Vec<Seen>,
    times: Times,
    /// Records that are missing.
    lost: u64,
}

impl Tasks {
    /// Returns the described tasks, and those that only their guests know. `trace` has the marks,
    /// if there is one.
    pub fn new(system: &System, trace: Option<&Trace>, known: &Known, times: Times) -> Self {
        let header = header(&system.plan, system.description.as_deref(), 0);
        let verdict = system.description.as_deref().map(|described| {
            // Without tasks there is nothing to be found.
            let has_tasks = described.vms.iter().any(|vm| !vm.tasks.is_empty());
            has_tasks.then(|| Verdict::of_plan(&system.plan, Some(described)))
        });
        let verdict = verdict.flatten();
        let found = trace.map(|trace| responses(trace, Some(known))).unwrap_or_default();
        let mut all = Vec::new();
        for (vm, vcpu, number, task) in header.vcpus().flat_map(|(id, vcpu)| {
            let tasks = vcpu.tasks.iter().zip(0u8..);
            tasks.map(move |(task, number)| (usize::from(id.vm), id, number, task))
        }) {
            let told = told(known, vm).find(|told| told.name == task.name);
            let marked = found.get(&(vcpu, number));
            let times = marked.map(|it| &*it.times_ns).unwrap_or_default();
            let bound = verdict.as_ref().and_then(|verdict| {
                let name = &known.vms[vm].name;
                verdict
                    .tasks()
                    .find(|(it, of)| {
                        it.vm == *name && it.vcpu == usize::from(vcpu.vcpu) && of.task == task.name
                    })
                    .and_then(|(_, of)| of.wcrt_ns)
            });
            all.push(Task {
                vm,
                name: task.name.clone(),
                period_us: task.period_ns.map(|ns| ns / 1_000).or(told.map(|it| it.period_us)),
                deadline_ns: task.deadline_ns,
                bound_ns: bound,
                // What a guest tells of a described task can only make it late.
                jobs: marked.map_or(0, |it| it.jobs),
                misses: marked
                    .map_or(0, |it| it.missed)
                    .max(told.map_or(0, |it| it.missed(task.deadline_ns))),
                response_min_ns: times.iter().min().copied().or(told.map(|it| it.response_min_ns)),
                response_mean_ns: mean(times).or(told.map(|it| it.response_mean_ns)),
                response_max_ns: marked
                    .and_then(|it| it.max_ns)
                    .max(told.map(|it| it.response_max_ns)),
                ok: None,
            });
        }
        for vm in 0..known.vms.len() {
            let described = |told: &&Told| all.iter().any(|it| it.vm == vm && it.name == told.name);
            let others: Vec<Task> =
                told(known, vm).filter(|it| !described(it)).map(|it| only_told(vm, it)).collect();
            all.extend(others);
        }
        all.sort_by_key(|task| task.vm);
        // Only a trace knows the jobs through which data went.
        let chains = trace.zip(system.description.as_deref()).zip(verdict);
        let chains = chains.map(|((trace, described), verdict)| {
            Seen::all(verdict, &chains::of_trace(described, trace))
        });
        let chains = chains.unwrap_or_default();
        let lost = trace.map_or(0, Trace::lost);
        for task in &mut all {
            let is_late = task.misses > 0 || times == Times::Exact && above_bound(task).is_some();
            task.ok = (is_late || task.jobs > 0 && lost == 0).then_some(!is_late);
        }
        Self { all, chains, times, lost }
    }

    /// Returns the tasks of a VM.
    pub fn of(&self, vm: usize) -> Vec<Task> {
        self.all.iter().filter(|task| task.vm == vm).cloned().collect()
    }

    /// Returns all of them.
    pub fn all(&self) -> &[Task] {
        &self.all
    }

    /// Returns the chains, if there is a trace.
    pub fn chains(&self) -> &[Seen] {
        &self.chains
    }

    /// Returns the word for the exactness of times, for documents.
    pub fn times(&self) -> &'static str {
        match self.times {
            Times::Host => "host",
            Times::Measured => "measured",
            Times::Turns => "turns",
            Times::Shared => "shared",
            Times::Exact => "exact",
        }
    }

    /// Returns the heading above a table that proves nothing.
    pub fn heading(&self) -> Option<&'static str> {
        let heading = match self.times {
            Times::Host => {
                "times of this host, which prove nothing about the machine: `--deterministic` gives those"
            }
            Times::Measured => {
                "measured, not promised: Linux and what is below it can take any time"
            }
            Times::Turns | Times::Shared | Times::Exact => return None,
        };
        (!self.all.is_empty()).then_some(heading)
    }

    /// Returns the verdicts on tasks and chains. Bounds are judged where times are exact.
    pub fn rows(&self, names: &[&str]) -> Vec<Row> {
        let mut rows = Vec::new();
        for task in &self.all {
            rows.push(self.in_time(task, names[task.vm]));
            rows.extend(
                (self.times == Times::Exact).then(|| within_bound(task, names[task.vm])).flatten(),
            );
        }
        rows.extend(self.chains.iter().filter_map(Seen::in_time));
        if self.times == Times::Exact {
            rows.extend(self.chains.iter().map(Seen::within_bounds));
        }
        rows
    }

    fn in_time(&self, task: &Task, vm: &str) -> Row {
        let row = Row::new(Rule::Deadline, places::task(vm, &task.name));
        let row = with_figure(
            with_figure(row, "executed", task.response_max_ns),
            "limit",
            task.deadline_ns,
        );
        if task.misses > 0 {
            let (misses, jobs) = (task.misses, task.jobs);
            // A job that has not ended may have missed one, too.
            let all = jobs.max(misses);
            let why =
                format!("task `{}` of VM `{vm}` missed {misses} of {all} deadlines", task.name);
            return row.fails_if([why]);
        }
        let why = match task.jobs {
            0 => Some("no complete job was seen".into()),
            _ => self.lost_note(),
        };
        row.open_if(why)
    }

    /// Returns notes that help to read the rest, a sentence each.
    pub fn notes(&self, names: &[&str]) -> Vec<String> {
        let cause = match self.times {
            Times::Exact => return self.lost_note().into_iter().collect(),
            Times::Turns => "CPUs of QEMU take turns of 1 ms and more: see `--short-turns`",
            Times::Shared => {
                "QEMU's CPUs share a clock, and a job takes longer while others are busy: see `--cachescope DIR --cachescope-option time=model`"
            }
            Times::Host => "that is the time of this host",
            Times::Measured => {
                "Linux took more time than the platform's `[overheads]` say, or jobs execute longer than described"
            }
        };
        let above = self.all.iter().filter_map(|task| {
            let above = above_bound(task)?;
            Some(format!("task `{}` of VM `{}` {above}: {cause}", task.name, names[task.vm]))
        });
        let chains = self.chains.iter().flat_map(Seen::above_bounds);
        let chains = chains.map(|above| format!("{above}: {cause}"));
        above.chain(chains).chain(self.lost_note()).collect()
    }

    fn lost_note(&self) -> Option<String> {
        let lost = self.lost;
        (lost > 0).then(|| {
            format!("{lost} records came faster than they could be read: jobs may be missing")
        })
    }

    /// Returns why the run cannot be called well: no job of a described task was seen, or records
    /// were lost.
    pub fn unseen(&self, names: &[&str]) -> Option<String> {
        let unseen = self.all.iter().filter(|task| task.jobs == 0 && task.misses == 0);
        let unseen: Vec<String> =
            unseen.map(|task| format!("`{}` of `{}`", task.name, names[task.vm])).collect();
        let tasks = unseen.join(", ");
        let unseen = (!unseen.is_empty()).then(|| format!("no complete job was seen of {tasks}"));
        // Of what was lost, nobody knows whether it was in time.
        unseen.or_else(|| self.lost_note())
    }
}

/// Returns the time by which a task exceeded its bound, if it did.
fn above_bound(task: &Task) -> Option<String> {
    let (max, bound) =
        task.response_max_ns.zip(task.bound_ns).filter(|(max, bound)| max > bound)?;
    Some(format!("took {}, longer than its bound of {}", time(max), time(bound)))
}

/// Returns the verdict on the bound of a task, if it has a bound and a job ended.
fn within_bound(task: &Task, vm: &str) -> Option<Row> {
    task.bound_ns.zip(task.response_max_ns)?;
    let row = Row::new(Rule::Bound, places::task(vm, &task.name));
    let row =
        with_figure(with_figure(row, "executed", task.response_max_ns), "bound", task.bound_ns);
    let why = above_bound(task).map(|above| format!("task `{}` of VM `{vm}` {above}", task.name));
    Some(row.fails_if(why))
}

fn with_figure(row: Row, name: &'static str, time_ns: Option<u64>) -> Row {
    match time_ns {
        Some(time_ns) => row.figure(name, time(time_ns)),
        None => row,
    }
}

fn told(known: &Known, vm: usize) -> impl Iterator<Item = &Told> {
    known.vms.get(vm).into_iter().flat_map(|vm| &vm.tasks)
}

fn only_told(vm: usize, told: &Told) -> Task {
    Task {
        vm,
        name: told.name.clone(),
        period_us: Some(told.period_us),
        deadline_ns: None,
        bound_ns: None,
        jobs: told.jobs,
        misses: told.misses,
        response_min_ns: Some(told.response_min_ns),
        response_mean_ns: Some(told.response_mean_ns),
        response_max_ns: Some(told.response_max_ns),
        ok: None,
    }
}

#[cfg(test)]
mod tests {
    use report::verdicts::Outcome;
    use verdict::ChainVerdict;

    use super::*;
    use crate::chains::Observed;

    /// A chain with a bound of 80 ns and a limit of 90, of which `reaction` was seen.
    fn tasks(reaction: u64, times: Times) -> Tasks {
        let judged = ChainVerdict {
            chain: "c".into(),
            steps: Vec::new(),
            reaction_ns: Some(80),
            max_reaction_ns: Some(90),
            age_ns: Some(80),
            max_age_ns: None,
            ok: true,
            unbounded_step: None,
            refused_step: None,
        };
        let observed =
            Observed { outputs: 3, reaction_max_ns: Some(reaction), age_max_ns: Some(70) };
        Tasks { all: Vec::new(), chains: vec![Seen { observed, judged }], times, lost: 0 }
    }

    fn problems(tasks: &Tasks) -> Vec<String> {
        let rows = tasks.rows(&[]).into_iter().filter(|row| row.fails());
        rows.flat_map(|row| row.reasons).collect()
    }

    #[test]
    fn chains_are_judged_like_tasks() {
        let none: [&str; 0] = [];
        assert_eq!(problems(&tasks(80, Times::Exact)), none);
        let above = "the reaction of chain `c` took 85 ns, longer than its bound of 80 ns";
        assert_eq!(problems(&tasks(85, Times::Exact)), [above]);
        // Elsewhere a bound proves nothing, but a limit is a limit.
        let turns = tasks(85, Times::Turns);
        assert_eq!(problems(&turns), none);
        assert!(turns.notes(&[])[0].starts_with(above), "{:?}", turns.notes(&[]));
        let late = "the reaction of chain `c` took 95 ns, longer than its limit of 90 ns";
        assert_eq!(problems(&tasks(95, Times::Host)), [late]);
        assert_eq!(problems(&tasks(95, Times::Exact)).len(), 2);
    }

    /// A task with a bound of 80 ns and a deadline of 90, with this number of jobs, misses, and longest response.
    fn task(jobs: u64, misses: u64, max_ns: Option<u64>) -> Task {
        Task {
            vm: 0,
            name: "t".into(),
            period_us: None,
            deadline_ns: Some(90),
            bound_ns: Some(80),
            jobs,
            misses,
            response_min_ns: max_ns,
            response_mean_ns: max_ns,
            response_max_ns: max_ns,
            ok: None,
        }
    }

    #[test]
    fn what_was_not_seen_is_open_and_bounds_are_judged_where_times_are_exact() {
        let rows = |task: Task, times, lost| {
            let rows = Tasks { all: vec![task], chains: Vec::new(), times, lost }.rows(&["v"]);
            let shown = rows.iter().map(|row| {
                assert_eq!(row.subject, "task v.t");
                (row.rule, row.outcome, row.reasons.join("; "))
            });
            shown.collect::<Vec<_>>()
        };
        let holds = |rule| (rule, Outcome::Holds, String::new());
        let open = |why: &str| (Rule::Deadline, Outcome::Open, why.to_owned());
        let fails = |rule, why: &str| (rule, Outcome::Fails, format!("task `t` of VM `v` {why}"));
        let good = task(3, 0, Some(80));
        assert_eq!(rows(good.clone(), Times::Host, 0), [holds(Rule::Deadline)]);
        let both = [holds(Rule::Deadline), holds(Rule::Bound)];
        assert_eq!(rows(good.clone(), Times::Exact, 0), both);
        assert_eq!(rows(task(0, 0, None), Times::Exact, 0), [open("no complete job was seen")]);
        assert_eq!(rows(task(3, 0, Some(85)), Times::Shared, 0), [holds(Rule::Deadline)]);
        let lost = "2 records came faster than they could be read: jobs may be missing";
        assert_eq!(rows(good, Times::Host, 2), [open(lost)]);
        let late = fails(Rule::Deadline, "missed 1 of 3 deadlines");
        assert_eq!(rows(task(3, 1, Some(95)), Times::Turns, 2), std::slice::from_ref(&late));
        let above = fails(Rule::Bound, "took 95 ns, longer than its bound of 80 ns");
        assert_eq!(rows(task(3, 1, Some(95)), Times::Exact, 0), [late, above]);
    }

    #[test]
    fn a_chain_of_which_nothing_was_seen_is_open() {
        let mut unseen = tasks(80, Times::Host);
        unseen.chains[0].observed = Observed::default();
        let rows = unseen.rows(&[]);
        assert_eq!((rows.len(), rows[0].rule, rows[0].outcome), (1, Rule::Chain, Outcome::Open));
        unseen.chains[0].judged.max_reaction_ns = None;
        assert_eq!(unseen.rows(&[]), []);
    }
}
