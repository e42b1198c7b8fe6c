//! Boots several systems at a time.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lab::{Failure, Watch};

use crate::boot::{Boot, Observed};

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(100);

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
    let mut finished = 0;
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failure = Mutex::new(None);
    let mut done = Done { observed: vec![None; boots.len()], failure: None };
    thread::scope(|scope| {
        let (results, result) = mpsc::channel();
        for _ in 0..jobs.get().min(boots.len()) {
            let results = results.clone();
            let (next, stop, failure) = (&next, &stop, &failure);
            scope.spawn(move || {
                while !stop.load(Ordering::SeqCst) {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    let Some(boot) = boots.get(index) else { return };
                    match boot.run(stop) {
                        Ok(Some(observed)) => drop(results.send((index, observed))),
                        Ok(None) => return,
                        Err(error) => {
                            stop.store(true, Ordering::SeqCst);
                            let mut failure = failure.lock().unwrap_or_else(|it| it.into_inner());
                            failure.get_or_insert(error);
                        }
                    }
                }
            });
        }
        drop(results);
        loop {
            match result.recv_timeout(TICK) {
                Ok((index, observed)) => {
                    done.observed[index] = Some(observed);
                    finished += 1;
                    watch.done(finished);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => watch.tick(),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if watch.stops() {
                stop.store(true, Ordering::SeqCst);
            }
        }
    });
    done.failure = failure.into_inner().unwrap_or_else(|it| it.into_inner());
    done
}
