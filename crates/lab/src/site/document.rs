//! Reads documents of commands, those of earlier versions too.
//!
//! Only the parts that the site needs have to be in a document; all else may be there or not.

use std::path::Path;

use report::date;
use report::site::{Bound, Entry, Kind, Subject, Timed};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The kind of a file, with its content.
pub enum Read {
    /// The result of a command; its `id` and paths are not set.
    Result(Box<Entry>),
    /// The document of a command that failed, with its message: it does not say which command, or of what.
    Failed(String),
    /// Something else.
    Other,
}

/// The only format of proofs until now.
const PROOF: &str = "bulkhead-proof-v1";

/// Reads the text of a document; `time` is that of its file. An error says what is wrong with it.
pub fn read(path: &Path, text: &str, time: u64) -> Result<Read, String> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| format!("it is no whole JSON document: {error}"))?;
    let failure = failed(&document);
    let (kind, failure) = match (kind(&document)?, failure) {
        (Some(kind), failure) => (kind, failure),
        (None, Some(failure)) => return Ok(Read::Failed(failure)),
        (None, None) => return Ok(Read::Other),
    };
    let mut entry = match kind {
        _ if failure.is_some() => parsed::<Failed>(text)?.entry(path, failure),
        Kind::Prove => parsed::<Proof>(text)?.entry(),
        Kind::Run => parsed::<Run>(text)?.entry(),
        Kind::Check => parsed::<Check>(text)?.entry(path),
        Kind::Measure => parsed::<Measurement>(text)?.entry(),
        Kind::Reproduce => parsed::<Reproduced>(text)?.entry(),
        Kind::Sweep => parsed::<Sweep>(text)?.entry(),
    };
    entry.kind = kind;
    entry.time = time;
    if let Some(made) = parsed::<Dated>(text)?.made {
        entry.time = date::read(&made.time).ok_or_else(|| {
            format!("the time is `{}`, and not one such as 2026-11-28T08:41:40.500Z", made.time)
        })?;
        entry.dated = true;
        entry.version = Some(made.version);
    }
    Ok(Read::Result(Box::new(entry)))
}

/// Returns the command that wrote a document: it says so, or it has what only documents of that command have.
fn kind(document: &Value) -> Result<Option<Kind>, String> {
    if let Some(format) = document.get("format").and_then(Value::as_str)
        && format.starts_with("bulkhead-proof-")
        && format != PROOF
    {
        return Err(format!("the format is `{format}`, and this version knows only `{PROOF}`"));
    }
    let by = document.get("made").and_then(|made| made.get("by")).and_then(Value::as_str);
    let has = |names: &[&str]| names.iter().all(|name| document.get(name).is_some());
    Ok(match by {
        Some(by) => Kind::ALL.into_iter().find(|kind| kind.as_str() == by),
        None if document.get("format").is_some_and(|it| it == PROOF) => Some(Kind::Prove),
        None if has(&["result", "name", "power_off", "vms"]) => Some(Kind::Run),
        None if has(&["file", "analysis", "missing_files"]) => Some(Kind::Check),
        None if has(&["verdict", "tolerance", "contexts"]) => Some(Kind::Measure),
        None if has(&["title", "shards", "points"]) => Some(Kind::Sweep),
        None => {
            let first = document.get("experiments").and_then(|it| it.get(0));
            first.is_some_and(|it| it.get("claims").is_some()).then_some(Kind::Reproduce)
        }
    })
}

/// Returns the message of a command that failed.
fn failed(document: &Value) -> Option<String> {
    let is_failed = document.get("ok") == Some(&Value::Bool(false));
    let message = document.get("errors")?.get(0)?.get("message")?.as_str()?;
    is_failed.then(|| message.to_owned())
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// The document of a command that found no answer: its file can be damaged, or cannot be planned.
#[derive(Deserialize)]
struct Failed {
    file: Option<String>,
    /// Older versions do not say it.
    system: Option<String>,
}

impl Failed {
    fn entry(self, path: &Path, message: Option<String>) -> Entry {
        Entry {
            name: self.system.unwrap_or_else(|| stem(self.file.as_deref(), path)),
            verdict: "failed".into(),
            good: Some(false),
            failures: message.into_iter().collect(),
            ..Entry::default()
        }
    }
}

/// Returns the name of the file that was judged, without its endings; the standard input has that of the document.
fn stem(file: Option<&str>, document: &Path) -> String {
    let file = file.filter(|file| *file != "-").map_or(document, Path::new);
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    name.as_deref().and_then(|name| name.split('.').next()).unwrap_or_default().to_owned()
}

#[derive(Deserialize)]
struct Dated {
    made: Option<Made>,
}

#[derive(Deserialize)]
struct Made {
    version: String,
    time: String,
}

#[derive(Deserialize)]
struct Proof {
    ok: bool,
    name: String,
    /// "measured" where times are no promise; older versions do not say it.
    #[serde(default)]
    times: Option<String>,
    failures: Vec<String>,
    tasks: Vec<ProofTask>,
    #[serde(default)]
    chains: Vec<ProofChain>,
}

#[derive(Deserialize)]
struct ProofTask {
    vm: String,
    task: String,
    deadline_ns: Option<u64>,
    bound_with_ns: Option<u64>,
    with: Option<Responses>,
}

#[derive(Deserialize)]
struct ProofChain {
    chain: String,
    max_reaction_ns: Option<u64>,
    max_age_ns: Option<u64>,
    bounds_with: ChainTimes,
    with: ChainTimes,
}

#[derive(Deserialize)]
struct ChainTimes {
    reaction_ns: Option<u64>,
    age_ns: Option<u64>,
}

#[derive(Deserialize)]
struct Responses {
    jobs: u64,
    missed_deadlines: u64,
    response_max_ns: Option<u64>,
}

/// A bound that is not there, of a task that was analysed.
fn bound(ns: Option<u64>) -> Bound {
    ns.map_or(Bound::Missing, Bound::Ns)
}

/// Limit, bound and longest executed time of a reaction or a data age.
struct ChainTime {
    limit_ns: Option<u64>,
    bound_ns: Option<u64>,
    executed_ns: Option<u64>,
}

/// Returns the times of a chain. Chains that events begin have no data age, which then is in no part of the document.
fn chain(name: String, reaction: ChainTime, age: ChainTime, exact: bool) -> Vec<Timed> {
    let has_age = age.limit_ns.or(age.bound_ns).or(age.executed_ns).is_some();
    let timed = |subject, it: ChainTime| Timed {
        subject,
        deadline_ns: it.limit_ns,
        bound: bound(it.bound_ns),
        executed_ns: it.executed_ns,
        exact,
        ..Timed::default()
    };
    let age = has_age.then(|| timed(Subject::Age(name.clone()), age));
    [timed(Subject::Reaction(name), reaction)].into_iter().chain(age).collect()
}

fn words(ok: bool, yes: &str, no: &str) -> String {
    if ok { yes } else { no }.to_owned()
}

impl Proof {
    fn entry(self) -> Entry {
        let exact = self.times.as_deref() != Some("measured");
        let task = |it: ProofTask| Timed {
            subject: Subject::Task { vm: it.vm, name: it.task },
            deadline_ns: it.deadline_ns,
            bound: bound(it.bound_with_ns),
            executed_ns: it.with.as_ref().and_then(|with| with.response_max_ns),
            exact,
            jobs: it.with.as_ref().map(|with| with.jobs),
            missed: it.with.as_ref().map(|with| with.missed_deadlines),
        };
        let chains = self.chains.into_iter().flat_map(|it| {
            let time = |limit_ns, of: fn(&ChainTimes) -> Option<u64>| ChainTime {
                limit_ns,
                bound_ns: of(&it.bounds_with),
                executed_ns: of(&it.with),
            };
            let reaction = time(it.max_reaction_ns, |it| it.reaction_ns);
            let age = time(it.max_age_ns, |it| it.age_ns);
            chain(it.chain, reaction, age, exact)
        });
        Entry {
            name: self.name,
            verdict: words(
                self.ok,
                if exact { "holds" } else { "measured: kept" },
                "does not hold",
            ),
            good: Some(self.ok),
            failures: self.failures,
            timed: self.tasks.into_iter().map(task).chain(chains).collect(),
            ..Entry::default()
        }
    }
}

#[derive(Deserialize)]
struct Run {
    result: String,
    name: String,
    problems: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
    /// True if nothing went wrong, but not all was seen; older versions do not say it.
    #[serde(default)]
    unseen: bool,
    times: String,
    vms: Vec<RunVm>,
    /// The chains of runs that were recorded.
    #[serde(default)]
    chains: Vec<RunChain>,
}

#[derive(Deserialize)]
struct RunChain {
    #[serde(flatten)]
    judged: CheckedChain,
    reaction_max_ns: Option<u64>,
    age_max_ns: Option<u64>,
}

#[derive(Deserialize)]
struct RunVm {
    name: String,
    tasks: Vec<RunTask>,
}

#[derive(Deserialize)]
struct RunTask {
    name: String,
    deadline_ns: Option<u64>,
    bound_ns: Option<u64>,
    jobs: u64,
    misses: u64,
    response_max_ns: Option<u64>,
}

impl Run {
    fn entry(self) -> Entry {
        let mut tasks = self.vms.iter().flat_map(|vm| &vm.tasks);
        let unseen = self.unseen || tasks.any(|it| it.deadline_ns.is_some() && it.jobs == 0);
        let notes = if unseen { self.notes } else { Vec::new() };
        let exact = self.times == "exact";
        let task = |vm: &str, it: RunTask| Timed {
            subject: Subject::Task { vm: vm.to_owned(), name: it.name },
            deadline_ns: it.deadline_ns,
            // A task that is not described is not analysed.
            bound: match it.deadline_ns {
                Some(_) => bound(it.bound_ns),
                None => it.bound_ns.map_or(Bound::NotStated, Bound::Ns),
            },
            executed_ns: it.response_max_ns,
            exact,
            jobs: Some(it.jobs),
            missed: Some(it.misses),
        };
        let tasks = self
            .vms
            .into_iter()
            .flat_map(|vm| vm.tasks.into_iter().map(move |it| task(&vm.name, it)));
        let chains = self
            .chains
            .into_iter()
            .flat_map(|it| it.judged.times(it.reaction_max_ns, it.age_max_ns, exact));
        let (verdict, good) = match self.result.as_str() {
            "ok" if unseen => ("nothing went wrong, but not all was seen".into(), None),
            "ok" => ("all is well".into(), Some(true)),
            "failed" => ("not well".into(), Some(false)),
            // It was ended before the answer was known.
            _ => (self.result, None),
        };
        Entry {
            name: self.name,
            verdict,
            good,
            failures: self.problems.into_iter().chain(notes).collect(),
            timed: tasks.chain(chains).collect(),
            ..Entry::default()
        }
    }
}

#[derive(Deserialize)]
struct Check {
    ok: bool,
    file: String,
    /// Older versions say it in `report` only, of which plans have none.
    system: Option<String>,
    report: Option<Summary>,
    analysis: Analysis,
}

#[derive(Deserialize)]
struct Summary {
    system: String,
}

#[derive(Deserialize)]
struct Analysis {
    pcpus: Vec<Pcpu>,
    #[serde(default)]
    chains: Vec<CheckedChain>,
}

#[derive(Deserialize)]
struct CheckedChain {
    chain: String,
    max_reaction_ns: Option<u64>,
    max_age_ns: Option<u64>,
    reaction_ns: Option<u64>,
    age_ns: Option<u64>,
}

impl CheckedChain {
    /// Returns its times, of which the longest were executed.
    fn times(self, reaction_ns: Option<u64>, age_ns: Option<u64>, exact: bool) -> Vec<Timed> {
        let time = |limit_ns, bound_ns, executed_ns| ChainTime { limit_ns, bound_ns, executed_ns };
        let reaction = time(self.max_reaction_ns, self.reaction_ns, reaction_ns);
        let age = time(self.max_age_ns, self.age_ns, age_ns);
        chain(self.chain, reaction, age, exact)
    }
}

#[derive(Deserialize)]
struct Pcpu {
    vcpus: Vec<Vcpu>,
}

#[derive(Deserialize)]
struct Vcpu {
    vm: String,
    tasks: Vec<CheckedTask>,
}

#[derive(Deserialize)]
struct CheckedTask {
    task: String,
    deadline_ns: u64,
    wcrt_ns: Option<u64>,
}

impl Check {
    /// The standard input may have no name but that of the document.
    fn entry(self, path: &Path) -> Entry {
        let task = |vm: &str, it: CheckedTask| Timed {
            subject: Subject::Task { vm: vm.to_owned(), name: it.task },
            deadline_ns: Some(it.deadline_ns),
            bound: bound(it.wcrt_ns),
            ..Timed::default()
        };
        let vcpus = self.analysis.pcpus.into_iter().flat_map(|pcpu| pcpu.vcpus);
        let tasks = vcpus.flat_map(|vcpu| vcpu.tasks.into_iter().map(move |it| task(&vcpu.vm, it)));
        let chains = self.analysis.chains.into_iter().flat_map(|it| it.times(None, None, false));
        // A plan has no tasks: that it is sound says nothing of deadlines.
        let (verdict, good) = match (self.ok, &self.report) {
            (true, None) => ("sound; deadlines not checked".into(), None),
            (ok, _) => (words(ok, "schedulable", "not schedulable"), Some(ok)),
        };
        let name = self.system.or(self.report.map(|it| it.system));
        let name = name.filter(|it| it != "<stdin>");
        Entry {
            name: name.unwrap_or_else(|| stem(Some(&self.file), path)),
            verdict,
            good,
            timed: tasks.chain(chains).collect(),
            ..Entry::default()
        }
    }
}

#[derive(Deserialize)]
struct Measurement {
    verdict: String,
    complete: bool,
    contexts: Vec<Context>,
}

#[derive(Deserialize)]
struct Context {
    name: String,
}

/// Adds that not all was done.
fn whole(verdict: String, complete: bool) -> String {
    if complete { verdict } else { format!("{verdict}, not complete") }
}

impl Measurement {
    fn entry(self) -> Entry {
        let contexts: Vec<String> = self.contexts.into_iter().map(|it| it.name).collect();
        Entry {
            name: format!("isolation: {}", contexts.join(", ")),
            good: match self.verdict.as_str() {
                "isolated" => Some(true),
                "not-isolated" => Some(false),
                _ => None,
            },
            verdict: whole(self.verdict.replace('-', " "), self.complete),
            ..Entry::default()
        }
    }
}

#[derive(Deserialize)]
struct Reproduced {
    ok: bool,
    experiments: Vec<Experiment>,
}

#[derive(Deserialize)]
struct Experiment {
    name: String,
    complete: bool,
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
struct Claim {
    verdict: String,
}

impl Reproduced {
    fn entry(self) -> Entry {
        let names: Vec<&str> = self.experiments.iter().map(|it| it.name.as_str()).collect();
        let name = match names.as_slice() {
            [first, .., last] => format!("{} experiments, {first} to {last}", names.len()),
            [name] => (*name).to_owned(),
            [] => "no experiment".into(),
        };
        let claims: Vec<&Claim> = self.experiments.iter().flat_map(|it| &it.claims).collect();
        let confirmed = claims.iter().filter(|claim| claim.verdict == "confirmed").count();
        let verdict = format!("{confirmed} of {} statements confirmed", claims.len());
        Entry {
            name,
            verdict: whole(verdict, self.experiments.iter().all(|it| it.complete)),
            good: Some(self.ok),
            ..Entry::default()
        }
    }
}

#[derive(Deserialize)]
struct Sweep {
    ok: bool,
    title: String,
    complete: bool,
    points: Vec<serde_json::Map<String, Value>>,
}

impl Sweep {
    fn entry(self) -> Entry {
        // Sums are of what has to be 0, such as bounds that were exceeded: without one nothing was compared.
        let compared = self.points.iter().flat_map(|it| it.keys()).any(|it| it.ends_with("_sum"));
        let (verdict, good) = match (self.ok, compared) {
            (true, false) => ("done; no bound was compared".into(), None),
            (ok, _) => (words(ok, "no bound exceeded", "a bound was exceeded"), Some(ok)),
        };
        Entry { name: self.title, verdict: whole(verdict, self.complete), good, ..Entry::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use verdict::ChainVerdict;

    use super::*;
    use crate::chains::{Observed, Seen};

    #[test]
    fn chains_of_runs_have_what_was_seen_beside_their_bounds() {
        let judged = ChainVerdict {
            chain: "brake".into(),
            steps: Vec::new(),
            reaction_ns: Some(900),
            max_reaction_ns: Some(1_000),
            age_ns: None,
            max_age_ns: None,
            ok: true,
            unbounded_step: None,
            refused_step: None,
        };
        let observed = Observed { outputs: 4, reaction_max_ns: Some(800), age_max_ns: None };
        let document = json!({
            "result": "ok", "name": "rover", "power_off": true, "problems": [], "times": "exact", "vms": [],
            "chains": [Seen { observed, judged }],
        });
        let read = read(Path::new("run.json"), &document.to_string(), 0);
        let Ok(Read::Result(entry)) = read else { panic!("a result") };
        // Events begin the chain: it has no data age.
        let reaction = Timed {
            subject: Subject::Reaction("brake".into()),
            deadline_ns: Some(1_000),
            bound: Bound::Ns(900),
            executed_ns: Some(800),
            exact: true,
            jobs: None,
            missed: None,
        };
        assert_eq!(entry.timed, [reaction]);
    }
}
