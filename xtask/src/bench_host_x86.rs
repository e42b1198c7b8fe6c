//! Measures what VCPUs under KVM cost each other, in the emulated x86 host: there, a nanosecond is an instruction.
//!
//! The guests of `systems/bench-kvm.toml` say in marks when their processor came and went: `rt-busy` with `busy.gap_ns`.

mod coloring;

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use linux_guest::file;
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
/// The task with a critical section, and the execution time of its jobs.
const LATE: (u8, i64) = (2, 20_000);
/// The limit for gaps between two VCPUs, and for what an execution takes beyond its budget.
const SWITCH_MAX: i64 = 12_000;
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
    /// The mean of the two calls at the ends of a critical section.
    locks: Vec<i64>,
}

/// Runs the system, and prints the costs.
pub fn run(workspace: &Workspace) -> Result<()> {
    let path = workspace.build("bench-kvm.trace");
    let options = host_x86::Options {
        cache: Default::default(),
        file: workspace.root().join(SYSTEM),
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
    let trace = TraceFile::new(file).with_context(|| format!("cannot read {}", path.display()))?;
    let costs = costs(&turns(&trace), trace.zero());
    trace.check()?;
    print(costs)?;
    coloring::run(workspace)
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
        costs.locks.extend(section(turn));
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

/// Returns the cost of a call at an end of the critical section of a job, if the whole job is in the turn.
fn section(turn: &Turn) -> Option<i64> {
    let (task, executes) = LATE;
    let time = |step: Step| {
        let is_it = |(_, value): &&(i64, u64)| {
            JobMark::from_value(*value).is_some_and(|it| it.step == step && it.task == task)
        };
        turn.marks.iter().find(is_it).map(|(time, _)| *time).filter(|_| turn.vcpu.vm == WAKER)
    };
    Some((time(Step::Finish)? - time(Step::Start)? - executes) / 2)
}

/// Prints a table; an error if something costs more than it may.
fn print(costs: Costs) -> Result<()> {
    let none = i64::MAX;
    let rows = [
        ("gap between two VCPUs, a budget ends", costs.budget_ends, SWITCH_MAX),
        ("gap between two VCPUs, one wakes up and preempts the other", costs.preempts, SWITCH_MAX),
        ("gap between two VCPUs, one blocks", costs.blocks, SWITCH_MAX),
        ("execution beyond the budget", costs.overruns, SWITCH_MAX),
        ("call that locks or unlocks a resource", costs.locks, none),
        ("wake-up latency beside a VCPU that runs", costs.wakes_busy, none),
        ("wake-up latency on an idle CPU", costs.wakes_idle, none),
    ];
    println!("instructions{:52}times     min     p50     p99     max  limit of p99", "");
    let mut beyond = Vec::new();
    for (what, mut numbers, limit) in rows {
        ensure!(numbers.len() >= LEAST, "{what}: measured {} times only", numbers.len());
        numbers.sort_unstable();
        let part = |part: usize| numbers[(numbers.len() - 1) * part / 1000];
        let p99 = part(990);
        let shown = if limit == none { String::new() } else { limit.to_string() };
        let line = format!(
            "{what:63}{:6}{:8}{:8}{p99:8}{:8}{shown:>14}",
            numbers.len(),
            part(0),
            part(500),
            part(1000)
        );
        println!("{}", line.trim_end());
        if p99 > limit {
            beyond.push(what);
        }
    }
    ensure!(beyond.is_empty(), "above the limit: {}", beyond.join("; "));
    Ok(())
}

#[cfg(test)]
mod tests {
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
    fn calls_take_what_a_job_with_a_section_takes_longer() {
        let mark = |step| JobMark { step, task: LATE.0, job: 2 }.value();
        let marks = [(1_000, mark(Step::Start)), (31_000, mark(Step::Finish))];
        let costs = costs(&[turn(WAKER, 900, 40_000, &marks)], 0);
        assert_eq!(costs.locks, [5_000]);
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
