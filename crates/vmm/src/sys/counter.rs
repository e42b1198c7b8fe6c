//! Event counters of threads, by `perf_event_open`.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_long, c_ulong};
use rustix::thread::Pid;

/// The first version of the kernel's `struct perf_event_attr`, which all kernels know.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Attributes {
    pub kind: u32,
    bytes: u32,
    pub config: u64,
    pub sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `PERF_FORMAT_TOTAL_TIME_RUNNING`
const TIMES: u64 = 1 | 2;
/// The flag `pinned`: the event always counts while its thread executes, or never again.
const PINNED: u64 = 1 << 2;
/// `PERF_FLAG_FD_CLOEXEC`
const CLOSE: c_ulong = 8;
/// `PERF_EVENT_IOC_PERIOD`
pub const SET_PERIOD: libc::Ioctl = 0x4008_2404;
/// `F_SETSIG`, `F_SETOWN_EX` and `F_OWNER_TID`, of which the C library has not all.
const SET_SIGNAL: c_int = 10;
const SET_OWNER: c_int = 15;
const OWNER_THREAD: c_int = 0;

/// `struct f_owner_ex`
#[repr(C)]
struct Owner {
    kind: c_int,
    id: c_int,
}

/// The values that a counter shows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Values {
    /// Events since it was made.
    pub events: u64,
    /// Nanoseconds for which it was to count, and did count.
    pub wanted: u64,
    pub counted: u64,
}

impl Attributes {
    /// Returns those of an event of guest, kernel and program that is counted from the start, and tells each `period` of them.
    pub fn new(kind: u32, config: u64, period: u64) -> Self {
        let bytes = mem::size_of::<Self>() as u32;
        let (read_format, flags) = (TIMES, PINNED);
        Self { kind, bytes, config, sample_period: period, read_format, flags, ..Self::default() }
    }
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Opens a counter of the calling thread, whatever CPU that has.
pub fn open(attributes: &Attributes) -> io::Result<OwnedFd> {
    let (this_thread, any_cpu, no_group): (c_int, c_int, c_int) = (0, -1, -1);
    // SAFETY: the call reads a structure of numbers that says how many bytes it has and lives through the call.
    let file: c_long = unsafe {
        let (call, attributes) = (libc::SYS_perf_event_open, &raw const *attributes);
        libc::syscall(call, attributes, this_thread, any_cpu, no_group, CLOSE)
    };
    let file = RawFd::try_from(file).ok().filter(|it| *it >= 0);
    let file = file.ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the call has made this file for us, and nobody else has its number.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// Lets each period of a counter send a signal to a thread.
pub fn send_signal(counter: &OwnedFd, thread: Pid, signal: c_int) -> io::Result<()> {
    let owner = Owner { kind: OWNER_THREAD, id: thread.as_raw_nonzero().get() };
    let file = counter.as_raw_fd();
    // SAFETY: the call reads the structure that its number asks for, which lives through it.
    check(unsafe { libc::fcntl(file, SET_OWNER, &raw const owner) })?;
    // SAFETY: the call has numbers as arguments.
    check(unsafe { libc::fcntl(file, SET_SIGNAL, signal) })?;
    // SAFETY: as above.
    check(unsafe { libc::fcntl(file, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) })
}

/// Lets a counter tell when `period` more events have come, and again after each further period.
pub fn set_period(counter: &OwnedFd, period: u64) -> io::Result<()> {
    // SAFETY: the call reads a number that lives through it.
    check(unsafe { libc::ioctl(counter.as_raw_fd(), SET_PERIOD, &raw const period) })
}

/// Reads a counter. `None`: it does not count any more.
pub fn read(counter: &OwnedFd) -> Option<Values> {
    let mut values = Values::default();
    let bytes = mem::size_of::<Values>();
    // SAFETY: the call writes up to as many bytes as it is told into a structure of numbers, which lives through it.
    let read = unsafe { libc::read(counter.as_raw_fd(), (&raw mut values).cast(), bytes) };
    (read == bytes as isize).then_some(values)
}
