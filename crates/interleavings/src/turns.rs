//! CPUs that take a lock.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread::spawn;

use super::ticket::TicketMutex;
use crate::with_loom::spin::Spin;

/// The data behind the lock: loom notices if two have it at once, or one does not see the changes of the one before.
struct Served(UnsafeCell<Vec<usize>>);

/// CPUs take the lock, each as often as it says: nobody has it beside another one, and who draws a number first
/// is served first.
pub fn run(turns: &'static [usize]) {
    let lock = Arc::new(TicketMutex::<_, Spin>::new(Served(UnsafeCell::new(Vec::new()))));
    let take = |lock: &TicketMutex<Served, Spin>, turns: usize| {
        for _ in 0..turns {
            let guard = lock.lock();
            let ticket = guard.ticket;
            // SAFETY: loom says so if it is not the only access.
            guard.0.with_mut(|served| unsafe { (*served).push(ticket) });
        }
    };
    let threads = turns.iter().skip(1).map(|&turns| {
        let lock = lock.clone();
        spawn(move || take(&lock, turns))
    });
    let threads: Vec<_> = threads.collect();
    take(&lock, turns[0]);
    for thread in threads {
        thread.join().unwrap();
    }
    let guard = lock.lock();
    // SAFETY: as above.
    let served = guard.0.with(|served| unsafe { (*served).clone() });
    let all: usize = turns.iter().sum();
    assert!(served.iter().copied().eq(0..all), "not in turn: {served:?}");
}
