//! Results of two systems over three days, as `bulkhead view` reads them.

use report::site::{Bound, Entry, Kind, Site, Subject, Timed};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// The first of November 2026.
const BEGIN: u64 = 1_793_491_200_000;
const DAY: u64 = 86_400_000;

/// A result of the rover.
pub fn rover(id: &str, day: u64, bound_us: u64, executed_us: u64) -> Entry {
    let task = |name: &str, bound_ns, executed_ns| Timed {
        subject: Subject::Task { vm: "drive".into(), name: name.into() },
        deadline_ns: Some(5 * MS),
        bound: Bound::Ns(bound_ns),
        executed_ns: Some(executed_ns),
        exact: true,
        jobs: Some(400),
        missed: Some(0),
    };
    Entry {
        id: id.into(),
        kind: Kind::Prove,
        name: "rover".into(),
        time: BEGIN + day * DAY,
        dated: true,
        version: Some("0.1.0".into()),
        verdict: "holds".into(),
        good: Some(true),
        timed: vec![
            task("wheels", bound_us * US, executed_us * US),
            task("terrain", 900 * US, 700 * US),
            Timed {
                subject: Subject::Reaction("avoid".into()),
                deadline_ns: Some(28 * MS),
                bound: Bound::Ns(24 * MS),
                executed_ns: Some(20 * MS),
                exact: true,
                jobs: None,
                missed: None,
            },
        ],
        report: Some(format!("results/{id}/report.html")),
        document: format!("results/{id}/results.json"),
        ..Entry::default()
    }
}

/// The rover with a bound that grows, is exceeded, and is lost; and another system, a measurement and a result without
/// date, each once.
pub fn history() -> Site {
    let mut broken = rover("c", 2, 160, 170);
    broken.good = Some(false);
    broken.verdict = "does not hold".into();
    broken.failures = vec!["COUNTEREXAMPLE: task `wheels` took longer than its bound".into()];
    broken.timed[1].bound = Bound::Missing;
    broken.timed[1].missed = Some(3);
    let mut arm = rover("d", 1, 100, 90);
    arm.name = "arm".into();
    arm.kind = Kind::Check;
    arm.verdict = "schedulable".into();
    arm.timed.iter_mut().for_each(|it| {
        (it.executed_ns, it.jobs, it.missed) = (None, None, None);
    });
    (arm.dated, arm.version, arm.report) = (false, None, None);
    let machine = Entry {
        id: "e".into(),
        kind: Kind::Measure,
        name: "isolation: here".into(),
        time: BEGIN,
        dated: true,
        verdict: "cannot tell".into(),
        document: "results/e/results.json".into(),
        ..Entry::default()
    };
    // Not in the order of time.
    Site { entries: vec![broken, rover("a", 0, 150, 110), machine, rover("b", 1, 160, 110), arm] }
}

/// Names with markup in them.
pub fn hostile() -> Site {
    let mut site = history();
    let name = "</title><script>alert(1)</script>\u{202e}\"'<img src=x>";
    for entry in &mut site.entries {
        entry.name = name.into();
        entry.verdict = name.into();
        entry.version = Some(name.into());
        entry.failures = vec![name.into()];
        for timed in &mut entry.timed {
            timed.subject = match &timed.subject {
                Subject::Task { name: task, .. } => {
                    Subject::Task { vm: name.into(), name: format!("{name}{task}") }
                }
                Subject::Reaction(_) | Subject::Age(_) => Subject::Reaction(name.into()),
            };
        }
    }
    site
}
