//! Frames from one driver to another one.

use policy::channel::{Bucket, Parameters};
use policy::time::{Duration, Instant};

use super::memory::{BUFFERS, NEXT, RING, Ram, WRITE};
use super::{OTHER, OWN};
use crate::vdev::virtio::queue::{Broken, CHAIN_MAX, Layout, Queue, SIZE_MAX};
use crate::vdev::virtio::wire::{Dropped, FRAME_MAX, Sender, Sent, deliver};

const FROM: u64 = BUFFERS;
const NOW: Instant = Instant(1_000);

fn sender(burst: u64) -> Sender {
    let parameters = Parameters { tokens: 1, period: Duration(1), burst };
    Sender::new(OWN, OTHER, Bucket::new(parameters).expect("a limit"))
}

fn queue() -> Queue {
    Queue::new(RING).expect("a ring")
}

/// A frame behind a header, with this many bytes of data.
fn frame(to: [u8; 6], from: [u8; 6], data: usize) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend(to);
    frame.extend(from);
    frame.extend([8, 0]);
    frame.extend((0..data).map(|byte| byte as u8));
    frame
}

/// Sends what is in `frame`, in one buffer. Returns what came out, and what was delivered.
fn send(sender: &mut Sender, frame: &[u8]) -> (Result<Sent, Broken>, Option<Vec<u8>>) {
    let ram = Ram::new();
    ram.set(FROM, frame);
    ram.descriptor(3, FROM, frame.len() as u32, 0, 0);
    ram.available(0, 3);
    let mut delivered = None;
    let sent = sender.send(&mut queue(), &ram, NOW, |frame| {
        delivered = Some(frame.to_vec());
        Ok(())
    });
    assert_eq!(ram.used(), (1, 3, 0), "the driver gets its buffer back");
    (sent, delivered)
}

#[test]
fn a_frame_goes_from_the_buffers_of_one_driver_into_those_of_the_other() {
    let (from, to) = (Ram::new(), Ram::new());
    let mut sent = frame(OTHER, OWN, 300);
    // The header, the frame in two parts.
    from.set(FROM, &sent);
    from.descriptor(0, FROM, 12, NEXT, 5);
    from.descriptor(5, FROM + 12, 100, NEXT, 1);
    from.descriptor(1, FROM + 112, 214, 0, 0);
    from.available(0, 0);
    to.descriptor(2, BUFFERS, 40, WRITE | NEXT, 7);
    to.descriptor(7, BUFFERS + 0x400, 1486, WRITE, 0);
    to.available(0, 2);
    let (mut sender, mut transmit, mut receive) = (sender(2_000), queue(), queue());
    let result = sender.send(&mut transmit, &from, NOW, |frame| {
        assert_eq!(deliver(&mut receive, &to, frame), Ok(true));
        Ok(())
    });
    assert_eq!(result, Ok(Sent::Frame));
    // One buffer has the frame.
    sent[10] = 1;
    let got = [to.get(BUFFERS, 40), to.get(BUFFERS + 0x400, 286)].concat();
    assert_eq!(got, sent);
    assert_eq!((from.used(), to.used()), ((1, 0, 0), (1, 2, 326)));
    assert_eq!(
        sender.counts().to_string(),
        "frames=1 bytes=314 malformed=0 address=0 rate=0 away=0 full=0"
    );
    assert_eq!(sender.send(&mut transmit, &from, NOW, |_| Ok(())), Ok(Sent::Nothing));
    assert_eq!(deliver(&mut receive, &to, &sent), Ok(false), "no buffer is left");
}

#[test]
fn only_frames_from_the_card_to_the_other_end_pass() {
    let group = [0xff; 6];
    let stranger = [2, 0, 0, 0, 0, 3];
    for (frame, expected) in [
        (frame(OTHER, OWN, 0), Sent::Frame),
        (frame(group, OWN, 100), Sent::Frame),
        (frame([0x33, 0x33, 0, 0, 0, 1], OWN, 1500), Sent::Frame),
        (frame(stranger, OWN, 100), Sent::Dropped(Dropped::Address)),
        (frame(OTHER, stranger, 100), Sent::Dropped(Dropped::Address)),
        (frame(OTHER, OTHER, 100), Sent::Dropped(Dropped::Address)),
        (frame(OTHER, OWN, 1501), Sent::Dropped(Dropped::Malformed)),
        (frame(OTHER, OWN, 0)[..25].to_vec(), Sent::Dropped(Dropped::Malformed)),
        (vec![0; 11], Sent::Dropped(Dropped::Malformed)),
        (vec![], Sent::Dropped(Dropped::Malformed)),
    ] {
        let (sent, delivered) = send(&mut sender(2_000), &frame);
        assert_eq!(sent, Ok(expected), "{frame:?}");
        assert_eq!(delivered.is_some(), expected == Sent::Frame);
    }
    for (byte, offload) in [(0, 1), (1, 1)] {
        let mut frame = frame(OTHER, OWN, 100);
        frame[byte] = offload;
        assert_eq!(send(&mut sender(2_000), &frame).0, Ok(Sent::Dropped(Dropped::Malformed)));
    }
}

#[test]
fn a_sender_sends_no_more_than_it_may() {
    // Each of these counts with 64 bytes.
    let (short, mut limited) = (frame(OTHER, OWN, 0), sender(150));
    let results: Vec<_> = (0..3).map(|_| send(&mut limited, &short).0).collect();
    assert_eq!(results, [Ok(Sent::Frame), Ok(Sent::Frame), Ok(Sent::Dropped(Dropped::Rate))]);
    // What does not pass anyway takes as much: it was copied, too.
    for (frame, bytes, why) in [
        (frame(OTHER, OTHER, 0), 64, Dropped::Address),
        (frame(OTHER, OTHER, 86), 100, Dropped::Address),
        (vec![], 64, Dropped::Malformed),
        (frame(OTHER, OWN, 1501), FRAME_MAX as u64, Dropped::Malformed),
    ] {
        let mut limited = sender(bytes + 64);
        assert_eq!(send(&mut limited, &frame).0, Ok(Sent::Dropped(why)), "{frame:?}");
        assert_eq!(send(&mut limited, &short).0, Ok(Sent::Frame), "{frame:?}");
        assert_eq!(send(&mut limited, &short).0, Ok(Sent::Dropped(Dropped::Rate)), "{frame:?}");
    }
}

#[test]
fn all_that_wait_are_dropped_at_once() {
    let (ram, mut queue) = (Ram::new(), queue());
    let mut sender = sender(64);
    for index in 0..5 {
        ram.available(index, index % 2);
    }
    assert_eq!(sender.drop_all(&mut queue, &ram), Ok(Sent::Dropped(Dropped::Rate)));
    assert_eq!((ram.used(), queue.waiting(&ram)), ((5, 0, 0), Ok(0)));
    assert_eq!(ram.get(RING.used + 4 + 8 * 3, 8), [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(sender.counts().dropped[Dropped::Rate as usize], 5);
    ram.accesses.set(0);
    assert_eq!(sender.drop_all(&mut queue, &ram), Ok(Sent::Nothing));
    assert_eq!(ram.accesses.get(), 1);
    // No token was taken, and the ring goes on.
    ram.set(FROM, &frame(OTHER, OWN, 0));
    ram.descriptor(3, FROM, 26, 0, 0);
    ram.available(5, 3);
    assert_eq!(sender.send(&mut queue, &ram, NOW, |_| Ok(())), Ok(Sent::Frame));
    ram.available(14, 0);
    assert_eq!(sender.drop_all(&mut queue, &ram), Err(Broken::Index), "nine of eight");
}

#[test]
fn what_the_receiver_refuses_is_counted() {
    for why in [Dropped::Full, Dropped::Away] {
        let ram = Ram::new();
        ram.set(FROM, &frame(OTHER, OWN, 46));
        ram.descriptor(0, FROM, 72, 0, 0);
        ram.available(0, 0);
        let mut sender = sender(2_000);
        let sent = sender.send(&mut queue(), &ram, NOW, |_| Err(why));
        assert_eq!(sent, Ok(Sent::Dropped(why)));
        assert_eq!((sender.counts().frames, sender.counts().dropped[why as usize]), (0, 1));
    }
}

#[test]
fn what_the_guest_changes_meanwhile_changes_nothing() {
    // The first byte of the address from which the frame comes flips after each load.
    let mut ram = Ram::new();
    let sent = frame(OTHER, OWN, 46);
    ram.set(FROM, &sent);
    ram.changes = Some(FROM + 12 + 6);
    ram.descriptor(0, FROM, 72, 0, 0);
    for index in 0..20 {
        ram.available(index, 0);
    }
    let (mut sender, mut queue) =
        (sender(100_000), Queue::new(Layout { size: 8, ..RING }).unwrap());
    let mut passed = 0;
    for _ in 0..8 {
        let result = sender.send(&mut queue, &ram, NOW, |frame| {
            assert_eq!(frame[18..24], OWN, "what was looked at is what is sent");
            passed += 1;
            Ok(())
        });
        if result.is_err() {
            break;
        }
        ram.available(queue.waiting(&ram).unwrap_or(0), 0);
    }
    let all = sender.counts();
    assert_eq!(all.frames, passed);
}

#[test]
fn rings_that_cannot_be_are_refused() {
    let good = Layout { size: SIZE_MAX, descriptors: 0x1000, available: 0x2000, used: 0x3000 };
    assert!(good.is_valid() && Layout { size: 1, ..good }.is_valid());
    for bad in [
        Layout { size: 0, ..good },
        Layout { size: 3, ..good },
        Layout { size: 2 * SIZE_MAX, ..good },
        Layout { descriptors: 0x1008, ..good },
        Layout { available: 0x2001, ..good },
        Layout { used: 0x3002, ..good },
        Layout { descriptors: u64::MAX - 15, ..good },
        Layout { available: u64::MAX - 1, ..good },
        Layout { used: u64::MAX - 3, ..good },
    ] {
        assert_eq!(Queue::new(bad), None, "{bad:?}");
    }
}

#[test]
fn what_a_correct_driver_does_not_do_breaks_the_ring() {
    let broken = |change: fn(&Ram)| {
        let ram = Ram::new();
        ram.set(FROM, &frame(OTHER, OWN, 46));
        ram.descriptor(0, FROM, 72, 0, 0);
        ram.available(0, 0);
        change(&ram);
        let sent = sender(2_000).send(&mut queue(), &ram, NOW, |_| panic!("nothing is sent"));
        assert!(ram.accesses.get() <= 4 + 2 * u32::from(CHAIN_MAX));
        sent.expect_err("it is broken")
    };
    assert_eq!(broken(|ram| ram.descriptor(0, FROM, 72, NEXT, 0)), Broken::Long, "a circle");
    assert_eq!(broken(|ram| ram.descriptor(0, FROM, 0, NEXT, 0)), Broken::Long, "an empty one");
    assert_eq!(broken(|ram| ram.descriptor(0, FROM, 72, NEXT, 8)), Broken::Number);
    assert_eq!(broken(|ram| ram.available(0, 8)), Broken::Number);
    assert_eq!(broken(|ram| ram.available(8, 0)), Broken::Index, "nine of eight");
    assert_eq!(broken(|ram| ram.descriptor(0, FROM, 72, WRITE, 0)), Broken::Kind);
    assert_eq!(broken(|ram| ram.descriptor(0, FROM, 16, 4, 0)), Broken::Kind, "a table");
    assert_eq!(broken(|ram| ram.descriptor(0, 0x4000_0ff0, 72, 0, 0)), Broken::Outside);
    assert_eq!(broken(|ram| ram.descriptor(0, u64::MAX - 3, 72, 0, 0)), Broken::Outside);
    assert_eq!(broken(|ram| ram.descriptor(0, 0, u32::MAX, 0, 0)), Broken::Outside);
}

#[test]
fn buffers_of_a_receiver_are_large_enough_or_it_is_broken() {
    let ram = Ram::new();
    ram.descriptor(0, BUFFERS, 100, WRITE, 0);
    ram.available(0, 0);
    assert_eq!(deliver(&mut queue(), &ram, &[0; 101]), Err(Broken::Small));
    assert_eq!(deliver(&mut queue(), &ram, &[7; 100]), Ok(true));
    assert_eq!(ram.get(BUFFERS, 101), [vec![7; 100], vec![0]].concat());
    ram.descriptor(0, BUFFERS, 2 * FRAME_MAX as u32, 0, 0);
    assert_eq!(deliver(&mut queue(), &ram, &[7; 100]), Err(Broken::Kind), "only to be read");
}

#[test]
fn a_driver_says_when_it_wants_interrupts() {
    let ram = Ram::new();
    assert_eq!(queue().wants_interrupt(&ram), Ok(true));
    ram.set(RING.available, &1u16.to_le_bytes());
    assert_eq!(queue().wants_interrupt(&ram), Ok(false));
}

#[test]
fn indices_wrap() {
    let ram = Ram::new();
    let (mut sender, mut queue) = (sender(u64::MAX), queue());
    ram.set(FROM, &frame(OTHER, OWN, 0));
    ram.descriptor(1, FROM, 26, 0, 0);
    for index in 0..=u32::from(u16::MAX) + 10 {
        ram.available(index as u16, 1);
        assert_eq!(sender.send(&mut queue, &ram, NOW, |_| Ok(())), Ok(Sent::Frame), "{index}");
        assert_eq!(ram.used().0, (index + 1) as u16);
    }
}
