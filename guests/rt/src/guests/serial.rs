//! `rt-serial`: sends and receives bytes through the first serial line of the VM.
//!
//! Boot arguments: `serial.send` (0): how many bytes it sends; `serial.receive` (0): how many it waits for;
//! `serial.us` (100000): microseconds after which it ends; `serial.hold` (0): 1 to go on until then; `serial.flood` (0): 1 to
//! write without end, and all registers before that; `serial.end=reset`: the guest resets itself at the end.
//!
//! ```text
//! serial: sent=5000
//! serial: received=5000 wrong=0 interrupts=12
//! serial: done
//! ```
//!
//! Bytes are numbers that count up; one that is not the next is `wrong`. They are received in the interrupt.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rt::arch::counter;
use rt::serial::Port;
use rt::time::Clock;
use rt::{arguments, gic, interrupts, println, psci};

/// Interrupts, bytes received, and those of them that were wrong.
static INTERRUPTS: AtomicU64 = AtomicU64::new(0);
static RECEIVED: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);
/// The byte that comes next.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Sends and receives, and tells what came.
pub fn main() {
    let Some(port) = Port::open(0) else {
        return println!("serial: the device tree has no serial line");
    };
    interrupts::set_handler(port.interrupt(), |_, _| take());
    gic::enable(port.interrupt());
    port.listen(true);
    let number = arguments::number;
    let (send, receive) = (number("serial.send", 0), number("serial.receive", 0));
    let end = counter::now() + Clock::of_machine().ticks(1000 * number("serial.us", 100_000));
    let (hold, flood) = (number("serial.hold", 0) != 0, number("serial.flood", 0) != 0);
    if flood {
        // It would get interrupts that its handler cannot end.
        gic::disable(port.interrupt());
        [u32::MAX, 0, 0x5555_5555, 0x70].into_iter().for_each(|value| port.abuse(value));
    }
    let mut sent = 0;
    while counter::now() < end {
        if flood {
            port.send_blindly(sent as u8);
            sent += 1;
        } else if sent < send {
            sent += u64::from(port.send(sent as u8));
        } else if !hold && RECEIVED.load(Relaxed) >= receive {
            break;
        }
    }
    println!("serial: sent={sent}");
    let [received, wrong, interrupts] = [&RECEIVED, &WRONG, &INTERRUPTS].map(|it| it.load(Relaxed));
    println!("serial: received={received} wrong={wrong} interrupts={interrupts}");
    println!("serial: done");
    if arguments::text("serial.end") == Some("reset") {
        psci::system_reset()
    }
}

/// Takes the bytes that are there.
fn take() {
    INTERRUPTS.fetch_add(1, Relaxed);
    let Some(port) = Port::of(0) else { return };
    while let Some(byte) = port.receive() {
        let next = NEXT.load(Relaxed);
        RECEIVED.fetch_add(1, Relaxed);
        WRONG.fetch_add(u64::from(byte != next as u8), Relaxed);
        NEXT.store(u64::from(byte) + 1, Relaxed);
    }
}
