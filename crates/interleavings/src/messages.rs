//! A writer and a reader of a channel at the same time.

use abi::channel::{SLOTS, slot_bytes};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;

use super::channel::{Reader, Writer};

/// Bytes of a message: two words, which can differ if one is torn.
const BYTES: usize = 16;

/// The writer sends `sent` messages into `slots` slots, while the reader tries `reads` times to receive one.
pub fn run(slots: usize, sent: u8, reads: usize) {
    let words = (SLOTS + slots * slot_bytes(BYTES)) / 8;
    let memory: Arc<Vec<AtomicU64>> = Arc::new((0..words).map(|_| AtomicU64::new(0)).collect());
    let shared = memory.clone();
    let mut writer = Writer::open(&memory, BYTES).expect("there is room");
    let reader = loom::thread::spawn(move || {
        let mut reader = Reader::new(&shared, BYTES).expect("there is room");
        let mut last = 0;
        for _ in 0..reads {
            let mut message = [0; BYTES];
            let Ok(got) = reader.next(&mut message) else { continue };
            assert!(got.number > last && got.number <= u64::from(sent), "number {}", got.number);
            assert_eq!(got.number, last + 1 + got.lost, "what is lost is known");
            assert_eq!(message, [got.number as u8; BYTES], "message {} is torn", got.number);
            last = got.number;
        }
    });
    for number in 1..=sent {
        writer.send(&[number; BYTES]);
    }
    reader.join().expect("the reader ends");
}

/// A writer opens the channel again with messages of one word, in place of two, and may send one,
/// while a reader of two words tries to receive.
pub fn run_opened_again(sends_before: bool, sends_after: bool) {
    let words = (SLOTS + slot_bytes(BYTES)) / 8;
    let memory: Arc<Vec<AtomicU64>> = Arc::new((0..words).map(|_| AtomicU64::new(0)).collect());
    let shared = memory.clone();
    let mut writer = Writer::open(&memory, BYTES).expect("there is room");
    if sends_before {
        writer.send(&[1; BYTES]);
    }
    let reader = loom::thread::spawn(move || {
        let mut reader = Reader::new(&shared, BYTES).expect("there is room");
        let mut message = [0; BYTES];
        if let Ok(got) = reader.newest(&mut message) {
            assert_eq!((got.number, sends_before), (1, true), "number {} is of no message", got.number);
            assert_eq!(message, [1; BYTES], "message {} is torn", got.number);
        }
    });
    let mut writer = Writer::open(&memory, BYTES / 2).expect("there is room");
    if sends_after {
        writer.send(&[1; BYTES / 2]);
    }
    reader.join().expect("the reader ends");
}

/// A reader finds a channel that is opened for the first time, with one message.
pub fn run_opened() {
    let words = (SLOTS + slot_bytes(BYTES)) / 8;
    let memory: Arc<Vec<AtomicU64>> = Arc::new((0..words).map(|_| AtomicU64::new(0)).collect());
    let shared = memory.clone();
    let reader = loom::thread::spawn(move || {
        let mut reader = Reader::new(&shared, BYTES).expect("there is room");
        let mut message = [0; BYTES];
        let got = reader.newest(&mut message);
        assert!(!matches!(got, Err(super::channel::NoMessage::OtherSize(_))), "torn header: {got:?}");
        if got.is_ok() {
            assert_eq!(message, [1; BYTES], "message 1 is torn");
        }
    });
    let mut writer = Writer::open(&memory, BYTES).expect("there is room");
    writer.send(&[1; BYTES]);
    reader.join().expect("the reader ends");
}
