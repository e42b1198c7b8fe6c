//! `rt-channel`: sends and receives messages through channels, in an exact rhythm.
//!
//! Boot arguments: `channel.send`, `channel.receive`: names of channels, one of each or none;
//! `channel.beats` (100): how often it does so; `channel.us` (1000): microseconds between two times;
//! `channel.bytes` (64): bytes of a message, a multiple of 8 from 16 to 1024; `channel.newest` (0):
//! 1 to receive the newest message each time, in place of all; `channel.try` (0): 1 to store into the
//! channel that is received, as device and as normal memory, which has to fail; `channel.end=reset`: the
//! guest resets itself at the end.
//!
//! ```text
//! channel: stores into pose were refused=[true, true]
//! channel: sent pose=100
//! channel: received pose=99 lost=0 torn=0 latency_max_us=1002 epoch=1
//! channel: done
//! ```
//!
//! A message is its number, the counter of its writer, and the number again in each other word: one
//! with other words is `torn`. Latency is from the writer's counter to the reader's.

use core::sync::atomic::AtomicU64;

use rt::arch::counter;
use rt::arch::probe::{self, Through};
use rt::channel::{NoMessage, Reader, Writer};
use rt::rhythm;
use rt::time::Clock;
use rt::{arguments, println, psci};

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
    rhythm::start(clock.ticks(1000 * arguments::number("channel.us", 1000)));
    for beat in 1..=arguments::number("channel.beats", 100) {
        rhythm::wait_for(beat);
        if let Some((_, reader)) = &mut reader {
            got.take(reader, newest, message);
        }
        if let Some((_, writer)) = &mut writer {
            message.chunks_mut(8).for_each(|word| word.copy_from_slice(&beat.to_le_bytes()));
            message[8..16].copy_from_slice(&counter::now().to_le_bytes());
            writer.send(message);
        }
    }
    rhythm::stop();
    if let Some((name, _)) = writer {
        println!("channel: sent {name}={}", arguments::number("channel.beats", 100));
    }
    if let Some((name, _)) = reader {
        let Got { messages, lost, torn, latency, epoch, why } = got;
        let latency = clock.nanoseconds(latency) / 1000;
        println!(
            "channel: received {name}={messages} lost={lost} torn={torn} latency_max_us={latency} \
             epoch={epoch}"
        );
        if messages == 0 {
            println!("channel: no message from {name}: {why}");
        }
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

/// What was received.
struct Got {
    messages: u64,
    lost: u64,
    torn: u64,
    latency: u64,
    epoch: u64,
    /// Why there was no message the last time.
    why: NoMessage,
}

impl Default for Got {
    fn default() -> Self {
        let why = NoMessage::NothingNew;
        Self { messages: 0, lost: 0, torn: 0, latency: 0, epoch: 0, why }
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
