//! Errors of this crate.

use std::io;

/// The reason why a VM cannot be made or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no KVM.
    #[error("this machine has no KVM: there is no /dev/kvm, or no driver behind it")]
    NoKvm,
    /// KVM may not be used.
    #[error("/dev/kvm may not be opened: {0}")]
    Denied(io::Error),
    /// Another process runs VMs on a CPU.
    #[error(
        "CPU {cpu} of this host is used by another run{}\n\
         help: wait for its end, or put VCPUs on other PCPUs: two runs on the same CPU would starve each other",
        by.map(|process| format!(" (process {process})")).unwrap_or_default()
    )]
    Claimed {
        /// The number of the CPU.
        cpu: usize,
        /// The process, if it is known.
        by: Option<i32>,
    },
    /// Linux does not say in which frames memory lies.
    #[error(
        "Linux hides from this process in which frames of RAM its memory lies\n\
         help: run this as root of the host, not of a container (`CAP_SYS_ADMIN`), or remove `colors`"
    )]
    HiddenFrames,
    /// KVM describes no caches, of which a VM could see another one.
    #[error(
        "KVM says nothing about the caches of this host (CPUID leaves 4 and 0x8000001d), so that no VM can see its part of them\n\
         help: remove `vllc`"
    )]
    NoCaches,
    /// Nothing counts the memory accesses of a VCPU.
    #[error(
        "nothing counts the memory accesses of VCPUs: {error}\n\
         help: `bulkhead measure host` says what this host lacks; or remove the limits of memory accesses"
    )]
    NoCounter {
        /// The reason.
        error: String,
    },
    /// Limits of memory accesses cannot be.
    #[error("{0}")]
    Limits(String),
    /// There are too few frames of a colour, or they do not stay: why, and what to do.
    #[error("{0}")]
    Colors(String),
    /// Another failure: what was tried, and why it failed.
    #[error("{what}: {error}")]
    Io {
        /// The action that failed.
        what: &'static str,
        /// The reason.
        error: io::Error,
    },
    /// RAM of this size cannot be.
    #[error("a VM under KVM can have at most {} MiB of RAM, and not {bytes} bytes", abi::kvm::RAM_MAX >> 20)]
    Ram {
        /// The size.
        bytes: u64,
    },
    /// A VM cannot be made.
    #[error("{error}")]
    OfVm {
        /// Its index.
        vm: usize,
        /// The reason.
        error: Box<Error>,
    },
    /// A Linux cannot be started: the reason.
    #[error(
        "the kernel is no Linux that can start here: {0}\nhelp: name a `bzImage` for x86-64, as Debian's /boot/vmlinuz-*"
    )]
    Kernel(&'static str),
    /// A Linux and its files do not fit its RAM.
    #[error(
        "the kernel and its initial RAM disk do not fit the RAM of the VM\n\
         help: raise `memory` to at least {} MiB",
        needed.div_ceil(1 << 20)
    )]
    TooLittle {
        /// The bytes that they need.
        needed: u64,
    },
    /// KVM emulates privileged code.
    #[error(
        "Linux guests need a KVM that executes privileged code by the processor, and that of this host emulates it ({}): a Linux \
         would take hours to boot\n\
         help: use a host with `kvm_amd` or `kvm_intel`, or the exact host (`cargo xtask host-x86`)",
        match ns { 0..=9_999_999 => format!("{ns} ns for an instruction"), _ => "or fails to".into() }
    )]
    Privileged {
        /// The time of an instruction in nanoseconds.
        ns: u64,
    },
    /// Something does not lie in the RAM of the VM.
    #[error("{what} at {address:#x} does not fit the RAM of the VM")]
    Outside {
        /// The thing.
        what: &'static str,
        /// Its address.
        address: u64,
    },
}

impl Error {
    /// A thread could not be started.
    pub fn thread(error: io::Error) -> Self {
        Self::Io { what: "a thread cannot be started", error }
    }

    /// A thread ended where it should not.
    pub fn thread_ended() -> Self {
        Self::thread(io::ErrorKind::BrokenPipe.into())
    }

    /// Returns a function that says what was tried.
    pub(crate) fn io<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Io { what, error: error.into() }
    }

    /// The same for errors of KVM.
    pub(crate) fn kvm(what: &'static str) -> impl FnOnce(kvm_ioctls::Error) -> Self {
        move |error| Self::Io { what, error: io::Error::from_raw_os_error(error.errno()) }
    }
}
