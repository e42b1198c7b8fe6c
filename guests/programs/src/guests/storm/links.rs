//! Storms of frames: full rings, stores that send nothing, resets, and rings that are wrong.
//!
//! The cards of the VM take turns. Two VCPUs that come to one at the same time use it at the same time: the one that has no
//! driver for it tells the card of frames.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rt::arch::mmio::Registers;
use rt::arch::ram::Arena;
use rt::network::{Card, DATA_MAX, DATA_MIN, RING};
use rt::{arguments, println};
use spin::{Mutex, Once};

/// Most cards of a VM.
const CARDS: usize = 8;
/// Most buffers that a frame may be in.
const PARTS: u16 = 8;
/// Registers: the frames that wait are to be sent; the state of the driver, and two states.
const NOTIFY: usize = 0x50;
const STATUS: usize = 0x70;
const RESET: u32 = 0;
const RUNNING: u32 = 15;
/// Number of floods after which a VCPU looks whether its card still works.
const LOOK_EVERY: u64 = 64;

/// The cards, each with the number of times that something was done with it, and their registers, of which others know, too.
static DRIVERS: [Mutex<Option<(Card, u64)>>; CARDS] = [const { Mutex::new(None) }; CARDS];
static PAGES: [Once<Registers>; CARDS] = [const { Once::new() }; CARDS];
/// The number of cards.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Finds the cards and starts them.
fn find(data: usize, parts: u16) {
    let memory = Arena::take(arguments::ram_bytes_of_tree().unwrap_or(0));
    let Some(mut memory) = memory else { return println!("storm: the guest has no RAM") };
    for (number, (driver, page)) in DRIVERS.iter().zip(&PAGES).enumerate() {
        let Some(mut card) = Card::take(number, &mut memory) else { break };
        page.call_once(|| card.page());
        card.rings().into_iter().for_each(|ring| ring.set_parts(parts));
        start(&mut card, data);
        *driver.lock() = Some((card, 0));
        COUNT.store(number as u64 + 1, Relaxed);
    }
    if COUNT.load(Relaxed) == 0 {
        println!("storm: the guest has no network card");
    }
}

fn start(card: &mut Card, data: usize) {
    card.start();
    card.load(data);
}

/// Finds cards for [`long`], and for all modes in which the frames do not matter.
pub fn find_for_long() {
    find(DATA_MAX, PARTS);
}

/// Finds cards for [`short`].
pub fn find_for_short() {
    find(DATA_MIN, 1);
}

/// Does something with the card whose turn it is: `act` gets the card, and the number of its uses before.
fn with_card(number: u64, act: impl FnOnce(&mut Card, u64)) -> bool {
    let Some(turn) = number.checked_rem(COUNT.load(Relaxed)) else { return false };
    match DRIVERS[turn as usize].try_lock().as_deref_mut() {
        Some(Some((card, times))) => {
            act(card, *times);
            *times += 1;
        }
        _ => {
            if let Some(page) = PAGES[turn as usize].get() {
                page.write32(NOTIFY, 1);
            }
        }
    }
    true
}

fn flood(number: u64, data: usize) -> bool {
    with_card(number, |card, times| {
        if times.is_multiple_of(LOOK_EVERY) && !card.is_running() {
            start(card, data);
        }
        card.flood();
    })
}

/// Sends and receives the longest frames, in as many parts as there may be, as many as a ring has.
pub fn long(number: u64) -> bool {
    flood(number, DATA_MAX)
}

/// The shortest ones.
pub fn short(number: u64) -> bool {
    flood(number, DATA_MIN)
}

/// Tells the card of frames, and there are none.
pub fn kick(number: u64) -> bool {
    with_card(number, |card, _| card.notify())
}

/// Resets the card, and starts it again, with frames on their way.
pub fn reset(number: u64) -> bool {
    with_card(number, |card, times| match times % 4 {
        0 => start(card, DATA_MAX),
        1 => card.flood(),
        2 => card.page().write32(STATUS, RESET),
        _ => card.page().write32(STATUS, RUNNING),
    })
}

/// Makes a ring wrong in one way after the other, lets the card find it, and starts the card again.
pub fn wrong(number: u64) -> bool {
    with_card(number, |card, times| {
        let ring = (times / 2 % 2) as usize;
        if times.is_multiple_of(2) {
            let [receive, transmit] = card.rings();
            let (ring, write) = if ring == 0 { (receive, 2) } else { (transmit, 0) };
            match times / 4 % 5 {
                // A circle of empty buffers, the end of which is never found.
                0 => (0..PARTS).for_each(|at| {
                    ring.describe(at, 0x4000_0000, 0, write | 1, (at + 1) % PARTS);
                }),
                // All of a frame, and a last part where no RAM is.
                1 => ring.describe(PARTS - 1, 0, 1500, write, 0),
                2 => ring.describe(PARTS - 1, 0x4000_0000, 1500, write ^ 2, 0),
                3 => ring.describe(PARTS - 2, 0x4000_0000, 0, write | 1, RING),
                // An index that is too far.
                _ => ring.set_index(0x8000),
            }
            // In the ring for frames that come, the other end finds it.
            card.notify();
        } else {
            start(card, DATA_MAX);
        }
    })
}
