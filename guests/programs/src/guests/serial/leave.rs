//! A VCPU that goes off while its VM has something to tell by a line later: pairs of bytes, of which the line lets it tell the
//! first one at once, and the second one 20 us later. Around that time the VCPU goes off, each time a little later. The other
//! VCPU sleeps.

use rt::arch::{counter, secondary};
use rt::serial::Port;
use rt::sleep;
use rt::time::Clock;

use super::line;

/// The second VCPU.
const SECOND: usize = 1;
/// The time from one pair to the next.
const PAIR_NS: u64 = 400_000;
/// The time at which the VCPU goes off after the first byte of the first pair, and the time by which it does so later for each
/// further one.
const LEAVES_NS: u64 = 15_000;
const LATER_NS: u64 = 80;

/// The pairs that are left.
pub struct Pairs {
    sent: u64,
    all: u64,
}

impl Pairs {
    /// A number of pairs, none of which is sent.
    pub fn new(all: u64) -> Self {
        Self { sent: 0, all }
    }

    /// Returns true if there is one to send.
    pub fn are_left(&self) -> bool {
        self.sent < self.all
    }

    /// Lets the second VCPU send one, and returns the number of bytes. Needs the timer of this VCPU.
    pub fn send_one(&mut self) -> u64 {
        let end = counter::now() + Clock::of_machine().ticks(PAIR_NS);
        let starts = secondary::start(SECOND, send, self.sent) == 0;
        sleep::sleep_until(end);
        self.sent += u64::from(starts);
        2 * u64::from(starts)
    }
}

/// Sends the pair with this number.
fn send(number: u64) {
    let Some(port) = Port::of(line()) else { return };
    let begin = counter::now();
    [2 * number, 2 * number + 1].into_iter().for_each(|byte| port.send_blindly(byte as u8));
    let leaves = begin + Clock::of_machine().ticks(LEAVES_NS + number * LATER_NS);
    while counter::now() < leaves {}
}
