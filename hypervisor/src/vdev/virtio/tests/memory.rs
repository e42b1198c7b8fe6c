//! RAM of a VM: two regions with a hole between them.

use std::cell::{Cell, RefCell};

use crate::vdev::virtio::Memory;
use crate::vdev::virtio::queue::Layout;

/// Where the regions start, and their bytes.
pub const REGIONS: [u64; 2] = [0x4000_0000, 0x4000_2000];
pub const REGION_BYTES: u64 = 0x1000;

/// A ring in the first region.
pub const RING: Layout = Layout {
    size: 8,
    descriptors: REGIONS[0],
    available: REGIONS[0] + 0x80,
    used: REGIONS[0] + 0xa0,
};
/// Where buffers are, behind it.
pub const BUFFERS: u64 = REGIONS[0] + 0x100;

pub const NEXT: u16 = 1;
pub const WRITE: u16 = 2;

/// RAM, and how often it was accessed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ram {
    pub bytes: RefCell<Vec<u8>>,
    pub accesses: Cell<u32>,
    /// The guest changes this byte as soon as something was loaded.
    pub changes: Option<u64>,
}

impl Ram {
    pub fn new() -> Self {
        Self { bytes: RefCell::new(vec![0; 2 * REGION_BYTES as usize]), ..Self::default() }
    }

    /// Returns the place of this number of bytes at an address, if all of them are RAM.
    pub fn place(address: u64, bytes: usize) -> Option<usize> {
        let index = REGIONS.iter().position(|start| address.wrapping_sub(*start) < REGION_BYTES)?;
        let offset = address - REGIONS[index];
        let fits = offset + bytes as u64 <= REGION_BYTES;
        fits.then_some((index as u64 * REGION_BYTES + offset) as usize)
    }

    pub fn get(&self, address: u64, bytes: usize) -> Vec<u8> {
        let place = Self::place(address, bytes).expect("it is RAM");
        self.bytes.borrow()[place..place + bytes].to_vec()
    }

    pub fn set(&self, address: u64, data: &[u8]) {
        let place = Self::place(address, data.len()).expect("it is RAM");
        self.bytes.borrow_mut()[place..place + data.len()].copy_from_slice(data);
    }

    pub fn descriptor(&self, number: u16, address: u64, bytes: u32, flags: u16, next: u16) {
        let at = RING.descriptors + 16 * u64::from(number);
        self.set(at, &address.to_le_bytes());
        self.set(at + 8, &bytes.to_le_bytes());
        self.set(at + 12, &flags.to_le_bytes());
        self.set(at + 14, &next.to_le_bytes());
    }

    /// Makes a chain available, as the one with this index.
    pub fn available(&self, index: u16, first: u16) {
        self.set(RING.available + 4 + 2 * u64::from(index % RING.size), &first.to_le_bytes());
        self.set(RING.available + 2, &index.wrapping_add(1).to_le_bytes());
    }

    /// The index of the used ring, and its last element.
    pub fn used(&self) -> (u16, u32, u32) {
        let number = |at, bytes| {
            self.get(at, bytes).iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte))
        };
        let index = number(RING.used + 2, 2) as u16;
        let last = RING.used + 4 + 8 * u64::from(index.wrapping_sub(1) % RING.size);
        (index, number(last, 4), number(last + 4, 4))
    }

    fn count(&self) {
        self.accesses.set(self.accesses.get() + 1);
    }
}

impl Memory for Ram {
    fn load(&self, address: u64, data: &mut [u8]) -> bool {
        self.count();
        let Some(place) = Self::place(address, data.len()) else { return false };
        data.copy_from_slice(&self.bytes.borrow()[place..place + data.len()]);
        if let Some(place) = self.changes.and_then(|address| Self::place(address, 1)) {
            self.bytes.borrow_mut()[place] ^= 0xff;
        }
        true
    }

    fn store(&self, address: u64, data: &[u8]) -> bool {
        self.count();
        let is_ram = Self::place(address, data.len()).is_some();
        if is_ram {
            self.set(address, data);
        }
        is_ram
    }

    fn load_u16(&self, address: u64) -> Option<u16> {
        assert!(address.is_multiple_of(2), "{address:#x}");
        let mut data = [0; 2];
        self.load(address, &mut data).then_some(u16::from_le_bytes(data))
    }

    fn store_u16(&self, address: u64, value: u16) -> bool {
        assert!(address.is_multiple_of(2), "{address:#x}");
        self.store(address, &value.to_le_bytes())
    }
}
