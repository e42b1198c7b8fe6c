//! Boots several systems at a time.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use lab::{Failure, Watch};
use sweep::pool;

use crate::boot::{Boot, Observed};

/// What came out of boots.
#[derive(Debug)]
pub struct Done {
    /// What was seen, in the order of the boots; `None` where a boot has no result.
    pub observed: Vec<Option<Observed>>,
    /// The first boot that failed; after it, none was started.
    pub failure: Option<Failure>,
}

/// Boots all systems, `jobs` at a time.
pub fn run(name: &str, boots: &[Boot], jobs: NonZeroUsize, watch: &dyn Watch) -> Done {
    watch.begin(name, "boots", boots.len() as u64);
    let mut done = Done { observed: vec![None; boots.len()], failure: None };
    let numbers: Vec<usize> = (0..boots.len()).collect();
    let boot = |number: &usize, stop: &AtomicBool| {
        boots[*number].run(stop).map(|seen| Some((*number, seen?))).transpose()
    };
    let mut finished = 0;
    pool::each(&numbers, jobs, boot, |result| {
        match result {
            Some(Ok((number, observed))) => {
                done.observed[number] = Some(observed);
                finished += 1;
                watch.done(finished);
            }
            Some(Err(failure)) => drop(done.failure.get_or_insert(failure)),
            None => watch.tick(),
        }
        done.failure.is_none() && !watch.stops()
    });
    done
}
