//! Trace records: what the hypervisor writes into the ring of each CPU.

/// Bytes of one record.
pub const RECORD_BYTES: usize = 16;

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

/// What happened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Kind {
    /// The VCPU starts to run on this CPU.
    VcpuRun = 1,
    /// The VCPU is off and runs no more on this CPU; no argument.
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
}

impl Kind {
    /// The kind with this number, if there is one.
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::VcpuRun,
            2 => Self::VcpuStop,
            3 => Self::ExitSync,
            4 => Self::ExitIrq,
            5 => Self::GuestMark,
            6 => Self::VmStop,
            7 => Self::VmStart,
            _ => return None,
        })
    }
}

impl Record {
    /// A record; `vm` and `vcpu` are kept to 4 bits, `argument` to 48.
    #[inline]
    pub const fn new(ticks: u64, kind: Kind, vm: u8, vcpu: u8, argument: u64) -> Self {
        let what =
            kind as u64 | ((vm & 0xf) as u64) << 8 | ((vcpu & 0xf) as u64) << 12 | argument << 16;
        Self { ticks, what }
    }

    /// The kind, or `None` in a record that was never written.
    pub const fn kind(self) -> Option<Kind> {
        Kind::from_number(self.what as u8)
    }

    /// Index of the VM in the plan.
    pub const fn vm(self) -> u8 {
        (self.what >> 8 & 0xf) as u8
    }

    /// Index of the VCPU in the VM.
    pub const fn vcpu(self) -> u8 {
        (self.what >> 12 & 0xf) as u8
    }

    /// The argument, 48 bits.
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
    fn an_unwritten_record_has_no_kind() {
        assert_eq!(Record::default().kind(), None);
    }
}
