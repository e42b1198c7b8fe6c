//! Keeps other programs away from a process that measures or takes, as far as the system
//! lets it.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// Priority (SCHED_FIFO) of victims.
pub const VICTIM: u8 = 10;
/// Priority of leeches: on the CPU of a victim they are above it (IsoTest, section IV.A).
pub const LEECH: u8 = 20;
/// Priority of the process that ends the others: it must run whatever they do.
pub const CONTROL: u8 = 40;

/// The protection of a process from other programs.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Protection {
    /// The CPU that it is pinned to; without one it is not pinned.
    pub cpu: Option<usize>,
    /// Its real-time priority; without one, that of any program.
    pub priority: Option<u8>,
    /// True if its memory is locked.
    pub locked: bool,
    /// The protection that it did not get, and why.
    pub missing: Vec<String>,
}

impl Protection {
    /// Pins this thread to the CPU and raises its priority.
    pub fn take(cpu: Option<usize>, priority: u8) -> Self {
        let mut protection = Self { cpu: None, priority: None, locked: false, missing: Vec::new() };
        if let Some(cpu) = cpu
            && protection.has(pin(cpu))
        {
            protection.cpu = Some(cpu);
        }
        if protection.has(raise(priority)) {
            protection.priority = Some(priority);
        }
        protection
    }

    /// Locks the memory that the process has by now. What it will have is not locked: it
    /// could get none where little may be locked.
    pub fn lock(mut self) -> Self {
        let result = mlockall(MlockAllFlags::CURRENT);
        self.locked = self.has(result.map_err(|error| {
            format!("memory is not locked: {error}; the kernel can take pages away")
        }));
        self
    }

    fn has(&mut self, result: Result<(), String>) -> bool {
        let ok = result.is_ok();
        self.missing.extend(result.err());
        ok
    }
}

/// Keeps this thread on a CPU.
pub fn pin(cpu: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return Err(format!("there is no CPU {cpu}"));
    }
    set.set(cpu);
    sched_setaffinity(None, &set)
        .map_err(|error| format!("not pinned to CPU {cpu}: {error}; the kernel may move it"))
}

/// Gives this thread a real-time priority (SCHED_FIFO).
pub fn raise(priority: u8) -> Result<(), String> {
    let value = ThreadPriorityValue::try_from(priority).map_err(|why| why.to_string())?;
    set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(value),
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
    )
    .map_err(|error| match error {
        thread_priority::Error::OS(number) => {
            format!(
                "no real-time priority: {}; other programs can slow it down, and I may be due to them",
                std::io::Error::from_raw_os_error(number)
            )
        }
        other => format!("no real-time priority: {other:?}"),
    })
}
