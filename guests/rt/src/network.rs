//! A driver for virtio network cards (VIRTIO 1.2, version 2 of the registers, split rings), for one frame at a time in one
//! buffer.

mod ring;

use core::sync::atomic::{Ordering::SeqCst, fence};

use crate::arch::mmio::Registers;
use crate::arch::ram::{self, Arena, Words};
use crate::arguments;
use ring::{BUFFER_BYTES, WRITE};
pub use ring::{RING, Ring};

// Registers.
const FEATURES_SELECT: usize = 0x24;
const FEATURES: usize = 0x20;
const QUEUE_SELECT: usize = 0x30;
const QUEUE_SIZE: usize = 0x38;
const QUEUE_READY: usize = 0x44;
const NOTIFY: usize = 0x50;
const INTERRUPT: usize = 0x60;
const INTERRUPT_CLEAR: usize = 0x64;
const STATUS: usize = 0x70;
const ADDRESSES: [usize; 3] = [0x80, 0x90, 0xa0];
const CONFIG: usize = 0x100;

/// Bytes of the header of a frame, and of what each frame has in front of its data: both addresses and a type.
const HEADER: usize = 12;
const ETHERNET: usize = 14;
/// Shortest and longest data: a number, and what the link takes.
pub const DATA_MIN: usize = 24;
/// See [`DATA_MIN`].
pub const DATA_MAX: usize = 1500;

/// A network card.
pub struct Card {
    page: Registers,
    interrupt: u32,
    /// Its address, the first byte lowest.
    mac: u64,
    receive: Ring,
    transmit: Ring,
}

/// Tells a card that there are frames to send.
#[derive(Clone, Copy, Debug)]
pub struct Notifier(Registers);

impl Notifier {
    /// Tells it.
    pub fn notify(self) {
        fence(SeqCst);
        self.0.write32(NOTIFY, 1);
    }
}

/// A frame that came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frame {
    /// Its number.
    pub number: u64,
    /// It is as [`Card::send`] makes it.
    pub is_right: bool,
}

impl Card {
    /// Takes the VM's card with this number, in the order of the device tree, if there is one. It is off.
    pub fn take(number: usize, memory: &mut Arena) -> Option<Self> {
        let (page, interrupt) = arguments::network_card(number)?;
        let page = Registers::page(page)?;
        let mac =
            u64::from(page.read32(CONFIG)) | u64::from(page.read32(CONFIG + 4) & 0xffff) << 32;
        let (receive, transmit) = (Ring::take(memory)?, Ring::take(memory)?);
        Some(Self { page, interrupt, mac, receive, transmit })
    }

    /// INTID of its interrupt, a level.
    pub fn interrupt(&self) -> u32 {
        self.interrupt
    }

    /// Its registers, for tests that misuse them.
    pub fn page(&self) -> Registers {
        self.page
    }

    /// Its rings, for tests that misuse them: the one for frames that come, and the one for those that go.
    pub fn rings(&mut self) -> [&mut Ring; 2] {
        [&mut self.receive, &mut self.transmit]
    }

    /// Resets the card and lets it use the rings, with all buffers for frames that come. Returns false if the card does not take
    /// the features.
    pub fn start(&mut self) -> bool {
        self.page.write32(STATUS, 0);
        self.page.write32(STATUS, 1);
        self.page.write32(STATUS, 3);
        // An address of its own; version 1.
        for (half, features) in [(0, 1 << 5), (1, 1)] {
            self.page.write32(FEATURES_SELECT, half);
            self.page.write32(FEATURES, features);
        }
        self.page.write32(STATUS, 11);
        if self.page.read32(STATUS) != 11 {
            return false;
        }
        for (number, ring) in [&mut self.receive, &mut self.transmit].into_iter().enumerate() {
            ring.clear();
            self.page.write32(QUEUE_SELECT, number as u32);
            self.page.write32(QUEUE_SIZE, RING.into());
            for (register, address) in ADDRESSES.into_iter().zip(ring.addresses()) {
                self.page.write32(register, address as u32);
                self.page.write32(register + 4, (address >> 32) as u32);
            }
            self.page.write32(QUEUE_READY, 1);
        }
        for _ in 0..RING {
            self.receive.offer_to_write();
        }
        // Buffers that were sent are found when the next frame is to be sent.
        self.transmit.want_no_interrupts();
        self.page.write32(STATUS, 15);
        true
    }

    /// Returns true if the card works.
    pub fn is_running(&self) -> bool {
        self.page.read32(STATUS) == 15
    }

    /// Clears the causes of the interrupt.
    pub fn acknowledge(&self) {
        self.page.write32(INTERRUPT_CLEAR, self.page.read32(INTERRUPT));
    }

    /// Sends a frame with this number and `data` bytes of data to all. Returns false if all buffers are on their way.
    pub fn send(&mut self, number: u64, data: usize) -> bool {
        let is_there = self.put(number, data);
        if is_there {
            self.notify();
        }
        is_there
    }

    /// Puts such a frame into the ring, without a word to the card. Returns false if all buffers are on their way.
    pub fn put(&mut self, number: u64, data: usize) -> bool {
        while self.transmit.returned().is_some() {}
        let Some(buffer) = self.transmit.free() else { return false };
        let bytes = self.write_frame(buffer, number, data);
        self.transmit.offer(buffer, bytes, 0);
        true
    }

    /// Makes each place of both rings the same buffer, and that of the ring for frames that go a frame with `data` bytes of data.
    /// To be called after the start; from then on only [`Card::flood`] sends, and nothing that comes is kept.
    pub fn load(&mut self, data: usize) {
        let bytes = self.write_frame(0, 0, data);
        self.transmit.offer_one_everywhere(bytes, 0);
        self.receive.offer_one_everywhere(BUFFER_BYTES, WRITE);
    }

    /// Sends the frames of all places of the ring, and lets as many come.
    pub fn flood(&mut self) {
        self.receive.offer_again();
        self.notify();
        self.transmit.offer_again();
    }

    /// Writes a frame into a buffer for frames that go. Returns its length.
    fn write_frame(&self, buffer: u16, number: u64, data: usize) -> u32 {
        let data = data.clamp(DATA_MIN, DATA_MAX);
        let words = self.transmit.buffer(buffer);
        let mac = self.mac;
        // The header, the address of all, that of the card, a type for tests.
        let start = [0, 0xffff_ffff << 32, 0xffff | mac << 16, 0xb588, number, data as u64];
        for (word, value) in words.iter().zip(start) {
            word.store(value, SeqCst);
        }
        // The last two of these are data already.
        let bytes = HEADER + ETHERNET + data;
        for (place, word) in words.iter().enumerate().take(bytes.div_ceil(8)).skip(6) {
            word.store(filling(number, place), SeqCst);
        }
        bytes as u32
    }

    /// Tells the card that there are frames to send.
    pub fn notify(&self) {
        self.notifier().notify();
    }

    /// Returns a value that tells the card so without the card at hand.
    pub fn notifier(&self) -> Notifier {
        Notifier(self.page)
    }

    /// Takes a frame that came, if there is one, and gives its buffer back.
    pub fn receive(&mut self) -> Option<Frame> {
        let (buffer, bytes) = self.receive.returned()?;
        let words = self.receive.buffer(buffer);
        let word = |place: usize| words[place].load(SeqCst);
        let (number, data) = (word(4), word(5) as usize);
        let is_head = word(1) >> 32 == 0xffff_ffff && word(3) & 0xffff == 0xb588;
        let is_length = (DATA_MIN..=DATA_MAX).contains(&data);
        let length = HEADER + ETHERNET + data.min(DATA_MAX);
        let filled = |place: usize| {
            let bytes = (length - 8 * place).min(8) as u32;
            let mask = u64::MAX >> (64 - 8 * bytes);
            word(place) & mask == filling(number, place) & mask
        };
        let is_right =
            is_head && is_length && bytes as usize == length && (6..length.div_ceil(8)).all(filled);
        self.receive.offer_to_write();
        Some(Frame { number, is_right })
    }
}

/// Returns the word in this place of a frame with this number.
fn filling(number: u64, place: usize) -> u64 {
    (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place as u64
}

/// Guest physical address of a buffer.
fn address(words: Words) -> u64 {
    ram::address(words)
}
