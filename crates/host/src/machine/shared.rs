//! What the threads of all PCPUs know.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use vmm::Kick;

/// Texts of a VM that wait to be shown; it has to wait for more.
const TEXTS_MAX: usize = 1024;

/// What the threads of all PCPUs know.
#[derive(Debug)]
pub struct Shared {
    stop: AtomicBool,
    /// For each VM, whether it has ended.
    ended: Vec<AtomicBool>,
    kicks: Mutex<Vec<Kick>>,
    /// For each VM, the number of texts that wait to be shown.
    texts: Vec<AtomicUsize>,
}

impl Shared {
    /// Of VMs that all run.
    pub fn new(vms: usize) -> Self {
        let ended = (0..vms).map(|_| AtomicBool::new(false)).collect();
        let texts = (0..vms).map(|_| AtomicUsize::new(0)).collect();
        let (stop, kicks) = Default::default();
        Self { stop, ended, kicks, texts }
    }

    /// A thread is ready.
    pub fn add(&self, kick: Kick) {
        self.kicks.lock().unwrap_or_else(PoisonError::into_inner).push(kick);
    }

    /// All threads have to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.kick();
    }

    /// Returns true if all threads have to end.
    pub fn stops(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// The VM ends. Returns true if it had not ended before.
    pub fn end(&self, vm: u8) -> bool {
        let is_first = !self.ended[usize::from(vm)].swap(true, Ordering::SeqCst);
        if is_first {
            self.kick();
        }
        is_first
    }

    /// Returns true if the VM has ended.
    pub fn has_ended(&self, vm: u8) -> bool {
        self.ended[usize::from(vm)].load(Ordering::SeqCst)
    }

    /// Returns true if a text of the VM may be passed on to be shown.
    pub fn may_show(&self, vm: u8) -> bool {
        let texts = &self.texts[usize::from(vm)];
        // Another thread may add one too many.
        let may = texts.load(Ordering::Relaxed) < TEXTS_MAX;
        texts.fetch_add(may.into(), Ordering::Relaxed);
        may
    }

    /// A text of the VM was shown.
    pub fn text_is_shown(&self, vm: u8) {
        self.texts[usize::from(vm)].fetch_sub(1, Ordering::Relaxed);
    }

    /// A thread ends: it is not kicked any more.
    pub fn leave(&self, kick: Kick) {
        self.kicks.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != kick);
    }

    fn kick(&self) {
        let kicks = self.kicks.lock().unwrap_or_else(PoisonError::into_inner);
        kicks.iter().for_each(|kick| kick.kick());
    }
}
