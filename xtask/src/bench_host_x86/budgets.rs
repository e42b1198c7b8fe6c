//! Budgets over many periods: four VCPUs that always want the CPU never get more than theirs, but for a switch.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use trace::{Event, Source, TraceFile, VcpuId};

use super::{SWITCH_MAX, Turn, look};

/// The system that runs: the period of all servers and their budget, in nanoseconds.
pub const SYSTEM: &str = "systems/bench-kvm-budgets.toml";
const PERIOD: i64 = 400_000;
const BUDGET: i64 = 80_000;
/// Periods of all VCPUs together that have to be seen.
const PERIODS: usize = 100_000;

/// Time that a VCPU took, by the number of the period.
type Used = BTreeMap<(VcpuId, i64), i64>;

/// Prints what VCPUs took beyond their budgets; an error if they executed for longer than a switch takes.
pub fn print(trace: &TraceFile, turns: &[Turn]) -> Result<()> {
    let had = had(turns);
    let executed = executed(trace);
    println!(
        "instructions beyond the budget     periods  budgets exceeded     p99    p999     max  limit of max"
    );
    let mut most = 0;
    for (what, used, limit) in
        [("the VCPU executed", &executed, Some(SWITCH_MAX)), ("it had the CPU", &had, None)]
    {
        ensure!(used.len() >= PERIODS, "{what}: measured {} periods only", used.len());
        let mut beyond: Vec<i64> = used.values().map(|used| (used - BUDGET).max(0)).collect();
        beyond.sort_unstable();
        let part = |part: usize| beyond[(beyond.len() - 1) * part / 1000];
        let exceeded = beyond.iter().filter(|it| **it > 0).count();
        let shown = limit.map_or(String::new(), |limit| limit.to_string());
        let line = format!(
            "{what:32}{:10}{exceeded:18}{:8}{:8}{:8}{shown:>14}",
            beyond.len(),
            part(990),
            part(999),
            part(1000)
        );
        println!("{}", line.trim_end());
        most = most.max(if limit.is_some() { part(1000) } else { 0 });
    }
    ensure!(most <= SWITCH_MAX, "a VCPU executed for {most} ns beyond its budget");
    Ok(())
}

/// The times for which the scheduler let VCPUs have the CPU.
fn had(turns: &[Turn]) -> Used {
    let mut used = Used::new();
    turns.iter().for_each(|turn| add(&mut used, turn.vcpu, turn.from, turn.until));
    used
}

/// The times for which VCPUs executed, as their guests saw it: from the first look at the clock after a gap to the last look
/// before the next one.
fn executed(trace: &TraceFile) -> Used {
    let (clock, zero) = (trace.clock(), trace.zero());
    let (mut used, mut since) = (Used::new(), BTreeMap::<VcpuId, i64>::new());
    for entry in trace.entries(0) {
        let Event::Mark { vcpu, value } = entry.event else { continue };
        let time = clock.ns(entry.ticks);
        if let Some(from) = since.insert(vcpu, time) {
            add(&mut used, vcpu, from, look(zero, (time, value)));
        }
    }
    used
}

/// Adds a time, cut at the ends of periods.
fn add(used: &mut Used, vcpu: VcpuId, mut from: i64, until: i64) {
    while from < until {
        let period = from.div_euclid(PERIOD);
        let end = until.min((period + 1) * PERIOD);
        *used.entry((vcpu, period)).or_default() += end - from;
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_at_the_ends_of_periods() {
        let (mut used, vcpu) = (Used::new(), VcpuId { vm: 1, vcpu: 0 });
        add(&mut used, vcpu, PERIOD - 10, 2 * PERIOD + 5);
        add(&mut used, vcpu, 2 * PERIOD + 6, 2 * PERIOD + 8);
        add(&mut used, vcpu, 9, 9);
        let expected = [((vcpu, 0), 10), ((vcpu, 1), PERIOD), ((vcpu, 2), 7)];
        assert_eq!(used, expected.into());
    }
}
