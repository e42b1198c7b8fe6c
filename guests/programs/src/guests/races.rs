//! `rt-races`: timers, waiting, interrupts between VCPUs and of a device, at random.
//!
//! Each VCPU does, again and again and by chance, one of these: it sets its timer and waits; it sets it and
//! works; it works; it sends an interrupt to a VCPU, which may be itself; it makes a device interrupt
//! a VCPU. A VCPU sends the next interrupt to another one only when that has got the last one, so that none
//! is merged with another, and each counts what it gets.
//!
//! Boot arguments: `races.cpus` (1), `races.seed` (1), `races.ms` (1000): how long, `races.device` (0;
//! 1: has the PL031 of the machine).
//!
//! ```text
//! races: start cpus=3 seed=1
//! races: cpus=3 timers=... sgis=... alarms=... late_max_ticks=...
//! races: lost=0 doubled=0 early=0 strayed=0
//! ```
//!
//! `lost` are VCPUs that sent what did not come within 200 ms; lines before say what that was. `doubled` are
//! interrupts that came without having been sent, `early` those of timers before their time, and
//! `strayed` those that another VCPU got.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use rt::alarm::{self, Alarm};
use rt::arch::lock::InterruptLock;
use rt::arch::{CPUS_MAX, Frame, counter, cpu, secondary};
use rt::gic::{self, Trigger};
use rt::interrupts::{self, VIRTUAL_TIMER};
use rt::random::Random;
use rt::time::Clock;
use rt::{arguments, println};

/// No timer is due, and no VCPU is to be interrupted by the device.
const NONE: u64 = u64::MAX;
/// The number of milliseconds after which an interrupt that has not come is lost.
const LOST_AFTER_MS: u64 = 200;

/// A counter for each VCPU.
type Counters = [AtomicU32; CPUS_MAX];

/// The time at which the timer of each VCPU is due.
static DUE: [AtomicU64; CPUS_MAX] = [const { AtomicU64::new(NONE) }; CPUS_MAX];
/// Interrupts from the first to the second: sent, and got.
static SENT: [Counters; CPUS_MAX] = [const { [const { AtomicU32::new(0) }; CPUS_MAX] }; CPUS_MAX];
static GOT: [Counters; CPUS_MAX] = [const { [const { AtomicU32::new(0) }; CPUS_MAX] }; CPUS_MAX];
/// The VCPU that the device is to interrupt.
static RINGS_FOR: AtomicU64 = AtomicU64::new(NONE);
static ALARM: InterruptLock<Option<Alarm>> = InterruptLock::new(None);

static TIMERS: AtomicU32 = AtomicU32::new(0);
static ALARMS: AtomicU32 = AtomicU32::new(0);
static LATE: AtomicU64 = AtomicU64::new(0);
static LOST: AtomicU32 = AtomicU32::new(0);
static DOUBLED: AtomicU32 = AtomicU32::new(0);
static EARLY: AtomicU32 = AtomicU32::new(0);
static STRAYED: AtomicU32 = AtomicU32::new(0);
/// VCPUs that can be interrupted, and those that interrupt no more.
static READY: AtomicU32 = AtomicU32::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);

fn on_timer(_intid: u32, _frame: &mut Frame) {
    let now = counter::now();
    counter::stop();
    match DUE[cpu::index() % CPUS_MAX].swap(NONE, SeqCst) {
        NONE => &DOUBLED,
        due if now < due => &EARLY,
        due => {
            LATE.fetch_max(now - due, SeqCst);
            &TIMERS
        }
    }
    .fetch_add(1, SeqCst);
}

/// Its number is that of the sender.
fn on_sgi(intid: u32, _frame: &mut Frame) {
    let (from, to) = (intid as usize % CPUS_MAX, cpu::index() % CPUS_MAX);
    if GOT[from][to].fetch_add(1, SeqCst) >= SENT[from][to].load(SeqCst) {
        DOUBLED.fetch_add(1, SeqCst);
    }
}

fn on_alarm(_intid: u32, _frame: &mut Frame) {
    let Some(alarm) = ALARM.with(|alarm| *alarm) else { return };
    if !alarm.rings() {
        DOUBLED.fetch_add(1, SeqCst);
        return;
    }
    alarm.silence();
    if RINGS_FOR.swap(NONE, SeqCst) != cpu::index() as u64 {
        STRAYED.fetch_add(1, SeqCst);
    }
    ALARMS.fetch_add(1, SeqCst);
}

/// One VCPU's part.
struct Racer {
    me: usize,
    cpus: u64,
    clock: Clock,
    random: Random,
    alarm: Option<Alarm>,
}

impl Racer {
    fn new(me: usize) -> Self {
        let seed = arguments::number("races.seed", 1);
        Self {
            me,
            cpus: cpus(),
            clock: Clock::of_machine(),
            random: Random::new(seed << 8 | me as u64),
            alarm: ALARM.with(|alarm| *alarm),
        }
    }

    /// A length of time of any order of magnitude, in ticks: up to a millisecond.
    fn length(&mut self) -> u64 {
        let order = self.random.below(17);
        self.clock.ticks(self.random.below(16 << order))
    }

    fn set_timer(&self, ticks: u64) {
        let due = counter::now() + ticks;
        DUE[self.me].store(due, SeqCst);
        counter::set_deadline(due);
    }

    fn timer_is_due(&self) -> bool {
        DUE[self.me].load(SeqCst) != NONE
    }

    /// Waits for the timer; other interrupts may come meanwhile.
    fn sleep(&self) {
        while cpu::without_interrupts(|| {
            let waits = self.timer_is_due();
            if waits {
                cpu::wait_for_interrupt();
            }
            waits
        }) {}
    }

    fn work(&mut self) {
        let ticks = self.length();
        cpu::burn(self.clock.nanoseconds(ticks) / 8);
    }

    fn send(&mut self) {
        let to = self.random.below(self.cpus) as usize;
        let sent = &SENT[self.me][to];
        if sent.load(SeqCst) == GOT[self.me][to].load(SeqCst) {
            sent.fetch_add(1, SeqCst);
            gic::send_sgi(self.me as u32, to as u64);
        }
    }

    fn ring(&mut self) {
        let to = self.random.below(self.cpus);
        let Some(alarm) = self.alarm else { return };
        // The others are kept out until the interrupt has come.
        if RINGS_FOR.compare_exchange(NONE, to, SeqCst, SeqCst).is_ok() {
            gic::route(alarm::INTID, to);
            alarm.ring_after(0);
        }
    }

    fn step(&mut self) {
        match self.random.below(8) {
            0..3 => {
                let ticks = self.length();
                self.set_timer(ticks);
                self.sleep();
            }
            3 => {
                let ticks = self.length();
                self.set_timer(ticks);
                self.work();
                self.sleep();
            }
            4 => self.work(),
            5 | 6 => self.send(),
            _ => self.ring(),
        }
    }

    /// Returns true if all that this VCPU has sent, and the device, has come.
    fn is_quiet(&self) -> bool {
        let came = |to: usize| SENT[self.me][to].load(SeqCst) == GOT[self.me][to].load(SeqCst);
        (0..CPUS_MAX).all(came) && RINGS_FOR.load(SeqCst) == NONE
    }

    fn tell_lost(&self) {
        let me = self.me;
        for (to, (sent, got)) in SENT[me].iter().zip(&GOT[me]).enumerate() {
            let (sent, got) = (sent.load(SeqCst), got.load(SeqCst));
            if sent != got {
                println!("races: SGI from={me} to={to} sent={sent} got={got}");
            }
        }
        let rings_for = RINGS_FOR.load(SeqCst);
        if rings_for != NONE {
            let rings = self.alarm.is_some_and(Alarm::rings);
            println!("races: device for={rings_for} rings={rings}");
        }
    }

    /// Waits, 100 us at a time, until `condition` holds. Returns false if that took too long.
    fn wait_for(&self, milliseconds: u64, mut condition: impl FnMut() -> bool) -> bool {
        let end = counter::now() + self.clock.ticks(milliseconds * 1_000_000);
        while !condition() {
            if counter::now() > end {
                return false;
            }
            self.set_timer(self.clock.ticks(100_000));
            self.sleep();
        }
        true
    }

    fn run(&mut self) {
        for intid in (0..self.cpus as u32).chain([VIRTUAL_TIMER]) {
            gic::enable(intid);
        }
        self.meet(&READY);
        let length = arguments::number("races.ms", 1000) * 1_000_000;
        let end = counter::now() + self.clock.ticks(length);
        while counter::now() < end {
            self.step();
        }
        if !self.wait_for(LOST_AFTER_MS, || self.is_quiet()) {
            LOST.fetch_add(1, SeqCst);
            self.tell_lost();
        }
        // Others may still interrupt it.
        self.meet(&DONE);
    }

    /// Waits for the other VCPUs.
    fn meet(&self, here: &AtomicU32) {
        here.fetch_add(1, SeqCst);
        if !self.wait_for(10 * LOST_AFTER_MS, || u64::from(here.load(SeqCst)) == self.cpus) {
            LOST.fetch_add(1, SeqCst);
        }
    }
}

fn cpus() -> u64 {
    arguments::number("races.cpus", 1).clamp(1, CPUS_MAX as u64)
}

fn second(me: u64) {
    Racer::new(me as usize % CPUS_MAX).run();
}

/// Races and prints.
pub fn main() {
    let cpus = cpus();
    println!("races: start cpus={cpus} seed={}", arguments::number("races.seed", 1));
    for sgi in 0..CPUS_MAX as u32 {
        interrupts::set_handler(sgi, on_sgi);
    }
    interrupts::set_handler(VIRTUAL_TIMER, on_timer);
    interrupts::set_handler(alarm::INTID, on_alarm);
    if arguments::number("races.device", 0) > 0 {
        ALARM.with(|alarm| *alarm = Alarm::new());
        gic::set_trigger(alarm::INTID, Trigger::Level);
        gic::enable(alarm::INTID);
    }
    for cpu in 1..cpus {
        if secondary::start(cpu as usize, second, cpu) != 0 {
            return println!("races: there is no VCPU {cpu}");
        }
    }
    Racer::new(0).run();
    let sgis: u32 = GOT.iter().flatten().map(|got| got.load(SeqCst)).sum();
    let of = |counter: &AtomicU32| counter.load(SeqCst);
    println!(
        "races: cpus={} timers={} sgis={sgis} alarms={} late_max_ticks={}",
        of(&DONE),
        of(&TIMERS),
        of(&ALARMS),
        LATE.load(SeqCst)
    );
    println!(
        "races: lost={} doubled={} early={} strayed={}",
        of(&LOST),
        of(&DOUBLED),
        of(&EARLY),
        of(&STRAYED)
    );
}
