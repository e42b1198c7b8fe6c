//! Queues against runs that count their messages.

use analysis::LONGEST;
use analysis::chain::queue::{Queue, QueueError, emptied, polled, triggered};
use analysis::chain::{EventStream, Sampling};
use testing::{Random, cases};

use crate::never::RandomChoices;
use crate::run::{Chooser, Jobs, events, triggered as complete};
use crate::{delay, draw_delay, draw_stream, ns, stream};

/// The largest backlog and the longest wait of a run in which each job of the reader takes up to
/// `most` messages when it reads. `come_first`: true if a message that comes at this instant comes
/// before others are taken.
fn follow(messages: &[u64], reader: &Jobs, most: usize, come_first: impl Fn(u64) -> bool) -> Queue {
    let mut waiting: Vec<u64> = Vec::new();
    let mut found = Queue { messages: 0, wait: ns(0) };
    let mut coming = messages.iter().copied().peekable();
    for job in reader {
        while let Some(at) =
            coming.next_if(|at| *at < job.read || come_first(job.read) && *at == job.read)
        {
            waiting.push(at);
            found.messages = found.messages.max(waiting.len() as u64);
        }
        for came in waiting.drain(..most.min(waiting.len())) {
            found.wait = found.wait.max(ns(job.write - came));
        }
    }
    found
}

fn times(jobs: &Jobs) -> Vec<u64> {
    jobs.iter().map(|job| job.activation).collect()
}

fn reader_jobs(reader: &Sampling, number: usize, chooser: &mut impl Chooser) -> Jobs {
    let mut jobs = events(&reader.releases, 1, number, chooser);
    let mut late = reader.releases.jitter().0;
    complete(&mut jobs, &mut late, &reader.delay, chooser);
    let mut before = 0;
    for (index, job) in jobs.iter_mut().enumerate() {
        job.read = chooser.read(index, job.activation.max(before), job.write);
        before = job.write;
    }
    jobs
}

/// All messages come as early as possible after the first one, which comes just when the reader has
/// read; from then on the reader is as late as possible.
struct Worst {
    first: u64,
    reader: u64,
}

const PIVOT: usize = 10;

impl Chooser for Worst {
    fn offset(&mut self, segment: usize, _: u64) -> u64 {
        match segment {
            0 => self.first,
            _ => self.reader,
        }
    }

    fn gap(&mut self, _: usize, least: u64, most: u64) -> u64 {
        if self.reader == 0 { least } else { most }
    }

    fn arrival(&mut self, job: usize, least: u64, most: u64) -> u64 {
        let late = if self.reader == 0 { job == 0 } else { job > PIVOT };
        if late { most } else { least }
    }

    fn read(&mut self, job: usize, least: u64, most: u64) -> u64 {
        if job > PIVOT { most } else { least }
    }

    fn write(&mut self, job: usize, least: u64, most: u64) -> u64 {
        if job > PIVOT { most } else { least }
    }
}

fn draw_reader(random: &mut Random) -> Sampling {
    let releases = draw_stream(random);
    let delay = draw_delay(random, releases.distance().0.min(2), 14);
    Sampling { releases, delay, starts_after_writer: false }
}

#[test]
fn no_queue_is_longer_than_its_bound() {
    let mut random = Random::new(6);
    let mut overloads = 0;
    for number in 0..u64::from(cases(3_000)) {
        let (messages, reader) = (draw_stream(&mut random), draw_reader(&mut random));
        let mut choices = RandomChoices { random: Random::new(number), middle: 1 + number % 4 };
        let times = times(&events(&messages, 0, 60, &mut choices));
        let jobs = reader_jobs(&reader, 40, &mut choices);
        // Messages that came before the reader began would wait for too long.
        let first = jobs[0].read;
        let times: Vec<u64> = times.into_iter().filter(|at| *at > first).collect();
        let bound = emptied(&messages, &reader).unwrap();
        // In some order, which is another one at other instants.
        let orders = [0, 1, 2, 3].map(|it| move |at: u64| at.wrapping_mul(it) / 3 % 2 == 0);
        for come_first in orders {
            let found = follow(&times, &jobs, usize::MAX, come_first);
            assert!(found.messages <= bound.messages && found.wait <= bound.wait);
        }
        let most = random.between(1, 5);
        match polled(&messages, &reader, most, 100_000) {
            Ok(bound) => {
                for come_first in orders {
                    let found = follow(&times, &jobs, most as usize, come_first);
                    assert!(
                        found.messages <= bound.messages && found.wait <= bound.wait,
                        "{found:?} {bound:?} {most} {messages:?} {reader:?}"
                    );
                }
            }
            Err(error) => {
                assert!(matches!(error, QueueError::Overload { .. }), "{error}");
                overloads += 1;
            }
        }
    }
    assert!(overloads > 0);
}

/// Returns a run that is made to be as bad as possible.
fn adversary(messages: &EventStream, reader: &Sampling, most: usize) -> Queue {
    let longest = reader.releases.longest().unwrap().0;
    let start = 10_000;
    let mut worst = Worst { first: 0, reader: start - PIVOT as u64 * longest };
    let jobs = reader_jobs(reader, 200, &mut worst);
    // The first message comes just after the read of the pivot, and all others just before a read.
    let mut worst = Worst { first: start - messages.jitter().0, reader: 0 };
    let times = times(&events(messages, 0, 400, &mut worst));
    let end = jobs[199].read;
    let times: Vec<u64> = times.into_iter().filter(|at| *at < end).collect();
    follow(&times, &jobs, most, |at| at != start)
}

#[test]
fn a_queue_is_as_long_as_its_bound() {
    let mut random = Random::new(7);
    for _ in 0..cases(2_000) {
        let (messages, reader) = (draw_stream(&mut random), draw_reader(&mut random));
        let bound = emptied(&messages, &reader).unwrap();
        assert_eq!(adversary(&messages, &reader, usize::MAX), bound, "{messages:?} {reader:?}");
        let most = random.between(1, 5);
        if let Ok(bound) = polled(&messages, &reader, most, 100_000) {
            let found = adversary(&messages, &reader, most as usize);
            assert_eq!(found, bound, "{most} {messages:?} {reader:?}");
        }
    }
}

#[test]
fn a_triggered_reader_has_the_messages_of_its_response_time() {
    let mut random = Random::new(8);
    for number in 0..u64::from(cases(2_000)) {
        let messages = draw_stream(&mut random);
        let worst = random.between(1, 30);
        let bound = triggered(&messages, ns(worst));
        let mut choices = RandomChoices { random: Random::new(number), middle: 3 };
        let mut jobs = events(&messages, 0, 40, &mut choices);
        let delay = delay(0, worst);
        complete(&mut jobs, &mut messages.jitter().0, &delay, &mut choices);
        for job in &jobs {
            let waits = |other: &&_| {
                let crate::run::Job { activation, write, .. } = other;
                (*activation..=*write).contains(&job.activation)
            };
            assert!(jobs.iter().filter(waits).count() as u64 <= bound.messages);
        }
    }
    // Three come at once, each 2 apart, in 4.
    let bursts = stream(10, 25, 2, 10);
    assert_eq!(triggered(&bursts, ns(4)).messages, 3);
    assert_eq!(triggered(&bursts, ns(3)).messages, 2);
}

#[test]
fn overload_is_found() {
    let reader = |longest| Sampling {
        releases: stream(10, 2, 0, longest),
        delay: delay(1, 3),
        starts_after_writer: false,
    };
    let messages = stream(5, 20, 0, 5);
    let refused = polled(&messages, &reader(10), 1, 1_000);
    assert!(matches!(refused, Err(QueueError::Overload { taken: 1, .. })));
    // Two in 10 is just enough, also in the long run.
    assert!(polled(&messages, &reader(10), 2, 1_000).is_ok());
    assert!(matches!(polled(&messages, &reader(11), 2, 1_000), Err(QueueError::Overload { .. })));
    assert!(matches!(polled(&messages, &reader(10), 0, 1_000), Err(QueueError::Overload { .. })));
    assert_eq!(polled(&messages, &reader(0), 2, 1_000), Err(QueueError::Seldom));
    assert_eq!(emptied(&messages, &reader(0)), Err(QueueError::Seldom));
    // A burst that lasts for longer than the search.
    let burst = stream(5, LONGEST.0, 4, 5);
    assert_eq!(polled(&burst, &reader(10), 2, 1_000), Err(QueueError::LimitReached));
    let slow = Sampling { releases: stream(10, LONGEST.0, 0, 10), ..reader(10) };
    assert_eq!(emptied(&messages, &slow), Err(QueueError::TooLong));
}
