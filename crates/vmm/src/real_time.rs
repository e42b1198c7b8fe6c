//! Threads that run VCPUs: their priority, their CPU, and the signal that stops a VCPU.

use std::sync::{Mutex, PoisonError};

use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_setaffinity};

use crate::error::Error;
use crate::sys;

/// The calling thread, which has the policy `SCHED_FIFO`, one CPU, and the signal of [`Alarm`] and [`Kick`] blocked.
#[derive(Debug)]
pub struct RealTime {
    thread: Pid,
    signal: i32,
}

/// Wakes a thread at a time: ends [`crate::Vcpu::run`] and [`RealTime::wait`].
#[derive(Debug)]
pub struct Alarm {
    timer: sys::thread::Timer,
    set: Option<u64>,
}

/// Wakes a thread from another one, as [`Alarm`] does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Kick {
    thread: Pid,
    signal: i32,
}

/// Memory that stays in RAM, until the last of these values is dropped.
#[derive(Debug)]
pub struct LockedMemory(());

/// Number of these values.
static LOCKED: Mutex<usize> = Mutex::new(0);

impl LockedMemory {
    /// Keeps the memory that the process has now in RAM.
    pub fn new() -> Result<Self, Error> {
        let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
        mlockall(MlockAllFlags::CURRENT).map_err(Error::io(
            "memory cannot be locked (as root, or with a larger `ulimit -l`, it can)",
        ))?;
        *locked += 1;
        Ok(Self(()))
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
        *locked = locked.saturating_sub(1);
        if *locked == 0 {
            // There is nothing to do where it fails.
            let _ = munlockall();
        }
    }
}

/// A thread that keeps off some CPUs, until this value is dropped. Threads that it starts keep off, too.
#[derive(Debug)]
pub struct Elsewhere {
    thread: Pid,
    before: CpuSet,
}

impl Elsewhere {
    /// Keeps the calling thread off these CPUs. `None`: it may use no others, or Linux does not let it.
    pub fn new(cpus: &[usize]) -> Option<Self> {
        let before = sched_getaffinity(None).ok()?;
        let mut others = before;
        // Greater numbers are in no set.
        cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU).for_each(|cpu| others.unset(*cpu));
        if others.count() == 0 {
            return None;
        }
        sched_setaffinity(None, &others).ok()?;
        Some(Self { thread: gettid(), before })
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // A thread that has ended needs no CPU.
        let _ = sched_setaffinity(Some(self.thread), &self.before);
    }
}

/// Lets other threads go before the calling one, as far as Linux can.
pub fn step_back() {
    const LOWEST: i32 = 19;
    // If it fails, the thread has the priority of all others.
    let _ = setpriority_process(Some(gettid()), LOWEST);
}

impl RealTime {
    /// Gives the calling thread a priority (1 to 99), and then a CPU: the other way round it could wait for that CPU for
    /// ever.
    pub fn enter(priority: i32, cpu: usize) -> Result<Self, Error> {
        sys::thread::set_fifo(priority).map_err(Error::io(
            "a thread cannot get the policy SCHED_FIFO (as root, or with `ulimit -r`, it can; in a control group of \
             version 1 only if its cpu.rt_runtime_us is not 0)",
        ))?;
        let mut cpus = CpuSet::new();
        cpus.set(cpu);
        sched_setaffinity(None, &cpus).map_err(Error::io("a thread cannot get its CPU"))?;
        let signal = sys::thread::signal();
        sys::thread::block(signal).map_err(Error::io("a signal cannot be blocked"))?;
        Ok(Self { thread: gettid(), signal })
    }

    /// Returns an alarm for this thread.
    pub fn alarm(&self) -> Result<Alarm, Error> {
        let timer = sys::thread::Timer::new(self.thread, self.signal)
            .map_err(Error::io(
                "there is no timer for a thread (with a larger `ulimit -i`, of signals that may wait, there is)",
            ))?;
        Ok(Alarm { timer, set: None })
    }

    /// Returns a handle that wakes this thread. It does nothing after the thread has ended: whoever has its number then ignores
    /// the signal, as Linux lets all do that do not ask for it.
    pub fn kick(&self) -> Kick {
        Kick { thread: self.thread, signal: self.signal }
    }

    /// Waits for an alarm or a kick.
    pub fn wait(&self) {
        sys::thread::take(self.signal, true);
    }

    /// Takes an alarm or a kick, if one has come: it then ends nothing more.
    pub fn take(&self) {
        sys::thread::take(self.signal, false);
    }

    pub(crate) fn id(&self) -> Pid {
        self.thread
    }

    pub(crate) fn signal(&self) -> i32 {
        self.signal
    }
}

impl Alarm {
    /// Wakes the thread at this time; at once if it is over; `None`: not at all.
    pub fn set(&mut self, time: Option<u64>) {
        if self.set != time {
            self.set = time;
            self.timer.set(time);
        }
    }

    /// Returns true if the alarm is set, and rings no later than at this time.
    pub fn rings_by(&self, time: u64) -> bool {
        self.set.is_some_and(|set| set <= time)
    }

    /// The alarm rang: the same time may be set again.
    pub fn rang(&mut self) {
        self.set = None;
    }
}

impl Kick {
    /// Wakes the thread.
    pub fn kick(self) {
        sys::thread::send(self.thread, self.signal);
    }
}
