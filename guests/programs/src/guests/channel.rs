//! `rt-channel`: sends and receives messages through channels, in an exact rhythm.
//!
//! Boot arguments: `channel.send`, `channel.receive`: names of channels, one of each or none;
//! `channel.beats` (100): number of times that it does so; `channel.us` (1000): microseconds between two times;
//! `channel.bytes` (64): bytes of a message, a multiple of 8 from 16 to 1024; `channel.newest` (0):
//! 1 to receive the newest message each time, in place of all; `channel.try` (0): 1 to store into the
//! channel that is received, as device and as normal memory, and to where there is no bell for the guest, which has to fail;
//! `channel.rings` (0): how often the guest rings after each message; `channel.hear` (0): 1 to receive only when there was a
//! ring, 2 to count on VCPU 1, which waits, while VCPU 0 computes for `channel.us`; `channel.end=reset`: the guest resets itself
//! at the end.
//!
//! ```text
//! channel: stores into pose were refused=[true, true]
//! channel: sent pose=100
//! channel: rang pose=100 refused=0
//! channel: received pose=99 lost=0 torn=0 latency_max_us=1002 epoch=1
//! channel: heard rings=100
//! channel: done
//! ```
//!
//! A message is its number, the counter of its writer, and the number again in each other word: one
//! with other words is `torn`. Latency is from the writer's counter to the reader's.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use programs::arch::probe::{self, Through};
use rt::arch::{counter, cpu, secondary};
use rt::bell::{self, Bell};
use rt::channel::{NoMessage, Reader, Writer};
use rt::gic::{self, Trigger};
use rt::time::Clock;
use rt::{arguments, interrupts, println, psci, rhythm, wait};

/// Most bytes of a message.
const BYTES_MAX: usize = 1024;

/// Sends and receives, and tells what came.
pub fn main() {
    let bytes = arguments::number("channel.bytes", 64) as usize;
    if !(16..=BYTES_MAX).contains(&bytes) || !bytes.is_multiple_of(8) {
        return println!(
            "channel: channel.bytes={bytes}: expected a multiple of 8 from 16 to 1024"
        );
    }
    let (Ok(mut writer), Ok(mut reader)) = (writer(bytes), reader(bytes)) else { return };
    let clock = Clock::of_machine();
    let newest = arguments::number("channel.newest", 0) != 0;
    let mut buffer = [0; BYTES_MAX];
    let message = &mut buffer[..bytes];
    let mut got = Got::default();
    let rings = arguments::number("channel.rings", 0);
    let Ok(bell) = bell(rings) else { return };
    let hears = arguments::number("channel.hear", 0);
    if hears != 0 && !listen() {
        return;
    }
    if hears == 2 {
        return hear_elsewhere();
    }
    let hears = hears != 0;
    rhythm::start(clock.ticks(1000 * arguments::number("channel.us", 1000)));
    for beat in 1..=arguments::number("channel.beats", 100) {
        while !rhythm::wait_for_beat_or(beat, || HEARD.load(Relaxed) != got.heard) {
            let heard = HEARD.load(Relaxed);
            if let Some((_, reader)) = &mut reader
                && heard != got.heard
            {
                got.heard = heard;
                got.take(reader, newest, message);
            }
        }
        if let Some((_, reader)) = &mut reader
            && !hears
        {
            got.take(reader, newest, message);
        }
        if let Some((_, writer)) = &mut writer {
            message.chunks_mut(8).for_each(|word| word.copy_from_slice(&beat.to_le_bytes()));
            message[8..16].copy_from_slice(&counter::now().to_le_bytes());
            writer.send(message);
            if let Some(bell) = bell {
                (0..rings).for_each(|_| bell.ring());
            }
        }
    }
    rhythm::stop();
    if let Some((name, _)) = writer {
        let sent = arguments::number("channel.beats", 100);
        println!("channel: sent {name}={sent}");
        if let Some(bell) = bell {
            println!("channel: rang {name}={} refused={}", sent * rings, bell.refused());
        }
    }
    if let Some((name, _)) = reader {
        let Got { messages, lost, torn, latency, epoch, why, .. } = got;
        let latency = clock.nanoseconds(latency) / 1000;
        println!(
            "channel: received {name}={messages} lost={lost} torn={torn} latency_max_us={latency} \
             epoch={epoch}"
        );
        if messages == 0 {
            println!("channel: no message from {name}: {why}");
        }
    }
    if hears {
        println!("channel: heard rings={}", HEARD.load(Relaxed));
    }
    println!("channel: done");
    if arguments::text("channel.end") == Some("reset") {
        psci::system_reset()
    }
}

/// A name and what is open under it; or the error has been told.
type Opened<T> = Result<Option<(&'static str, T)>, ()>;

fn memory(key: &str) -> Opened<&'static [AtomicU64]> {
    let Some(name) = arguments::text(key) else { return Ok(None) };
    let words = arguments::channel(name).ok_or_else(|| {
        println!("channel: the device tree has no channel {name}");
    })?;
    Ok(Some((name, words)))
}

fn writer(bytes: usize) -> Opened<Writer<'static>> {
    let Some((name, words)) = memory("channel.send")? else { return Ok(None) };
    let writer =
        Writer::open(words, bytes).map_err(|error| println!("channel: {name}: {error}"))?;
    Ok(Some((name, writer)))
}

fn reader(bytes: usize) -> Opened<Reader<'static>> {
    let Some((name, words)) = memory("channel.receive")? else { return Ok(None) };
    if arguments::number("channel.try", 0) != 0 {
        let address = words.as_ptr() as u64;
        let store = |through| probe::write(address, 8, 0, through).is_err();
        let refused = [Through::Device, Through::Normal].map(store);
        println!("channel: stores into {name} were refused={refused:?}");
    }
    let reader = Reader::new(words, bytes).map_err(|error| println!("channel: {name}: {error}"))?;
    Ok(Some((name, reader)))
}

/// Number of rings.
static HEARD: AtomicU64 = AtomicU64::new(0);

/// Counts rings from now on. Otherwise tells why not, and returns false.
fn listen() -> bool {
    let Some(intid) = bell::interrupt() else {
        println!("channel: the device tree has no bell with an interrupt");
        return false;
    };
    interrupts::set_handler(intid, |_, _| _ = HEARD.fetch_add(1, Relaxed));
    gic::set_trigger(intid, Trigger::Edge);
    gic::enable(intid);
    true
}

/// Counts rings on the second VCPU, while this one computes.
fn hear_elsewhere() {
    if let Some(intid) = bell::interrupt() {
        gic::route(intid, 1);
    }
    let waits = |_| {
        loop {
            cpu::wait_for_interrupt();
        }
    };
    if secondary::start(1, waits, 0) != 0 {
        return println!("channel: there is no VCPU 1");
    }
    wait::pause(Duration::from_micros(arguments::number("channel.us", 1000)));
    println!("channel: heard rings={}", HEARD.load(Relaxed));
}

/// The bell, if the guest rings; or the error has been told.
fn bell(rings: u64) -> Result<Option<Bell>, ()> {
    if rings == 0 {
        return Ok(None);
    }
    let name = arguments::text("channel.send").unwrap_or_default();
    let Some(bell) = Bell::of(name) else {
        println!("channel: the guest may not ring for {name}");
        return Err(());
    };
    if arguments::number("channel.try", 0) != 0 {
        let write = |offset: u64, bytes| {
            probe::write(bell.address() ^ offset, bytes, 1, Through::Device).is_err()
        };
        // The register of another channel, half of the own one, a part of it, and one that does not exist.
        let refused = [write(8, 4), write(4, 4), write(0, 1), write(0, 2), write(0xff8, 8)];
        println!("channel: rings elsewhere were refused={refused:?}");
    }
    Ok(Some(bell))
}

/// The messages that were received.
struct Got {
    messages: u64,
    lost: u64,
    torn: u64,
    latency: u64,
    epoch: u64,
    /// Rings that were heard before the last look.
    heard: u64,
    /// The reason why there was no message the last time.
    why: NoMessage,
}

impl Default for Got {
    fn default() -> Self {
        let why = NoMessage::NothingNew;
        Self { messages: 0, lost: 0, torn: 0, latency: 0, epoch: 0, heard: 0, why }
    }
}

impl Got {
    /// Takes all messages that are there, or the newest one.
    fn take(&mut self, reader: &mut Reader<'_>, newest: bool, message: &mut [u8]) {
        loop {
            let received = if newest { reader.newest(message) } else { reader.next(message) };
            let received = match received {
                Ok(received) => received,
                Err(why) => return self.why = why,
            };
            let word = |index: usize| {
                let bytes = message.get(8 * index..8 * index + 8);
                bytes.and_then(|it| it.try_into().ok()).map_or(0, u64::from_le_bytes)
            };
            self.messages += 1;
            self.lost += received.lost;
            self.epoch = received.epoch;
            self.latency = self.latency.max(counter::now().saturating_sub(word(1)));
            self.torn += u64::from((2..message.len() / 8).any(|index| word(index) != word(0)));
            if newest {
                return;
            }
        }
    }
}
