//! Errors of this crate.

use std::io;

/// Why a VM cannot be made or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no KVM.
    #[error(
        "this machine has no KVM: there is no /dev/kvm\n\
         help: load the module `kvm_intel` or `kvm_amd`, and turn virtualisation on in the firmware; a virtual machine \
         needs nested virtualisation"
    )]
    NoKvm,
    /// KVM may not be used.
    #[error(
        "/dev/kvm may not be opened: {0}\n\
         help: run this as root, or let the group that owns /dev/kvm contain you (`usermod -aG kvm USER`)"
    )]
    Denied(io::Error),
    /// Another failure: what was tried, and why it failed.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
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
    /// Something does not lie in the RAM of the VM.
    #[error("{what} at {address:#x} does not fit the RAM of the VM")]
    Outside {
        /// What it is.
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
