//! Threads that run VCPUs: their priority, their CPU, and the signal that stops a VCPU.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::{CpuSet, Pid, gettid, sched_setaffinity};

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

/// Keeps the memory that the process has now in RAM.
pub fn lock_memory() -> Result<(), Error> {
    mlockall(MlockAllFlags::CURRENT).map_err(Error::io(
        "memory cannot be locked (as root, or with a larger `ulimit -l`, it can)",
    ))
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
            .map_err(Error::io("there is no timer for a thread"))?;
        Ok(Alarm { timer, set: None })
    }

    /// Returns a handle that wakes this thread. It must not be used after the thread has ended.
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
