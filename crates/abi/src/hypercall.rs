//! The HVC interface between a guest and the hypervisor.
//!
//! Calls follow the SMC Calling Convention (Arm DEN 0028): function identifier
//! in `w0`, arguments in `x1`..`x7`, results in `x0`..`x3`, all other registers
//! preserved. Bulkhead's own functions are fast calls in the vendor-specific
//! hypervisor range (owner 6). A call with a bad argument changes nothing and
//! returns a negative [`Error`].

/// Identifies the hypervisor: returns Bulkhead's UID ([`UID`]) in `w0`..`w3`
/// (SMCCC "Call UID Query", 32-bit).
pub const CALL_UID: u32 = 0x8600_FF01;

/// Revision of the service: major version in `w0`, minor in `w1`
/// (SMCCC "Revision").
pub const REVISION: u32 = 0x8600_FF03;

/// The words that [`CALL_UID`] returns, first word in `w0`.
pub const UID: [u32; 4] = [0x6b6c_7562, 0x6561_6468, 0x4c45_3200, 0x0000_0001];

/// Major version of the interface; incremented when a guest must change.
pub const VERSION_MAJOR: u32 = 1;
/// Minor version of the interface; incremented when functions are added.
pub const VERSION_MINOR: u32 = 2;

/// Features of the running hypervisor: returns a set of `FEATURE_*` bits in `x0`.
pub const FEATURES: u32 = 0xC600_0000;

/// Writes bytes to the console of the calling VM.
///
/// `x1`: address of the bytes (guest physical, IPA), `x2`: length in bytes (at most
/// [`CONSOLE_WRITE_MAX`]). Returns the number of bytes taken, which is less than the length if the
/// console is busy: repeat the call with the rest.
pub const CONSOLE_WRITE: u32 = 0xC600_0001;

/// Maximum length of one [`CONSOLE_WRITE`] in bytes.
pub const CONSOLE_WRITE_MAX: u64 = 256;

/// Puts a mark of the guest into the trace ring of the CPU it runs on, and shows it to observers of
/// the machine ([`MARK_HINT`]).
///
/// `x1`: a value of the guest's own (truncated to 48 bits, see [`crate::trace::Record`]). For a job
/// it is `event << 40 | task << 32 | job` ([`mark`]): the event is [`MARK_RELEASE`],
/// [`MARK_START`] or [`MARK_FINISH`], tasks are numbered by priority from 0, the highest, and
/// jobs from 0. Returns 0.
pub const TRACE_MARK: u32 = 0xC600_0002;

/// Returns information about the calling VM: `x1` selects a value ([`VmInfo`]), which is returned
/// in `x0`.
pub const VM_INFO: u32 = 0xC600_0003;

/// Requests colours for the calling address space (vColoring; vCache, section 4.2).
///
/// `x1`: bit field of extra colours of the VM. All pages that are present and accessible from EL0
/// in the tables of `TTBR0_EL1` get frames of these colours; 0 gives them the default colours
/// again. Returns the number of pages that the request found, or an error that changed nothing:
/// [`Error::Invalid`], [`Error::NoMemory`], [`Error::Busy`], [`Error::BadAddress`] if the tables do
/// not lie in the memory of the VM or do not end.
pub const COLOR_REQUEST: u32 = 0xC600_0004;

/// Compares the stage-2 tables of the calling VM with the plan. Returns 0, or [`Error::BadAddress`]
/// and in `x1` the first wrong address.
pub const AUDIT: u32 = 0xC600_0005;

/// A task of the calling VCPU enters a critical section of a mutex that the guest keeps itself and
/// that tasks of other VCPUs use (vMPCP, section III.C, `vmpcp_start_gcs`). The VCPU runs before
/// all others of its CPU that are in no such section, and may overrun its budget if the plan allows
/// overrun. Returns 0, or [`Error::Denied`] if the plan has no sections for this VCPU, or
/// [`Error::TooOften`].
///
/// The plan limits how often a VCPU enters sections (`sections-interval-ns`, `sections-early-ns`),
/// such that tasks that follow their description and are in time are never refused. Each successful
/// call counts as an entry, and so does each [`LOCK`] and [`LOCK_TRY`] (see there).
///
/// The plan also limits how long the VCPU executes in sections before it executes outside of them
/// (`hold-ns`); the limit applies as soon as other VCPUs are delayed. At the limit the sections
/// end, and the resources that the VCPU's tasks hold go to other tasks, which get
/// [`LOCK_ORPHANED`]. The same happens immediately if the VCPU waits for an interrupt in a section,
/// or does not wake when one of its tasks is granted a resource.
pub const GCS_START: u32 = 0xC600_0006;

/// The tasks of the calling VCPU have left such sections (`vmpcp_finish_gcs`). Returns 0, or
/// [`Error::NotOwner`] if the VCPU is in none: it never was, or the section took too long.
pub const GCS_FINISH: u32 = 0xC600_0007;

/// Opens a resource that the plan lets the VM share. `x1`, `x2`: its name in little-endian bytes,
/// padded with zeros. Returns its number, and in `x1` 1 if no VM had it open, otherwise 0; or
/// [`Error::Denied`] if there is no such resource or the VM has no right to it.
pub const LOCK_OPEN: u32 = 0xC600_0008;

/// Closes a resource (`x1`). Returns 0, and in `x1` 1 if no other VM has it open, otherwise 0; or
/// [`Error::Denied`] if it is not open, [`Error::Busy`] if tasks of the VM hold it or wait for it.
pub const LOCK_DESTROY: u32 = 0xC600_0009;

/// A task of the calling VCPU (`x2`: its number there, 0 the highest priority, below 64) asks for a
/// resource (`x1`). Returns [`LOCK_HELD`], [`LOCK_ORPHANED`], or [`LOCK_WAITS`]: in the last case
/// [`LOCK_INTERRUPT`] comes when the task got the resource, and [`LOCK_GRANTED`] returns the task.
/// Errors that change nothing: [`Error::Denied`] (the resource is not open, or the plan has no
/// sections for this VCPU), [`Error::Invalid`] (no such task), [`Error::TooOften`] ([`GCS_START`]),
/// [`Error::AlreadyHeld`], [`Error::Nested`], [`Error::AlreadyWaits`]. Each call that does not
/// return [`Error::TooOften`] or [`Error::Invalid`] counts as an entry, whatever it returns.
pub const LOCK: u32 = 0xC600_000A;

/// Like [`LOCK`], but does not wait: [`Error::Busy`] if another task has the resource.
pub const LOCK_TRY: u32 = 0xC600_000B;

/// A task (`x2`) releases a resource (`x1`). Of the waiting tasks, the one with the highest
/// priority on the VCPU with the highest priority gets it. Returns 0, or [`Error::NotOwner`], also
/// if the section took too long ([`GCS_START`]) and the resource went to another task.
pub const UNLOCK: u32 = 0xC600_000C;

/// Returns a task of the calling VCPU that got the resource for which it waited: its number, and in
/// `x1` [`LOCK_HELD`], [`LOCK_ORPHANED`] or [`LOCK_LOST`]. Each task is returned once, the one with
/// the highest priority first. [`Error::TryAgain`]: none.
pub const LOCK_GRANTED: u32 = 0xC600_000D;

/// The private interrupt of a VCPU that a task got the resource for which it waited.
pub const LOCK_INTERRUPT: u32 = 20;

/// The task has the resource.
pub const LOCK_HELD: u64 = 0;
/// The task has the resource, but the previous owner stopped in its section or took too long: the
/// data that the resource protects may be inconsistent, and in the second case the previous owner
/// may still use them.
pub const LOCK_ORPHANED: u64 = 1;
/// The task has to wait.
pub const LOCK_WAITS: u64 = 2;
/// The task waits no longer and does not have the resource: it got it, and its VCPU was in sections
/// for too long before the task could know ([`GCS_START`]). The task may ask again.
pub const LOCK_LOST: u64 = 3;

/// Immediate of the `HINT` instruction, a `NOP` for CPUs, that the hypervisor executes for each
/// mark of a guest, with the mark in `x0`, for observers of the machine.
pub const MARK_HINT: u8 = 0x50;

/// The event in a mark: a job is released.
pub const MARK_RELEASE: u8 = 1;
/// The event in a mark: a job starts.
pub const MARK_START: u8 = 2;
/// The event in a mark: a job has finished.
pub const MARK_FINISH: u8 = 3;
/// The event in a mark under Linux/KVM: a call took so many ticks of the guest's clock (in the place of the job). The place of the
/// task has the number of the [`Call`](crate::kvm::Call).
pub const MARK_CALL: u8 = 4;

/// Returns the mark for an event of a job of a task.
pub const fn mark(event: u8, task: u8, job: u32) -> u64 {
    (event as u64) << 40 | (task as u64) << 32 | job as u64
}

/// [`FEATURES`] bit: [`CONSOLE_WRITE`] is available.
pub const FEATURE_CONSOLE_WRITE: u64 = 1 << 0;
/// [`FEATURES`] bit: [`TRACE_MARK`] is available.
pub const FEATURE_TRACE_MARK: u64 = 1 << 1;
/// [`FEATURES`] bit: [`VM_INFO`] is available.
pub const FEATURE_VM_INFO: u64 = 1 << 2;
/// [`FEATURES`] bit: [`COLOR_REQUEST`] is available, and the [`doorbell`](crate::doorbell).
pub const FEATURE_COLORING: u64 = 1 << 3;
/// [`FEATURES`] bit: [`AUDIT`] is available.
pub const FEATURE_AUDIT: u64 = 1 << 4;

/// [`FEATURES`] bit: [`GCS_START`], [`LOCK_OPEN`] and the calls between and behind them up to
/// [`LOCK_GRANTED`] are available.
pub const FEATURE_LOCKS: u64 = 1 << 5;

/// Selectors of [`VM_INFO`]. A selector for something that the VM or the machine does not have is
/// [`Error::Invalid`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u64)]
pub enum VmInfo {
    /// Index of the VM in the plan, from 0.
    VmIndex = 0,
    /// Number of VCPUs of the VM.
    VcpuCount = 1,
    /// Index of the calling VCPU in the VM, from 0.
    VcpuIndex = 2,
    /// Number of restarts of the VM since the hypervisor started.
    Restarts = 3,
    /// Bytes of RAM of the VM.
    MemoryBytes = 4,
    /// Bytes of the machine's last-level cache.
    LlcBytes = 5,
    /// Ways of the machine's last-level cache.
    LlcWays = 6,
    /// Bytes of a line of the machine's last-level cache.
    LlcLineBytes = 7,
    /// Number of colours of the machine's last-level cache.
    LlcColors = 8,
    /// Default colours of the VM, as a bit field.
    Colors = 9,
    /// Extra colours of the VM, as a bit field.
    ExtraColors = 10,
    /// Number of frames in the pool of extra colours.
    PoolFrames = 11,
    /// Number of free frames in the pool.
    PoolFree = 12,
    /// The virtual counter at the start of the first period of all servers.
    ServersStart = 13,
}

/// Selector of [`VM_INFO`] for the number of free frames of colour 0 in the pool of extra colours;
/// the selector for colour `c` (below 64) is `c` higher.
pub const INFO_POOL_FREE_OF: u64 = 0x40;

impl VmInfo {
    /// Returns the selector with this number, or `None` if there is none.
    pub const fn from_selector(selector: u64) -> Option<Self> {
        Some(match selector {
            0 => Self::VmIndex,
            1 => Self::VcpuCount,
            2 => Self::VcpuIndex,
            3 => Self::Restarts,
            4 => Self::MemoryBytes,
            5 => Self::LlcBytes,
            6 => Self::LlcWays,
            7 => Self::LlcLineBytes,
            8 => Self::LlcColors,
            9 => Self::Colors,
            10 => Self::ExtraColors,
            11 => Self::PoolFrames,
            12 => Self::PoolFree,
            13 => Self::ServersStart,
            _ => return None,
        })
    }
}

/// Returns the name of a resource in the two registers in which [`LOCK_OPEN`] takes it, or `None` if it is too long to be one.
pub const fn resource_name(name: &[u8]) -> Option<[u64; 2]> {
    if name.len() > 16 {
        return None;
    }
    let (mut packed, mut place) = (0u128, name.len());
    while place > 0 {
        place -= 1;
        packed = packed << 8 | name[place] as u128;
    }
    Some([packed as u64, (packed >> 64) as u64])
}

/// The reason why a call was refused, returned as a negative number in `x0`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(i64)]
pub enum Error {
    /// No such function (SMCCC `NOT_SUPPORTED`).
    NotSupported = -1,
    /// An argument is out of its range (as `EINVAL`).
    Invalid = -22,
    /// An address does not lie in the memory of the VM (as `EFAULT`).
    BadAddress = -14,
    /// The VM has no right to do this (as `EACCES`).
    Denied = -13,
    /// The result is no longer available: repeat the request (as `EAGAIN`).
    TryAgain = -11,
    /// The pool does not have enough free frames (as `ENOMEM`).
    NoMemory = -12,
    /// Another request of the VM is under way, or the resource is in use (as `EBUSY`).
    Busy = -16,
    /// The task holds the resource already (as `EDEADLK`).
    AlreadyHeld = -35,
    /// The task does not hold the resource (as `ENOLCK`).
    NotOwner = -37,
    /// The task holds another resource: sections are not nested (as `ELOOP`).
    Nested = -40,
    /// The task waits for a resource already (as `EALREADY`).
    AlreadyWaits = -114,
    /// The VCPU enters critical sections more often than its tasks are described to (as `EDQUOT`):
    /// it may enter one again somewhat later.
    TooOften = -122,
}

impl Error {
    /// Returns the value that the guest finds in `x0`.
    pub const fn to_x0(self) -> u64 {
        self as i64 as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_fast_calls_of_the_hypervisor_owner() {
        let ours = [
            CALL_UID,
            REVISION,
            FEATURES,
            CONSOLE_WRITE,
            TRACE_MARK,
            VM_INFO,
            COLOR_REQUEST,
            AUDIT,
        ];
        let locks =
            [GCS_START, GCS_FINISH, LOCK_OPEN, LOCK_DESTROY, LOCK, LOCK_TRY, UNLOCK, LOCK_GRANTED];
        for function in ours.into_iter().chain(locks) {
            assert_eq!(function >> 31, 1, "{function:#x} is a fast call");
            assert_eq!(function >> 24 & 0x3f, 6, "{function:#x} has owner 6");
        }
    }

    #[test]
    fn names_begin_in_the_first_register() {
        assert_eq!(resource_name(b"bus"), Some([u64::from_le_bytes(*b"bus\0\0\0\0\0"), 0]));
        let long = [b"abcdefgh", b"ijklmnop"].map(|it| u64::from_le_bytes(*it));
        assert_eq!(resource_name(b"abcdefghijklmnop"), Some(long));
        assert_eq!(resource_name(b"abcdefghijklmnopq"), None);
    }

    #[test]
    fn selectors_round_trip() {
        for selector in 0..64 {
            if let Some(info) = VmInfo::from_selector(selector) {
                assert_eq!(info as u64, selector);
            }
        }
        assert_eq!(VmInfo::from_selector(14), None);
    }

    #[test]
    fn marks_fit_into_a_record() {
        assert_eq!(mark(MARK_FINISH, 0xff, u32::MAX), 0x3ff_ffff_ffff);
        assert_eq!(mark(MARK_RELEASE, 2, 3), 0x102_0000_0003);
    }

    #[test]
    fn errors_are_negative() {
        for error in [
            Error::NotSupported,
            Error::Invalid,
            Error::BadAddress,
            Error::Denied,
            Error::TryAgain,
            Error::NoMemory,
            Error::Busy,
            Error::AlreadyHeld,
            Error::NotOwner,
            Error::Nested,
            Error::AlreadyWaits,
        ] {
            assert!((error.to_x0() as i64) < 0);
        }
    }
}
