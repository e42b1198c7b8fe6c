//! Threads: policy, signals and timers.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::AsRawFd;
use std::ptr;

use kvm_ioctls::VcpuFd;
use libc::{c_int, itimerspec, sigevent, sigset_t, timer_t, timespec};
use rustix::thread::Pid;

/// `_IOW(KVMIO, 0x8b, struct kvm_signal_mask)`, which kvm-ioctls does not have.
pub const SET_SIGNAL_MASK: libc::Ioctl = 0x4004_ae8b;

/// The structure that KVM reads: the number of bytes, and a set as the kernel has it.
#[repr(C, packed)]
struct SignalMask {
    bytes: u32,
    set: u64,
}

/// Returns the signal of alarms and kicks. A real-time signal would not do: Linux refuses to send one (`EAGAIN`) when too many
/// signals of the user wait. This one always comes, and a thread that does not block it ignores it.
pub fn signal() -> c_int {
    libc::SIGURG
}

fn check(result: c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives the calling thread the policy `SCHED_FIFO`.
pub fn set_fifo(priority: c_int) -> io::Result<()> {
    // The kernel's `struct sched_param` is this number. Not by the C library: that of musl refuses, because POSIX means a
    // process where Linux means a thread.
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: the call reads the number, which lives through it. 0 is the calling thread.
    let result = unsafe { libc::syscall(call, 0, libc::SCHED_FIFO, &raw const priority) };
    check(result as c_int)
}

/// Returns a set with one signal.
fn only(signal: c_int) -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call fills the set; the second one adds a signal to a set that is filled.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        set.assume_init()
    }
}

/// Blocks a signal for the calling thread.
pub fn block(signal: c_int) -> io::Result<()> {
    let set = only(signal);
    // SAFETY: the call reads a set that lives through it, and is not asked for the old one.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Takes a blocked signal that has come to the calling thread; with `wait`, waits for one.
pub fn take(signal: c_int, wait: bool) {
    let set = only(signal);
    let none = timespec { tv_sec: 0, tv_nsec: 0 };
    let limit = if wait { ptr::null() } else { &raw const none };
    // SAFETY: the call reads set and limit, which live through it, and is not asked for details. No signal, or another one
    // that was handled meanwhile, is a result like any other: callers look at what there is to do.
    unsafe { libc::sigtimedwait(&raw const set, ptr::null_mut(), limit) };
}

/// Sends a signal to a thread of this process.
pub fn send(thread: Pid, signal: c_int) {
    // SAFETY: the call has numbers as arguments. A thread that is gone is an error, which changes nothing.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), thread.as_raw_nonzero().get(), signal);
    }
}

/// While the VCPU runs, of all signals that its thread blocks only this one comes through, and ends the run without being
/// delivered: it stays pending.
pub fn let_signal_end(vcpu: &VcpuFd, signal: c_int) -> io::Result<()> {
    let mut blocked = only(signal);
    // SAFETY: no set is given, and the old one is written into a set that lives through the call.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut blocked) };
    // SAFETY: the call removes a signal from a set that is filled.
    unsafe { libc::sigdelset(&raw mut blocked, signal) };
    const { assert!(mem::size_of::<sigset_t>() >= mem::size_of::<u64>()) };
    // SAFETY: a set begins with the 64 signals that the kernel knows, and is at least as large and as aligned as a word.
    let set = unsafe { (&raw const blocked).cast::<u64>().read_unaligned() };
    let mask = SignalMask { bytes: mem::size_of::<u64>() as u32, set };
    // SAFETY: the argument is of the type that the number of the call asks for, and lives through the call.
    check(unsafe { libc::ioctl(vcpu.as_raw_fd(), SET_SIGNAL_MASK, &raw const mask) })
}

/// A timer that sends a signal to a thread.
#[derive(Debug)]
pub struct Timer(timer_t);

// SAFETY: a timer is a number that any thread of the process may use.
unsafe impl Send for Timer {}

impl Timer {
    /// Makes a timer on `CLOCK_MONOTONIC`.
    pub fn new(thread: Pid, signal: c_int) -> io::Result<Self> {
        // SAFETY: all zeros are a value of this C structure.
        let mut event: sigevent = unsafe { mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = thread.as_raw_nonzero().get();
        let mut timer = MaybeUninit::uninit();
        // SAFETY: the call reads the event and writes the timer, both of which live through it.
        check(unsafe {
            libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, timer.as_mut_ptr())
        })?;
        // SAFETY: the call has succeeded.
        Ok(Self(unsafe { timer.assume_init() }))
    }

    /// Lets the signal come at this time in nanoseconds; `None`: not at all.
    pub fn set(&self, time: Option<u64>) {
        // The time 0 would stop the timer.
        let time = time.map_or(0, |time| time.max(1));
        let value = timespec {
            tv_sec: (time / 1_000_000_000) as _,
            tv_nsec: (time % 1_000_000_000) as libc::c_long,
        };
        let setting =
            itimerspec { it_interval: timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // SAFETY: the timer is there until it is dropped; the setting lives through the call. Seconds and nanoseconds are in
        // their ranges, so that the call does not fail.
        unsafe {
            libc::timer_settime(self.0, libc::TIMER_ABSTIME, &raw const setting, ptr::null_mut());
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is there, and nobody has its number any more.
        unsafe { libc::timer_delete(self.0) };
    }
}
