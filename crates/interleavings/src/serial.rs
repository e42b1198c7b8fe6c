//! A sender and a reader at the two ends of a wire at the same time.

use std::sync::Arc;

use super::wire::{WIRE_SIZE, Wire};

/// The sender sends `sent` bytes if they fit, and shows them, while the reader tries `reads` times to receive one.
pub fn run(sent: u8, reads: usize) {
    let wire: Arc<Wire> = Arc::from(Wire::new());
    let shared = wire.clone();
    let reader = loom::thread::spawn(move || {
        let mut next = 1;
        for _ in 0..reads {
            if let Some(byte) = shared.receive() {
                assert_eq!(byte, next, "a wrong byte came");
                next += 1;
            }
        }
    });
    let mut next = 1;
    for _ in 0..sent {
        if wire.send(&[next]) == 1 {
            next += 1;
            wire.show();
        }
    }
    reader.join().expect("the reader ends");
}

/// The wire is full, and the sender has one more byte, while the reader reads all: either there is room, or the sender is told.
pub fn run_full() {
    let wire: Arc<Wire> = Arc::from(Wire::new());
    (0..WIRE_SIZE).for_each(|byte| assert_eq!(wire.send(&[byte as u8]), 1));
    wire.show();
    let shared = wire.clone();
    let reader = loom::thread::spawn(move || {
        let mut told = false;
        for _ in 0..WIRE_SIZE {
            assert!(shared.receive().is_some(), "all bytes are there");
            told |= shared.has_room_again();
        }
        told
    });
    let fits = wire.send(&[0]) == 1;
    let told = reader.join().expect("the reader ends");
    assert!(fits || told, "the sender waits for ever");
}
