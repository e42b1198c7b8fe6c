//! Trace records: what the hypervisor writes into the ring of each CPU, and how tools find
//! the rings in the RAM of a running machine ([`descriptor`]).

pub mod descriptor;

/// Bytes of one record.
pub const RECORD_BYTES: usize = 16;
/// Records that a ring keeps. Record number `n`, counted from the start, is in place
/// `n % RING_RECORDS`.
pub const RING_RECORDS: usize = 4096;

/// Argument of [`Kind::VcpuRun`] of a VCPU without a budget.
pub const NO_LIMIT: u64 = (1 << 48) - 1;

/// One trace record, 16 bytes.
///
/// Word 0: time in ticks of the system counter. Word 1: kind in bits 0..8, VM
/// index in bits 8..12, VCPU index in bits 12..16, an argument in bits 16..64
/// whose meaning depends on the kind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Record {
    /// Time in ticks of the system counter.
    pub ticks: u64,
    /// Kind, VM, VCPU and argument.
    pub what: u64,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Kind {
    /// The VCPU starts to run on this CPU; argument: remaining ticks of its budget, or
    /// [`NO_LIMIT`].
    VcpuRun = 1,
    /// The VCPU is off and no longer runs on this CPU; no argument.
    VcpuStop = 2,
    /// Exit by a synchronous exception; argument: low 48 bits of ESR_EL2.
    ExitSync = 3,
    /// Exit by an interrupt; argument: INTID.
    ExitIrq = 4,
    /// A mark set by the guest ([`crate::hypercall::TRACE_MARK`]); argument: its value.
    GuestMark = 5,
    /// The VM was stopped; argument: reason.
    VmStop = 6,
    /// The VM was restarted; argument: number of restarts.
    VmStart = 7,
    /// The VCPU is ready: an input of the CPU's scheduler, as the following two. The time is the
    /// one that the scheduler was told; no argument. Inputs come before the decision that they
    /// cause ([`Kind::VcpuRun`], [`Kind::Idle`]); a decision that changes nothing writes no record.
    Wake = 8,
    /// The VCPU waits; no argument.
    Block = 9,
    /// Time has passed for the scheduler; VM, VCPU and argument are 0.
    Tick = 10,
    /// The CPU runs no VCPU from now on; VM, VCPU and argument are 0.
    Idle = 11,
    /// The time at which the first period of all servers starts; argument: frequency of the
    /// system counter in Hz.
    Epoch = 12,
    /// The VCPU, which has a memory budget, has made accesses since it started to run or since the
    /// last such record or [`Kind::Overflow`]; argument: their number. The record comes before the
    /// input with which the scheduler was told, at the same time. If no VCPU runs, EL2 has made the
    /// accesses to stop the VCPU and to wake the PCPU.
    Account = 13,
    /// The VCPU has made all accesses that it may make: an input of the scheduler; argument: as for
    /// [`Kind::Account`].
    Overflow = 14,
    /// The VCPU runs and has got accesses, or runs again; argument: the number of accesses that it
    /// may make from now on. The record comes after the decision.
    Recharge = 15,
    /// The VCPU has asked for accesses from the budget of its VM, while the scheduler decided;
    /// argument: the number that it got, and [`GRANT_LATER`].
    Grant = 16,
    /// Tasks of the VCPU are in global critical sections: an input of the scheduler; no argument.
    StartGcs = 17,
    /// No task of the VCPU is in a global critical section any more: an input of the scheduler; no
    /// argument.
    FinishGcs = 18,
    /// The VCPU has to wait in a global critical section: budget and overrun are used up; no
    /// argument. The record comes after the input that caused it.
    StopInGcs = 19,
    /// A task of the VCPU gets a resource; argument: [`lock_argument`].
    Lock = 20,
    /// A task of the VCPU has to wait for a resource; argument: [`lock_argument`].
    LockWait = 21,
    /// A task of the VCPU releases a resource; argument: [`lock_argument`].
    Unlock = 22,
    /// The VCPU has executed in global critical sections for longer than planned, or waited in one,
    /// and counts as outside from now on: its resources go to others; no argument. The record comes
    /// after the input that caused it.
    EndGcs = 23,
    /// The VCPU was refused to enter a global critical section, because it enters them more often
    /// than planned; argument: ticks until it may. Recorded once until then.
    TooOften = 24,
    /// The VCPU, which gets the PCPU of one that blocked, executes from now on: an input of the scheduler; no argument.
    Enter = 25,
    /// The CPU was interrupted for the VCPU, which waits and goes on waiting: an input of the
    /// scheduler; no argument.
    Kick = 26,
}

/// Returns the argument of [`Kind::Lock`], [`Kind::LockWait`] and [`Kind::Unlock`]: number of the
/// task in bits 0..8, index of the resource in bits 8..16, bit 16 if it is global.
#[inline]
pub const fn lock_argument(task: u8, resource: u8, global: bool) -> u64 {
    task as u64 | (resource as u64) << 8 | (global as u64) << 16
}

/// In the argument of [`Kind::Grant`]: the grant ends with the budget's period after the one that
/// contains the time of the record. Other CPUs had reached that period already.
pub const GRANT_LATER: u64 = 1 << 47;

impl Kind {
    /// Returns the kind with this number, or `None` if there is none.
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::VcpuRun,
            2 => Self::VcpuStop,
            3 => Self::ExitSync,
            4 => Self::ExitIrq,
            5 => Self::GuestMark,
            6 => Self::VmStop,
            7 => Self::VmStart,
            8 => Self::Wake,
            9 => Self::Block,
            10 => Self::Tick,
            11 => Self::Idle,
            12 => Self::Epoch,
            13 => Self::Account,
            14 => Self::Overflow,
            15 => Self::Recharge,
            16 => Self::Grant,
            17 => Self::StartGcs,
            18 => Self::FinishGcs,
            19 => Self::StopInGcs,
            20 => Self::Lock,
            21 => Self::LockWait,
            22 => Self::Unlock,
            23 => Self::EndGcs,
            24 => Self::TooOften,
            25 => Self::Enter,
            26 => Self::Kick,
            _ => return None,
        })
    }
}

impl Record {
    /// Makes a record; `vm` and `vcpu` are truncated to 4 bits, `argument` to 48.
    #[inline]
    pub const fn new(ticks: u64, kind: Kind, vm: u8, vcpu: u8, argument: u64) -> Self {
        let what =
            kind as u64 | ((vm & 0xf) as u64) << 8 | ((vcpu & 0xf) as u64) << 12 | argument << 16;
        Self { ticks, what }
    }

    /// Returns the kind, or `None` for a record that was never written.
    pub const fn kind(self) -> Option<Kind> {
        Kind::from_number(self.what as u8)
    }

    /// Returns the index of the VM in the plan.
    pub const fn vm(self) -> u8 {
        (self.what >> 8 & 0xf) as u8
    }

    /// Returns the index of the VCPU in the VM.
    pub const fn vcpu(self) -> u8 {
        (self.what >> 12 & 0xf) as u8
    }

    /// Returns the argument, 48 bits.
    pub const fn argument(self) -> u64 {
        self.what >> 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_round_trip() {
        let record = Record::new(12, Kind::ExitIrq, 3, 9, 0x1234_5678_9abc);
        assert_eq!(record.kind(), Some(Kind::ExitIrq));
        assert_eq!((record.vm(), record.vcpu()), (3, 9));
        assert_eq!(record.argument(), 0x1234_5678_9abc);
        assert_eq!(size_of::<Record>(), RECORD_BYTES);
    }

    #[test]
    fn numbers_and_kinds_are_the_same() {
        let kinds = (0..=u8::MAX).filter_map(|number| Some((number, Kind::from_number(number)?)));
        let kinds: Vec<_> = kinds.collect();
        assert!(kinds.iter().all(|&(number, kind)| kind as u8 == number));
        assert_eq!(kinds.len(), Kind::Kick as usize);
    }

    #[test]
    fn an_unwritten_record_has_no_kind() {
        assert_eq!(Record::default().kind(), None);
    }
}
