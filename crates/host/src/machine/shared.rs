//! The state that the threads of all PCPUs know, and the thread that started them. Nobody here waits for anybody.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};

use vmm::Kick;

use super::life::Life;
use super::news::TEXTS_MAX;

/// The state that the threads of all PCPUs know.
#[derive(Debug)]
pub struct Shared {
    stop: AtomicBool,
    /// The life of each VM.
    lives: Vec<Life>,
    /// The threads of all PCPUs, when these are ready, each with its VMs, one bit each.
    kicks: OnceLock<Vec<(Kick, u8)>>,
    /// For each VM, the number of texts that wait to be shown.
    texts: Vec<AtomicUsize>,
    /// Threads that run VCPUs.
    running: AtomicUsize,
    /// The reason why a thread ended before its VMs did.
    failure: OnceLock<String>,
    /// The thread that is woken when there is something to be told.
    listener: Thread,
}

impl Shared {
    /// Makes the state of VMs that all run. The calling thread is the one that listens.
    pub fn new(lives: Vec<Life>) -> Self {
        Self {
            stop: AtomicBool::new(false),
            kicks: OnceLock::new(),
            texts: lives.iter().map(|_| AtomicUsize::new(0)).collect(),
            lives,
            running: AtomicUsize::new(0),
            failure: OnceLock::new(),
            listener: thread::current(),
        }
    }

    /// These threads are ready, and can be kicked. Each has VCPUs of these VMs, one bit each.
    pub fn are_ready(&self, kicks: Vec<(Kick, u8)>) {
        // It has not been set before: VMs start once.
        let _ = self.kicks.set(kicks);
    }

    /// A thread is about to run VCPUs, and will call [`Shared::leave`].
    pub fn come(&self) {
        self.running.fetch_add(1, Ordering::SeqCst);
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

    /// Returns the life of a VM.
    pub fn life(&self, vm: u8) -> &Life {
        &self.lives[usize::from(vm)]
    }

    /// The next run of a VM begins.
    pub fn begin(&self, vm: u8) {
        self.life(vm).begin();
        self.kick_vm(vm);
    }

    /// Returns a VM that is not over, if there is one.
    pub fn still_running(&self) -> Option<u8> {
        (0..).zip(&self.lives).find(|(_, life)| !life.is_over()).map(|(vm, _)| vm)
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

    /// There is something to be told.
    pub fn tell(&self) {
        self.listener.unpark();
    }

    /// VMs cannot go on: all threads have to end.
    pub fn fail(&self, failure: String) {
        // The first failure may have caused others.
        let _ = self.failure.set(failure);
        self.stop();
    }

    /// A thread runs no VCPUs any more; `failure`: why it had to end. Then all others end, too.
    pub fn leave(&self, failure: Option<String>) {
        if let Some(failure) = failure {
            self.fail(failure);
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.tell();
    }

    /// Returns true if no thread runs VCPUs.
    pub fn all_have_left(&self) -> bool {
        self.running.load(Ordering::SeqCst) == 0
    }

    /// Returns why a thread had to end before its VMs did, if one had to.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Lets a thread look at what others told it.
    pub fn kick_one(&self, thread: usize) {
        let kick = self.kicks.get().and_then(|kicks| kicks.get(thread));
        kick.into_iter().for_each(|(kick, _)| kick.kick());
    }

    /// Lets the threads with VCPUs of a VM look what became of it.
    pub fn kick_vm(&self, vm: u8) {
        let kicks = self.kicks.get().into_iter().flatten();
        kicks.filter(|(_, vms)| vms >> vm & 1 != 0).for_each(|(kick, _)| kick.kick());
    }

    fn kick(&self) {
        self.kicks.get().into_iter().flatten().for_each(|(kick, _)| kick.kick());
    }
}
