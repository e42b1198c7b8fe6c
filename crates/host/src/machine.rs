//! Runs VMs: makes them, starts a thread for each PCPU, and passes on what these tell.

mod pcpu;
mod records;
mod shared;

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use policy::cpu::{Cpu, Slot};
use vmm::{Kvm, Scale, Start, Vcpu, Vm};

use crate::PRIORITY;
use pcpu::Pcpu;
pub use records::Records;
use shared::Shared;
pub use vmm::Error;

/// Ticks of the clock in a second: nanoseconds.
pub const FREQUENCY_HZ: u64 = 1_000_000_000;
/// The first period of all servers starts so long after the threads are there.
const LEAD_NS: u64 = 20_000_000;

/// A VM.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Bytes of RAM.
    pub ram_bytes: u64,
    /// The file that is loaded, and its address.
    pub file: Vec<u8>,
    /// See above.
    pub load: u64,
    /// The address of the first instruction.
    pub entry: u64,
    /// The boot arguments.
    pub arguments: String,
}

/// A VCPU, by the index of its VM and its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Id {
    /// Index of the VM.
    pub vm: u8,
    /// Index of the VCPU in the VM.
    pub vcpu: u8,
}

/// A PCPU: a CPU of the host with VCPUs.
#[derive(Clone, Debug)]
pub struct Seats {
    /// Number of the CPU.
    pub cpu: usize,
    /// Its VCPUs, in the order in which the scheduler knows them.
    pub vcpus: Vec<Id>,
}

/// What happened.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum News {
    /// A VM shows text.
    Console {
        /// Its index.
        vm: u8,
        /// The text.
        text: Vec<u8>,
    },
    /// A VM has ended.
    Ended {
        /// Its index.
        vm: u8,
        /// Why, if not by itself.
        fault: Option<&'static str>,
    },
    /// A VCPU has left its PCPU for good.
    Exits {
        /// The VCPU.
        id: Id,
        /// How often it stopped executing, for whatever reason.
        exits: u64,
    },
}

/// VMs that can be started.
#[derive(Debug)]
pub struct Prepared {
    vms: Vec<(Vm, Guest)>,
    pcpus: Vec<Seats>,
    scale: Scale,
}

impl Prepared {
    /// Makes the VMs, and loads them. `pcpus` are all PCPUs of the plan, also those without VCPUs.
    pub fn new(guests: Vec<Guest>, pcpus: Vec<Seats>) -> Result<Self, Error> {
        let kvm = Kvm::open()?;
        let make = |guest: Guest| {
            let vm = kvm.vm(guest.ram_bytes)?;
            vm.load("the kernel", guest.load, &guest.file)?;
            Ok((vm, guest))
        };
        let vms = guests.into_iter().map(make).collect::<Result<_, Error>>()?;
        Ok(Self { vms, pcpus, scale: Scale::measure() })
    }

    /// Starts the VMs. `schedulers` makes the scheduler of each PCPU, when it is known at which time the first period of all
    /// servers starts; times are in ticks of [`FREQUENCY_HZ`].
    pub fn start(
        self,
        schedulers: impl FnOnce(u64) -> Vec<Cpu<Vec<Slot>>>,
    ) -> Result<Running, Error> {
        let (news, told) = mpsc::channel();
        // Dropped last: it waits for threads, which wait for what `threads` has.
        let mut running = Running::new(self.vms.len(), told);
        let mut threads = Vec::new();
        for (number, seats) in self.pcpus.iter().enumerate() {
            let (records, read) = records::channel();
            running.records.push(read);
            if !seats.vcpus.is_empty() {
                let (ready, becomes_ready) = mpsc::channel();
                let (work, to_do) = mpsc::channel();
                let context = pcpu::Context {
                    cpu: seats.cpu,
                    scale: self.scale,
                    records,
                    news: news.clone(),
                    shared: Arc::clone(&running.shared),
                };
                let name = format!("pcpu{number}");
                let body = move || enter(context, &ready, &to_do);
                let thread =
                    thread::Builder::new().name(name).spawn(body).map_err(Error::thread)?;
                running.threads.push(thread);
                threads.push((number, becomes_ready, work));
            }
        }
        drop(news);
        for (_, becomes_ready, _) in &threads {
            let kick = becomes_ready.recv().unwrap_or_else(|_| Err(Error::thread_ended()))?;
            running.shared.add(kick);
        }
        vmm::lock_memory()?;
        let start = vmm::now() + LEAD_NS;
        let mut schedulers: Vec<_> = schedulers(start).into_iter().map(Some).collect();
        let mut all = Vec::new();
        for (number, _, work) in threads {
            let vcpus = self.pcpus[number].vcpus.iter().map(|id| Ok((*id, self.vcpu(*id, start)?)));
            let vcpus = vcpus.collect::<Result<Vec<_>, Error>>()?;
            let scheduler = schedulers.get_mut(number).and_then(Option::take);
            all.push((work, scheduler.map(|scheduler| Work { start, scheduler, vcpus })));
        }
        // Only now: a VM has all of its VCPUs, or none of them runs.
        for (work, what) in all {
            if let Some(what) = what {
                // A thread that has ended has said why.
                let _ = work.send(Box::new(what));
            }
        }
        Ok(running)
    }

    fn vcpu(&self, id: Id, servers_start: u64) -> Result<Vcpu, Error> {
        let (vm, guest) = &self.vms[usize::from(id.vm)];
        let arguments = &guest.arguments;
        vm.vcpu(Start { vcpu: id.vcpu.into(), entry: guest.entry, arguments, servers_start })
    }
}

/// What a thread gets when all are ready.
struct Work {
    start: u64,
    scheduler: Cpu<Vec<Slot>>,
    vcpus: Vec<(Id, Vcpu)>,
}

/// The thread of a PCPU.
fn enter(
    context: pcpu::Context,
    ready: &Sender<Result<vmm::Kick, Error>>,
    to_do: &Receiver<Box<Work>>,
) {
    let entered = vmm::RealTime::enter(PRIORITY.into(), context.cpu)
        .and_then(|thread| Ok((thread.alarm()?, thread)));
    let (alarm, thread) = match entered {
        Ok(entered) => entered,
        Err(error) => return drop(ready.send(Err(error))),
    };
    if ready.send(Ok(thread.kick())).is_ok()
        && let Ok(work) = to_do.recv()
    {
        let Work { start, scheduler, vcpus } = *work;
        Pcpu::new(context, (thread, alarm), scheduler, vcpus).run(start);
    }
}

/// VMs that run. They are stopped when this is dropped.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    news: Receiver<News>,
    records: Vec<Records>,
}

/// Result of [`Running::next`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Next {
    /// Something happened.
    News(News),
    /// Nothing happened in time.
    Nothing,
    /// All VMs have ended, and everything was told.
    End,
}

impl Running {
    fn new(vms: usize, news: Receiver<News>) -> Self {
        let shared = Arc::new(Shared::new(vms));
        Self { shared, threads: Vec::new(), news, records: Vec::new() }
    }

    /// Waits up to `timeout` for news.
    pub fn next(&self, timeout: Duration) -> Next {
        match self.news.recv_timeout(timeout) {
            Ok(news) => {
                if let News::Console { vm, .. } = news {
                    self.shared.text_is_shown(vm);
                }
                Next::News(news)
            }
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::End,
        }
    }

    /// Takes the trace of each PCPU, in their order. There is none the second time.
    pub fn take_records(&mut self) -> Vec<Records> {
        std::mem::take(&mut self.records)
    }

    /// Asks all VMs to stop. News come until [`Next::End`].
    pub fn stop(&self) {
        self.shared.stop();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            // A panic has been shown.
            let _ = thread.join();
        }
    }
}
