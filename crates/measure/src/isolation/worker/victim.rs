//! The process that is measured.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rustix::thread::sched_getcpu;

use super::{Answer, Order, Run, answer};
use crate::isolation::counters::{Counters, Machine};
use crate::isolation::interruptions::Interruptions;
use crate::isolation::protection::{Protection, VICTIM};
use crate::isolation::workload::{Work, Workload};

/// Most repetitions of a workload in one run.
const REPEATS_MAX: u32 = 100_000;
/// Runs to find out how long the workload takes: the first one is cold.
const TRIALS: usize = 3;

/// Runs the workload on each command.
pub fn serve(
    workload: &Workload,
    at_least: Duration,
    cpu: Option<usize>,
    orders: &Receiver<Order>,
) -> Result<(), String> {
    let protection = Protection::take(cpu, VICTIM);
    let mut work = workload.prepare()?;
    let protection = protection.lock();
    let (repeats, run_ns) = repeats(&mut *work, at_least)?;
    let mut counters = Machine::new();
    let uncounted = counters.unavailable();
    answer(&Answer::Ready { protection, repeats, run_ns, uncounted });
    // The sender lives as long as the process.
    while let Ok(order) = orders.recv() {
        if order == Order::Run {
            answer(&Answer::Ran(run(&mut *work, repeats, &mut counters)?));
        }
    }
    Ok(())
}

/// Returns how often the workload fits into the time, at least once, and the nanoseconds that this
/// takes.
fn repeats(work: &mut dyn Work, at_least: Duration) -> Result<(u32, u64), String> {
    let mut shortest = Duration::MAX;
    for trial in 0..TRIALS {
        let start = Instant::now();
        work.run()?;
        shortest = shortest.min(start.elapsed());
        if trial == 0 && shortest >= at_least {
            break;
        }
    }
    let shortest = shortest.as_nanos().max(1);
    let fit = at_least.as_nanos().div_ceil(shortest);
    let fit = u32::try_from(fit).unwrap_or(REPEATS_MAX).clamp(1, REPEATS_MAX);
    Ok((fit, u64::try_from(shortest * u128::from(fit)).unwrap_or(u64::MAX)))
}

fn run(work: &mut dyn Work, repeats: u32, counters: &mut dyn Counters) -> Result<Run, String> {
    let before = Interruptions::now();
    counters.start();
    let start = Instant::now();
    for _ in 0..repeats {
        work.run()?;
    }
    let time = start.elapsed();
    let counts = counters.stop();
    let Interruptions { preemptions, waited_ns } = Interruptions::now().since(before);
    let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Ok(Run { time_ns, preemptions, waited_ns, cpu: sched_getcpu(), counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_workloads_are_repeated() {
        let mut work = Workload::Matrix(16).prepare().expect("memory");
        let (many, ns) = repeats(&mut *work, Duration::from_millis(5)).expect("repeats");
        assert!(many > 10 && ns >= 5_000_000, "{many}, {ns}");
        assert_eq!(repeats(&mut *work, Duration::ZERO).expect("repeats").0, 1);
    }

    #[test]
    fn a_run_has_a_time() {
        let mut work = Workload::Matrix(64).prepare().expect("memory");
        let run = run(&mut *work, 3, &mut Machine::new()).expect("a run");
        assert!(run.time_ns > 0);
    }
}
