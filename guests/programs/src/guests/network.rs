//! `rt-network`: sends and receives frames through a network card of the VM.
//!
//! Boot arguments: `network.send` (0): number of frames it sends; `network.receive` (0): number it waits for; `network.us`
//! (100000): microseconds after which it ends; `network.hold` (0): 1 to go on until then; `network.gap_us` (100): time between
//! two frames; `network.flood` (0): 1 to send without a pause until the end; `network.abuse` (0): the microseconds for which it
//! does with card and rings what no driver does, before all else, and `network.seed` (1) chooses what, `network.two` (0): 1 to do
//! it on two VCPUs at once; `network.parts` (1): in how many buffers each frame is; `network.bytes` (0): data of each frame, 0
//! for all lengths; `network.deaf` (0): 1 to take no frame; `network.sleep` (0): 1 to execute nothing when all is sent;
//! `network.end=reset`: the guest resets itself at the end, where `network.reset_us` is not 0 (0) only until that many
//! microseconds after the start of the servers. `network.tasks` (0): number of microseconds for which it executes two tasks
//! before it sends as above: `control`, every 2 ms from `network.offset_us` (40) on, and `net`, every 10 ms, which sends
//! `network.batch` (16) frames with one store.
//!
//! ```text
//! network: stores shortest=1200 longest=40000
//! network: abused=5012 beside=0
//! network: sent=500 longest=4711
//! network: received=500 wrong=0 lost=0 interrupts=48 us=51021
//! network: done
//! ```
//!
//! `longest`: the longest time in which a frame was sent, in ticks. Frames have numbers that count up: `lost` are those that did
//! not come before a later one. They are received in the interrupt.

mod abuse;
mod tasks;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use abi::hypercall::VmInfo;
use rt::arch::lock::InterruptLock;
use rt::arch::ram::Arena;
use rt::arch::{counter, cpu};
use rt::network::{Card, DATA_MAX, DATA_MIN};
use rt::sleep::sleep_until;
use rt::time::Clock;
use rt::{arguments, gic, hypercall, interrupts, println, psci};

/// Instructions between two looks at the time.
const BETWEEN_LOOKS: u64 = 1_000;

static CARD: InterruptLock<Option<Card>> = InterruptLock::new(None);
/// Interrupts, frames received, those of them that were wrong, those that did not come, and the next number.
static INTERRUPTS: AtomicU64 = AtomicU64::new(0);
static RECEIVED: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);
static LOST: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Sends and receives, and tells what came.
pub fn main() {
    let bytes = arguments::ram_bytes_of_tree().unwrap_or(0);
    let card = Arena::take(bytes).and_then(|mut memory| {
        let card = Card::take(0, &mut memory)?;
        Some((card, memory))
    });
    let Some((mut card, mut memory)) = card else {
        return println!("network: the device tree has no network card");
    };
    let number = arguments::number;
    let clock = Clock::of_machine();
    let ticks = |us: u64| clock.ticks(1000 * us);
    let abuse_us = number("network.abuse", 0);
    if abuse_us > 0 {
        let end = counter::now() + ticks(abuse_us);
        let seed = number("network.seed", 1);
        let (abused, beside) = match number("network.two", 0) {
            0 => (abuse::run(&mut card, &mut memory, seed, end), 0),
            _ => abuse::run_on_two(&mut card, &mut memory, seed, end),
        };
        println!("network: abused={abused} beside={beside}");
    }
    let parts = number("network.parts", 1) as u16;
    card.rings().into_iter().for_each(|ring| ring.set_parts(parts));
    if !card.start() {
        return println!("network: the card does not take the features");
    }
    let interrupt = card.interrupt();
    interrupts::set_handler(interrupt, |_, _| take());
    CARD.with(|slot| *slot = Some(card));
    if number("network.deaf", 0) == 0 {
        gic::enable(interrupt);
    }
    let tasks_us = number("network.tasks", 0);
    if tasks_us > 0 {
        tasks::run(tasks_us);
    }
    let (send, receive) = (number("network.send", 0), number("network.receive", 0));
    let [hold, flood] = ["network.hold", "network.flood"].map(|name| number(name, 0) != 0);
    let sleeps = number("network.sleep", 0) != 0;
    let (length, gap) =
        (ticks(number("network.us", 100_000)), ticks(number("network.gap_us", 100)));
    let (begin, mut sent, mut longest) = (counter::now(), 0, 0);
    loop {
        let passed = counter::now() - begin;
        let is_done = sent >= send && RECEIVED.load(Relaxed) >= receive && !hold && !flood;
        if passed >= length || is_done {
            break;
        }
        if flood || sent < send && passed >= sent * gap {
            let bytes = match number("network.bytes", 0) as usize {
                0 => DATA_MIN + (sent as usize * 37) % (DATA_MAX - DATA_MIN + 1),
                bytes => bytes,
            };
            let before = counter::now();
            let gone = CARD.with(|card| card.as_mut().is_some_and(|card| card.send(sent, bytes)));
            longest = longest.max(counter::now() - before);
            sent += u64::from(gone);
        } else if sleeps {
            sleep_until(begin + length);
        } else {
            // Where an emulator runs processors in turns, the next one goes on.
            cpu::burn(BETWEEN_LOOKS);
            cpu::relax();
        }
    }
    // What comes while this is printed does not count.
    let counts = [&RECEIVED, &WRONG, &LOST, &INTERRUPTS].map(|it| it.load(Relaxed));
    let us = clock.nanoseconds(counter::now() - begin) / 1000;
    let [received, wrong, lost, interrupts] = counts;
    println!("network: sent={sent} longest={longest}");
    println!(
        "network: received={received} wrong={wrong} lost={lost} interrupts={interrupts} us={us}"
    );
    let works = CARD.with(|card| card.as_ref().is_some_and(Card::is_running));
    println!("network: {}", if works { "done" } else { "the card is broken" });
    let since = counter::now() - hypercall::vm_info(VmInfo::ServersStart).unwrap_or(0);
    let resets_us = match number("network.reset_us", 0) {
        0 => u64::MAX,
        us => us,
    };
    if arguments::text("network.end") == Some("reset")
        && clock.nanoseconds(since) / 1000 < resets_us
    {
        psci::system_reset()
    }
}

/// Takes the frames that are there.
fn take() {
    INTERRUPTS.fetch_add(1, Relaxed);
    CARD.with(|card| {
        let Some(card) = card else { return };
        card.acknowledge();
        while let Some(frame) = card.receive() {
            let next = NEXT.load(Relaxed);
            RECEIVED.fetch_add(1, Relaxed);
            WRONG.fetch_add(u64::from(!frame.is_right), Relaxed);
            LOST.fetch_add(frame.number.saturating_sub(next), Relaxed);
            NEXT.store(frame.number + 1, Relaxed);
        }
    });
}
