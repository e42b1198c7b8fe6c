//! A ring as its definition reads (VIRTIO 1.2, 2.7), without regard to cost: all of a chain is found first, and used then.

use super::memory::{NEXT, RING, Ram, WRITE};
use crate::vdev::virtio::queue::CHAIN_MAX;

/// What a device has done with a ring.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference {
    pub taken: u16,
    pub returned: u16,
}

/// The driver is wrong.
#[derive(Debug, Eq, PartialEq)]
pub struct Wrong;

fn number(ram: &Ram, at: u64, bytes: usize) -> u64 {
    ram.get(at, bytes).iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// Buffers of the chain: address and bytes of each. The chain may be wrong behind them.
fn chain(ram: &Ram, first: u16, kind: u16) -> (Vec<(u64, u64)>, Result<(), Wrong>) {
    let (mut buffers, mut next) = (Vec::new(), Some(u64::from(first)));
    while let Some(it) = next {
        if it >= u64::from(RING.size) || buffers.len() == usize::from(CHAIN_MAX) {
            return (buffers, Err(Wrong));
        }
        let at = RING.descriptors + 16 * it;
        let flags = number(ram, at + 12, 2) as u16;
        if flags != kind && flags != kind | NEXT {
            return (buffers, Err(Wrong));
        }
        buffers.push((number(ram, at, 8), number(ram, at + 8, 4)));
        next = (flags & NEXT != 0).then(|| number(ram, at + 14, 2));
    }
    (buffers, Ok(()))
}

impl Reference {
    /// The next available chain.
    fn take(&mut self, ram: &Ram) -> Result<Option<u16>, Wrong> {
        let index = number(ram, RING.available + 2, 2) as u16;
        match index.wrapping_sub(self.taken) {
            0 => Ok(None),
            waiting if waiting > RING.size => Err(Wrong),
            _ => {
                let place = u64::from(self.taken % RING.size);
                self.taken = self.taken.wrapping_add(1);
                Ok(Some(number(ram, RING.available + 4 + 2 * place, 2) as u16))
            }
        }
    }

    fn give_back(&mut self, ram: &Ram, first: u16, bytes: u32) {
        let at = RING.used + 4 + 8 * u64::from(self.returned % RING.size);
        ram.set(at, &u32::from(first).to_le_bytes());
        ram.set(at + 4, &bytes.to_le_bytes());
        self.returned = self.returned.wrapping_add(1);
        ram.set(RING.used + 2, &self.returned.to_le_bytes());
    }

    /// What a driver transmits: all bytes of the next chain, of which only the first `most` are looked at.
    pub fn transmitted(&mut self, ram: &Ram, most: usize) -> Result<Option<(u64, Vec<u8>)>, Wrong> {
        let Some(first) = self.take(ram)? else { return Ok(None) };
        let (buffers, end) = chain(ram, first, 0);
        end?;
        let (mut all, mut total) = (Vec::new(), 0);
        for (address, bytes) in buffers {
            let used = bytes.min((most - all.len()) as u64) as usize;
            total += bytes;
            if used > 0 {
                Ram::place(address, used).ok_or(Wrong)?;
                all.extend(ram.get(address, used));
            }
        }
        self.give_back(ram, first, 0);
        Ok(Some((total, all)))
    }

    /// Gives all available chains back. Returns true if there was one.
    pub fn drops(&mut self, ram: &Ram) -> Result<bool, Wrong> {
        let mut some = false;
        while let Some(first) = self.take(ram)? {
            self.give_back(ram, first, 0);
            some = true;
        }
        Ok(some)
    }

    /// Brings bytes to the driver.
    pub fn receives(&mut self, ram: &Ram, data: &[u8]) -> Result<bool, Wrong> {
        let Some(first) = self.take(ram)? else { return Ok(false) };
        let (buffers, _) = chain(ram, first, WRITE);
        let mut rest = data;
        for (address, bytes) in buffers {
            let (part, more) = rest.split_at(rest.len().min(bytes as usize));
            if !part.is_empty() {
                Ram::place(address, part.len()).ok_or(Wrong)?;
                ram.set(address, part);
            }
            rest = more;
        }
        if !rest.is_empty() {
            return Err(Wrong);
        }
        self.give_back(ram, first, data.len() as u32);
        Ok(true)
    }
}
