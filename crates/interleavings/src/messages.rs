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
