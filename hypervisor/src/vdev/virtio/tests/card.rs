//! The registers, as drivers use them, and as nobody should.

use proptest::prelude::*;

use super::OWN;
use crate::vdev::virtio::card::{Card, Effect, RECEIVE, TRANSMIT};
use crate::vdev::virtio::queue::{Layout, SIZE_MAX};

const STATUS: u64 = 0x70;

fn read(card: &Card, offset: u64) -> u64 {
    card.read(offset, 4).expect("a register")
}

fn write(card: &mut Card, offset: u64, value: u64) -> Effect {
    card.write(offset, 4, value).expect("a register")
}

fn ring(at: u64) -> Layout {
    Layout { size: 32, descriptors: at, available: at + 0x1_0000_0000, used: at + 0x2000 }
}

/// Does what Linux does: `virtio_dev_probe`, `vm_setup_vq`, `virtio_device_ready`.
fn start(card: &mut Card) -> Effect {
    assert_eq!(write(card, STATUS, 0), Effect::Stop);
    write(card, STATUS, 1);
    write(card, STATUS, 3);
    let features = [1, 0].map(|which| {
        write(card, 0x14, which);
        read(card, 0x10)
    });
    assert_eq!(features, [1, 1 << 5], "version 1, and an address");
    for (which, features) in [(1, 1), (0, 1 << 5)] {
        write(card, 0x24, which);
        write(card, 0x20, features);
    }
    write(card, STATUS, 11);
    assert_eq!(read(card, STATUS), 11, "the features are accepted");
    for (queue, at) in [(RECEIVE, 0x4000_1000), (TRANSMIT, 0x4001_1000)] {
        write(card, 0x30, queue as u64);
        assert_eq!((read(card, 0x44), read(card, 0x34)), (0, SIZE_MAX.into()));
        let Layout { size, descriptors, available, used } = ring(at);
        write(card, 0x38, size.into());
        for (register, address) in [(0x80, descriptors), (0x90, available), (0xa0, used)] {
            write(card, register, address & 0xffff_ffff);
            write(card, register + 4, address >> 32);
        }
        assert_eq!(write(card, 0x44, 1), Effect::Nothing);
    }
    write(card, STATUS, 15)
}

#[test]
fn linux_finds_a_card_and_starts_it() {
    let mut card = Card::new(OWN);
    assert_eq!([0, 4, 8].map(|at| read(&card, at)), [0x7472_6976, 2, 1]);
    let rings = [Some(ring(0x4000_1000)), Some(ring(0x4001_1000))];
    assert_eq!(start(&mut card), Effect::Start(rings));
    let mac: Vec<_> = (0..6).map(|at| card.read(0x100 + at, 1)).collect();
    assert_eq!(mac, OWN.map(|byte| Some(byte.into())));
    assert_eq!(
        (card.read(0x100, 4), card.read(0x104, 2), card.read(0x108, 4)),
        (Some(2), Some(0x100), Some(0))
    );
    assert_eq!(write(&mut card, 0x50, 1), Effect::Transmit);
    assert_eq!(
        write(&mut card, 0x50, 0),
        Effect::Nothing,
        "buffers to receive are looked at anyway"
    );
}

#[test]
fn interrupts_are_raised_and_cleared() {
    let mut card = Card::new(OWN);
    card.returned();
    assert!(!card.interrupt(), "nobody uses it");
    start(&mut card);
    card.returned();
    assert_eq!((card.interrupt(), read(&card, 0x60)), (true, 1));
    write(&mut card, 0x64, 2);
    assert!(card.interrupt(), "another one");
    write(&mut card, 0x64, 1);
    assert!(!card.interrupt());
}

#[test]
fn a_broken_card_says_so_until_it_is_reset() {
    let mut card = Card::new(OWN);
    start(&mut card);
    card.breaks();
    assert_eq!((read(&card, STATUS), read(&card, 0x60)), (15 | 64, 2));
    assert_eq!(write(&mut card, 0x50, 1), Effect::Nothing);
    assert_eq!(write(&mut card, STATUS, 15), Effect::Nothing, "it is not started again");
    assert_eq!(write(&mut card, STATUS, 0), Effect::Stop);
    assert_eq!(card, Card::new(OWN));
    assert!(matches!(start(&mut card), Effect::Start(_)));
}

#[test]
fn what_is_not_offered_is_not_accepted() {
    for (low, high) in [(0, 0), (1 << 5, 0), (1 << 15, 1), (1, 1), (0, 3), (1 << 28, 1)] {
        let mut card = Card::new(OWN);
        for (which, features) in [(0, low), (1, high)] {
            write(&mut card, 0x24, which);
            write(&mut card, 0x20, features);
        }
        write(&mut card, STATUS, 11);
        assert_eq!(read(&card, STATUS), 3, "{low:#x} {high:#x}");
        assert_eq!(write(&mut card, STATUS, 15), Effect::Nothing);
        assert_eq!(read(&card, STATUS), 3);
    }
}

#[test]
fn a_ring_that_cannot_be_breaks_the_card() {
    let mut card = Card::new(OWN);
    write(&mut card, 0x24, 1);
    write(&mut card, 0x20, 1);
    write(&mut card, STATUS, 11);
    write(&mut card, 0x38, 0x1_0000);
    write(&mut card, 0x44, 1);
    assert_eq!(write(&mut card, STATUS, 15), Effect::Nothing);
    assert_eq!(read(&card, STATUS), 15 | 64);
}

#[test]
fn rings_in_use_are_not_changed() {
    let mut card = Card::new(OWN);
    start(&mut card);
    let before = card;
    for register in [0x38, 0x44, 0x80, 0x84, 0x90, 0xa0] {
        write(&mut card, register, 0x55);
    }
    assert_eq!(card, before);
}

#[test]
fn other_widths_are_refused() {
    let mut card = Card::new(OWN);
    assert_eq!((card.read(0, 2), card.read(0, 8), card.read(2, 4)), (None, None, None));
    assert_eq!((card.read(0x100, 8), card.read(0x101, 2)), (None, None));
    assert_eq!((card.write(STATUS, 1, 0), card.write(STATUS, 8, 0)), (None, None));
}

proptest! {
    #[test]
    fn whatever_a_driver_does_rings_start_only_when_they_can_be(
        accesses in prop::collection::vec(
            (
                any::<bool>(),
                prop_oneof![
                    3 => prop::sample::select(vec![0x14, 0x20, 0x24, 0x30, 0x38, 0x44, 0x50, 0x64, STATUS, STATUS]),
                    2 => prop::sample::select(vec![0x80, 0x84, 0x90, 0x94, 0xa0, 0xa4]),
                    1 => 0..0x1000u64,
                ],
                prop_oneof![10 => Just(4usize), 1 => prop::sample::select(vec![1, 2, 8])],
                prop_oneof![6 => 0..16u64, 2 => prop::sample::select(vec![1 << 5, 64, 0x1000]), 1 => any::<u64>()],
            ),
            0..200,
        ),
    ) {
        let mut card = Card::new(OWN);
        let mut in_use = false;
        for (is_load, offset, bytes, value) in accesses {
            if is_load {
                let value = card.read(offset, bytes);
                prop_assert!(value.is_none_or(|value| bytes == 8 || value >> (8 * bytes) == 0));
                continue;
            }
            match card.write(offset, bytes, value) {
                Some(Effect::Start(rings)) => {
                    prop_assert!(!in_use && Card::moves_rings(offset) && card.is_running());
                    prop_assert!(rings.iter().flatten().all(Layout::is_valid));
                    in_use = true;
                }
                Some(Effect::Stop) => {
                    prop_assert!(Card::moves_rings(offset) && !card.is_running());
                    in_use = false;
                }
                Some(Effect::Transmit) => prop_assert!(in_use),
                Some(Effect::Nothing) | None => {}
            }
            prop_assert_eq!(card.is_running(), in_use);
        }
    }
}
