//! Measures what a request for colours takes: the guest of `systems/bench-kvm-coloring.toml` reads the clock before and after.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::host_x86::{self, LIMIT_S, Run};
use crate::workspace::Workspace;

/// The system that runs.
const SYSTEM: &str = "systems/bench-kvm-coloring.toml";
/// The most instructions for a page that moves. What Linux does for it depends on what its other CPU did last: builds that differ in
/// nothing else took 26,500 to 29,000.
const PAGE_MAX: i64 = 30_000;
/// Numbers of pages of requests, in their order: the same for each kind.
const PAGES: [i64; 3] = [32, 64, 128];
/// Parts of a thousand by which twice as many additional pages may take more or less than twice the time.
const LINEAR: i64 = 50;

/// The kinds of requests: their word in the output of the guest, the key of a page, its name, and the limit for it.
const KINDS: [(&str, &str, &str, Option<i64>); 3] = [
    ("move", "color_page_moves", "page that moves to a spare frame", Some(PAGE_MAX)),
    ("stay", "color_page_stays", "page that stays", None),
    ("home", "color_page_home", "page that moves home", Some(PAGE_MAX)),
];

/// The instructions that requests take: for each kind the medians for each number of pages.
#[derive(Debug)]
pub struct Requests {
    times: [[i64; PAGES.len()]; KINDS.len()],
}

/// Runs the system, and reads what its guest says.
pub fn measure(workspace: &Workspace) -> Result<Requests> {
    let options = host_x86::Options {
        cache: Default::default(),
        file: workspace.root().join(SYSTEM),
        trace: None,
        json: false,
        limit: LIMIT_S,
        rest: vec!["--until-off".into()],
    };
    let mut results = match host_x86::results(workspace, &options)? {
        Run::Over(results) => results,
        Run::Signal(signal) => bail!("ended by signal {signal}"),
    };
    let [out, err] = ["stdout", "stderr"].map(|name| results.take(name).unwrap_or_default());
    let said = String::from_utf8_lossy(&[out, err].concat()).into_owned();
    ensure!(results.status == 0, "the run was not well:\n{said}");
    let mut times = [[0; PAGES.len()]; KINDS.len()];
    for (times, (kind, ..)) in times.iter_mut().zip(KINDS) {
        for (time, pages) in times.iter_mut().zip(PAGES) {
            *time = median(&said, kind, pages)?;
        }
    }
    Ok(Requests { times })
}

/// The instructions for one page more: from the shortest request to the longest one.
fn each([few, _, most]: [i64; PAGES.len()]) -> i64 {
    (most - few) / (PAGES[2] - PAGES[0])
}

/// Returns true if twice as many additional pages take twice the time.
fn is_linear([few, more, most]: [i64; PAGES.len()]) -> bool {
    let (first, second) = (more - few, most - more);
    (second - 2 * first).abs() * 1000 <= 2 * first * LINEAR
}

impl Requests {
    /// Returns a table for people.
    pub fn table(&self) -> String {
        let row = |what: &str, pages: &str, time: &str, limit: &str| {
            format!("{what:63}{pages:>7}{time:>9}{limit:>7}").trim_end().to_owned()
        };
        let head = "instructions of a request for colours";
        let mut lines = vec![row(head, "pages", "p50", "limit")];
        for (times, (kind, _, what, limit)) in self.times.iter().zip(KINDS) {
            for (pages, time) in PAGES.iter().zip(times) {
                let what = format!("request, {kind}");
                lines.push(row(&what, &pages.to_string(), &time.to_string(), ""));
            }
            let limit = limit.map(|limit| limit.to_string()).unwrap_or_default();
            lines.push(row(&format!("... {what}"), "", &each(*times).to_string(), &limit));
        }
        lines.join("\n")
    }

    /// Returns the instructions of a page of each kind, and of requests whose pages all move, as JSON.
    pub fn json(&self) -> impl Iterator<Item = Value> {
        let page =
            |(times, (_, key, what, limit)): (&[i64; PAGES.len()], (_, _, _, Option<i64>))| {
                let each = each(*times);
                let is_within = limit.is_none_or(|limit| each <= limit && is_linear(*times));
                json!({ "key": key, "what": what, "median": each, "within_limits": is_within })
            };
        let request = |(pages, time): (&i64, &i64)| {
            let what = format!("request for colours of {pages} pages, all of which move");
            json!({ "key": format!("color_request_{pages}"), "what": what, "median": time, "within_limits": true })
        };
        let moves = PAGES.iter().zip(&self.times[0]);
        self.times.iter().zip(KINDS).map(page).chain(moves.map(request))
    }

    /// Returns what is above its limit.
    pub fn beyond(&self) -> Vec<String> {
        let limited = self.times.iter().zip(KINDS);
        let limited = limited.filter_map(|(times, (.., what, limit))| Some((times, what, limit?)));
        let wrong = |(times, what, limit): (&[i64; PAGES.len()], &str, i64)| {
            let each = each(*times);
            if each > limit {
                return Some(format!("{what}: {each}"));
            }
            (!is_linear(*times)).then(|| format!("{what}: {times:?} for {PAGES:?} are not linear"))
        };
        limited.filter_map(wrong).collect()
    }
}

/// Returns the median time of requests of a kind for so many pages.
fn median(said: &str, kind: &str, pages: i64) -> Result<i64> {
    let start = format!("color: {kind} pages={pages} ns=");
    let times = said.lines().filter_map(|line| line.split_once(&start)?.1.trim().parse().ok());
    let mut times: Vec<i64> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().with_context(|| format!("no `{start}` in:\n{said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_judged_by_a_page_and_by_whether_they_are_linear() {
        let requests = |moves| Requests { times: [moves, [1, 1, 1], [32, 64, 128]] };
        let beyond = |moves| requests(moves).beyond().join("; ");
        assert_eq!(beyond([10, 10 + 32 * 30_000, 10 + 96 * 30_000]), "");
        assert!(beyond([10, 10 + 32 * 30_001, 10 + 96 * 30_001]).contains("30001"));
        assert!(beyond([10, 20, 50]).contains("not linear"));
        let requests = requests([10, 20, 50]);
        let good = requests.json().take(3).map(|it| it["within_limits"] == true);
        assert_eq!(good.collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn medians_are_those_of_the_kind_and_the_number_of_pages() {
        let said = "[a] color: move pages=32 ns=9\r\n[a] color: move pages=32 ns=7\n[a] color: move pages=32 ns=8\n\
                    [a] color: move pages=64 ns=1\n[a] color: stay pages=32 ns=2\n";
        assert_eq!(median(said, "move", 32).expect("some"), 8);
        assert_eq!(median(said, "stay", 32).expect("some"), 2);
        assert!(median(said, "stay", 64).is_err());
    }
}
