//! The registers of the card (VIRTIO 1.2, 4.2.2 and 5.1), as a state machine that accesses no memory.

use super::queue::{Layout, SIZE_MAX};

/// The ring of frames that the guest receives, and that of frames that it transmits.
pub const RECEIVE: usize = 0;
/// See [`RECEIVE`].
pub const TRANSMIT: usize = 1;

/// Address of the other end, as in a frame.
pub type Mac = [u8; 6];

// Registers, each of 32 bits.
const MAGIC: u64 = 0x000;
const VERSION: u64 = 0x004;
const DEVICE: u64 = 0x008;
const VENDOR: u64 = 0x00c;
const FEATURES: u64 = 0x010;
const FEATURES_SELECT: u64 = 0x014;
const DRIVER_FEATURES: u64 = 0x020;
const DRIVER_FEATURES_SELECT: u64 = 0x024;
const QUEUE_SELECT: u64 = 0x030;
const QUEUE_SIZE_MAX: u64 = 0x034;
const QUEUE_SIZE: u64 = 0x038;
const QUEUE_READY: u64 = 0x044;
const QUEUE_NOTIFY: u64 = 0x050;
const INTERRUPT: u64 = 0x060;
const INTERRUPT_CLEAR: u64 = 0x064;
const STATUS: u64 = 0x070;
const DESCRIPTORS: u64 = 0x080;
const AVAILABLE: u64 = 0x090;
const USED: u64 = 0x0a0;
/// Length and address of a region of shared memory, each of 64 bits: there is none.
const SHARED_LENGTH: u64 = 0x0b0;
const SHARED_END: u64 = 0x0c0;
/// The configuration, which starts with the address of the card.
const CONFIG: u64 = 0x100;
const CONFIG_BYTES: u64 = 6;

/// "virt".
const MAGIC_VALUE: u32 = 0x7472_6976;
const NETWORK_CARD: u32 = 1;
/// "BLKH".
const VENDOR_VALUE: u32 = 0x484b_4c42;

/// Features: the card has an address of its own; it follows version 1 of the standard.
const WITH_MAC: u64 = 1 << 5;
const VERSION_1: u64 = 1 << 32;
const OFFERED: u64 = WITH_MAC | VERSION_1;

// Status, in the order in which a driver sets it.
const ACKNOWLEDGE: u8 = 1;
const DRIVER: u8 = 2;
const DRIVER_OK: u8 = 4;
const FEATURES_OK: u8 = 8;
const NEEDS_RESET: u8 = 64;
const FAILED: u8 = 128;

/// Causes of the interrupt: buffers were returned; the status has changed.
const USED_BUFFERS: u8 = 1;
const CHANGED: u8 = 2;

/// The state behind the registers of a card.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Card {
    mac: Mac,
    status: u8,
    interrupt: u8,
    features_select: u32,
    driver_features_select: u32,
    driver_features: u64,
    queue_select: u32,
    queues: [Setup; 2],
}

/// A ring as far as the driver has described it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Setup {
    layout: Layout,
    ready: bool,
}

/// The effect of a store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// There is no other effect.
    Nothing,
    /// The rings are in use from now on: those that the driver has described.
    Start([Option<Layout>; 2]),
    /// No ring is in use any more.
    Stop,
    /// There are frames to transmit.
    Transmit,
}

impl Card {
    /// Makes the card with this address, as after a reset.
    pub const fn new(mac: Mac) -> Self {
        const NO_RING: Layout = Layout { size: 0, descriptors: 0, available: 0, used: 0 };
        Self {
            mac,
            status: 0,
            interrupt: 0,
            features_select: 0,
            driver_features_select: 0,
            driver_features: 0,
            queue_select: 0,
            queues: [Setup { layout: NO_RING, ready: false }; 2],
        }
    }

    /// Returns true if the card asks for an interrupt.
    pub fn interrupt(&self) -> bool {
        self.interrupt != 0
    }

    /// Returns true if a driver uses the rings.
    pub fn is_running(&self) -> bool {
        self.status & (DRIVER_OK | NEEDS_RESET | FAILED) == DRIVER_OK
    }

    /// Returns true if a store to this register can have the effect [`Effect::Start`] or [`Effect::Stop`].
    pub fn moves_rings(offset: u64) -> bool {
        offset == STATUS
    }

    /// Buffers were returned to the driver.
    pub fn returned(&mut self) {
        if self.is_running() {
            self.interrupt |= USED_BUFFERS;
        }
    }

    /// The driver has made a mistake that a correct one does not make: it has to reset the card.
    pub fn breaks(&mut self) {
        if self.is_running() {
            self.status |= NEEDS_RESET;
            self.interrupt |= CHANGED;
        }
    }

    /// Forgets all but the address.
    pub fn reset(&mut self) {
        *self = Self::new(self.mac);
    }

    /// Serves a load of 1, 2, 4 or 8 bytes; `None` if the card does not take it.
    pub fn read(&self, offset: u64, bytes: usize) -> Option<u64> {
        if offset >= CONFIG {
            return self.config(offset - CONFIG, bytes);
        }
        if bytes != 4 || !offset.is_multiple_of(4) {
            return None;
        }
        let queue = self.queues.get(self.queue_select as usize);
        Some(u64::from(match offset {
            MAGIC => MAGIC_VALUE,
            VERSION => 2,
            DEVICE => NETWORK_CARD,
            VENDOR => VENDOR_VALUE,
            FEATURES => half(OFFERED, self.features_select),
            QUEUE_SIZE_MAX => queue.map_or(0, |_| SIZE_MAX.into()),
            QUEUE_READY => queue.is_some_and(|queue| queue.ready).into(),
            INTERRUPT => self.interrupt.into(),
            STATUS => self.status.into(),
            SHARED_LENGTH..SHARED_END => u32::MAX,
            // The others are only stored to, or are not there; the configuration never changes.
            _ => 0,
        }))
    }

    /// Parts of the configuration, of which bytes behind the last one are zero.
    fn config(&self, offset: u64, bytes: usize) -> Option<u64> {
        if !matches!(bytes, 1 | 2 | 4) || !offset.is_multiple_of(bytes as u64) {
            return None;
        }
        let byte = |at: u64| if at < CONFIG_BYTES { self.mac[at as usize] } else { 0 };
        Some((0..bytes as u64).rev().fold(0, |all, at| all << 8 | u64::from(byte(offset + at))))
    }

    /// Serves a store of 1, 2, 4 or 8 bytes; `None` if the card does not take it.
    pub fn write(&mut self, offset: u64, bytes: usize, value: u64) -> Option<Effect> {
        if offset >= CONFIG && matches!(bytes, 1 | 2 | 4) {
            // The address of the card is that of the plan.
            return Some(Effect::Nothing);
        }
        if bytes != 4 || !offset.is_multiple_of(4) {
            return None;
        }
        let value = value as u32;
        match offset {
            STATUS => return Some(self.set_status(value)),
            QUEUE_NOTIFY if value as usize == TRANSMIT && self.is_running() => {
                return Some(Effect::Transmit);
            }
            FEATURES_SELECT => self.features_select = value,
            DRIVER_FEATURES_SELECT => self.driver_features_select = value,
            DRIVER_FEATURES if self.status & FEATURES_OK == 0 => {
                set_half(&mut self.driver_features, self.driver_features_select, value);
            }
            QUEUE_SELECT => self.queue_select = value,
            INTERRUPT_CLEAR => self.interrupt &= !(value as u8),
            _ => self.set_up(offset, value),
        }
        Some(Effect::Nothing)
    }

    /// Changes the ring that is selected, unless it is in use.
    fn set_up(&mut self, offset: u64, value: u32) {
        let in_use = self.status & DRIVER_OK != 0;
        let Some(queue) = self.queues.get_mut(self.queue_select as usize) else { return };
        let Setup { layout, ready } = queue;
        match offset {
            _ if in_use => {}
            QUEUE_READY => *ready = value & 1 != 0,
            _ if *ready => {}
            // A number that does not fit is refused when the ring is to be used.
            QUEUE_SIZE => layout.size = value.try_into().unwrap_or(0),
            _ => {
                let address = match offset & !7 {
                    DESCRIPTORS => &mut layout.descriptors,
                    AVAILABLE => &mut layout.available,
                    USED => &mut layout.used,
                    _ => return,
                };
                set_half(address, (offset >> 2 & 1) as u32, value);
            }
        }
    }

    fn set_status(&mut self, value: u32) -> Effect {
        if value == 0 {
            self.reset();
            return Effect::Stop;
        }
        let before = self.status;
        let mut added = value as u8 & (ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK | FAILED);
        let accepted =
            self.driver_features & !OFFERED == 0 && self.driver_features & VERSION_1 != 0;
        if !accepted {
            added &= !FEATURES_OK;
        }
        if (before | added) & FEATURES_OK == 0 {
            added &= !DRIVER_OK;
        }
        self.status |= added;
        if self.status & FAILED != 0 {
            return Effect::Stop;
        }
        if before & DRIVER_OK != 0 || self.status & DRIVER_OK == 0 {
            return Effect::Nothing;
        }
        let rings = self.queues.map(|queue| queue.ready.then_some(queue.layout));
        if rings.iter().flatten().any(|layout| !layout.is_valid()) {
            self.breaks();
            return Effect::Nothing;
        }
        Effect::Start(rings)
    }
}

/// Half of a number: the lower one is 0, the upper one 1, and others are zero.
fn half(number: u64, which: u32) -> u32 {
    if which > 1 { 0 } else { (number >> (32 * which)) as u32 }
}

fn set_half(number: &mut u64, which: u32, value: u32) {
    if which <= 1 {
        let shift = 32 * which;
        *number = *number & !(0xffff_ffff << shift) | u64::from(value) << shift;
    } else if value != 0 {
        // Features that no device has: they are not accepted.
        *number |= 1 << 63;
    }
}
