//! The system calls that a thread with VCPUs may make: all others end the process.
//!
//! A guest that finds a mistake of KVM or of this program, and executes code of its own in such a thread, can then start no
//! program, open no file, and send nothing anywhere. Other threads of the process have no filter, and share its memory.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use crate::clock::now;
use crate::error::Error;
use crate::sys;

/// `_IO(KVMIO, 0x80)`
const KVM_RUN: u64 = 0xae80;
/// `_IOR(KVMIO, 0x83, struct kvm_sregs)`
const KVM_GET_SREGS: u64 = 0x8138_ae83;

/// Calls that may be made with all arguments.
const ANY: [c_long; 21] = [
    // To wait, to be woken and to wake.
    libc::SYS_rt_sigtimedwait,
    libc::SYS_timer_settime,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_getpid,
    libc::SYS_restart_syscall,
    // To see what a counter of events shows.
    libc::SYS_read,
    // Where Linux cannot tell the time without a call.
    libc::SYS_clock_gettime,
    // To allocate and to free, for a panic and at the end.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // To give VCPUs and the alarm back.
    libc::SYS_close,
    libc::SYS_timer_delete,
    // To end, and to end the process.
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_gettid,
    libc::SYS_set_robust_list,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Calls that fail, and do not end the process: a panic makes them where a backtrace is wanted (`RUST_BACKTRACE`).
const FAIL: [c_long; 5] = [
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_getcwd,
    libc::SYS_readlink,
    // glibc may ask for CPUs when a thread first allocates, and does without.
    libc::SYS_sched_getaffinity,
];

/// The calls that a thread with VCPUs may make.
#[derive(Clone, Debug)]
pub struct SystemCalls {
    allowed: BpfProgram,
    fail: BpfProgram,
}

impl SystemCalls {
    /// Makes the filter. From now on the process says why it ends if a thread makes a call that it may not make. `file`: the
    /// file of [`Movable`](crate::Movable) memory, whose pages threads may map in the place of others.
    pub fn new(file: Option<i32>) -> Result<Self, Error> {
        sys::refused::catch().map_err(refused)?;
        // The first one looks, by calls that threads may not make, for a way to tell the time without a call.
        now();
        let filter = |rules, other, these| {
            let filter = SeccompFilter::new(rules, other, these, TargetArch::x86_64);
            filter.and_then(BpfProgram::try_from)
        };
        let made = rules(file).and_then(|rules| {
            let fail = FAIL.map(|call| (call, Vec::new())).into();
            // Linux asks both filters, and does the worse.
            Ok(Self {
                allowed: filter(rules, SeccompAction::Trap, SeccompAction::Allow)?,
                fail: filter(fail, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))?,
            })
        });
        made.map_err(|error| refused(io::Error::other(error)))
    }

    /// From now on the calling thread may make no other calls.
    pub fn enter(&self) -> Result<(), Error> {
        // The second one lets no further filters be added.
        for filter in [&self.fail, &self.allowed] {
            seccompiler::apply_filter(filter).map_err(|error| match error {
                seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
                    refused(error)
                }
                error => refused(io::Error::other(error)),
            })?;
        }
        Ok(())
    }
}

fn refused(error: io::Error) -> Error {
    let what = "a thread cannot give up system calls (Linux with CONFIG_SECCOMP_FILTER lets it)";
    Error::Io { what, error }
}

/// All of these conditions on arguments; each says which argument, how it is compared, and with which value.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = |(index, compared, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*index, Dword, compared.clone(), *value)
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?)
}

/// For each call the rules, one of which has to be kept; with none, the call may always be made.
fn rules(
    file: Option<i32>,
) -> Result<BTreeMap<c_long, Vec<SeccompRule>>, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq};
    let one_of = |index, values: &[u64]| {
        values.iter().map(|value| rule(&[(index, Eq, *value)])).collect::<Result<Vec<_>, _>>()
    };
    let number = |number: libc::c_int| number as u64;
    let standard_error = [number(libc::STDERR_FILENO)];
    // Memory never becomes code, and comes from no file but that of memory whose pages move.
    let data = (2, MaskedEq(number(libc::PROT_EXEC)), 0);
    let anonymous = number(libc::MAP_ANONYMOUS);
    let own = u64::from(std::process::id());
    let mut mapped = vec![rule(&[data.clone(), (3, MaskedEq(anonymous), anonymous)])?];
    if let Some(file) = file {
        // A thread could as well write there what it wants: it has all of the memory of the process.
        let flags = u64::from(sys::memory::REPLACES.bits());
        mapped.push(rule(&[data.clone(), (3, Eq, flags), (4, Eq, number(file))])?);
    }
    let commands = [sys::INTERRUPT, sys::thread::SET_SIGNAL_MASK, sys::counter::SET_PERIOD]
        .map(|it| u64::from(it as u32));
    let commands = [&[KVM_RUN, KVM_GET_SREGS], &commands[..]].concat();
    let mut rules: BTreeMap<_, _> =
        ANY.into_iter().chain(FAIL).map(|call| (call, Vec::new())).collect();
    rules.extend([
        (libc::SYS_ioctl, one_of(1, &commands)?),
        // The standard library looks whether files are open that it closes, where assertions are on.
        (libc::SYS_fcntl, one_of(1, &[number(libc::F_GETFD)])?),
        // Kicks, and the end by `abort`.
        (libc::SYS_tgkill, one_of(0, &[own])?),
        (libc::SYS_tkill, one_of(1, &[number(libc::SIGABRT)])?),
        // A panic says what is wrong.
        (libc::SYS_write, one_of(0, &standard_error)?),
        (libc::SYS_writev, one_of(0, &standard_error)?),
        (libc::SYS_mmap, mapped),
        (libc::SYS_mprotect, vec![rule(&[data])?]),
        // The handler of the standard library for stacks that overflow gives up by these.
        (libc::SYS_rt_sigaction, one_of(0, &[number(libc::SIGSEGV), number(libc::SIGBUS)])?),
    ]);
    Ok(rules)
}
