use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;
use crate::random::Random;

fn memory(bytes: usize) -> Vec<AtomicU64> {
    (0..bytes / 8).map(|_| AtomicU64::new(0)).collect()
}

/// Room for `messages` messages.
fn memory_for(messages: usize, size: usize) -> Vec<AtomicU64> {
    memory(SLOTS + messages * slot_bytes(size))
}

#[test]
fn a_message_arrives_whole() {
    let memory = memory(4096);
    let mut reader = Reader::new(&memory, 11).unwrap();
    let mut text = [0; 11];
    assert_eq!(reader.newest(&mut text), Err(NoMessage::Closed));
    let mut writer = Writer::open(&memory, 11).unwrap();
    assert_eq!(reader.newest(&mut text), Err(NoMessage::NothingNew));
    assert_eq!(writer.send(b"hello world"), 1);
    assert_eq!(reader.newest(&mut text), Ok(Received { number: 1, lost: 0, epoch: 1 }));
    assert_eq!(&text, b"hello world");
    assert_eq!(reader.newest(&mut text), Err(NoMessage::NothingNew));
    // Short and long ones.
    writer.send(b"hi");
    writer.send(b"hello world, and all that is too much");
    reader.next(&mut text).unwrap();
    assert_eq!(&text, b"hi\0\0\0\0\0\0\0\0\0");
    let mut short = [0; 5];
    assert_eq!(reader.next(&mut short).map(|it| it.number), Ok(3));
    assert_eq!(&short, b"hello");
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    for (bytes, size) in [
        (0, 8),
        (SLOTS, 8),
        (SLOTS + 8, 8),
        (SLOTS + 16, 9),
        (4096, 0),
        (4096, usize::MAX),
        (4096, usize::MAX - 7),
    ] {
        let memory = memory(bytes);
        assert_eq!(Writer::open(&memory, size).err(), Some(TooSmall), "{bytes} {size}");
        assert_eq!(Reader::new(&memory, size).err(), Some(TooSmall), "{bytes} {size}");
    }
    let memory = memory(4096);
    Writer::open(&memory, 16).unwrap().send(&[1; 16]);
    let mut reader = Reader::new(&memory, 24).unwrap();
    assert_eq!(reader.next(&mut [0; 24]), Err(NoMessage::OtherSize(16)));
}

#[test]
fn numbers_go_on_after_a_restart_of_the_writer() {
    let memory = memory_for(4, 8);
    let mut reader = Reader::new(&memory, 8).unwrap();
    let mut message = [0; 8];
    let mut writer = Writer::open(&memory, 8).unwrap();
    writer.send(&[1; 8]);
    reader.next(&mut message).unwrap();
    let mut writer = Writer::open(&memory, 8).unwrap();
    assert_eq!(reader.next(&mut message), Err(NoMessage::NothingNew));
    assert_eq!(writer.send(&[2; 8]), 2);
    assert_eq!(reader.next(&mut message), Ok(Received { number: 2, lost: 0, epoch: 2 }));
    // Messages of another size are gone, and numbers go on.
    let mut writer = Writer::open(&memory, 16).unwrap();
    let mut other = Reader::new(&memory, 16).unwrap();
    assert_eq!(other.newest(&mut [0; 16]), Err(NoMessage::NothingNew));
    writer.send(&[3; 16]);
    assert_eq!(reader.next(&mut message), Err(NoMessage::OtherSize(16)));
    assert_eq!(other.newest(&mut [0; 16]), Ok(Received { number: 3, lost: 2, epoch: 3 }));
}

/// A size that comes back: no new message is taken for an old one, and none is lost in silence.
#[test]
fn a_size_that_comes_back_hides_nothing() {
    let memory = memory_for(64, 8);
    let mut message = [0; 8];
    let mut reader = Reader::new(&memory, 8).unwrap();
    let mut writer = Writer::open(&memory, 8).unwrap();
    (0..5).for_each(|_| {
        let _ = writer.send(&[1; 8]);
    });
    for _ in 0..5 {
        reader.next(&mut message).unwrap();
    }
    Writer::open(&memory, 16).unwrap().send(&[2; 16]);
    let mut writer = Writer::open(&memory, 8).unwrap();
    assert_eq!(reader.next(&mut message), Err(NoMessage::NothingNew));
    (0..10).for_each(|_| {
        let _ = writer.send(&[3; 8]);
    });
    assert_eq!(reader.next(&mut message), Ok(Received { number: 7, lost: 1, epoch: 3 }));
    assert_eq!(message, [3; 8]);
}

/// Numbers go on, and received messages are whole, whatever store of `open` is the last before the VM restarts.
#[test]
fn numbers_go_on_after_a_restart_within_open() {
    for size in [8, 16] {
        for stores in 0..40 {
            let memory = memory_for(3, 16);
            let mut reader = Reader::new(&memory, 16).unwrap();
            let mut writer = Writer::open(&memory, 16).unwrap();
            (1..=5).for_each(|value| {
                let _ = writer.send(&[value; 16]);
            });
            reader.newest(&mut [0; 16]).unwrap();
            // What the first `stores` words that change are after the opening, the others as before.
            let after = self::memory(8 * memory.len());
            let copy = |from: &[AtomicU64], to: &[AtomicU64], words: &[usize]| {
                for &word in words {
                    to[word].store(from[word].load(Ordering::Relaxed), Ordering::Relaxed);
                }
            };
            let all: Vec<usize> = (0..memory.len()).collect();
            copy(&memory, &after, &all);
            Writer::open(&after, size).unwrap();
            let epoch = EPOCH / 8;
            after[epoch].fetch_sub(1, Ordering::Relaxed);
            let header = [epoch, BASE / 8];
            let slots = SLOTS / 8..memory.len();
            let order: Vec<usize> = header.into_iter().chain(slots).chain([SIZE / 8]).collect();
            copy(&after, &memory, &order[..order.len().min(stores)]);
            let mut message = [0; 16];
            if let Ok(got) = reader.next(&mut message) {
                panic!("nothing was sent, but {got:?} is received after {stores} stores");
            }
            let mut writer = Writer::open(&memory, 16).unwrap();
            let mut late = Reader::new(&memory, 16).unwrap();
            while let Ok(got) = late.next(&mut message) {
                assert_eq!(message, [got.number as u8; 16], "torn after {stores} stores");
            }
            assert_eq!(writer.send(&[6; 16]), 6, "after {stores} stores");
            assert_eq!(reader.next(&mut message).map(|it| (it.number, it.lost)), Ok((6, 0)));
        }
    }
}

/// Compared with a list of the messages sent, a reader gets all that are still there, in order, and knows how
/// many it lost.
#[test]
fn a_reader_gets_what_is_there_and_knows_what_it_lost() {
    let mut random = Random::new(7);
    for slots in 1..6 {
        let memory = memory_for(slots, 8);
        let mut writer = Writer::open(&memory, 8).unwrap();
        let mut reader = Reader::new(&memory, 8).unwrap();
        let (mut sent, mut last) = (VecDeque::new(), 0);
        for value in 1..2000u64 {
            if random.below(2) == 0 {
                writer.send(&value.to_le_bytes());
                sent.push_back(value);
                continue;
            }
            let before = sent.len() as u64;
            let mut message = [0; 8];
            let newest = random.below(4) == 0;
            let got = if newest { reader.newest(&mut message) } else { reader.next(&mut message) };
            let Ok(got) = got else {
                assert_eq!(last, before, "nothing new only if all were received");
                continue;
            };
            assert_eq!(got.number, last + 1 + got.lost);
            assert_eq!(u64::from_le_bytes(message), sent[got.number as usize - 1]);
            // The oldest slot may be about to be replaced.
            let kept = (slots as u64 - 1).max(1);
            let oldest = (last + 1).max(before.saturating_sub(kept) + 1);
            assert_eq!(got.number, if newest { before } else { oldest });
            last = got.number;
        }
    }
}

/// A reader ends, and stays within the memory, whatever a writer puts into it.
#[test]
fn a_hostile_writer_gets_a_reader_nowhere() {
    let mut random = Random::new(11);
    let memory = memory_for(3, 20);
    let mut reader = Reader::new(&memory, 20).unwrap();
    for _ in 0..200_000 {
        let word = &memory[random.below(memory.len() as u64) as usize];
        let value = match random.below(6) {
            0 => u64::MAX - random.below(3),
            1 => random.below(5),
            2 => MAGIC_VALUE,
            3 => 20,
            4 => random.number(),
            _ => 0,
        };
        word.store(value, Ordering::Relaxed);
        if random.below(3) == 0 {
            memory[MAGIC / 8].store(MAGIC_VALUE, Ordering::Relaxed);
            memory[SIZE / 8].store(20, Ordering::Relaxed);
        }
        let _ = reader.next(&mut [0; 20]);
        let _ = reader.newest(&mut [0; 20]);
    }
}

/// A writer that never pauses, and readers beside it: no message is torn.
#[test]
fn no_message_is_torn() {
    const WORDS: usize = 16;
    let rounds = if cfg!(miri) { 200 } else { 300_000 };
    for slots in [1, 2, 3, 8] {
        let memory = memory_for(slots, 8 * WORDS);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for skips in [false, true] {
                let (memory, done) = (&memory, &done);
                scope.spawn(move || {
                    let mut reader = Reader::new(memory, 8 * WORDS).unwrap();
                    let mut last = 0;
                    while !done.load(Ordering::Relaxed) {
                        let mut message = [0; 8 * WORDS];
                        let got = match skips {
                            true => reader.newest(&mut message),
                            false => reader.next(&mut message),
                        };
                        let Ok(got) = got else { continue };
                        assert!(got.number > last, "numbers grow");
                        last = got.number;
                        for word in message.chunks(8) {
                            assert_eq!(word, got.number.to_le_bytes(), "message {}", got.number);
                        }
                    }
                });
            }
            let mut writer = Writer::open(&memory, 8 * WORDS).unwrap();
            for number in 1..=rounds as u64 {
                let mut message = [0; 8 * WORDS];
                message.chunks_mut(8).for_each(|it| it.copy_from_slice(&number.to_le_bytes()));
                assert_eq!(writer.send(&message), number);
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
