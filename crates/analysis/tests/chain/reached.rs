//! Some run of each chain takes as long as its bounds.

use analysis::chain::{Chain, Source, Step};
use testing::{Random, cases};

use crate::draw_chain;
use crate::run::{Chooser, Longest, Tie, longest, run};

/// In each segment, all jobs up to the pivot are as early as possible and read at once, and those
/// after it are as late as possible and come as seldom as possible. The nominal time of the pivot
/// is the instant at which the job after the pivot of the segment before writes.
struct Pivots {
    /// The nominal time of the pivot of each segment.
    nominal: Vec<u64>,
    /// The longest gap of each segment.
    longest: Vec<u64>,
    segment: usize,
    /// True if the last segment's pivot takes as long as possible from its nominal time.
    last_late: bool,
    last: usize,
}

/// The job of each segment whose successor is the first late one.
const PIVOT: usize = 12;

impl Pivots {
    fn of(chain: &Chain, last_late: bool) -> Self {
        let (mut nominal, mut longest) = (Vec::new(), Vec::new());
        let mut at = 10_000;
        // `L`, `J` and `W` of the segment, the first of which may have no step.
        let mut current: Option<(u64, u64)> = match chain.source() {
            Source::Events(stream) => Some((stream.longest().unwrap().0, stream.jitter().0)),
            Source::State => None,
        };
        for step in chain.steps() {
            let (gap, late) = match step {
                Step::Triggered(delay) | Step::Channel(delay) => {
                    current.as_mut().unwrap().1 += delay.worst().0;
                    continue;
                }
                Step::Sampling(it) => {
                    let late = it.releases.jitter().0 + it.delay.worst().0;
                    (it.releases.longest().unwrap().0, late)
                }
                Step::Let(it) => (it.period.0, it.interval.0),
            };
            if let Some((gap, late)) = current.replace((gap, late)) {
                nominal.push(at);
                longest.push(gap);
                at += gap + late;
            }
        }
        nominal.push(at);
        longest.push(current.unwrap().0);
        let last = nominal.len() - 1;
        Self { nominal, longest, segment: 0, last_late, last }
    }

    fn is_late(&self, job: usize) -> bool {
        job > PIVOT || job == PIVOT && self.last_late && self.segment == self.last
    }

    fn choose(&self, job: usize, least: u64, most: u64) -> u64 {
        if self.is_late(job) { most } else { least }
    }
}

impl Chooser for Pivots {
    fn offset(&mut self, segment: usize, _: u64) -> u64 {
        self.segment = segment;
        self.nominal[segment] - PIVOT as u64 * self.longest[segment]
    }

    fn gap(&mut self, _: usize, _: u64, most: u64) -> u64 {
        most
    }

    fn arrival(&mut self, job: usize, least: u64, most: u64) -> u64 {
        // If the last pivot is late, its release is not: it reads as early as possible.
        let late = self.is_late(job) && job > PIVOT;
        if late { most } else { least }
    }

    fn read(&mut self, job: usize, least: u64, most: u64) -> u64 {
        if job > PIVOT { most } else { least }
    }

    fn write(&mut self, job: usize, least: u64, most: u64) -> u64 {
        self.choose(job, least, most)
    }
}

/// Returns the longest times in two runs of a chain that are made for this.
pub fn adversary(chain: &Chain) -> Longest {
    let with = |last_late| {
        let mut choices = Pivots::of(chain, last_late);
        let segments = run(&chain.source(), chain.steps(), 2 * PIVOT + 30, &mut choices);
        longest(&chain.source(), &segments, Tie::Old)
    };
    with(false).max(with(true))
}

/// If a read at the instant of a write sees the output before, all bounds are exact.
#[test]
fn a_run_is_as_long_as_the_bounds() {
    let mut random = Random::new(2);
    for _ in 0..cases(3_000) {
        let chain = draw_chain(&mut random);
        let found = adversary(&chain);
        let [reaction, age, reduced] =
            [chain.reaction_time(), chain.data_age(), chain.reduced_data_age()];
        assert_eq!(found.reaction, reaction.unwrap().0, "reaction {chain:?}");
        assert_eq!(found.age, age.unwrap().0, "age {chain:?}");
        assert_eq!(found.reduced, reduced.unwrap().0, "reduced age {chain:?}");
    }
}
