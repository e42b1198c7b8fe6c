//! Measures what a request for colours takes: the guest of `systems/bench-kvm-coloring.toml` reads the clock before and after.

use anyhow::{Context, Result, bail, ensure};

use crate::host_x86::{self, LIMIT_S, Run};
use crate::workspace::Workspace;

/// The system that runs.
const SYSTEM: &str = "systems/bench-kvm-coloring.toml";
/// The most instructions for a page that moves.
const PAGE_MAX: i64 = 28_000;
/// Numbers of pages of requests, in their order: the same for each kind.
const PAGES: [i64; 3] = [32, 64, 128];
/// Parts of a thousand by which twice as many additional pages may take more or less than twice the time.
const LINEAR: i64 = 50;

/// Runs the system, and prints the costs.
pub fn run(workspace: &Workspace) -> Result<()> {
    let options = host_x86::Options {
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
    println!(
        "{:63}{:>7}{:>9}{:>7}",
        "instructions of a request for colours", "pages", "p50", "limit"
    );
    let mut beyond = Vec::new();
    for (kind, what, limit) in [
        ("move", "page that moves to a spare frame", PAGE_MAX),
        ("stay", "page that stays", i64::MAX),
        ("home", "page that moves home", PAGE_MAX),
    ] {
        let times: Vec<_> =
            PAGES.iter().map(|pages| median(&said, kind, *pages)).collect::<Result<_>>()?;
        for (pages, time) in PAGES.iter().zip(&times) {
            println!("{:63}{pages:7}{time:9}", format!("request, {kind}"));
        }
        let [few, more, most] = times[..] else { bail!("there are three numbers of pages") };
        let each = (most - few) / (PAGES[2] - PAGES[0]);
        let shown = if limit == i64::MAX { String::new() } else { limit.to_string() };
        println!("{:63}{:7}{each:9}{shown:>7}", format!("... {what}"), "");
        if each > limit {
            beyond.push(format!("{what}: {each}"));
        }
        let (first, second) = (more - few, most - more);
        if limit != i64::MAX && (second - 2 * first).abs() * 1000 > 2 * first * LINEAR {
            beyond.push(format!("{what}: {first} for 32 pages and {second} for 64 are not linear"));
        }
    }
    ensure!(beyond.is_empty(), "above the limit: {}", beyond.join("; "));
    Ok(())
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
    fn medians_are_those_of_the_kind_and_the_number_of_pages() {
        let said = "[a] color: move pages=32 ns=9\r\n[a] color: move pages=32 ns=7\n[a] color: move pages=32 ns=8\n\
                    [a] color: move pages=64 ns=1\n[a] color: stay pages=32 ns=2\n";
        assert_eq!(median(said, "move", 32).expect("some"), 8);
        assert_eq!(median(said, "stay", 32).expect("some"), 2);
        assert!(median(said, "stay", 64).is_err());
    }
}
