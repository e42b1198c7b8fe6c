//! A timer interrupt at absolute times, and the lateness of each one.

use crate::arch::lock::InterruptLock;
use crate::arch::{Frame, counter, cpu};
use crate::gic;
use crate::interrupts::{self, VIRTUAL_TIMER};
use crate::statistics::Summary;

struct Rhythm {
    start: u64,
    period: u64,
    beats: u64,
    last: u64,
    late: Summary,
}

static RHYTHM: InterruptLock<Rhythm> =
    InterruptLock::new(Rhythm { start: 0, period: 0, beats: 0, last: 0, late: Summary::new() });

/// The facts known after a number of beats; times in ticks of the counter.
#[derive(Clone, Copy, Debug)]
pub struct Beats {
    /// Number of interrupts.
    pub count: u64,
    /// Time of the last one minus the start.
    pub last: u64,
    /// The lateness of the interrupts: time in the handler minus time programmed.
    pub late: Summary,
}

fn beat(_intid: u32, _frame: &mut Frame) {
    let now = counter::now();
    RHYTHM.with(|rhythm| {
        rhythm.beats += 1;
        rhythm.last = now - rhythm.start;
        rhythm.late.add(now.saturating_sub(rhythm.start + rhythm.beats * rhythm.period));
        counter::set_deadline(rhythm.start + (rhythm.beats + 1) * rhythm.period);
    });
}

/// Starts a rhythm with a first beat one `period` (in ticks) from now.
pub fn start(period: u64) {
    RHYTHM.with(|rhythm| {
        let start = counter::now();
        *rhythm = Rhythm { start, period, beats: 0, last: 0, late: Summary::new() };
        interrupts::set_handler(VIRTUAL_TIMER, beat);
        gic::enable(VIRTUAL_TIMER);
        counter::set_deadline(start + period);
    });
}

/// Waits until there have been at least `count` beats.
pub fn wait_for(count: u64) -> Beats {
    loop {
        let beats = RHYTHM.with(|rhythm| {
            if rhythm.beats < count {
                cpu::wait_for_interrupt();
            }
            Beats { count: rhythm.beats, last: rhythm.last, late: rhythm.late }
        });
        if beats.count >= count {
            return beats;
        }
    }
}

/// Waits for an interrupt, unless there have been `count` beats or there is news. Returns true if there have been
/// `count` beats.
pub fn wait_for_beat_or(count: u64, is_news: impl Fn() -> bool) -> bool {
    RHYTHM.with(|rhythm| {
        if rhythm.beats < count && !is_news() {
            cpu::wait_for_interrupt();
        }
        rhythm.beats >= count
    })
}

/// Stops the rhythm.
pub fn stop() {
    counter::stop();
    gic::disable(VIRTUAL_TIMER);
}
