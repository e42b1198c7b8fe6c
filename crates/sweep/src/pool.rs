//! Many independent computations on several threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Interval at which `receive` is called without a result.
const TICK: Duration = Duration::from_millis(100);

/// Computes a result for each item with this number of threads.
///
/// `receive` gets the results in any order, on the thread of the caller, and `None` about ten times
/// a second. When it returns false, no more computation begins, and the flag that computations see
/// is set; results that arrive after that are received, too. A computation that was stopped returns
/// `None`.
pub fn each<T: Sync, R: Send>(
    items: &[T],
    jobs: NonZeroUsize,
    compute: impl Fn(&T, &AtomicBool) -> Option<R> + Sync,
    mut receive: impl FnMut(Option<R>) -> bool,
) {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let (results, result) = mpsc::channel();
        for _ in 0..jobs.get().min(items.len()) {
            let (results, next, stop, compute) = (results.clone(), &next, &stop, &compute);
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::SeqCst))
                    && !stop.load(Ordering::SeqCst)
                    && let Some(computed) = compute(item, stop)
                    && results.send(computed).is_ok()
                {}
            });
        }
        drop(results);
        loop {
            let go_on = match result.recv_timeout(TICK) {
                Ok(computed) => receive(Some(computed)),
                Err(mpsc::RecvTimeoutError::Timeout) => receive(None),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            };
            if !go_on {
                stop.store(true, Ordering::SeqCst);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: NonZeroUsize = NonZeroUsize::new(3).unwrap();

    #[test]
    fn each_item_is_computed_once() {
        let items: Vec<u64> = (0..100).collect();
        let mut all = Vec::new();
        each(
            &items,
            THREE,
            |item, _| Some(item * 2),
            |result| {
                all.extend(result);
                true
            },
        );
        all.sort_unstable();
        assert!(all.into_iter().eq((0..100).map(|item| item * 2)));
    }

    #[test]
    fn nothing_is_begun_after_a_stop() {
        let items: Vec<u64> = (0..1000).collect();
        let begun = AtomicUsize::new(0);
        let mut received = 0;
        // All but the first one go on until they are stopped.
        let compute = |item: &u64, stop: &AtomicBool| {
            begun.fetch_add(1, Ordering::SeqCst);
            while *item > 0 && !stop.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            Some(())
        };
        each(&items, THREE, compute, |result| {
            received += usize::from(result.is_some());
            received == 0
        });
        assert!((1..=4).contains(&received) && received == begun.into_inner());
    }
}
