//! The data age of periodic tasks with known offsets, job by job: a naive copy of a published
//! analysis, for comparison.
//!
//! Becker, Dasari, Mubeen, Behnam and Nolte, "Synthesizing Job-Level Dependencies for Automotive
//! Multi-rate Effect Chains", RTCSA 2016, Eq. 1: a job can read the output of another one if the
//! interval in which it reads meets the interval in which the output can be there. The age is the
//! longest time from the release of a job of the first task, in one hyperperiod, to the output of a
//! job of the last task that can be reached.

/// A task. Times are whole numbers.
#[derive(Clone, Copy, Debug)]
pub struct Periodic {
    /// Time between releases; not 0.
    pub period: i64,
    /// Release of the first job.
    pub offset: i64,
    /// Shortest time from the release to the output.
    pub best: i64,
    /// Longest time from the release to the output.
    pub worst: i64,
}

impl Periodic {
    fn job(&self, number: i64) -> Job {
        let release = self.offset + number * self.period;
        let (best, worst) = (release + self.best, release + self.worst);
        let reads = [release, release + self.worst - self.best];
        Job { reads, there: [best, worst + self.period], output: worst }
    }
}

/// A job.
struct Job {
    /// The earliest and the latest time at which it reads.
    reads: [i64; 2],
    /// The earliest time at which its output can be there, and the latest at which it still is.
    there: [i64; 2],
    /// The latest time of its output.
    output: i64,
}

/// Returns the longest age; `None` if no job is reached, or without a task.
pub fn data_age(tasks: &[Periodic]) -> Option<i64> {
    let (first, rest) = tasks.split_first()?;
    let hyperperiod = tasks.iter().fold(1, |all, task| all / gcd(all, task.period) * task.period);
    let jobs = (0..hyperperiod / first.period).map(|number| first.job(number));
    let ages = jobs.filter_map(|job| Some(latest(&job, rest)? - job.reads[0]));
    ages.max()
}

/// Returns the longest age over all offsets of the tasks.
pub fn worst_data_age(tasks: &[Periodic]) -> Option<i64> {
    let mut tasks = tasks.to_vec();
    worst(&mut tasks, 1)
}

/// The same over all offsets from the task with this index on. That of the first one does not matter.
fn worst(tasks: &mut [Periodic], from: usize) -> Option<i64> {
    let Some(period) = tasks.get(from).map(|it| it.period) else { return data_age(tasks) };
    let ages = (0..period).filter_map(|offset| {
        tasks[from].offset = tasks[0].offset + offset;
        worst(tasks, from + 1)
    });
    ages.max()
}

/// Returns the latest output of the last task that a job can reach.
fn latest(job: &Job, rest: &[Periodic]) -> Option<i64> {
    let Some((next, rest)) = rest.split_first() else { return Some(job.output) };
    let readers = (0..).map(|number| next.job(number));
    let in_time = readers.take_while(|reader| reader.reads[0] < job.there[1]);
    let reached = in_time.filter(|reader| reader.reads[1] >= job.there[0]);
    reached.filter_map(|reader| latest(&reader, rest)).max()
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(period: i64, offset: i64, best: i64, worst: i64) -> Periodic {
        Periodic { period, offset, best, worst }
    }

    /// A reader that begins when the output comes reads that; one that begins just before reads the
    /// one before.
    #[test]
    fn offsets_decide_what_is_read() {
        let age = |offset| data_age(&[task(10, 0, 4, 4), task(10, offset, 2, 2)]);
        assert_eq!([age(4), age(3), age(13)], [Some(6), Some(15), Some(15)]);
        assert_eq!(worst_data_age(&[task(10, 7, 4, 4), task(10, 0, 2, 2)]), Some(15));
        assert_eq!(data_age(&[task(5, 3, 0, 2)]), Some(2));
        assert_eq!(data_age(&[]), None);
    }
}
