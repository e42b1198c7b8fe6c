//! Runs VMs: makes them, starts a thread for each PCPU, and passes on what these tell.

mod audit;
mod coloring;
mod life;
mod limits;
mod locks;
mod news;
mod pcpu;
mod records;
mod requests;
mod restart;
mod ring;
mod shared;
mod told;

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use policy::cpu::{Cpu, Slot};
pub use policy::restart::Restarts;
use vmm::{
    Claim, Counter, Elsewhere, Kvm, LastLevelCache, LinuxFiles, LockedMemory, Scale, Start,
    SystemCalls, Vcpu, Vm, VmMemory,
};

use crate::PRIORITY;
use crate::colors::{Colored, Findings};
use audit::{Audit, Auditor};
use life::Life;
use limits::Pools;
pub use limits::{Credits, Limits, SharedLimit, VmLimits};
use locks::Locks;
pub use locks::{Sharer, Sharing};
use news::Listener;
use pcpu::Pcpu;
pub use records::Records;
use requests::Requests;
use restart::{Original, Renewal, Restarter};
use shared::Shared;
use told::Told;
pub use vmm::{Error, Event};

/// Ticks of the clock in a second: nanoseconds.
pub const FREQUENCY_HZ: u64 = 1_000_000_000;
/// Time from the moment at which threads and VCPUs are there to the first period of all servers.
const LEAD_NS: u64 = 20_000_000;
/// Longest time until a thread that listens looks for news, though it was not the one that was woken.
const LISTEN: Duration = Duration::from_millis(20);

/// A VM.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Bytes of RAM.
    pub ram_bytes: u64,
    /// The colours of its memory, of the same cache for all VMs; `None`: Linux gives it any frames.
    pub colors: Option<Colored>,
    /// The file that is loaded, and its address.
    pub file: Vec<u8>,
    /// See above.
    pub load: u64,
    /// The address of the first instruction.
    pub entry: u64,
    /// The boot arguments.
    pub arguments: String,
    /// After which ends it starts again.
    pub restarts: Restarts,
    /// The other parts of a Linux, whose kernel is the file above and which needs no addresses; `None`: a real-time guest.
    pub linux: Option<Linux>,
}

/// A Linux as a guest.
#[derive(Clone, Debug, Default)]
pub struct Linux {
    /// The initial RAM disk.
    pub initrd: Option<Vec<u8>>,
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

/// An event in a VM or a VCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum News {
    /// A VM shows text.
    Console {
        /// Its index.
        vm: u8,
        /// The text.
        text: Vec<u8>,
    },
    /// A VM restarts, when its VCPUs have stopped.
    Restarts {
        /// Its index.
        vm: u8,
        /// Why.
        reason: &'static str,
        /// Number of its restarts with this one.
        number: u32,
        /// Most of them.
        limit: u32,
    },
    /// A VM ends, as is told next, that would restart if it had not done so as often as it may.
    AtLimit {
        /// Its index.
        vm: u8,
    },
    /// A VM cannot be restarted, and ends, as is told next.
    NotRestarted {
        /// Its index.
        vm: u8,
        /// Why, in words.
        why: String,
    },
    /// A VM has ended.
    Ended {
        /// Its index.
        vm: u8,
        /// Why, if not by itself.
        fault: Option<&'static str>,
    },
    /// A VCPU has left its PCPU for good.
    Left {
        /// The VCPU.
        id: Id,
        /// Number of times that it stopped executing, for any reason.
        exits: u64,
        /// Marks that it wrote and that are not in the trace, because they came faster than they were read.
        lost: u64,
    },
}

/// Lets a VM see its colours as its last-level cache, if it shall.
fn show_cache(vm: &mut Vm, guest: &Guest) -> Result<(), Error> {
    let cache = guest.colors.map(Colored::cache).transpose();
    let cache = cache.map_err(|why| Error::Colors(why.to_string()))?.flatten();
    let Some(cache) = cache else { return Ok(()) };
    let (ways, line_bytes) = (cache.ways(), cache.line_bytes());
    vm.show(LastLevelCache { bytes: cache.bytes(), ways, line_bytes })
}

/// Makes a VM in this memory, which is zero, and loads it.
fn loaded(kvm: &Kvm, guest: &Guest, memory: VmMemory) -> Result<Vm, Error> {
    let Guest { file, load, arguments, linux, .. } = guest;
    let mut vm = match linux {
        Some(Linux { initrd }) => {
            let initrd = initrd.as_deref();
            kvm.linux_in(memory, LinuxFiles { kernel: file, initrd, arguments })?
        }
        None => {
            let vm = kvm.vm_in(memory)?;
            vm.load("the kernel", *load, file)?;
            vm
        }
    };
    show_cache(&mut vm, guest)?;
    Ok(vm)
}

/// The start of a VCPU of this VM.
fn start_of(id: Id, guest: &Guest) -> Start<'_> {
    Start { vcpu: id.vcpu.into(), entry: guest.entry, arguments: &guest.arguments }
}

/// VMs that can be started.
#[derive(Debug)]
pub struct Prepared {
    kvm: Kvm,
    vms: Vec<(Vm, Guest, VmMemory)>,
    pcpus: Vec<Seats>,
    sharing: Sharing,
    limits: Option<Limits>,
    scale: Scale,
    claims: Vec<Claim>,
    audit: Option<Audit>,
    /// The extra colours of each VM.
    requests: Arc<[Option<Requests>]>,
    tells_frames: bool,
}

impl Prepared {
    /// Makes the VMs, and loads them. `pcpus` are all PCPUs of the plan, also those without VCPUs. Nobody else can have VCPUs on
    /// their CPUs from now on. To find frames of colours takes time: it ends with an error if `stops` returns true.
    pub fn new(
        guests: Vec<Guest>,
        pcpus: Vec<Seats>,
        sharing: Sharing,
        stops: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let used = pcpus.iter().filter(|seats| !seats.vcpus.is_empty());
        let claims = used.map(|seats| Claim::new(seats.cpu)).collect::<Result<_, _>>()?;
        let kvm = Kvm::open()?;
        if guests.iter().any(|guest| guest.linux.is_some()) {
            kvm.check_linux()?;
        }
        let (mut memories, audit) = coloring::memories(&guests, stops)?;
        let requests = |vm: usize| {
            let mut requests = memories.get_mut(&vm)?.1.take()?;
            let is_here = |seats: &&Seats| seats.vcpus.iter().any(|id| usize::from(id.vm) == vm);
            if pcpus.iter().filter(is_here).count() > 1 {
                requests.hide();
            }
            Some(requests)
        };
        let requests = (0..guests.len()).map(requests).collect();
        let make = |(index, guest): (usize, Guest)| {
            let memory = memories.remove(&index).map(|(memory, _)| memory);
            let memory = memory.map_or_else(|| VmMemory::new(guest.ram_bytes), Ok)?;
            let made = loaded(&kvm, &guest, memory.clone());
            let vm = made.map_err(|it| Error::OfVm { vm: index, error: Box::new(it) })?;
            Ok((vm, guest, memory))
        };
        let vms = guests.into_iter().enumerate().map(make).collect::<Result<_, Error>>()?;
        let (limits, scale) = (None, Scale::measure());
        let tells_frames = false;
        Ok(Self { kvm, vms, pcpus, sharing, limits, scale, claims, audit, requests, tells_frames })
    }

    /// Holds VMs to limits of memory accesses.
    #[must_use]
    pub fn with_limits(self, limits: Option<Limits>) -> Self {
        Self { limits, ..self }
    }

    /// Tells a model of the host's caches, where QEMU has one, the frames of all VMs before they start.
    #[must_use]
    pub fn telling_frames(self) -> Self {
        Self { tells_frames: true, ..self }
    }

    /// Starts the VMs. `schedulers` makes the scheduler of each PCPU, when it is known at which time the first period of all
    /// servers starts; times are in ticks of [`FREQUENCY_HZ`].
    ///
    /// The calling thread, which listens to what happens, keeps off the CPUs of VCPUs as long as the result is there, and so do
    /// threads that it starts meanwhile.
    pub fn start(
        mut self,
        schedulers: impl FnOnce(u64) -> Vec<Cpu<Vec<Slot>>>,
    ) -> Result<Running, Error> {
        // Dropped last: it waits for threads, which wait for what `threads` has.
        let mut running = Running::new(self.lives());
        running.claims = std::mem::take(&mut self.claims);
        let used = self.pcpus.iter().filter(|seats| !seats.vcpus.is_empty());
        running.elsewhere = Elsewhere::new(&used.map(|seats| seats.cpu).collect::<Vec<_>>());
        if self.requests.iter().any(Option::is_some) {
            self.check_requests(running.elsewhere.is_some())?;
        }
        let locks = self.locks().map(Arc::new);
        let moving = self.requests.iter().flatten().next();
        let calls = SystemCalls::new(moving.map(Requests::file))?;
        let mut threads = Vec::new();
        for (number, seats) in self.pcpus.iter().enumerate() {
            let vms = seats.vcpus.iter().fold(0u8, |vms, id| vms | 1 << id.vm);
            let (records, read) = records::channel(self.vms.len(), vms.count_ones() as usize);
            running.records.push(read);
            if !seats.vcpus.is_empty() {
                let (ready, becomes_ready) = mpsc::channel();
                let (work, to_do) = mpsc::channel();
                let (news, listener) = news::channel(vms.count_ones() as usize, seats.vcpus.len());
                running.listeners.push_back(listener);
                let context = pcpu::Context {
                    number,
                    cpu: seats.cpu,
                    scale: self.scale,
                    records,
                    news,
                    shared: Arc::clone(&running.shared),
                    locks: locks.clone(),
                    requests: Arc::clone(&self.requests),
                    counts: self.limits.as_ref().and_then(|it| it.counted_on(seats)),
                };
                let name = format!("pcpu{number}");
                let calls = calls.clone();
                let body = move || enter(context, &calls, &ready, &to_do);
                let thread =
                    thread::Builder::new().name(name).spawn(body).map_err(Error::thread)?;
                running.threads.push(thread);
                threads.push((number, (becomes_ready, vms), work));
            }
        }
        let kick = |(_, (becomes_ready, vms), _): &(_, (Receiver<Result<_, Error>>, _), _)| {
            let kick = becomes_ready.recv().unwrap_or_else(|_| Err(Error::thread_ended()))?;
            Ok::<_, Error>((kick, *vms))
        };
        let kicks = threads.iter().map(kick).collect::<Result<Vec<_>, _>>()?;
        let mut renewals: Vec<Vec<(Id, Renewal)>> = vec![Vec::new(); self.vms.len()];
        let mut make = |(number, _, work): (usize, _, _)| {
            let vcpu = |id: &Id| {
                let renewal = Renewal::default();
                renewals[usize::from(id.vm)].push((*id, renewal.clone()));
                Ok((*id, (self.vcpu(*id)?, renewal), self.sections(*id, locks.as_deref())))
            };
            let vcpus = self.pcpus[number].vcpus.iter().map(vcpu);
            Ok((number, work, vcpus.collect::<Result<Vec<_>, Error>>()?))
        };
        let all = threads.into_iter().map(&mut make).collect::<Result<Vec<_>, Error>>()?;
        running.locked = Some(LockedMemory::new()?);
        if let Some(mut audit) = self.audit.take() {
            audit.check()?;
            running.auditor = Some(Auditor::start(audit)?);
        }
        if self.tells_frames {
            running.told = Some(Told::tell(self.vms.iter().map(|(_, _, memory)| memory))?);
        }
        // Only now: a VM has all of its VCPUs, or none of them runs. To make them takes longer than the time that is left until
        // the servers start.
        let start = vmm::now() + LEAD_NS;
        let original = |((_, guest, memory), vcpus)| Original { guest, memory, vcpus };
        let vms = self.vms.into_iter().zip(renewals).map(original).collect();
        let shared = Arc::clone(&running.shared);
        let context =
            restart::Context { kvm: self.kvm, vms, start, shared, locks, requests: self.requests };
        running.restarter = Some(Restarter::start(context)?);
        let mut schedulers: Vec<_> = schedulers(start).into_iter().map(Some).collect();
        let pools = self.limits.as_ref().map(|limits| Pools::new(limits, &self.pcpus, start));
        let pools = pools.transpose().map_err(|why| Error::Limits(why.to_string()))?.map(Arc::new);
        running.shared.are_ready(kicks);
        all.iter().for_each(|_| running.shared.come());
        for (number, work, vcpus) in all {
            let scheduler = schedulers.get_mut(number).and_then(Option::take);
            let scheduler = scheduler.unwrap_or_else(|| Cpu::new(Vec::new()));
            let what = Work { start, scheduler, vcpus, pools: pools.clone() };
            if work.send(Box::new(what)).is_err() {
                running.shared.leave(Some("a thread ended before its VMs started".into()));
            }
        }
        Ok(running)
    }

    /// Refuses what is not possible with extra colours. `has_others`: this process may use CPUs without VCPUs.
    fn check_requests(&self, has_others: bool) -> Result<(), Error> {
        if !has_others {
            // A page that moves waits for the lock of mappings, which a thread of this process can hold that a VCPU preempts.
            return Err(Error::Colors(
                "`extra_colors` need a CPU without VCPUs that this process may use\n\
                 help: start it with a CPU more (`taskset`, cpuset), or remove `extra_colors`"
                    .into(),
            ));
        }
        if self.tells_frames {
            return Err(Error::Colors(
                "pages of VMs with `extra_colors` move, so that a model of the caches cannot be told their frames\n\
                 help: remove `extra_colors`"
                    .into(),
            ));
        }
        Ok(())
    }

    fn vcpu(&self, id: Id) -> Result<Vcpu, Error> {
        let (vm, guest, _) = &self.vms[usize::from(id.vm)];
        vm.vcpu(start_of(id, guest))
    }

    fn lives(&self) -> Vec<Life> {
        let all = || self.pcpus.iter().flat_map(|seats| &seats.vcpus);
        let life = |(vm, (_, guest, _)): (u8, &(Vm, Guest, VmMemory))| {
            Life::new(guest.restarts, all().filter(|id| id.vm == vm).count())
        };
        (0..).zip(&self.vms).map(life).collect()
    }

    /// The resources that VMs share, if they share some.
    fn locks(&self) -> Option<Locks> {
        let used = || self.pcpus.iter().filter(|seats| !seats.vcpus.is_empty());
        let thread = |id| used().position(|seats| seats.vcpus.contains(&id)).unwrap_or_default();
        Locks::new(&self.sharing, thread)
    }

    fn sections(&self, id: Id, locks: Option<&Locks>) -> Option<pcpu::Sections> {
        let rate = self.sharing.vcpus.iter().find(|it| it.id == id)?.rate;
        Some(pcpu::Sections::new(locks?.rank(id)?, rate))
    }
}

/// The work that a thread gets when all are ready.
struct Work {
    start: u64,
    scheduler: Cpu<Vec<Slot>>,
    vcpus: Vec<(Id, (Vcpu, Renewal), Option<pcpu::Sections>)>,
    pools: Option<Arc<Pools>>,
}

/// The thread of a PCPU. Before it gets VCPUs, it gives up all system calls that it does not need.
fn enter(
    context: pcpu::Context,
    calls: &SystemCalls,
    ready: &Sender<Result<vmm::Kick, Error>>,
    to_do: &Receiver<Box<Work>>,
) {
    let entered = vmm::RealTime::enter(PRIORITY.into(), context.cpu).and_then(|thread| {
        let counter = context.counts.map(|event| Counter::new(event, &thread)).transpose()?;
        let alarm = thread.alarm()?;
        calls.enter()?;
        Ok((alarm, thread, counter))
    });
    let (alarm, thread, counter) = match entered {
        Ok(entered) => entered,
        Err(error) => return drop(ready.send(Err(error))),
    };
    if ready.send(Ok(thread.kick())).is_ok()
        && let Ok(work) = to_do.recv()
    {
        let Work { start, scheduler, vcpus, pools } = *work;
        let regulation = counter.zip(pools).map(|(counter, pools)| {
            let critical = vcpus.iter().any(|(id, ..)| pools.is_critical(id.vm));
            pcpu::Regulation::new(counter, pools, critical)
        });
        let (number, shared) = (context.number, Arc::clone(&context.shared));
        let pcpu = Pcpu::new(context, (thread, alarm), scheduler, vcpus);
        let pcpu = pcpu.with_regulation(regulation);
        guarded(number, &shared, move || pcpu.run(start));
    }
}

/// Lets a PCPU run VCPUs. If it panics, all VMs are stopped, and the run knows why.
fn guarded(number: usize, shared: &Shared, run: impl FnOnce()) {
    // What the closure has is dropped by a panic, and what others see of it is atomic.
    let failure = panic::catch_unwind(AssertUnwindSafe(run)).err().map(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        format!("the thread of PCPU {number} failed, which is a mistake of Bulkhead: {text}")
    });
    shared.leave(failure);
}

/// VMs that run. They are stopped when this is dropped.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The news of the PCPUs with VCPUs; the one that is asked first comes first.
    listeners: VecDeque<Listener>,
    records: Vec<Records>,
    /// Restarts VMs.
    restarter: Option<Restarter>,
    /// Looks at the frames of VMs with colours.
    auditor: Option<Auditor>,
    /// Knows which frames of VMs were told.
    told: Option<Told>,
    // What follows is given back when no thread runs VCPUs any more.
    claims: Vec<Claim>,
    elsewhere: Option<Elsewhere>,
    locked: Option<LockedMemory>,
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
    fn new(lives: Vec<Life>) -> Self {
        Self {
            shared: Arc::new(Shared::new(lives)),
            threads: Vec::new(),
            listeners: VecDeque::new(),
            records: Vec::new(),
            restarter: None,
            auditor: None,
            told: None,
            claims: Vec::new(),
            elsewhere: None,
            locked: None,
        }
    }

    /// Waits up to `timeout` for news.
    pub fn next(&mut self, timeout: Duration) -> Next {
        let start = Instant::now();
        loop {
            // Looked at first: what was told before the end is told.
            let is_over = self.shared.all_have_left();
            if let Some(news) = self.heard() {
                return Next::News(news);
            }
            if is_over {
                return self.left_behind().map_or(Next::End, Next::News);
            }
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Next::Nothing;
            }
            thread::park_timeout(left.min(LISTEN));
        }
    }

    /// Takes news of one of the PCPUs, each in its turn.
    fn heard(&mut self) -> Option<News> {
        for _ in 0..self.listeners.len() {
            let news = self.listeners.front_mut()?.next();
            self.listeners.rotate_left(1);
            match (&news, &self.restarter) {
                (Some(News::Console { vm, .. }), _) => self.shared.text_is_shown(*vm),
                (Some(News::Restarts { vm, .. }), Some(restarter)) => restarter.restart(*vm),
                _ => {}
            }
            if news.is_some() {
                return news;
            }
        }
        self.restarter.as_ref()?.next()
    }

    /// Returns when a PCPU has failed: a VM that has not ended, and does not run any more.
    fn left_behind(&mut self) -> Option<News> {
        self.failure()?;
        let vm = self.shared.still_running()?;
        self.shared.life(vm).finish();
        Some(News::Ended { vm, fault: Some("pcpu-failed") })
    }

    /// Returns why the VMs were stopped, if the thread of a PCPU has failed.
    pub fn failure(&self) -> Option<&str> {
        self.shared.failure()
    }

    /// Returns why what was told of the frames of VMs is not true any more, if so.
    pub fn untrue(&self) -> Option<String> {
        self.told.as_ref().and_then(Told::untrue)
    }

    /// Takes the trace of each PCPU, in their order. There is none the second time.
    pub fn take_records(&mut self) -> Vec<Records> {
        std::mem::take(&mut self.records)
    }

    /// Looks at the frames of VMs with colours once more, and no more then. Returns the findings, if there are such VMs.
    pub fn take_findings(&mut self) -> Option<Findings> {
        self.auditor.take().map(Auditor::finish)
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
        self.restarter = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lives(vms: usize) -> Vec<Life> {
        (0..vms).map(|_| Life::new(Restarts::default(), 1)).collect()
    }

    #[test]
    fn a_pcpu_that_fails_stops_all_vms_and_the_run_says_why() {
        let mut running = Running::new(lives(3));
        let shared = Arc::clone(&running.shared);
        running.shared.come();
        running.shared.life(1).finish();
        let calls = SystemCalls::new(None).expect("a filter");
        let run = move || {
            // As the thread of a PCPU does.
            calls.enter().expect("Linux has filters");
            guarded(4, &shared, || panic!("nothing is {}", "right"));
        };
        running.threads.push(thread::spawn(run));
        let mut next = || running.next(Duration::from_secs(20));
        for vm in [0, 2] {
            assert_eq!(next(), Next::News(News::Ended { vm, fault: Some("pcpu-failed") }));
        }
        assert_eq!(next(), Next::End);
        let failure = running.failure().expect("a failure");
        assert!(failure.contains("PCPU 4") && failure.ends_with("nothing is right"), "{failure}");
        assert!(running.shared.stops());
    }

    #[test]
    fn a_pcpu_that_cannot_go_on_stops_all_vms_and_the_run_says_why() {
        let mut running = Running::new(lives(1));
        let shared = Arc::clone(&running.shared);
        running.shared.come();
        let run = move || {
            guarded(0, &shared, || shared.fail("nothing counted".into()));
        };
        running.threads.push(thread::spawn(run));
        let mut next = || running.next(Duration::from_secs(20));
        assert_eq!(next(), Next::News(News::Ended { vm: 0, fault: Some("pcpu-failed") }));
        assert_eq!(next(), Next::End);
        assert_eq!(running.failure(), Some("nothing counted"));
        assert!(running.shared.stops());
    }

    #[test]
    fn restarts_that_fail_stop_all_vms_and_the_run_says_why() {
        let running = Running::new(lives(1));
        restart::guarded(&running.shared, || ());
        assert!(running.failure().is_none() && !running.shared.stops());
        restart::guarded(&running.shared, || panic!("nothing is right"));
        assert!(running.failure().expect("a failure").contains("restarts VMs"));
        assert!(running.shared.stops());
    }

    #[test]
    fn a_pcpu_that_ends_well_is_no_failure() {
        let mut running = Running::new(lives(1));
        let shared = Arc::clone(&running.shared);
        running.shared.come();
        let (end, to_end) = mpsc::channel::<()>();
        let run = move || guarded(0, &shared, || assert!(to_end.recv().is_err()));
        running.threads.push(thread::spawn(run));
        assert_eq!(running.next(Duration::from_millis(50)), Next::Nothing);
        drop(end);
        assert_eq!(running.next(Duration::from_secs(20)), Next::End);
        assert_eq!(running.failure(), None);
    }
}
