//! Runs of a chain: jobs with all their times, and what data experiences in them. Nothing here
//! calls the analysis: a run follows from the definitions of streams and steps.

use analysis::chain::{Delay, EventStream, Sampling, Source, Step};

/// A job of a step, or an external event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Job {
    /// Nominal time of the event that begins its segment.
    pub nominal: u64,
    /// Its activation.
    pub activation: u64,
    /// When it reads.
    pub read: u64,
    /// When its output appears.
    pub write: u64,
}

/// The jobs of a segment: the reads are those of its first step, the writes those of its last one.
pub type Jobs = Vec<Job>;

/// Decides about what the model leaves open. Values are limited to what is legal.
pub trait Chooser {
    /// The first nominal time of a segment.
    fn offset(&mut self, segment: usize, period: u64) -> u64;
    /// The time from the nominal time before to that of `job`.
    fn gap(&mut self, job: usize, least: u64, most: u64) -> u64;
    /// The arrival of an event.
    fn arrival(&mut self, job: usize, least: u64, most: u64) -> u64;
    /// The read of a job.
    fn read(&mut self, job: usize, least: u64, most: u64) -> u64;
    /// The output of a job.
    fn write(&mut self, job: usize, least: u64, most: u64) -> u64;
}

/// Returns the events of a stream as jobs that take no time.
pub fn events(
    stream: &EventStream,
    segment: usize,
    number: usize,
    chooser: &mut impl Chooser,
) -> Jobs {
    let period = stream.period().0;
    // Without a longest distance, events may come as seldom as the chooser likes.
    let longest = stream.longest().map_or(4 * period, |it| it.0);
    let mut jobs: Jobs = Vec::new();
    for index in 0..number {
        let nominal = match jobs.last() {
            None => chooser.offset(segment, period),
            Some(before) => before.nominal + chooser.gap(index, period, longest),
        };
        let earliest = jobs.last().map_or(0, |before| before.activation + stream.distance().0);
        let (earliest, latest) = (nominal.max(earliest), nominal + stream.jitter().0);
        let at = chooser.arrival(index, earliest, latest);
        jobs.push(Job { nominal, activation: at, read: at, write: at });
    }
    jobs
}

/// Lets each output activate a job that takes this delay. `late`: the latest time of the outputs
/// after their nominal times, which is advanced.
pub fn triggered(jobs: &mut Jobs, late: &mut u64, delay: &Delay, chooser: &mut impl Chooser) {
    *late += delay.worst().0;
    let mut free = 0;
    for (index, job) in jobs.iter_mut().enumerate() {
        job.activation = job.write;
        let latest = job.nominal + *late;
        let latest = match delay.is_from_event() {
            true => latest.min(job.activation + delay.worst().0),
            false => latest,
        };
        let earliest = (job.activation + delay.best().0).max(free);
        assert!(earliest <= latest, "{job:?} {delay:?}");
        job.write = chooser.write(index, earliest, latest);
        free = job.write + delay.apart().0;
    }
}

/// Returns the jobs of all segments of a chain, `number` each.
pub fn run(
    source: &Source,
    steps: &[Step],
    number: usize,
    chooser: &mut impl Chooser,
) -> Vec<Jobs> {
    let mut segments: Vec<Jobs> = Vec::new();
    let mut late = 0;
    if let Source::Events(stream) = source {
        late = stream.jitter().0;
        segments.push(events(stream, 0, number, chooser));
    }
    for step in steps {
        let segment = segments.len();
        match step {
            Step::Triggered(delay) | Step::Channel(delay) => {
                triggered(segments.last_mut().unwrap(), &mut late, delay, chooser);
            }
            Step::Sampling(Sampling { releases, delay, .. }) => {
                let mut jobs = events(releases, segment, number, chooser);
                late = releases.jitter().0;
                triggered(&mut jobs, &mut late, delay, chooser);
                let mut before = 0;
                for (index, job) in jobs.iter_mut().enumerate() {
                    job.read = chooser.read(index, job.activation.max(before), job.write);
                    before = job.write;
                }
                segments.push(jobs);
            }
            Step::Let(it) => {
                let first = chooser.offset(segment, it.period.0);
                let job = |index: u64| {
                    let at = first + index * it.period.0;
                    Job { nominal: at, activation: at, read: at, write: at + it.interval.0 }
                };
                segments.push((0..number as u64).map(job).collect());
                late = it.interval.0;
            }
        }
    }
    segments
}

/// What a job reads that reads at the instant at which an output appears.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tie {
    /// The output before.
    Old,
    /// The new output.
    New,
}

impl Tie {
    fn sees(self, read: u64, write: u64) -> bool {
        match self {
            Self::Old => write < read,
            Self::New => write <= read,
        }
    }
}

/// The longest times of a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Longest {
    pub reaction: u64,
    pub age: u64,
    pub reduced: u64,
}

impl Longest {
    pub fn max(self, other: Self) -> Self {
        Self {
            reaction: self.reaction.max(other.reaction),
            age: self.age.max(other.age),
            reduced: self.reduced.max(other.reduced),
        }
    }
}

/// Follows all data of a run.
pub fn longest(source: &Source, segments: &[Jobs], tie: Tie) -> Longest {
    let reactions = reactions(source, segments, tie);
    let ages = ages(source, segments, tie);
    Longest {
        reaction: reactions.into_iter().max().unwrap_or(0),
        age: ages.iter().map(|it| it.1).max().unwrap_or(0),
        reduced: ages.iter().map(|it| it.0).max().unwrap_or(0),
    }
}

/// Forwards: from each event, or each change of the state that a read has just missed, to the first
/// output that contains it or something later.
fn reactions(source: &Source, segments: &[Jobs], tie: Tie) -> Vec<u64> {
    let first = &segments[0];
    let origins: Vec<(u64, u64)> = match source {
        Source::Events(_) => first.iter().map(|job| (job.nominal, job.write)).collect(),
        Source::State => {
            let missed = first.windows(2).filter(|pair| pair[0].read < pair[1].read);
            // A change at the instant of a read, or just after it.
            let late = if tie == Tie::Old { 0 } else { 1 };
            missed.map(|pair| (pair[0].read + late, pair[1].write)).collect()
        }
    };
    let mut reactions = Vec::new();
    'origins: for (origin, mut write) in origins {
        for jobs in &segments[1..] {
            // All of a step's jobs before the first one are unknown.
            if !tie_first_misses(jobs, write, tie) {
                continue 'origins;
            }
            match jobs.iter().find(|job| tie.sees(job.read, write)) {
                Some(job) => write = job.write,
                None => continue 'origins,
            }
        }
        reactions.push(write - origin);
    }
    reactions
}

/// Returns true if the first of these jobs reads too early for this output, so that the one that
/// reads it first is known.
fn tie_first_misses(jobs: &Jobs, write: u64, tie: Tie) -> bool {
    jobs.first().is_some_and(|job| !tie.sees(job.read, write))
}

/// Backwards: from each last output to the event, or to the read of the state, that it contains.
/// Returns the ages when it appears and when the next one replaces it.
fn ages(source: &Source, segments: &[Jobs], tie: Tie) -> Vec<(u64, u64)> {
    let Some((last, before)) = segments.split_last() else { return Vec::new() };
    let mut ages = Vec::new();
    'outputs: for pair in last.windows(2) {
        let mut job = pair[0];
        for jobs in before.iter().rev() {
            match jobs.iter().rev().find(|writer| tie.sees(job.read, writer.write)) {
                // A later one than the last job might have been read.
                Some(writer) if Some(writer) != jobs.last() => job = *writer,
                _ => continue 'outputs,
            }
        }
        let origin = match source {
            Source::Events(_) => job.nominal,
            Source::State => job.read,
        };
        ages.push((pair[0].write - origin, pair[1].write - origin));
    }
    ages
}
