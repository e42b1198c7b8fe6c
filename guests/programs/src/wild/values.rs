//! Values that registers may hold, and where things are.

use abi::guest::{DOORBELL, GICD, GICR, UART};

use rt::random::Random;

/// The places of things in this machine, as guest physical addresses.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// The processor's own arena.
    pub arena: u64,
    /// The arena of the other processor.
    pub other: u64,
    /// First address behind RAM.
    pub end_of_ram: u64,
    /// The page on which this VM asks for colours, if it may.
    pub doorbell: Option<u64>,
    /// The number that code adds to addresses of arenas.
    pub alias: u64,
    /// The number that code adds to addresses of devices.
    pub device_alias: u64,
    /// Code may take exceptions whose vectors cannot be fetched, for ever. Where QEMU counts instructions
    /// (`-icount`), the time of all processors stands still then.
    pub may_get_lost: bool,
}

/// Bytes of tables and code in an arena, and of all of it.
const DATA: u64 = 0x2_0000;
const ARENA: u64 = 0x20_0000;
/// Two pages of 64 KiB for each of three VCPUs.
const GICR_BYTES: u64 = 0x6_0000;
/// An address at which nothing is.
pub const HOLE: u64 = DOORBELL;

impl Places {
    /// The same as code at EL0 sees it.
    pub fn from_el0(&self) -> Self {
        const GIB: u64 = 1 << 30;
        Self { alias: 5 * GIB, device_alias: 6 * GIB, ..*self }
    }

    /// An address in each part of the memory map that is to be mapped as devices: one has nothing in it.
    pub fn devices(&self) -> [u64; 4] {
        [GICD, UART, HOLE, self.doorbell.unwrap_or(UART)]
    }

    /// A place in the data of an arena.
    pub fn data(&self, random: &mut Random) -> u64 {
        let arena = if random.below(4) == 0 { self.other } else { self.arena };
        arena + DATA + random.below(ARENA - DATA - 64) + self.alias
    }

    /// A place in a device, of which the second is its first address.
    pub fn device(&self, random: &mut Random) -> u64 {
        let (base, bytes) = match random.below(8) {
            0..3 => (GICD, 0x1_0000),
            3 | 4 => (GICR, GICR_BYTES),
            5 => match self.doorbell {
                Some(doorbell) => (doorbell, 0x1000),
                None => (GICR, 0x2_0000),
            },
            _ => (UART, 0x1000),
        };
        // Registers with a meaning lie at the start of each page.
        let bytes = if random.below(2) == 0 { bytes.min(0x1000) } else { bytes };
        base + random.below(bytes) + self.device_alias
    }

    /// A guest physical address at which nothing is.
    pub fn nowhere(&self, random: &mut Random) -> u64 {
        match random.below(4) {
            0 => self.end_of_ram + random.below(1 << 20),
            1 => HOLE + random.below(1 << 20),
            2 => 0,
            _ => 1 << 31 | random.below(1 << 30),
        }
    }
}

/// A value that may mean something.
pub fn value(random: &mut Random, places: &Places) -> u64 {
    match random.below(12) {
        0 => 0,
        1 => u64::MAX,
        2 => random.below(256),
        3 => random.number(),
        4 => random.number() as u32 as u64,
        5 => 1 << random.below(64),
        6 => (1_u64 << random.below(64)).wrapping_sub(1),
        7 => places.device(random),
        8 => places.end_of_ram.wrapping_sub(random.below(16)),
        _ => places.data(random),
    }
}
