//! Scenes of VMs that use their links at the same time, and their required results.

use shuttle::thread::spawn;

use crate::guest::{Driver, NEEDS_RESET, RUNS, vms};

/// Pages of the rings of a guest, and of those that it uses later.
const RINGS: [u64; 2] = [0, 1];
const OTHERS: [u64; 2] = [2, 3];
/// Number of places of a ring, and one that no correct driver states.
const SIZE: u16 = 4;
const WRONG: u16 = 0x8000;
/// Frames that a sender has.
const FRAMES: u16 = 3;

/// Two VMs send to a third one, each by a link of its own, and that one `does` something. `available`: how many places the ring of
/// its first card says to have.
fn two_send_while(available: u16, does: impl FnOnce([Driver; 2])) {
    vms(3, &[[0, 1], [0, 2]]);
    let receivers = [0, 1].map(|link| Driver::of(0, link));
    // Rings and buffers of the second card, which stay, are in other pages.
    receivers[0].start(RINGS, [available, 0]);
    receivers[1].start([4, 5], [SIZE, 0]);
    let senders = [1, 2].map(|vm| {
        let sender = Driver::of(vm, 0);
        sender.start(RINGS, [SIZE, FRAMES]);
        spawn(move || sender.send())
    });
    does(receivers);
    for sender in senders {
        sender.join().unwrap();
    }
}

/// The receiver resets a card: at most the frame that is on its way comes while it waits for that, and nothing afterwards.
pub fn reset() {
    two_send_while(SIZE, |[card, _]| {
        let before = card.reset(RINGS[0]);
        card.seal(RINGS[0]);
        let after = card.returned(RINGS[0]);
        assert!(before.is_none_or(|before| after <= before + 1), "frames begin though the ring moves");
    });
}

/// The receiver stops: nothing comes afterwards.
pub fn stop() {
    two_send_while(SIZE, |[card, _]| card.restart());
}

/// A ring of the receiver is wrong from the start, and it starts the card again with right ones: the card works, whatever was found before.
pub fn repaired() {
    two_send_while(WRONG, |[card, _]| {
        card.start(OTHERS, [SIZE, 0]);
        card.attend();
        assert_eq!(card.status(), RUNS, "a right ring is said to be wrong");
    });
    let card = Driver::of(0, 0);
    card.attend();
    assert_eq!(card.status(), RUNS, "a right ring is said to be wrong");
}

/// A ring of the receiver is wrong from the start, and the receiver looks for what is told at any time: in the end it knows.
pub fn told() {
    two_send_while(WRONG, |[card, _]| {
        card.attend();
        card.status();
    });
    let card = Driver::of(0, 0);
    card.attend();
    assert_eq!(card.status(), RUNS | NEEDS_RESET, "nobody knows that a ring is wrong");
}

/// Two VCPUs of a VM send by one link, whose ring becomes wrong: in the end the VM knows.
pub fn own() {
    vms(2, &[[0, 1]]);
    Driver::of(1, 0).start(RINGS, [SIZE, 0]);
    let card = Driver::of(0, 0);
    card.start(RINGS, [SIZE, FRAMES]);
    let other = spawn(|| Driver::of(0, 0).send());
    card.offer(RINGS[1], WRONG);
    card.send();
    other.join().unwrap();
    card.attend();
    assert_eq!(card.status(), RUNS | NEEDS_RESET, "nobody knows that a ring is wrong");
}
