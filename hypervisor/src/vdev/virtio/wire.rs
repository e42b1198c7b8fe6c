//! Frames on their way from one card to the other.
//!
//! A frame is copied out of the buffers of its sender first, and looked at then: its sender cannot change it any more.

use core::fmt;

use abi::limits::LINK_COUNTED_MIN;
use policy::channel::Bucket;
use policy::time::Instant;

use super::Memory;
use super::card::Mac;
use super::queue::{Broken, Queue};

/// Bytes of the header in front of each frame (`struct virtio_net_hdr`).
const HEADER: usize = 12;
/// Shortest and longest frame: the header of Ethernet, and 1,500 bytes behind it.
pub const FRAME_MIN: usize = 14;
/// See [`FRAME_MIN`].
pub const FRAME_MAX: usize = 1514;
/// Bytes of a frame with its header.
pub const BUFFER: usize = HEADER + FRAME_MAX;

/// The reason why a frame is dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dropped {
    /// It is too short or too long, or wants a service that the card does not offer.
    Malformed,
    /// It does not come from the address of its card, or goes to another one than that of the other end.
    Address,
    /// Its sender sends more than it may.
    Rate,
    /// The other end has no driver, or is being reset.
    Away,
    /// The other end has no buffer for it.
    Full,
}

impl Dropped {
    /// All reasons, in the order of [`Counts::dropped`].
    pub const ALL: [Self; 5] = [Self::Malformed, Self::Address, Self::Rate, Self::Away, Self::Full];

    /// Returns one word for the reason.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Address => "address",
            Self::Rate => "rate",
            Self::Away => "away",
            Self::Full => "full",
        }
    }
}

/// Counts of the frames that an end has sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Frames that the other end has got, and their bytes.
    pub frames: u64,
    /// See `frames`.
    pub bytes: u64,
    /// Frames that were dropped, by reason.
    pub dropped: [u64; Dropped::ALL.len()],
}

/// The end of a wire that sends. It survives restarts of its VM.
#[derive(Debug)]
pub struct Sender {
    own: Mac,
    other: Mac,
    bucket: Bucket,
    counts: Counts,
    buffer: [u8; BUFFER],
}

/// The result of [`Sender::send`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sent {
    /// There is no frame to send.
    Nothing,
    /// A frame has gone to the other end.
    Frame,
    /// A frame was dropped.
    Dropped(Dropped),
}

impl Sender {
    /// Makes an end with its address, that of the other end, and the bytes that it may send.
    pub const fn new(own: Mac, other: Mac, bucket: Bucket) -> Self {
        let counts = Counts { frames: 0, bytes: 0, dropped: [0; Dropped::ALL.len()] };
        Self { own, other, bucket, counts, buffer: [0; BUFFER] }
    }

    /// Returns the counts of frames since the machine started.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Sends the next frame of the ring at `now`: `deliver` brings it, with a header, to the other end.
    pub fn send(
        &mut self,
        queue: &mut Queue,
        memory: &impl Memory,
        now: Instant,
        deliver: impl FnOnce(&[u8]) -> Result<(), Dropped>,
    ) -> Result<Sent, Broken> {
        let Some(first) = queue.take(memory)? else { return Ok(Sent::Nothing) };
        let bytes = queue.gather(memory, first, &mut self.buffer)?;
        queue.give_back(memory, first, 0)?;
        let frame = self.pass(bytes, now).and_then(|bytes| {
            deliver(&self.buffer[..HEADER + bytes])?;
            Ok(bytes)
        });
        Ok(match frame {
            Ok(bytes) => {
                self.counts.frames += 1;
                self.counts.bytes += bytes as u64;
                Sent::Frame
            }
            Err(why) => {
                self.counts.dropped[why as usize] += 1;
                Sent::Dropped(why)
            }
        })
    }

    /// Drops all frames of the ring, because one before them was more than this end may send.
    pub fn drop_all(&mut self, queue: &mut Queue, memory: &impl Memory) -> Result<Sent, Broken> {
        let dropped = queue.give_back_all(memory)?;
        self.counts.dropped[Dropped::Rate as usize] += u64::from(dropped);
        Ok(if dropped == 0 { Sent::Nothing } else { Sent::Dropped(Dropped::Rate) })
    }

    /// Makes the content of the buffer the frame that the other end gets, if it may get it. Returns its length.
    ///
    /// Every frame was copied: it takes tokens also if it may not pass, so that the limit is one on this work.
    fn pass(&mut self, bytes: u64, now: Instant) -> Result<usize, Dropped> {
        let frame = bytes.saturating_sub(HEADER as u64);
        if !self.bucket.take(frame.clamp(LINK_COUNTED_MIN, FRAME_MAX as u64), now) {
            return Err(Dropped::Rate);
        }
        let length = frame as usize;
        // Of the header, only hints that no offload needs may be set: lengths and offsets.
        let [flags, offload] = [self.buffer[0], self.buffer[1]];
        if frame > FRAME_MAX as u64 || length < FRAME_MIN || flags != 0 || offload != 0 {
            return Err(Dropped::Malformed);
        }
        let (header, frame) = self.buffer.split_at_mut(HEADER);
        let to_group = frame[0] & 1 != 0;
        if frame[6..12] != self.own || !(to_group || frame[..6] == self.other) {
            return Err(Dropped::Address);
        }
        header.fill(0);
        // The number of chains in which the frame is.
        header[10] = 1;
        Ok(length)
    }
}

/// Brings a frame with its header into the ring of the other end.
pub fn deliver(queue: &mut Queue, memory: &impl Memory, frame: &[u8]) -> Result<bool, Broken> {
    let Some(first) = queue.take(memory)? else { return Ok(false) };
    queue.scatter(memory, first, frame)?;
    queue.give_back(memory, first, frame.len() as u32)?;
    Ok(true)
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frames={} bytes={}", self.frames, self.bytes)?;
        for (why, count) in Dropped::ALL.iter().zip(self.dropped) {
            write!(f, " {}={count}", why.name())?;
        }
        Ok(())
    }
}
