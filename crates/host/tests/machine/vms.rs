//! VMs that are started and end.

use std::iter;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use host::machine::{Error, Guest, Id, News, Next, Prepared, Restarts, Running, Seats, Sharing};
use policy::cpu::{Cpu, Slot};
use policy::server::{Parameters, Policy};
use policy::time::{Duration as Ticks, Instant as Time};

use crate::code::LOAD;

pub const MS: u64 = 1_000_000;
/// A number that no CPU of this machine has.
pub const NO_CPU: usize = 1023;

/// The code of a VM, and the server of its VCPU with budget and period.
pub type Vm = (Vec<u8>, fn(Parameters) -> Policy, [u64; 2]);

pub fn guest(code: &[u8]) -> Guest {
    Guest {
        ram_bytes: 2 << 20,
        colors: None,
        file: code.to_vec(),
        load: LOAD,
        entry: LOAD,
        arguments: String::new(),
        restarts: Restarts::default(),
        linux: None,
    }
}

/// Waits until no other test runs VMs: on the same CPU they would starve each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static RUNS: Mutex<()> = Mutex::new(());
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`Prepared::new`], but waits while another process has VCPUs on these CPUs.
pub fn prepared(
    guests: Vec<Guest>,
    seats: Vec<Seats>,
    sharing: Sharing,
) -> Result<Prepared, Error> {
    for _ in 0..600 {
        match Prepared::new(guests.clone(), seats.clone(), sharing.clone(), &|| false) {
            Err(Error::Claimed { .. }) => thread::sleep(Duration::from_millis(100)),
            result => return result,
        }
    }
    Prepared::new(guests, seats, sharing, &|| false)
}

/// The last CPU of this machine. Threads that start VMs may not use it meanwhile.
pub fn last_cpu() -> usize {
    static CPU: OnceLock<usize> = OnceLock::new();
    *CPU.get_or_init(|| thread::available_parallelism().map_or(0, |cpus| cpus.get() - 1))
}

/// VMs of one VCPU each on the last CPU of this machine; `None`: there is no KVM or no right to use it as needed.
pub fn start(vms: &[Vm]) -> Option<Running> {
    start_sharing(vms, Sharing::default())
}

pub fn start_sharing(vms: &[Vm], sharing: Sharing) -> Option<Running> {
    start_again(vms, sharing, &[])
}

/// The same, of which the first VMs start again as `restarts` says.
pub fn start_again(vms: &[Vm], sharing: Sharing, restarts: &[Restarts]) -> Option<Running> {
    let vcpus = (0..vms.len() as u8).map(|vm| Id { vm, vcpu: 0 }).collect();
    let schedulers = |start| {
        let slots = vms.iter().map(|(_, policy, [budget, period])| {
            let start = Time(start);
            let parameters = Parameters {
                budget: Ticks(*budget),
                period: Ticks(*period),
                start,
                overrun: Ticks::ZERO,
            };
            Slot::new(policy(parameters)).expect("a server")
        });
        vec![Cpu::new(slots.collect())]
    };
    let rules = restarts.iter().copied().chain(iter::repeat(Restarts::default()));
    let guest = |((code, ..), restarts): (&Vm, _)| Guest { restarts, ..guest(code) };
    let guests: Vec<_> = vms.iter().zip(rules).map(guest).collect();
    let prepared = prepared(guests, vec![Seats { cpu: last_cpu(), vcpus }], sharing);
    started(prepared.and_then(|prepared| prepared.start(schedulers)))
}

/// What was started; `None`: there is no KVM or no right to use it as needed.
pub fn started(result: Result<Running, Error>) -> Option<Running> {
    match result {
        Ok(running) => Some(running),
        Err(error @ (Error::NoKvm | Error::Denied(_) | Error::Io { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// All news until the end.
pub fn news(running: &mut Running) -> Vec<News> {
    let limit = Instant::now() + Duration::from_secs(20);
    let mut all = Vec::new();
    loop {
        match running.next(Duration::from_millis(100)) {
            Next::News(news) => all.push(news),
            Next::End => return all,
            Next::Nothing => assert!(Instant::now() < limit, "it does not end: {all:?}"),
        }
    }
}
