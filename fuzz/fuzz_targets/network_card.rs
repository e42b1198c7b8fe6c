//! Whatever a guest has in its RAM and does to its network card: the card accesses nothing but RAM, only few times for each
//! frame, and what it sends is a frame from its own address.
#![no_main]

use std::cell::{Cell, RefCell};

use hypervisor::vdev::virtio::Memory;
use hypervisor::vdev::virtio::card::{Card, Effect, RECEIVE, TRANSMIT};
use hypervisor::vdev::virtio::queue::{CHAIN_MAX, Queue};
use hypervisor::vdev::virtio::wire::{
    BUFFER, Dropped, FRAME_MAX, FRAME_MIN, Sender, Sent, deliver,
};
use policy::channel::{Bucket, Parameters};
use policy::time::{Duration, Instant};

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// RAM from address 0 on.
struct Ram {
    bytes: RefCell<Vec<u8>>,
    accesses: Cell<u32>,
}

impl Ram {
    fn part(&self, address: u64, bytes: usize) -> Option<std::ops::Range<usize>> {
        self.accesses.set(self.accesses.get() + 1);
        let start = usize::try_from(address).ok()?;
        let end = start.checked_add(bytes)?;
        (end <= self.bytes.borrow().len()).then_some(start..end)
    }
}

impl Memory for Ram {
    fn load(&self, address: u64, data: &mut [u8]) -> bool {
        let Some(part) = self.part(address, data.len()) else { return false };
        data.copy_from_slice(&self.bytes.borrow()[part]);
        true
    }

    fn store(&self, address: u64, data: &[u8]) -> bool {
        let Some(part) = self.part(address, data.len()) else { return false };
        self.bytes.borrow_mut()[part].copy_from_slice(data);
        true
    }

    fn load_u16(&self, address: u64) -> Option<u16> {
        let mut data = [0; 2];
        self.load(address, &mut data).then(|| u16::from_le_bytes(data))
    }

    fn store_u16(&self, address: u64, value: u16) -> bool {
        self.store(address, &value.to_le_bytes())
    }
}

libfuzzer_sys::fuzz_target!(|input: (Vec<u8>, Vec<(u8, u16, u32)>)| {
    let (bytes, operations) = input;
    let ram = Ram { bytes: RefCell::new(bytes), accesses: Cell::new(0) };
    let limit = Parameters { tokens: 1, period: Duration(1), burst: 1 << 20 };
    let mut sender = Sender::new(OWN, OTHER, Bucket::new(limit).expect("a limit"));
    let mut card = Card::new(OWN);
    let mut queues: [Option<Queue>; 2] = [None; 2];
    for (kind, offset, value) in operations {
        let (offset, size) = (u64::from(offset & 0xfff), 1 << (kind >> 6));
        ram.accesses.set(0);
        match kind % 8 {
            0 => drop(card.read(offset, size)),
            1..4 => match card.write(offset, size, value.into()) {
                Some(Effect::Start(layouts)) => {
                    queues = layouts.map(|layout| layout.and_then(Queue::new));
                }
                Some(Effect::Stop) => queues = [None; 2],
                _ => {}
            },
            4 => {
                if let Some(byte) = ram.bytes.borrow_mut().get_mut(offset as usize) {
                    *byte = value as u8;
                }
            }
            5 | 6 => {
                let Some(queue) = &mut queues[TRANSMIT] else { continue };
                let sent = sender.send(queue, &ram, Instant(value.into()), |frame| {
                    assert!((12 + FRAME_MIN..=12 + FRAME_MAX).contains(&frame.len()));
                    assert_eq!(frame[18..24], OWN);
                    Ok(())
                });
                assert!(ram.accesses.take() <= 5 + 2 * u32::from(CHAIN_MAX));
                let all = matches!(sent, Ok(Sent::Dropped(Dropped::Rate))) || kind % 8 == 6;
                let sent = if all && sent.is_ok() { sender.drop_all(queue, &ram) } else { sent };
                assert!(ram.accesses.take() <= 2 + 2 * 2);
                if sent.is_err() {
                    queues[TRANSMIT] = None;
                    card.breaks();
                }
            }
            _ => {
                let Some(queue) = &mut queues[RECEIVE] else { continue };
                let frame = [0; BUFFER];
                let bytes = (value as usize).clamp(12 + FRAME_MIN, BUFFER);
                if deliver(queue, &ram, &frame[..bytes]).is_err() {
                    queues[RECEIVE] = None;
                    card.breaks();
                }
            }
        }
        assert!(ram.accesses.get() <= 5 + 2 * u32::from(CHAIN_MAX));
    }
});
