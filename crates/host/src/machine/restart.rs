//! Restarts of VMs: a thread without real-time priority makes a VM anew when none of its VCPUs executes any more.
//!
//! It clears the RAM, loads the images and makes new VCPUs, in the same memory, as at the first start. It avoids the CPUs of
//! VCPUs and lets other threads go first, so that a restart takes no time of another VM. The thread of a PCPU only changes
//! the VCPU that it has for the new one. For this it interrupts a VCPU that executes: a VM restarts no sooner than some time
//! after its last restart, however often it fails.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use vmm::{Error, Kvm, Vcpu, VmMemory, step_back};

use super::locks::Locks;
use super::requests::Requests;
use super::shared::Shared;
use super::{Guest, Id, News, loaded, start_of};

/// Shortest time between two restarts of a VM.
const PAUSE: Duration = Duration::from_millis(50);
/// Time between two looks whether all VCPUs have left.
const LOOK: Duration = Duration::from_millis(1);
/// Bytes that are cleared between two looks whether all VMs stop.
const PART: u64 = 4 << 20;

/// A place where the thread of a PCPU finds the VCPU of the next run, and leaves that of the last one. The two threads use it
/// at different times.
#[derive(Clone, Debug, Default)]
pub struct Renewal(Arc<Mutex<Option<Vcpu>>>);

impl Renewal {
    /// Takes the new VCPU and leaves the old one, which takes long to give back. Returns false if there is no new one.
    pub fn take(&self, vcpu: &mut Vcpu) -> bool {
        let Ok(mut place) = self.0.try_lock() else { return false };
        let Some(new) = &mut *place else { return false };
        std::mem::swap(vcpu, new);
        true
    }

    fn put(&self, vcpu: Vcpu) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(vcpu);
    }
}

/// A VM as it was at the start, and its VCPUs.
#[derive(Debug)]
pub struct Original {
    pub guest: Guest,
    pub memory: VmMemory,
    pub vcpus: Vec<(Id, Renewal)>,
}

/// The things that the thread needs.
#[derive(Debug)]
pub struct Context {
    pub kvm: Kvm,
    pub vms: Vec<Original>,
    /// The time at which the first period of all servers starts.
    pub start: u64,
    pub shared: Arc<Shared>,
    pub locks: Option<Arc<Locks>>,
    /// The extra colours of each VM.
    pub requests: Arc<[Option<Requests>]>,
}

/// The thread that restarts VMs.
#[derive(Debug)]
pub struct Restarter {
    to_restart: Option<Sender<u8>>,
    news: Receiver<News>,
    thread: Option<JoinHandle<()>>,
}

impl Restarter {
    /// Starts the thread, which runs where the calling thread may run.
    pub fn start(context: Context) -> Result<Self, Error> {
        let (to_restart, restarts) = mpsc::channel();
        let (teller, news) = mpsc::channel();
        let body = move || {
            // A page that moves waits for the lock of mappings, which this thread takes: then it comes before others soon.
            if context.requests.iter().all(Option::is_none) {
                step_back();
            }
            guarded(&context.shared, || work(&context, &restarts, &teller));
        };
        let thread = thread::Builder::new().name("restarts".into()).spawn(body);
        Ok(Self {
            to_restart: Some(to_restart),
            news,
            thread: Some(thread.map_err(Error::thread)?),
        })
    }

    /// Restarts a VM when its VCPUs have left it.
    pub fn restart(&self, vm: u8) {
        if let Some(to_restart) = &self.to_restart {
            // The thread ends only when all VMs stop.
            let _ = to_restart.send(vm);
        }
    }

    /// Returns what the thread tells.
    pub fn next(&self) -> Option<News> {
        self.news.try_recv().ok()
    }
}

impl Drop for Restarter {
    fn drop(&mut self) {
        self.to_restart = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been shown.
            let _ = thread.join();
        }
    }
}

/// Restarts VMs. If that panics, all VMs are stopped, because those that wait for their restart would wait for ever.
pub fn guarded(shared: &Shared, work: impl FnOnce()) {
    // What the closure has is dropped by a panic, and what others see of it is atomic.
    if panic::catch_unwind(AssertUnwindSafe(work)).is_err() {
        shared.fail("the thread that restarts VMs failed, which is a mistake of Bulkhead".into());
        shared.tell();
    }
}

/// Restarts VMs until nobody asks for that any more.
fn work(context: &Context, restarts: &Receiver<u8>, teller: &Sender<News>) {
    let shared = &context.shared;
    let mut due: Vec<Option<Instant>> = vec![None; context.vms.len()];
    let mut last = due.clone();
    loop {
        let told = match due.iter().flatten().min() {
            None => restarts.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(first) => restarts.recv_timeout(first.saturating_duration_since(Instant::now())),
        };
        let now = Instant::now();
        match told {
            Ok(vm) => {
                let vm = usize::from(vm);
                due[vm] = Some(last[vm].map_or(now, |last: Instant| (last + PAUSE).max(now)));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        for (number, vm) in (0u8..).zip(&context.vms) {
            let place = usize::from(number);
            if due[place].is_none_or(|due| due > now) {
                continue;
            }
            if !shared.life(number).is_left() {
                due[place] = Some(now + LOOK);
                continue;
            }
            due[place] = None;
            match renew(context, place, vm) {
                Ok(true) => {
                    last[place] = Some(Instant::now());
                    context.locks.iter().for_each(|locks| locks.come(number));
                    shared.begin(number);
                }
                Ok(false) => return,
                Err(error) => {
                    let _ = teller.send(News::NotRestarted { vm: number, why: error.to_string() });
                    if shared.life(number).finish() {
                        let fault = Some("no-restart");
                        let _ = teller.send(News::Ended { vm: number, fault });
                    }
                    shared.kick_vm(number);
                    shared.tell();
                }
            }
        }
    }
}

/// Makes a VM anew, none of whose VCPUs executes. Returns false if all VMs stop meanwhile.
fn renew(context: &Context, place: usize, vm: &Original) -> Result<bool, Error> {
    let Original { guest, memory, vcpus } = vm;
    context.requests.get(place).into_iter().flatten().for_each(Requests::reset);
    for start in (0..memory.ram.bytes()).step_by(PART as usize) {
        if context.shared.stops() {
            return Ok(false);
        }
        memory.ram.clear(start, PART.min(memory.ram.bytes() - start));
    }
    let made = loaded(&context.kvm, guest, memory.clone())?;
    for (id, renewal) in vcpus {
        let vcpu = made.vcpu(start_of(*id, guest))?;
        vcpu.set_servers_start(context.start);
        renewal.put(vcpu);
    }
    Ok(true)
}
