//! Events that the machine counts, where it does.

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
use perf_event::{Builder, Counter};
use serde::{Deserialize, Serialize};

/// Counts of a run. Events that the machine cannot count are absent.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Counts {
    /// Reads that the last-level cache missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llc_misses: Option<u64>,
    /// Instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Data reads that missed the TLB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tlb_misses: Option<u64>,
}

/// Counters of this thread.
pub(crate) trait Counters {
    /// Starts from zero.
    fn start(&mut self);
    /// Returns the counts since the start.
    fn stop(&mut self) -> Counts;
    /// Returns why events are not counted, each reason once.
    fn unavailable(&self) -> Vec<String>;
}

/// The counters of the machine, behind `perf_event_open`.
pub(crate) struct Machine {
    counters: [Option<Counter>; 3],
    unavailable: Vec<String>,
}

impl Machine {
    /// Opens the counters that the machine has.
    pub fn new() -> Self {
        let misses = |which| Cache { which, operation: CacheOp::READ, result: CacheResult::MISS };
        let mut unavailable = Vec::new();
        let mut counter = |name: &str, builder: &Builder<'_>| match builder.build() {
            Ok(counter) => Some(counter),
            Err(error) => {
                let why = match error.kind() {
                    std::io::ErrorKind::NotFound => "this machine does not count it".into(),
                    std::io::ErrorKind::PermissionDenied => {
                        "not allowed, see /proc/sys/kernel/perf_event_paranoid".into()
                    }
                    _ => error.to_string(),
                };
                unavailable.push(format!("{name}: {why}"));
                None
            }
        };
        let counters = [
            counter("LLC misses", &Builder::new(misses(CacheId::LL))),
            counter("instructions", &Builder::new(Hardware::INSTRUCTIONS)),
            counter("TLB misses", &Builder::new(misses(CacheId::DTLB))),
        ];
        Self { counters, unavailable }
    }
}

impl Counters for Machine {
    fn start(&mut self) {
        for counter in self.counters.iter_mut().flatten() {
            // A counter that cannot start shows no value when it is read.
            let _ = counter.reset().and_then(|()| counter.enable());
        }
    }

    fn stop(&mut self) -> Counts {
        let [llc_misses, instructions, tlb_misses] = self.counters.each_mut().map(|counter| {
            let counter = counter.as_mut()?;
            counter.disable().ok()?;
            let count = counter.read_count_and_time().ok()?;
            // Counters that had to share their time with others would show a part only.
            (count.time_running > 0 && count.time_running == count.time_enabled)
                .then_some(count.count)
        });
        Counts { llc_misses, instructions, tlb_misses }
    }

    fn unavailable(&self) -> Vec<String> {
        self.unavailable.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As on machines that count instructions alone.
    #[test]
    fn what_is_not_counted_is_absent_and_said_once() {
        let why = vec!["LLC misses: this machine does not count it".into()];
        let counter = Builder::new(perf_event::events::Software::TASK_CLOCK).build().ok();
        let is_there = counter.is_some();
        let mut machine = Machine { counters: [None, counter, None], unavailable: why.clone() };
        for _ in 0..2 {
            machine.start();
            std::hint::black_box((0..100_000).fold(0_u64, |sum, it| sum ^ it));
            let counts = machine.stop();
            assert_eq!((counts.llc_misses, counts.tlb_misses), (None, None));
            assert_eq!(counts.instructions.is_some(), is_there);
            let shown = serde_json::to_string(&counts).expect("JSON");
            assert!(!shown.contains("null") && !shown.contains("llc_misses"), "{shown}");
        }
        assert_eq!(machine.unavailable(), why);
    }
}
