//! Changes from one result of a system to the next.
//!
//! Verdicts are compared with the last one of the same command, because each command asks another question. So are the
//! tasks and chains that are there: a run also shows tasks that only its guests know. Bounds and deadlines are those of the system,
//! and are compared with the last ones that any command stated.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{Bound, Entry, Kind, Subject, Timed};
use crate::proof::page::units::{counted, time};

/// A change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The task or chain whose time changed; `None`: the verdict changed.
    pub subject: Option<Subject>,
    /// The kind of change.
    pub what: What,
}

/// The kind of a change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum What {
    /// The verdict.
    Verdict {
        /// The one before.
        before: String,
        /// The one now.
        now: String,
        /// `Some(true)` if the one now is good; `None`: it is open.
        good: Option<bool>,
    },
    /// The bound is another one.
    Bound {
        /// The one before.
        before_ns: u64,
        /// The one now.
        now_ns: u64,
    },
    /// There was a bound, and is none.
    BoundLost,
    /// There was no bound, and is one.
    BoundFound,
    /// The deadline is another one.
    Deadline {
        /// The one before, if there was one.
        before_ns: Option<u64>,
        /// The one now, if there is one.
        now_ns: Option<u64>,
    },
    /// The task or the time of a chain was not there before.
    Added,
    /// The task or chain is not there any more.
    Removed,
}

/// Returns the changes of each result of a system, in the order of time.
pub fn changes(entries: &[&Entry]) -> Vec<Vec<Change>> {
    let mut of_kind: BTreeMap<&str, &Entry> = BTreeMap::new();
    let mut bounds: BTreeMap<&Subject, Bound> = BTreeMap::new();
    let mut deadlines: BTreeMap<&Subject, Option<u64>> = BTreeMap::new();
    let mut all = Vec::new();
    for &entry in entries {
        let mut found = Vec::new();
        let before = of_kind.insert(entry.kind.as_str(), entry);
        if let Some(before) = before.filter(|it| it.verdict != entry.verdict) {
            let (before, now) = (before.verdict.clone(), entry.verdict.clone());
            found.push(Change {
                subject: None,
                what: What::Verdict { before, now, good: entry.good },
            });
        }
        let mut tell = |subject: &Subject, what| {
            found.push(Change { subject: Some(subject.clone()), what });
        };
        let subjects_before: BTreeSet<&Subject> =
            before.iter().flat_map(|before| &before.timed).map(|it| &it.subject).collect();
        let subjects: BTreeSet<&Subject> = entry.timed.iter().map(|it| &it.subject).collect();
        for timed in &entry.timed {
            let key = &timed.subject;
            if before.is_some() && !subjects_before.contains(key) {
                tell(key, What::Added);
            }
            // A run does not know the deadlines of tasks that are not described.
            let says_deadline = entry.kind != Kind::Run || timed.deadline_ns.is_some();
            if says_deadline && let Some(before_ns) = deadlines.insert(key, timed.deadline_ns) {
                let now_ns = timed.deadline_ns;
                if before_ns != now_ns {
                    tell(key, What::Deadline { before_ns, now_ns });
                }
            }
            if timed.bound == Bound::NotStated {
                continue;
            }
            match (bounds.insert(key, timed.bound), timed.bound) {
                (Some(Bound::Ns(before_ns)), Bound::Ns(now_ns)) if before_ns != now_ns => {
                    tell(key, What::Bound { before_ns, now_ns });
                }
                (Some(Bound::Ns(_)), Bound::Missing) => tell(key, What::BoundLost),
                (Some(Bound::Missing), Bound::Ns(_)) => tell(key, What::BoundFound),
                _ => {}
            }
        }
        for Timed { subject, .. } in before.iter().flat_map(|before| &before.timed) {
            if !subjects.contains(subject) {
                tell(subject, What::Removed);
                // Another one with its name is not compared with it.
                bounds.remove(subject);
                deadlines.remove(subject);
            }
        }
        all.push(found);
    }
    all
}

impl What {
    /// Returns `Some(true)` if the change is for the better, `Some(false)` if for the worse; `None`: that depends.
    pub fn good(&self) -> Option<bool> {
        match self {
            Self::Verdict { good, .. } => *good,
            Self::BoundLost => Some(false),
            Self::BoundFound => Some(true),
            Self::Bound { .. } | Self::Deadline { .. } | Self::Added | Self::Removed => None,
        }
    }

    /// Returns it in words.
    pub fn text(&self) -> String {
        let of = |ns: Option<u64>| ns.map_or("none".into(), time);
        match self {
            Self::Verdict { before, now, .. } => format!("verdict: {before} → {now}"),
            &Self::Bound { before_ns, now_ns } => {
                let word = if now_ns > before_ns { "longer" } else { "shorter" };
                let (by, from, to) =
                    (time(now_ns.abs_diff(before_ns)), time(before_ns), time(now_ns));
                format!("bound {word} by {by}: {from} → {to}")
            }
            Self::BoundLost => "no bound any more".into(),
            Self::BoundFound => "has a bound now".into(),
            &Self::Deadline { before_ns, now_ns } => {
                format!("deadline: {} → {}", of(before_ns), of(now_ns))
            }
            Self::Added => "new".into(),
            Self::Removed => "not there any more".into(),
        }
    }
}

/// Returns the number of each kind of change, for a table: `verdict: holds → does not hold, 2 bounds longer`.
pub fn summary(changes: &[Change]) -> String {
    let count = |is: fn(&What) -> bool| changes.iter().filter(|it| is(&it.what)).count() as u64;
    let count_of = |what: &What, tasks: bool| {
        let of = |it: &&Change| it.subject.as_ref().is_some_and(|it| it.is_task() == tasks);
        changes.iter().filter(of).filter(|it| it.what == *what).count() as u64
    };
    let mut parts: Vec<String> = changes
        .iter()
        .filter(|it| matches!(it.what, What::Verdict { .. }))
        .map(|it| it.what.text())
        .collect();
    let longer = count(|it| matches!(it, What::Bound { before_ns, now_ns } if now_ns > before_ns));
    let shorter = count(|it| matches!(it, What::Bound { before_ns, now_ns } if now_ns < before_ns));
    let counts = [
        (longer, "bound", " longer"),
        (shorter, "bound", " shorter"),
        (count(|it| *it == What::BoundLost), "bound", " lost"),
        (count(|it| *it == What::BoundFound), "bound", " found"),
        (count(|it| matches!(it, What::Deadline { .. })), "other deadline", ""),
        (count_of(&What::Added, true), "new task", ""),
        (count_of(&What::Added, false), "new time", " of chains"),
        (count_of(&What::Removed, true), "task", " less"),
        (count_of(&What::Removed, false), "time", " of chains less"),
    ];
    let some = counts.into_iter().filter(|(count, ..)| *count > 0);
    parts.extend(some.map(|(count, noun, rest)| format!("{}{rest}", counted(count, noun))));
    parts.join(", ")
}
