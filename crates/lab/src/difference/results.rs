//! Differences between two results of a command: verdicts and times, and, as causes, the files that were used and the plans.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use report::site::{Bound, Entry, Subject, Timed};
use serde_json::Value;

use super::{BOUND, Difference, Thing, Things, between, things};
use crate::amount::time;
use crate::failure::Failure;
use crate::load::{self, Input};
use crate::proof::folder::PLAN;
use crate::site::find::{self, Found};
use crate::verdicts::places;

/// Returns true if a path has results rather than a description or a plan: a folder, or a document of `--json`.
pub fn is_result(path: &Path) -> bool {
    path.is_dir() || path.extension().is_some_and(|ending| ending == "json")
}

/// Returns the differences between two results of the same command. Executed times are compared if they are exact: others are
/// different each time. Where both are folders of `prove`, so are the plans.
///
/// # Errors
///
/// A path that has no result, or several; and results of different commands.
pub fn differences(before: &Path, after: &Path) -> Result<Vec<Difference>, Failure> {
    let (old, new) = (result(before)?, result(after)?);
    let kinds = [&old, &new].map(|it| it.entry.kind.as_str());
    if kinds[0] != kinds[1] {
        let [before, after] = [before, after].map(Path::display);
        return Err(bad(&format!(
            "{before} is a result of `{}`, and {after} one of `{}`\nhelp: compare results of the same command",
            kinds[0], kinds[1]
        )));
    }
    let mut found = between(&of_result(&old)?, &of_result(&new)?);
    if let (Some(before), Some(after)) = (plan_of(before), plan_of(after)) {
        let plans = [before, after].map(|path| of_plan(&path));
        let [before, after] = plans;
        found.extend(between(&before?, &after?));
    }
    Ok(found)
}

/// Returns the one result at a path.
fn result(path: &Path) -> Result<Found, Failure> {
    let mut results = find::results(path, &mut Vec::new())?;
    match (results.pop(), results.len()) {
        (Some(found), 0) => Ok(found),
        (_, others) => Err(bad(&format!(
            "{} has {} results\nhelp: name one of them; `bulkhead view` shows all of them beside each other",
            path.display(),
            others + 1
        ))),
    }
}

fn bad(message: &str) -> Failure {
    Failure::new("not-comparable", message.to_owned())
}

/// Returns the plan that `prove` wrote beside a result.
fn plan_of(result: &Path) -> Option<PathBuf> {
    let folder = if result.is_dir() { result } else { result.parent()? };
    Some(folder.join(PLAN)).filter(|path| path.is_file())
}

fn of_plan(path: &Path) -> Result<Things, Failure> {
    let plan = load::read(path)?;
    match &plan {
        Input::Plan(_) => Ok(things(&plan, load::folder(path), false)?.0),
        Input::Description(_) => Ok(Vec::new()),
    }
}

fn of_result(Found { entry, text, .. }: &Found) -> Result<Things, Failure> {
    let mut whole = Thing::new([
        ("of", entry.name.clone()),
        ("verdict", entry.verdict.clone()),
        ("version", entry.version.clone().unwrap_or_else(|| "-".into())),
    ]);
    whole.properties.extend(match entry.failures.as_slice() {
        [] => None,
        failures => Some(("what is wrong", failures.join("; "))),
    });
    let mut things = vec![("result".to_owned(), whole)];
    things.extend(files(text));
    things.extend(of_times(entry));
    Ok(things)
}

/// The files that were used. Their names tell where they were, which is no difference.
fn files(text: &str) -> Things {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let files = document.get("files").and_then(Value::as_array);
    let thing = |file: &Value| {
        let field = |name| file.get(name).and_then(Value::as_str);
        let digest: String = field("sha256")?.chars().take(16).collect();
        Some((format!("file: {}", field("purpose")?), Thing::new([("SHA-256", digest)])))
    };
    files.into_iter().flatten().filter_map(thing).collect()
}

/// Tasks and chains with their times.
fn of_times(entry: &Entry) -> Things {
    let mut all: BTreeMap<String, Thing> = BTreeMap::new();
    for timed in &entry.timed {
        let (name, of) = match &timed.subject {
            Subject::Task { vm, name } => (places::task(vm, name), TASK),
            Subject::Reaction(chain) => (places::chain(chain), REACTION),
            Subject::Age(chain) => (places::chain(chain), AGE),
        };
        all.entry(name).or_default().properties.extend(times(timed, of));
    }
    all.into_iter().collect()
}

/// Names of the limit, the bound and the longest executed time.
type Names = [&'static str; 3];
const TASK: Names = ["deadline", BOUND, "longest executed"];
const REACTION: Names = ["longest reaction", "reaction", "longest executed reaction"];
const AGE: Names = ["longest data age", "data age", "longest executed data age"];

fn times(
    timed: &Timed,
    [limit, bound, executed]: Names,
) -> impl Iterator<Item = (&'static str, String)> {
    let stated = match timed.bound {
        Bound::NotStated => None,
        Bound::Missing => Some("none".to_owned()),
        Bound::Ns(ns) => Some(time(ns)),
    };
    let exact = timed.executed_ns.filter(|_| timed.exact);
    [
        (limit, timed.deadline_ns.map(time)),
        (bound, stated),
        (executed, exact.map(time)),
        ("deadlines missed", timed.missed.map(|it| it.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
}
