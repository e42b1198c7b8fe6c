//! Random contents of RAM, most of them nonsense: the device does what the reference does, within few accesses.

use policy::channel::{Bucket, Parameters};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

use super::memory::{BUFFERS, NEXT, REGION_BYTES, REGIONS, RING, Ram};
use super::reference::Reference;
use super::{OTHER, OWN};
use crate::vdev::virtio::queue::{CHAIN_MAX, Queue};
use crate::vdev::virtio::wire::{BUFFER, FRAME_MAX, FRAME_MIN, Sender, Sent, deliver};

/// Something that the guest writes, or that the device does.
#[derive(Clone, Debug)]
enum Step {
    Descriptor {
        number: u16,
        address: u64,
        bytes: u32,
        flags: u16,
        next: u16,
    },
    Available {
        ahead: u16,
        first: u16,
    },
    /// A frame that is often a correct one.
    Frame {
        at: u64,
        bytes: Vec<u8>,
        to: u8,
        from: u8,
    },
    /// A frame in two buffers that is made available, and is mostly a correct one.
    Offer {
        number: u16,
        data: usize,
        to: u8,
        from: u8,
        split: u32,
    },
    Byte {
        at: u64,
        value: u8,
    },
    Send,
    DropAll,
    Deliver(usize),
}

fn address() -> impl Strategy<Value = u64> {
    let places = [BUFFERS, REGIONS[0] + REGION_BYTES, REGIONS[1], REGIONS[1] + REGION_BYTES, 0];
    prop_oneof![
        8 => (0..places.len(), -64..64i64).prop_map(move |(at, by)| places[at].wrapping_add_signed(by)),
        4 => (0..0x800u64).prop_map(|offset| REGIONS[1] + offset),
        1 => any::<u64>(),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![6 => 0..2_000u32, 1 => any::<u32>()];
    let flags = prop_oneof![8 => 0..4u16, 1 => any::<u16>()];
    let number = || prop_oneof![12 => 0..RING.size, 1 => any::<u16>()];
    prop_oneof![
        8 => (0..RING.size, address(), bytes, flags, number())
            .prop_map(|(number, address, bytes, flags, next)| {
                Step::Descriptor { number, address, bytes, flags, next }
            }),
        4 => (prop_oneof![8 => 0..3u16, 1 => any::<u16>()], number())
            .prop_map(|(ahead, first)| Step::Available { ahead, first }),
        4 => (0..0x800u64, prop::collection::vec(any::<u8>(), 0..80), 0..3u8, 0..3u8)
            .prop_map(|(at, bytes, to, from)| Step::Frame { at, bytes, to, from }),
        6 => (0..RING.size - 1, prop_oneof![0..60usize, 0..1_520usize], 0..3u8, 0..3u8, 0..40u32)
            .prop_map(|(number, data, to, from, split)| {
                Step::Offer { number, data, to, from, split }
            }),
        1 => (0..0x100u64, any::<u8>()).prop_map(|(at, value)| Step::Byte { at, value }),
        6 => Just(Step::Send),
        2 => Just(Step::DropAll),
        4 => (1..BUFFER).prop_map(Step::Deliver),
    ]
}

fn address_of(which: u8) -> [u8; 6] {
    [OWN, OTHER, [0xff; 6]][usize::from(which)]
}

/// Does what a guest does.
fn write(ram: &Ram, step: &Step) {
    match step {
        Step::Descriptor { number, address, bytes, flags, next } => {
            ram.descriptor(*number, *address, *bytes, *flags, *next);
        }
        Step::Available { ahead, first } => {
            let index = u16::from_le_bytes(ram.get(RING.available + 2, 2).try_into().unwrap());
            ram.available(index.wrapping_add(*ahead).wrapping_sub(1), *first);
        }
        Step::Frame { at, bytes, to, from } => {
            let parts = [&[0; 12][..], &address_of(*to), &address_of(*from), bytes].concat();
            ram.set(REGIONS[1] + at, &parts);
        }
        Step::Offer { number, data, to, from, split } => {
            let data = vec![*number as u8; *data];
            let frame = [&[0; 12][..], &address_of(*to), &address_of(*from), &data].concat();
            let at = REGIONS[1] + 0x100;
            ram.set(at, &frame);
            let split = (*split).min(frame.len() as u32);
            let rest = frame.len() as u32 - split;
            ram.descriptor(*number, at, split, NEXT, number + 1);
            ram.descriptor(number + 1, at + u64::from(split), rest, 0, 0);
            let index = u16::from_le_bytes(ram.get(RING.available + 2, 2).try_into().unwrap());
            ram.available(index, *number);
        }
        Step::Byte { at, value } => ram.set(REGIONS[0] + at, &[*value]),
        Step::Send | Step::DropAll | Step::Deliver(_) => {}
    }
}

/// The frame of these bytes, of `total` in all, if it may pass.
fn passes(total: u64, bytes: &[u8]) -> bool {
    let Some(frame) = bytes.get(12..) else { return false };
    let right = (FRAME_MIN as u64..=FRAME_MAX as u64).contains(&(total.wrapping_sub(12)));
    right
        && bytes[..2] == [0, 0]
        && frame[6..12] == OWN
        && (frame[..6] == OTHER || frame[0] & 1 == 1)
}

fn run(steps: &[Step]) {
    let (ram, expected) = (Ram::new(), Ram::new());
    let limit = Parameters { tokens: 1, period: Duration(1), burst: u64::MAX };
    let mut sender = Sender::new(OWN, OTHER, Bucket::new(limit).unwrap());
    let (mut queue, mut reference) = (Queue::new(RING).unwrap(), Reference::default());
    for step in steps {
        write(&ram, step);
        write(&expected, step);
        ram.accesses.set(0);
        match *step {
            Step::Send => {
                let mut delivered = None;
                let sent = sender.send(&mut queue, &ram, Instant(0), |frame| {
                    delivered = Some(frame.to_vec());
                    Ok(())
                });
                match reference.transmitted(&expected, BUFFER) {
                    Err(_) => {
                        assert!(sent.is_err() && delivered.is_none(), "{sent:?}");
                        return;
                    }
                    Ok(None) => assert_eq!(sent, Ok(Sent::Nothing)),
                    Ok(Some((total, mut bytes))) => {
                        let pass = passes(total, &bytes);
                        assert_eq!(sent == Ok(Sent::Frame), pass, "{sent:?}");
                        assert!(sent.is_ok());
                        if pass {
                            bytes[..12].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
                        }
                        assert_eq!(delivered, pass.then_some(bytes));
                    }
                }
            }
            Step::DropAll => {
                match (sender.drop_all(&mut queue, &ram), reference.drops(&expected)) {
                    (Ok(got), Ok(dropped)) => assert_eq!(got != Sent::Nothing, dropped),
                    (Err(_), Err(_)) => return,
                    different => panic!("{different:?}"),
                }
            }
            Step::Deliver(bytes) => {
                let data: Vec<u8> = (0..bytes).map(|byte| byte as u8 | 1).collect();
                let got = deliver(&mut queue, &ram, &data);
                let wanted = reference.receives(&expected, &data);
                match (got, wanted) {
                    (Ok(got), Ok(wanted)) => assert_eq!(got, wanted),
                    (Err(_), Err(_)) => return,
                    different => panic!("{different:?}"),
                }
            }
            _ => {}
        }
        let most = match step {
            Step::DropAll => 2 + 2 * 2,
            _ => 5 + 2 * u32::from(CHAIN_MAX),
        };
        assert!(ram.accesses.get() <= most, "{}", ram.accesses.get());
        assert!(*ram.bytes.borrow() == *expected.bytes.borrow(), "RAM differs after {step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn whatever_is_in_ram_the_device_does_what_the_definition_says(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        run(&steps);
    }
}

/// The random steps above come to what matters.
#[test]
fn random_steps_send_and_deliver() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let (mut sent, mut delivered) = (0, 0);
    for _ in 0..4_000 {
        let steps = prop::collection::vec(step(), 1..60).new_tree(&mut runner).unwrap().current();
        let (ram, mut reference) = (Ram::new(), Reference::default());
        for step in &steps {
            write(&ram, step);
            match step {
                Step::Send => match reference.transmitted(&ram, BUFFER) {
                    Ok(Some((total, bytes))) => sent += u32::from(passes(total, &bytes)),
                    Ok(None) => {}
                    Err(_) => break,
                },
                Step::DropAll => match reference.drops(&ram) {
                    Ok(_) => {}
                    Err(_) => break,
                },
                Step::Deliver(bytes) => match reference.receives(&ram, &vec![0; *bytes]) {
                    Ok(true) => delivered += 1,
                    Ok(false) => {}
                    Err(_) => break,
                },
                _ => {}
            }
        }
    }
    assert!(sent >= 100 && delivered >= 30, "{sent} sent, {delivered} delivered");
}
