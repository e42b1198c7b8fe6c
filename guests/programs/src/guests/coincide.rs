//! `rt-coincide`: interrupts and the end of a budget at the same instant, in every order.
//!
//! Two VMs that share a processor run it with the same `coincide.start_ms`. At each of its instants, four
//! seconds apart, [`coincidence`](programs::coincidence) says what fires how many ticks before or after. A
//! tick should be about an instruction. What a VM does is its `coincide.role`:
//!
//! - `runner`: has a server with `coincide.budget_ns`, and is busy around the instant, so that its budget
//!   ends when it should end in the trial; how long it takes to wake up is found in the first trials;
//! - `waiter`: waits for interrupts;
//! - `busy`: is busy too, from before the runner until after it.
//!
//! Further arguments: `coincide.device` (0; 1: has the PL031 of the machine).
//!
//! ```text
//! coincide: start role=runner trials=3014
//! coincide: trials=3014 timer=6020 device=1003 early=0 spurious=0 missing=0
//! coincide: timer_late_max_ticks=... device_late_max_ticks=...
//! coincide: expiries=1810 off_min_ticks=... off_max_ticks=...
//! ```
//!
//! `early` are interrupts that came before their time, `spurious` ones that were not due at all and
//! `missing` ones that had not come when the trial was over. `expiries` are the budgets that ended;
//! `off` says how far from the instant, in the last trials, where nothing else fires.

use core::time::Duration;

use programs::coincidence::{self, ALONE, Source, TRIALS};
use rt::alarm::{self, Alarm};
use rt::arch::lock::InterruptLock;
use rt::arch::{Frame, counter, cpu};
use rt::gic::{self, Trigger};
use rt::interrupts::{self, VIRTUAL_TIMER};
use rt::statistics::Summary;
use rt::time::Clock;
use rt::{arguments, println, wait};

/// Seconds between two instants: enough for budgets that last a second to be whole again, after the
/// runner has set the alarm too.
const SPACING: u64 = 4;
/// Number of seconds by which the alarm is set before it rings.
const ALARM_AHEAD: u32 = 2;
/// Instructions after which a busy VCPU looks at the time.
const LOOK_EVERY: u64 = 32;
/// Time within which interrupts that are late come.
const SETTLE: Duration = Duration::from_micros(20);

/// An interrupt that is due, and those that came.
struct Watch {
    due: Option<u64>,
    came: u64,
    early: u64,
    spurious: u64,
    late: Summary,
}

impl Watch {
    const fn new() -> Self {
        Self { due: None, came: 0, early: 0, spurious: 0, late: Summary::new() }
    }

    fn comes(&mut self, now: u64) {
        self.came += 1;
        match self.due.take() {
            None => self.spurious += 1,
            Some(due) if now < due => self.early += 1,
            Some(due) => self.late.add(now - due),
        }
    }
}

static TIMER: InterruptLock<Watch> = InterruptLock::new(Watch::new());
static DEVICE: InterruptLock<Watch> = InterruptLock::new(Watch::new());
static ALARM: InterruptLock<Option<Alarm>> = InterruptLock::new(None);

fn on_timer(_intid: u32, _frame: &mut Frame) {
    let now = counter::now();
    counter::stop();
    TIMER.with(|timer| timer.comes(now));
}

fn on_alarm(_intid: u32, _frame: &mut Frame) {
    let now = counter::now();
    let alarm = ALARM.with(|alarm| *alarm);
    let rings = alarm.is_some_and(Alarm::rings);
    alarm.into_iter().for_each(Alarm::silence);
    DEVICE.with(|device| if rings { device.comes(now) } else { device.spurious += 1 });
}

fn set_timer(due: u64) {
    TIMER.with(|timer| timer.due = Some(due));
    counter::set_deadline(due);
}

fn sleep_until(due: u64) {
    set_timer(due);
    while cpu::without_interrupts(|| {
        let waits = TIMER.with(|timer| timer.due.is_some());
        if waits {
            cpu::wait_for_interrupt();
        }
        waits
    }) {}
}

/// Lets the alarm ring at a time that is more than [`ALARM_AHEAD`] seconds away.
fn set_alarm(alarm: Alarm, clock: Clock, rings: u64) {
    let set = rings - u64::from(ALARM_AHEAD) * clock.frequency();
    sleep_until(set - clock.ticks(20_000));
    while counter::now() + 64 < set {}
    cpu::burn(set.saturating_sub(counter::now()));
    DEVICE.with(|device| {
        device.due = Some(counter::now() + u64::from(ALARM_AHEAD) * clock.frequency());
        alarm.ring_after(ALARM_AHEAD);
    });
}

/// Is busy until a time. When it was stopped, if it was: for longer than `pause` ticks.
fn stay_busy(until: u64, pause: u64) -> Option<u64> {
    let mut stopped = None;
    let mut last = counter::now();
    while last < until {
        cpu::burn(LOOK_EVERY);
        let now = counter::now();
        if now - last > pause {
            stopped = stopped.or(Some(last));
        }
        last = now;
    }
    stopped
}

/// The role of a VM in a trial.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Role {
    Runner,
    Waiter,
    Busy,
}

/// The ends of budgets.
struct Expiries {
    count: u64,
    /// The time before the end of its budget at which the runner has to wake up, in ticks.
    ahead: u64,
    off_min: i64,
    off_max: i64,
}

impl Expiries {
    /// The budget that should have ended at `due` ended at `stopped`.
    fn took_place(&mut self, trial: u64, due: u64, stopped: u64) {
        let off = stopped.wrapping_sub(due) as i64;
        self.count += 1;
        if trial < ALONE {
            self.ahead = self.ahead.saturating_add_signed(off);
        } else if trial >= TRIALS - ALONE {
            self.off_min = self.off_min.min(off);
            self.off_max = self.off_max.max(off);
        }
    }
}

fn settled() -> bool {
    TIMER.with(|timer| timer.due.is_none()) && DEVICE.with(|device| device.due.is_none())
}

/// Runs all trials and prints.
pub fn main() {
    let (role, name) = match arguments::text("coincide.role") {
        Some("runner") => (Role::Runner, "runner"),
        Some("busy") => (Role::Busy, "busy"),
        _ => (Role::Waiter, "waiter"),
    };
    println!("coincide: start role={name} trials={TRIALS}");
    let clock = Clock::of_machine();
    let start = clock.ticks(arguments::number("coincide.start_ms", 20_000) * 1_000_000);
    let budget = clock.ticks(arguments::number("coincide.budget_ns", 50_000));
    let alarm = if arguments::number("coincide.device", 0) > 0 { Alarm::new() } else { None };
    enable(alarm);

    // A runner whose budget does not end has enough for this before and after the instant.
    let around = budget / 4;
    let mut expiries = Expiries { count: 0, ahead: budget, off_min: i64::MAX, off_max: i64::MIN };
    let mut missing = 0;
    for trial in 0..TRIALS {
        let at = start + trial * SPACING * clock.frequency();
        let offsets = coincidence::offsets(trial);
        let due = |source| offsets[source as usize].map(|offset| at.wrapping_add_signed(offset));
        if let (Some(alarm), Some(due)) = (alarm, due(Source::Device)) {
            set_alarm(alarm, clock, due);
        }
        match role {
            Role::Runner => {
                sleep_until(due(Source::Expiry).map_or(at - around, |due| due - expiries.ahead));
                due(Source::Own).into_iter().for_each(set_timer);
                let stopped = stay_busy(at + around, clock.ticks(1_000_000));
                if let (Some(due), Some(stopped)) = (due(Source::Expiry), stopped) {
                    expiries.took_place(trial, due, stopped);
                }
            }
            Role::Busy => {
                sleep_until(at - budget - around);
                due(Source::Other).into_iter().for_each(set_timer);
                stay_busy(at + around, u64::MAX);
            }
            Role::Waiter => {
                due(Source::Other).into_iter().for_each(sleep_until);
                sleep_until(at + 2 * around);
            }
        }
        if !wait::until(SETTLE, settled) {
            missing += 1;
            counter::stop();
            TIMER.with(|timer| timer.due = None);
            DEVICE.with(|device| device.due = None);
        }
    }
    show(&expiries, missing, role);
}

fn enable(alarm: Option<Alarm>) {
    ALARM.with(|slot| *slot = alarm);
    interrupts::set_handler(VIRTUAL_TIMER, on_timer);
    interrupts::set_handler(alarm::INTID, on_alarm);
    gic::enable(VIRTUAL_TIMER);
    gic::set_trigger(alarm::INTID, Trigger::Level);
    gic::route(alarm::INTID, cpu::affinity());
    // Without the device too: it must not interrupt.
    gic::enable(alarm::INTID);
}

fn show(expiries: &Expiries, missing: u64, role: Role) {
    let of = |watch: &InterruptLock<Watch>| {
        watch.with(|watch| (watch.came, watch.early, watch.spurious, watch.late.max()))
    };
    let (timer, device) = (of(&TIMER), of(&DEVICE));
    println!(
        "coincide: trials={TRIALS} timer={} device={} early={} spurious={} missing={missing}",
        timer.0,
        device.0,
        timer.1 + device.1,
        timer.2 + device.2,
    );
    println!("coincide: timer_late_max_ticks={} device_late_max_ticks={}", timer.3, device.3);
    if role == Role::Runner {
        println!(
            "coincide: expiries={} off_min_ticks={} off_max_ticks={}",
            expiries.count, expiries.off_min, expiries.off_max,
        );
    }
}
