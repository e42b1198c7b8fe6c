//! VCPUs that are called to a port of their VM at the same time, and a VM that restarts while the other end of its line sends.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use loom::sync::atomic::AtomicBool;

use super::notes::Notes;
use super::wire::Wire;

/// The port of which all notes are.
const PORT: usize = 3;

/// A port at which one VCPU at a time can be.
struct Port {
    notes: Notes,
    taken: AtomicBool,
    done: AtomicBool,
}

impl Port {
    fn try_lock(&self) -> Option<()> {
        self.taken.compare_exchange(false, true, SeqCst, SeqCst).is_ok().then_some(())
    }

    /// Leaves the port, and returns true if another VCPU has missed it.
    fn leave(&self) -> bool {
        self.taken.store(false, SeqCst);
        self.notes.left(PORT)
    }

    /// A VCPU is called. Returns true if it has one called.
    fn hear(&self) -> bool {
        self.notes.attend(PORT, || self.try_lock()).is_some() && {
            self.done.store(true, SeqCst);
            self.leave()
        }
    }
}

/// One VCPU, for its guest, and another one, which was called, are at the port: what was told is done, or somebody is called.
pub fn run_called() {
    let port = Port {
        notes: Notes::new(),
        taken: AtomicBool::new(false),
        done: AtomicBool::new(false),
    };
    port.notes.tell(PORT);
    let port = Arc::new(port);
    let shared = port.clone();
    let guest = loom::thread::spawn(move || {
        shared.try_lock().is_some() && shared.leave() && shared.hear()
    });
    let called = port.hear();
    let called = guest.join().expect("the guest's VCPU ends") || called;
    assert!(port.done.load(SeqCst) || called, "nobody knows what was told");
}

/// The VM forgets what it was told, and what was sent to it, while the other end sends and tells.
pub fn run_forget() {
    let (notes, wire) = (Arc::new(Notes::new()), Arc::<Wire>::from(Wire::new()));
    let (told, sent) = (notes.clone(), wire.clone());
    let sender = loom::thread::spawn(move || {
        assert_eq!(sent.send(&[1]), 1);
        sent.show();
        told.tell(PORT);
    });
    notes.forget();
    wire.discard();
    sender.join().expect("the sender ends");
    assert!(wire.waiting() == 0 || notes.told() != 0, "nobody knows what was sent");
}
