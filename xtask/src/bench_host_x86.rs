//! Measures what VCPUs under KVM cost each other, in the emulated x86 host: there, a nanosecond is an instruction.
//!
//! The guests of `systems/bench-kvm.toml` say in marks when their processor came and went: `rt-busy` with `busy.gap_ns`.

mod budgets;
mod coloring;

use std::collections::BTreeMap;
use std::fs;

use abi::hypercall::MARK_CALL;
use abi::kvm::Call;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use linux_guest::file;
use serde_json::{Value, json};
use trace::{Event, JobMark, Source, Step, TraceFile, VcpuId};

use crate::host_x86::{self, LIMIT_S, Run};
use crate::workspace::Workspace;

/// The system that runs.
const SYSTEM: &str = "systems/bench-kvm.toml";
/// The VM that wakes up, as the description orders them.
const WAKER: u8 = 0;
/// Times of release of jobs of its tasks: the first ones, in nanoseconds from the start of the servers, and the period.
const OFFSETS: [i64; 3] = [50_150_000, 50_850_000, 51_700_000];
const PERIOD: i64 = 2_030_000;
/// Number of bits of the clock in values of marks of `rt-busy`.
const CLOCK_BITS: u32 = 40;
/// The limit for gaps between two VCPUs, and for what an execution takes beyond its budget.
const SWITCH_MAX: i64 = 12_000;
/// The limit for most calls about resources.
const LOCK_MAX: i64 = 6_000;
/// Fewer numbers than this mean that the measurement is wrong.
const LEAST: usize = 100;

/// Numbers of instructions.
#[derive(Debug, Default)]
struct Costs {
    /// Times from the last look at the clock of a VCPU whose budget ended to the first one of the next VCPU.
    budget_ends: Vec<i64>,
    /// Times from the last look of a VCPU that was preempted to the first mark of the one that preempted it.
    preempts: Vec<i64>,
    /// Times from the last mark of a VCPU that blocked to the first look of the next one.
    blocks: Vec<i64>,
    /// Times of executions beyond the budget that was left.
    overruns: Vec<i64>,
    /// Times from the one at which a VCPU wanted to wake up to its first mark, beside a VCPU that ran and on an idle CPU.
    wakes_busy: Vec<i64>,
    wakes_idle: Vec<i64>,
    /// Calls, as the guest measured them: those of the first critical section of a job, and those of the second one.
    calls: BTreeMap<(u8, usize), Vec<i64>>,
}

/// Options of the command.
#[derive(Args)]
pub struct Options {
    /// Print the figures as JSON.
    #[arg(long, conflicts_with = "budgets")]
    json: bool,
    /// Measure instead by how much VCPUs exceed their budgets in 100,000 periods (minutes).
    #[arg(long)]
    budgets: bool,
}

/// Runs the system, and prints the costs.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.budgets {
        let trace = traced(workspace, budgets::SYSTEM, "bench-kvm-budgets.trace")?;
        budgets::print(&trace, &turns(&trace))?;
        return Ok(trace.check()?);
    }
    let trace = traced(workspace, SYSTEM, "bench-kvm.trace")?;
    let costs = costs(&turns(&trace), trace.zero());
    trace.check()?;
    print(&rows(costs)?, &coloring::measure(workspace)?, options.json)
}

/// Runs a system, and reads its trace, which stays in a file.
fn traced(workspace: &Workspace, system: &str, name: &str) -> Result<TraceFile> {
    let path = workspace.build(name);
    let options = host_x86::Options {
        cache: Default::default(),
        file: workspace.root().join(system),
        trace: Some(path.clone()),
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
    let bytes = results.take("trace").context("the run left no trace")?;
    file::write_if_changed(&path, &bytes)?;
    let file = fs::File::open(&path)?;
    TraceFile::new(file).with_context(|| format!("cannot read {}", path.display()))
}

/// The activity of a VCPU while it had the CPU.
#[derive(Clone, Debug)]
struct Turn {
    vcpu: VcpuId,
    /// Times at which the scheduler gave it the CPU, and took it.
    from: i64,
    until: i64,
    /// The time by which its budget ends.
    budget_end: Option<i64>,
    /// Marks of jobs and of looks at the clock: time, and value.
    marks: Vec<(i64, u64)>,
    /// It blocked.
    blocked: bool,
    /// True if nothing ran before.
    from_idle: bool,
}

/// The turns on PCPU 0, in the order of time, with times in nanoseconds from the start of the servers.
fn turns(trace: &TraceFile) -> Vec<Turn> {
    let (clock, mut turns) = (trace.clock(), Vec::<Turn>::new());
    let (mut open, mut idle) = (false, true);
    for entry in trace.entries(0) {
        let time = clock.ns(entry.ticks);
        let last = turns.last_mut().filter(|_| open);
        match entry.event {
            Event::Run { .. } | Event::Idle => {
                if let Some(turn) = last {
                    turn.until = time;
                }
                open = false;
            }
            Event::Block(vcpu) => {
                if let Some(turn) = last.filter(|turn| turn.vcpu == vcpu) {
                    turn.blocked = true;
                }
            }
            Event::Mark { vcpu, value } => {
                if let Some(turn) = last.filter(|turn| turn.vcpu == vcpu) {
                    turn.marks.push((time, value));
                }
            }
            _ => {}
        }
        match entry.event {
            Event::Run { vcpu, budget } => {
                let budget_end = budget.map(|ticks| time + clock.length_ns(ticks) as i64);
                let (marks, blocked, from_idle) = (Vec::new(), false, idle);
                turns.push(Turn {
                    vcpu,
                    from: time,
                    until: time,
                    budget_end,
                    marks,
                    blocked,
                    from_idle,
                });
                (open, idle) = (true, false);
            }
            Event::Idle => idle = true,
            _ => {}
        }
    }
    turns
}

/// The time that the lower bits of the clock show in a mark, which is later.
fn look(zero: u64, (time, value): (i64, u64)) -> i64 {
    let ticks = zero.wrapping_add_signed(time);
    time - (ticks.wrapping_sub(value) & ((1 << CLOCK_BITS) - 1)) as i64
}

fn costs(turns: &[Turn], zero: u64) -> Costs {
    let mut costs = Costs::default();
    for (at, turn) in turns.iter().enumerate() {
        if let Some(end) = turn.budget_end
            && turn.until >= end
        {
            costs.overruns.push(turn.until - end);
        }
        let mut seen = BTreeMap::<u8, usize>::new();
        for (call, duration) in calls(turn) {
            let count = seen.entry(call).or_default();
            costs.calls.entry((call, *count)).or_default().push(duration);
            *count += 1;
        }
        let Some(&(first, value)) = turn.marks.first() else { continue };
        if let Some(JobMark { step: Step::Release, task, job }) = JobMark::from_value(value)
            && turn.vcpu.vm == WAKER
        {
            let due = OFFSETS[usize::from(task)] + i64::from(job) * PERIOD;
            let wakes = if turn.from_idle { &mut costs.wakes_idle } else { &mut costs.wakes_busy };
            wakes.push(first - due);
        }
        if turn.from_idle || at == 0 {
            continue;
        }
        let before = &turns[at - 1];
        if before.blocked {
            if let Some((last, _)) = before.marks.last() {
                costs.blocks.push(first - last);
            }
            continue;
        }
        // A VCPU that was stopped says when, as soon as it has the processor again.
        let next = turns[at..].iter().find(|it| it.vcpu == before.vcpu);
        let Some(mark) = next.and_then(|it| it.marks.first()) else { continue };
        let last = look(zero, *mark);
        if before.vcpu.vm == WAKER || !(before.from..first).contains(&last) {
            continue;
        }
        let gaps = if turn.vcpu.vm == WAKER { &mut costs.preempts } else { &mut costs.budget_ends };
        gaps.push(first - last);
    }
    costs
}

/// The calls that the waking VCPU measured in a turn, and how long they took.
fn calls(turn: &Turn) -> impl Iterator<Item = (u8, i64)> {
    let marks = turn.marks.iter().filter(|_| turn.vcpu.vm == WAKER).map(|(_, value)| *value);
    let calls = marks.filter(|value| value >> 40 == u64::from(MARK_CALL));
    calls.map(|value| ((value >> 32) as u8, i64::from(value as u32)))
}

/// A row of the table.
struct Row {
    key: &'static str,
    what: &'static str,
    numbers: Vec<i64>,
    /// The limit of the median, and of the 99th percentile.
    limits: [Option<i64>; 2],
}

/// The rows of the table, with sorted numbers.
fn rows(mut costs: Costs) -> Result<Vec<Row>> {
    let mut call = |(call, section)| costs.calls.remove(&(call as u8, section)).unwrap_or_default();
    let calls =
        [(Call::Marks, 1), (Call::Open, 1), (Call::Lock, 1), (Call::Unlock, 1), (Call::Lock, 0)];
    let [nothing, opens, locks, unlocks, first_locks] = calls.map(&mut call);
    let (most, switch, free) = ([Some(LOCK_MAX), None], [None, Some(SWITCH_MAX)], [None, None]);
    let rows = [
        ("budget_ends", "gap between two VCPUs, a budget ends", costs.budget_ends, switch),
        (
            "preempts",
            "gap between two VCPUs, one wakes up and preempts the other",
            costs.preempts,
            switch,
        ),
        ("blocks", "gap between two VCPUs, one blocks", costs.blocks, switch),
        ("overruns", "execution beyond the budget", costs.overruns, switch),
        ("call", "call that does nothing", nothing, free),
        ("lock_open", "call that opens a resource another time", opens, free),
        ("lock", "call that locks a resource, uncontended", locks, most),
        ("unlock", "call that releases a resource, uncontended", unlocks, most),
        ("lock_alarm", "... that locks one, and sets the alarm for the section", first_locks, free),
        ("wakes_busy", "wake-up latency beside a VCPU that runs", costs.wakes_busy, free),
        ("wakes_idle", "wake-up latency on an idle CPU", costs.wakes_idle, free),
    ];
    let row = |(key, what, mut numbers, limits): (_, _, Vec<i64>, _)| {
        ensure!(numbers.len() >= LEAST, "{what}: measured {} times only", numbers.len());
        numbers.sort_unstable();
        Ok(Row { key, what, numbers, limits })
    };
    rows.into_iter().map(row).collect()
}

impl Row {
    /// The number above which no more than the rest is, of 1,000 parts.
    fn part(&self, part: usize) -> i64 {
        self.numbers[(self.numbers.len() - 1) * part / 1000]
    }

    fn is_within_limits(&self) -> bool {
        let [median, p99] = self.limits;
        median.is_none_or(|limit| self.part(500) <= limit)
            && p99.is_none_or(|limit| self.part(990) <= limit)
    }

    fn line(&self) -> String {
        let limit = match self.limits {
            [Some(limit), _] => format!("p50 {limit}"),
            [None, Some(limit)] => format!("p99 {limit}"),
            [None, None] => String::new(),
        };
        let [least, median, p99, most] = [0, 500, 990, 1000].map(|part| self.part(part));
        let times = self.numbers.len();
        let line =
            format!("{:60}{times:6}{least:8}{median:8}{p99:8}{most:8}{limit:>12}", self.what);
        line.trim_end().to_owned()
    }

    fn json(&self) -> Value {
        let [least, median, p99, most] = [0, 500, 990, 1000].map(|part| self.part(part));
        json!({
            "key": self.key,
            "what": self.what,
            "times": self.numbers.len(),
            "min": least,
            "median": median,
            "p99": p99,
            "max": most,
            "within_limits": self.is_within_limits(),
        })
    }
}

/// Prints tables, or JSON; an error if something costs more than it may.
fn print(rows: &[Row], requests: &coloring::Requests, as_json: bool) -> Result<()> {
    if as_json {
        let figures: Vec<_> = rows.iter().map(Row::json).chain(requests.json()).collect();
        println!("{:#}", json!({ "figures": figures }));
    } else {
        println!("instructions{:49}times     min     p50     p99     max       limit", "");
        rows.iter().for_each(|row| println!("{}", row.line()));
        println!("\n{}", requests.table());
    }
    let beyond = rows.iter().filter(|row| !row.is_within_limits()).map(|row| row.what.to_owned());
    let beyond: Vec<String> = beyond.chain(requests.beyond()).collect();
    ensure!(beyond.is_empty(), "above the limit: {}", beyond.join("; "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use abi::hypercall::mark;

    use super::*;

    fn turn(vm: u8, from: i64, until: i64, marks: &[(i64, u64)]) -> Turn {
        let vcpu = VcpuId { vm, vcpu: 0 };
        let marks = marks.to_vec();
        Turn {
            vcpu,
            from,
            until,
            budget_end: Some(until - 3),
            marks,
            blocked: false,
            from_idle: false,
        }
    }

    #[test]
    fn gaps_are_from_the_last_look_to_the_first() {
        let zero = 5 << CLOCK_BITS;
        let turns = [
            turn(1, 100, 200, &[(110, 50)]),
            turn(2, 200, 300, &[(212, 90)]),
            turn(1, 300, 400, &[(311, 196)]),
        ];
        let costs = costs(&turns, zero);
        // The third one would be known from the next turn of the second VCPU.
        assert_eq!(costs.budget_ends, [212 - 196]);
        assert_eq!(costs.overruns, [3, 3, 3]);
        assert!(costs.preempts.is_empty() && costs.blocks.is_empty());
    }

    #[test]
    fn calls_take_what_the_guest_says() {
        let [lock, unlock] = [Call::Lock as u8, Call::Unlock as u8];
        let marks = [(lock, 5_000), (unlock, 4_000), (lock, 6_000)];
        let marks = marks.map(|(call, ticks)| (1_000, mark(MARK_CALL, call, ticks)));
        let costs = costs(&[turn(WAKER, 900, 40_000, &marks), turn(1, 0, 9, &marks)], 0);
        let [first, second] = [0, 1].map(|section| (lock, section));
        let expected = [(first, vec![5_000]), (second, vec![6_000]), ((unlock, 0), vec![4_000])];
        assert_eq!(costs.calls, expected.into());
    }

    #[test]
    fn wakes_are_from_the_release_that_a_mark_names() {
        let mark = JobMark { step: Step::Release, task: 1, job: 2 }.value();
        let mut woken = turn(WAKER, 54_910_004, 54_930_000, &[(54_910_009, mark)]);
        woken.blocked = true;
        let next = turn(1, 54_930_000, 54_960_000, &[(54_930_004, 1)]);
        let costs = costs(&[turn(1, 0, 54_910_000, &[]), woken, next], 0);
        assert_eq!((costs.wakes_busy, costs.wakes_idle), (vec![9], vec![]));
        assert_eq!(costs.blocks, [54_930_004 - 54_910_009]);
    }
}
