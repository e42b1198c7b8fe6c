//! `rt-serial`: sends and receives bytes through a serial line of the VM.
//!
//! Boot arguments: `serial.send` (0): number of bytes it sends; `serial.receive` (0): number of bytes it waits for;
//! `serial.us` (100000): microseconds after which it ends; `serial.hold` (0): 1 to go on until then; `serial.wait_us` (0): it
//! takes no bytes for this number of microseconds, then it does for as long, and so on; `serial.flood` (0): 1 to
//! write to all registers first, and then to some without a pause; `serial.leave` (0): the number of pairs of bytes that are sent
//! by a second VCPU, which goes off after each, as in [`leave`]; `serial.all` (0): number of lines at which bytes are sent and
//! received without a pause, as in [`all`]; `serial.line` (0): the line, counted from 0; `serial.end=reset`: the guest resets
//! itself at the end.
//!
//! ```text
//! serial: sent=5000 full=1056
//! serial: received=5000 wrong=0 interrupts=12 us=11021 pair_us=0
//! serial: done
//! ```
//!
//! `full`: number of bytes that were sent when there was no room for the first time, 0 if there always was. Bytes are numbers
//! that count up; one that is not the next is `wrong`. They are received in the interrupt. `us`: time for which interrupts were
//! counted. `pair_us`: how much later than an even number the next one came at most.

mod all;
mod leave;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rt::arch::{counter, cpu};
use rt::serial::Port;
use rt::time::Clock;
use rt::{arguments, gic, interrupts, println, psci};

/// Instructions between two looks at what came, where there is nothing to send.
const BETWEEN_LOOKS: u64 = 1_000;

/// Interrupts, bytes received, and those of them that were wrong.
static INTERRUPTS: AtomicU64 = AtomicU64::new(0);
static RECEIVED: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);
/// The byte that comes next.
static NEXT: AtomicU64 = AtomicU64::new(0);
/// The time at which the last even number came, and the longest time in ticks by which the next number came later.
static EVEN: AtomicU64 = AtomicU64::new(0);
static PAIR: AtomicU64 = AtomicU64::new(0);

/// Sends and receives, and tells what came.
pub fn main() {
    let Some(port) = Port::open(line()) else {
        return println!("serial: the device tree has no such serial line");
    };
    let number = arguments::number;
    let (send, receive) = (number("serial.send", 0), number("serial.receive", 0));
    let mut pairs = leave::Pairs::new(number("serial.leave", 0));
    let [hold, flood] = ["serial.hold", "serial.flood"].map(|name| number(name, 0) != 0);
    let clock = Clock::of_machine();
    let [wait, length] = [("serial.wait_us", 0), ("serial.us", 100_000)]
        .map(|(name, default)| clock.ticks(1000 * number(name, default)));
    interrupts::set_handler(port.interrupt(), |_, _| take());
    let begin = counter::now();
    let all = number("serial.all", 0);
    if all > 0 {
        let [sent, received] = all::run(all, begin + length);
        return println!("serial: sent={sent} received={received}");
    }
    gic::enable(port.interrupt());
    if flood {
        // It would get interrupts that its handler cannot end.
        gic::disable(port.interrupt());
        [u32::MAX, 0, 0x5555_5555, 0x70].into_iter().for_each(|value| port.abuse(value));
    }
    let (mut sent, mut full, mut listens) = (0, 0, false);
    loop {
        let passed = counter::now() - begin;
        if passed >= length {
            break;
        }
        let takes = !flood && (wait == 0 || passed / wait % 2 == 1);
        if takes != listens {
            port.listen(takes);
            listens = takes;
        }
        if flood {
            port.send_blindly(sent as u8);
            port.toggle();
            sent += 1;
        } else if pairs.are_left() {
            sent += pairs.send_one();
        } else if sent < send {
            match port.send(sent as u8) {
                true => sent += 1,
                false if full == 0 => full = sent,
                false => {}
            }
        } else if !hold && RECEIVED.load(Relaxed) >= receive {
            break;
        } else {
            // Where an emulator runs processors in turns, the next one goes on.
            cpu::burn(BETWEEN_LOOKS);
            cpu::relax();
        }
    }
    // What comes while this is printed does not count.
    let [received, wrong, interrupts] = [&RECEIVED, &WRONG, &INTERRUPTS].map(|it| it.load(Relaxed));
    let us = clock.nanoseconds(counter::now() - begin) / 1000;
    println!("serial: sent={sent} full={full}");
    let pair_us = clock.nanoseconds(PAIR.load(Relaxed)) / 1000;
    println!(
        "serial: received={received} wrong={wrong} interrupts={interrupts} us={us} pair_us={pair_us}"
    );
    println!("serial: done");
    if arguments::text("serial.end") == Some("reset") {
        psci::system_reset()
    }
}

fn line() -> usize {
    arguments::number("serial.line", 0) as usize
}

/// Takes the bytes that are there.
fn take() {
    INTERRUPTS.fetch_add(1, Relaxed);
    let Some(port) = Port::of(line()) else { return };
    while let Some(byte) = port.receive() {
        let next = NEXT.load(Relaxed);
        RECEIVED.fetch_add(1, Relaxed);
        WRONG.fetch_add(u64::from(byte != next as u8), Relaxed);
        NEXT.store(u64::from(byte) + 1, Relaxed);
        let now = counter::now();
        if byte.is_multiple_of(2) {
            EVEN.store(now, Relaxed);
        } else {
            PAIR.fetch_max(now - EVEN.load(Relaxed), Relaxed);
        }
    }
}
