//! Boots several systems at a time.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::boot::{Boot, Observed};
use crate::failure::Failure;
use crate::signals::Signals;

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(100);

/// What came out of boots.
#[derive(Debug)]
pub struct Done {
    /// What was seen, in the order of the boots; `None` where a boot has no result.
    pub observed: Vec<Option<Observed>>,
    /// The first boot that failed; after it, none was started.
    pub failure: Option<Failure>,
    /// The signal that ended it all.
    pub signal: Option<i32>,
}

/// Boots all systems, `jobs` at a time. Shows on a terminal how far it is.
pub fn run(name: &str, boots: &[Boot], jobs: NonZeroUsize, signals: &Signals) -> Done {
    let bar = progress(name, boots.len());
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failure = Mutex::new(None);
    let mut done = Done { observed: vec![None; boots.len()], failure: None, signal: None };
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
                    bar.inc(1);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => bar.tick(),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if let Some(signal) = signals.caught() {
                done.signal = Some(signal);
                stop.store(true, Ordering::SeqCst);
            }
        }
    });
    bar.finish_and_clear();
    done.failure = failure.into_inner().unwrap_or_else(|it| it.into_inner());
    done
}

/// On the standard error, if that is a terminal.
fn progress(name: &str, boots: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}  {wide_bar} {pos}/{len} boots, {eta} left")
        .expect("the template is right");
    ProgressBar::new(boots as u64).with_style(style).with_message(name.to_owned())
}
