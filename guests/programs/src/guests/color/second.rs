//! Work for the second VCPU while the first one goes on.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use core::time::Duration;

use rt::arch::lock::InterruptLock;
use rt::arch::secondary;
use rt::time::Clock;
use rt::{psci, rhythm, wait};

const VCPU: usize = 1;
const LIMIT: Duration = Duration::from_secs(20);

/// Interrupts of the second VCPU: an emulator that counts instructions lets processors take turns no
/// later than that.
const BEAT: Duration = Duration::from_micros(50);

/// The second VCPU is to end its work.
static STOP: AtomicBool = AtomicBool::new(false);
/// The number of times that it has done its work.
static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// One round of work: gets its number, from 0.
type Work = fn(u64);

static WORK: InterruptLock<Option<Work>> = InterruptLock::new(None);

fn repeat(_context: u64) {
    let Some(work) = WORK.with(|work| *work) else { return };
    rhythm::start(Clock::of_machine().ticks(BEAT.as_nanos() as u64));
    while !STOP.load(SeqCst) {
        work(ROUNDS.load(SeqCst));
        ROUNDS.fetch_add(1, SeqCst);
    }
    rhythm::stop();
}

/// Calls `f` while the second VCPU calls `work` again and again; returns the number of calls of `work`, or `None`
/// without a second VCPU. `f` begins after the first time.
pub fn while_repeating(work: Work, f: impl FnOnce()) -> Option<u64> {
    STOP.store(false, SeqCst);
    ROUNDS.store(0, SeqCst);
    WORK.with(|slot| *slot = Some(work));
    if secondary::start(VCPU, repeat, 0) != 0 {
        return None;
    }
    wait::until(LIMIT, || ROUNDS.load(SeqCst) > 0);
    f();
    STOP.store(true, SeqCst);
    wait::until(LIMIT, || psci::affinity_info(VCPU as u64) == psci::OFF);
    Some(ROUNDS.load(SeqCst))
}
