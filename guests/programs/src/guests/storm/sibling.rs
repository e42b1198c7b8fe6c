//! The VCPU that shares the victim's processor.

use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use core::time::Duration;

use super::{SIBLING, SIBLING_TIMES, attack, interrupts, mode};
use rt::arch::{counter, cpu, secondary};
use rt::interrupts::{VIRTUAL_TIMER, set_handler};
use rt::time::Clock;
use rt::{gic, psci, wait};

/// Longer than it takes until it had processor time.
const LIMIT: Duration = Duration::from_millis(100);
/// The shortest sleep.
const NAP_NS: u64 = 1_000;
/// The time for which the sibling dozes: long enough for kicks that change nothing.
const DOZE_NS: u64 = 6_000;

/// The part of the sibling.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sibling {
    /// It waits for interrupts that it cannot take.
    Waits,
    /// It waits for interrupts and takes them.
    Takes,
    /// It computes.
    Busy,
    /// It was on, and is off.
    Off,
    /// It was never on.
    Unstarted,
    /// It sets its timer a microsecond ahead and waits, again and again.
    Naps,
    /// The same for some microseconds, and it can take other interrupts meanwhile.
    Dozes,
    /// It attacks as well.
    Attacks,
}

static RUNS: AtomicBool = AtomicBool::new(false);

/// Lets the sibling do that. Returns true if it does.
pub fn prepare(what: Sibling) -> bool {
    if what == Sibling::Unstarted {
        return true;
    }
    interrupts::set_handlers();
    let started = secondary::start(SIBLING, run, what as u64) == 0;
    let ready = || match what {
        Sibling::Off => RUNS.load(SeqCst) && psci::affinity_info(SIBLING as u64) == psci::OFF,
        _ => RUNS.load(SeqCst),
    };
    started && wait::until(LIMIT, ready)
}

fn run(what: u64) {
    let is = |it: Sibling| it as u64 == what;
    let dozes = is(Sibling::Dozes);
    if is(Sibling::Takes) || dozes {
        interrupts::enable_at_sibling();
    }
    if is(Sibling::Naps) || dozes {
        set_handler(VIRTUAL_TIMER, |_, _| {
            counter::stop();
            SIBLING_TIMES.fetch_add(1, SeqCst);
        });
        gic::enable(VIRTUAL_TIMER);
    }
    RUNS.store(true, SeqCst);
    if is(Sibling::Off) {
        return;
    }
    if is(Sibling::Attacks) {
        if let Some((_, mode)) = mode() {
            SIBLING_TIMES.fetch_add(attack(mode), SeqCst);
        }
        return;
    }
    let nap = Clock::of_machine().ticks(if dozes { DOZE_NS } else { NAP_NS });
    cpu::mask_interrupts();
    loop {
        if is(Sibling::Busy) {
            cpu::burn(1_000);
            continue;
        }
        if is(Sibling::Naps) || dozes {
            counter::set_deadline(counter::now() + nap);
        }
        cpu::wait_for_interrupt();
        if !is(Sibling::Waits) {
            // Takes what woke it.
            cpu::unmask_interrupts();
            cpu::synchronize();
            cpu::mask_interrupts();
        }
    }
}
