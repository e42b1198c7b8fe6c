//! The CPUs of victim and leeches, and the distance between them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::sched_getaffinity;

use super::protection;

/// Turns of the measurement of a distance.
const TURNS: u32 = 2000;
/// Time after which it is given up: the CPUs are busy.
const LIMIT: Duration = Duration::from_millis(200);

/// CPUs that this process may use.
pub fn allowed() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
        Err(_) => vec![0],
    }
}

/// Nanoseconds that a line takes from one CPU to the other: CPUs with a common cache are
/// near. In a virtual machine this changes when the host moves its CPUs.
pub fn distance_ns(one: usize, other: usize) -> Option<f64> {
    if one == other {
        return None;
    }
    let (ball, start) = (AtomicU32::new(0), Instant::now());
    let play = |cpu: usize, mine: u32| -> Option<Duration> {
        protection::pin(cpu).ok()?;
        let mut since = None;
        for turn in 0..TURNS {
            let wanted = 2 * turn + mine;
            let mut looks = 0_u32;
            while ball.load(Ordering::Acquire) != wanted {
                looks += 1;
                if looks.is_multiple_of(1 << 12) {
                    if start.elapsed() > LIMIT {
                        return None;
                    }
                    thread::yield_now();
                }
            }
            // Threads need time to start.
            since.get_or_insert_with(Instant::now);
            ball.store(wanted + 1, Ordering::Release);
        }
        since.map(|since| since.elapsed())
    };
    let time = thread::scope(|scope| {
        let first = scope.spawn(|| play(one, 0));
        let second = scope.spawn(|| play(other, 1));
        (first.join().ok()?, second.join().ok()?).1
    })?;
    Some(time.as_nanos() as f64 / f64::from(2 * TURNS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_take_time_between_cpus() {
        let cpus = allowed();
        assert!(!cpus.is_empty());
        assert_eq!(distance_ns(cpus[0], cpus[0]), None);
        if let [one, other, ..] = cpus[..]
            && let Some(ns) = distance_ns(one, other)
        {
            assert!(ns > 1.0 && ns < 1e6, "{ns}");
        }
    }
}
