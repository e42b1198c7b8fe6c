//! The events of a trace.

use std::fmt;

use abi::hypercall::{MARK_FINISH, MARK_RELEASE, MARK_START};
use abi::trace::{GRANT_LATER, Kind, NO_LIMIT, Record, lock_argument};

/// A VCPU, by the index of its VM in the plan and its own in the VM.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct VcpuId {
    /// Index of the VM.
    pub vm: u8,
    /// Index of the VCPU in the VM.
    pub vcpu: u8,
}

/// An event and its time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Time in ticks of the trace's clock.
    pub ticks: u64,
    /// The event.
    pub event: Event,
}

/// An event on a PCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// The PCPU runs this VCPU from now on.
    Run {
        /// The VCPU.
        vcpu: VcpuId,
        /// Ticks that are left of its budget, if it has one.
        budget: Option<u64>,
    },
    /// The PCPU runs nothing from now on.
    Idle,
    /// The VCPU is off and runs no more.
    Stop(VcpuId),
    /// Input of the scheduler: the VCPU has work.
    Wake(VcpuId),
    /// Input of the scheduler: the VCPU has nothing to do any more.
    Block(VcpuId),
    /// Input of the scheduler: time has passed.
    Tick,
    /// Memory accesses of the VCPU since it started to run or since the last such event; the
    /// scheduler gets this number with the input that follows.
    Account {
        /// The VCPU.
        vcpu: VcpuId,
        /// Number of accesses.
        accesses: u64,
    },
    /// Input of the scheduler: the VCPU has made all accesses that it may make.
    Overflow {
        /// The VCPU.
        vcpu: VcpuId,
        /// Accesses, as of [`Event::Account`].
        accesses: u64,
    },
    /// The VCPU runs and has got accesses, or runs again.
    Recharge {
        /// The VCPU.
        vcpu: VcpuId,
        /// Number of accesses that the VCPU may make from now on.
        accesses: u64,
    },
    /// The VCPU took accesses from the budget of its VM, while the scheduler decided about the
    /// input before.
    Grant {
        /// The VCPU.
        vcpu: VcpuId,
        /// Number of accesses.
        accesses: u64,
        /// They end not with this period of the budget, but with the next one.
        later: bool,
    },
    /// Input of the scheduler: the VCPU, which gets the PCPU of one that blocked, executes from now on.
    Enter(VcpuId),
    /// The PCPU was interrupted for the VCPU, which waits and goes on waiting: an input of the scheduler.
    Kick(VcpuId),
    /// Input of the scheduler: tasks of the VCPU are in global critical sections.
    StartGcs(VcpuId),
    /// Input of the scheduler: no task of the VCPU is in one any more.
    FinishGcs(VcpuId),
    /// The VCPU has to wait in a global critical section: budget and overrun are used up.
    StopInGcs(VcpuId),
    /// The VCPU has executed in global critical sections for too long, and is in none any more.
    EndGcs(VcpuId),
    /// The VCPU was refused to enter a global critical section: it does so more often than planned.
    TooOften {
        /// The VCPU.
        vcpu: VcpuId,
        /// Ticks until it may.
        ticks: u64,
    },
    /// A task gets a resource, waits for it, or releases it.
    Lock {
        /// The VCPU.
        vcpu: VcpuId,
        /// The action of the task.
        step: LockStep,
        /// Number of the task.
        task: u8,
        /// Index of the resource.
        resource: u8,
        /// True if the resource is global.
        global: bool,
    },
    /// The VCPU came to the hypervisor by an exception.
    Exit {
        /// The VCPU.
        vcpu: VcpuId,
        /// Low 48 bits of ESR_EL2.
        syndrome: u64,
    },
    /// The VCPU came to the hypervisor by an interrupt.
    Interrupt {
        /// The VCPU.
        vcpu: VcpuId,
        /// INTID.
        intid: u64,
    },
    /// A mark that the guest has set.
    Mark {
        /// The VCPU.
        vcpu: VcpuId,
        /// Its value, 48 bits.
        value: u64,
    },
    /// A VM was stopped.
    VmStop {
        /// Index of the VM.
        vm: u8,
        /// Number of the reason.
        reason: u64,
    },
    /// A VM was started again.
    VmStart {
        /// Index of the VM.
        vm: u8,
        /// Number of restarts so far.
        restarts: u64,
    },
    /// The first period of all servers starts.
    Epoch {
        /// Frequency of the clock in Hz.
        frequency_hz: u64,
    },
    /// The reader was too slow: this number of earlier records was overwritten.
    Lost {
        /// Number of records.
        records: u64,
    },
}

/// Actions of a task on a resource.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LockStep {
    /// The task gets the resource.
    Lock,
    /// The task has to wait for the resource.
    Wait,
    /// The task releases the resource.
    Unlock,
}

/// The meaning of a guest's mark about a job of a task ([`abi::hypercall::mark`]).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct JobMark {
    /// The event of the job.
    pub step: Step,
    /// Index of the task in its VCPU.
    pub task: u8,
    /// Number of the job.
    pub job: u32,
}

/// Events of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// The job is released.
    Release,
    /// The job executes for the first time.
    Start,
    /// The job is complete.
    Finish,
}

impl JobMark {
    /// Returns the meaning of a mark with this value; `None` if it is a mark of another kind.
    pub fn from_value(value: u64) -> Option<Self> {
        let step = match (value >> 40) as u8 {
            MARK_RELEASE => Step::Release,
            MARK_START => Step::Start,
            MARK_FINISH => Step::Finish,
            _ => return None,
        };
        Some(Self { step, task: (value >> 32) as u8, job: value as u32 })
    }

    /// Returns the value of the mark.
    pub fn value(self) -> u64 {
        let event = match self.step {
            Step::Release => MARK_RELEASE,
            Step::Start => MARK_START,
            Step::Finish => MARK_FINISH,
        };
        abi::hypercall::mark(event, self.task, self.job)
    }
}

impl Entry {
    /// Returns the entry in a record; `None` if its kind is not known.
    pub fn from_record(record: Record) -> Option<Self> {
        let vcpu = VcpuId { vm: record.vm(), vcpu: record.vcpu() };
        let argument = record.argument();
        let event = match record.kind()? {
            Kind::VcpuRun => {
                Event::Run { vcpu, budget: (argument != NO_LIMIT).then_some(argument) }
            }
            Kind::VcpuStop => Event::Stop(vcpu),
            Kind::ExitSync => Event::Exit { vcpu, syndrome: argument },
            Kind::ExitIrq => Event::Interrupt { vcpu, intid: argument },
            Kind::GuestMark => Event::Mark { vcpu, value: argument },
            Kind::VmStop => Event::VmStop { vm: vcpu.vm, reason: argument },
            Kind::VmStart => Event::VmStart { vm: vcpu.vm, restarts: argument },
            Kind::Wake => Event::Wake(vcpu),
            Kind::Block => Event::Block(vcpu),
            Kind::Tick => Event::Tick,
            Kind::Idle => Event::Idle,
            Kind::Epoch => Event::Epoch { frequency_hz: argument },
            Kind::Account => Event::Account { vcpu, accesses: argument },
            Kind::Overflow => Event::Overflow { vcpu, accesses: argument },
            Kind::Recharge => Event::Recharge { vcpu, accesses: argument },
            Kind::Grant => Event::Grant {
                vcpu,
                accesses: argument & !GRANT_LATER,
                later: argument & GRANT_LATER != 0,
            },
            Kind::StartGcs => Event::StartGcs(vcpu),
            Kind::FinishGcs => Event::FinishGcs(vcpu),
            Kind::StopInGcs => Event::StopInGcs(vcpu),
            Kind::EndGcs => Event::EndGcs(vcpu),
            Kind::TooOften => Event::TooOften { vcpu, ticks: argument },
            Kind::Enter => Event::Enter(vcpu),
            Kind::Kick => Event::Kick(vcpu),
            Kind::Lock => lock(vcpu, LockStep::Lock, argument),
            Kind::LockWait => lock(vcpu, LockStep::Wait, argument),
            Kind::Unlock => lock(vcpu, LockStep::Unlock, argument),
        };
        Some(Self { ticks: record.ticks, event })
    }

    /// Returns the record of the entry; `None` for [`Event::Lost`], which has none.
    pub fn to_record(self) -> Option<Record> {
        let (kind, id, argument) = match self.event {
            Event::Run { vcpu, budget } => {
                (Kind::VcpuRun, vcpu, budget.map_or(NO_LIMIT, |budget| budget.min(NO_LIMIT)))
            }
            Event::Idle => (Kind::Idle, VcpuId::NONE, 0),
            Event::Stop(vcpu) => (Kind::VcpuStop, vcpu, 0),
            Event::Wake(vcpu) => (Kind::Wake, vcpu, 0),
            Event::Block(vcpu) => (Kind::Block, vcpu, 0),
            Event::Tick => (Kind::Tick, VcpuId::NONE, 0),
            Event::Exit { vcpu, syndrome } => (Kind::ExitSync, vcpu, syndrome),
            Event::Interrupt { vcpu, intid } => (Kind::ExitIrq, vcpu, intid),
            Event::Mark { vcpu, value } => (Kind::GuestMark, vcpu, value),
            Event::VmStop { vm, reason } => (Kind::VmStop, VcpuId { vm, vcpu: 0 }, reason),
            Event::VmStart { vm, restarts } => (Kind::VmStart, VcpuId { vm, vcpu: 0 }, restarts),
            Event::Epoch { frequency_hz } => (Kind::Epoch, VcpuId::NONE, frequency_hz),
            Event::Account { vcpu, accesses } => (Kind::Account, vcpu, accesses),
            Event::Overflow { vcpu, accesses } => (Kind::Overflow, vcpu, accesses),
            Event::Recharge { vcpu, accesses } => (Kind::Recharge, vcpu, accesses),
            Event::Grant { vcpu, accesses, later } => {
                (Kind::Grant, vcpu, accesses | if later { GRANT_LATER } else { 0 })
            }
            Event::StartGcs(vcpu) => (Kind::StartGcs, vcpu, 0),
            Event::FinishGcs(vcpu) => (Kind::FinishGcs, vcpu, 0),
            Event::StopInGcs(vcpu) => (Kind::StopInGcs, vcpu, 0),
            Event::EndGcs(vcpu) => (Kind::EndGcs, vcpu, 0),
            Event::TooOften { vcpu, ticks } => (Kind::TooOften, vcpu, ticks),
            Event::Enter(vcpu) => (Kind::Enter, vcpu, 0),
            Event::Kick(vcpu) => (Kind::Kick, vcpu, 0),
            Event::Lock { vcpu, step, task, resource, global } => {
                let kind = match step {
                    LockStep::Lock => Kind::Lock,
                    LockStep::Wait => Kind::LockWait,
                    LockStep::Unlock => Kind::Unlock,
                };
                (kind, vcpu, lock_argument(task, resource, global))
            }
            Event::Lost { .. } => return None,
        };
        Some(Record::new(self.ticks, kind, id.vm, id.vcpu, argument))
    }
}

fn lock(vcpu: VcpuId, step: LockStep, argument: u64) -> Event {
    let (task, resource) = (argument as u8, (argument >> 8) as u8);
    Event::Lock { vcpu, step, task, resource, global: argument >> 16 & 1 != 0 }
}

impl VcpuId {
    /// The place of the VCPU in records that are not about a VCPU.
    const NONE: Self = Self { vm: 0, vcpu: 0 };
}

impl Event {
    /// Returns the VCPU that it is about.
    pub fn vcpu(self) -> Option<VcpuId> {
        match self {
            Self::Run { vcpu, .. }
            | Self::Stop(vcpu)
            | Self::Wake(vcpu)
            | Self::Block(vcpu)
            | Self::Exit { vcpu, .. }
            | Self::Interrupt { vcpu, .. }
            | Self::Mark { vcpu, .. }
            | Self::Account { vcpu, .. }
            | Self::Overflow { vcpu, .. }
            | Self::Recharge { vcpu, .. }
            | Self::Grant { vcpu, .. }
            | Self::StartGcs(vcpu)
            | Self::FinishGcs(vcpu)
            | Self::StopInGcs(vcpu)
            | Self::EndGcs(vcpu)
            | Self::TooOften { vcpu, .. }
            | Self::Enter(vcpu)
            | Self::Kick(vcpu)
            | Self::Lock { vcpu, .. } => Some(vcpu),
            _ => None,
        }
    }

    /// Returns the job that it is about.
    pub fn job(self) -> Option<(VcpuId, JobMark)> {
        match self {
            Self::Mark { vcpu, value } => Some((vcpu, JobMark::from_value(value)?)),
            _ => None,
        }
    }

    /// Its name in CSV files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run { .. } => "run",
            Self::Idle => "idle",
            Self::Stop(_) => "stop",
            Self::Wake(_) => "wake",
            Self::Block(_) => "block",
            Self::Tick => "tick",
            Self::Exit { .. } => "exit",
            Self::Interrupt { .. } => "interrupt",
            Self::Mark { .. } => "mark",
            Self::VmStop { .. } => "vm-stop",
            Self::VmStart { .. } => "vm-start",
            Self::Epoch { .. } => "epoch",
            Self::Lost { .. } => "lost",
            Self::Account { .. } => "account",
            Self::Overflow { .. } => "overflow",
            Self::Recharge { .. } => "recharge",
            Self::Grant { .. } => "grant",
            Self::StartGcs(_) => "start-gcs",
            Self::FinishGcs(_) => "finish-gcs",
            Self::StopInGcs(_) => "stop-in-gcs",
            Self::EndGcs(_) => "end-gcs",
            Self::TooOften { .. } => "too-often",
            Self::Enter(_) => "enter",
            Self::Kick(_) => "kick",
            Self::Lock { step: LockStep::Lock, .. } => "lock",
            Self::Lock { step: LockStep::Wait, .. } => "lock-wait",
            Self::Lock { step: LockStep::Unlock, .. } => "unlock",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Release => "release",
            Self::Start => "start",
            Self::Finish => "finish",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_the_way_through_records() {
        let vcpu = VcpuId { vm: 3, vcpu: 5 };
        let mark = JobMark { step: Step::Start, task: 4, job: 70_000 };
        for event in [
            Event::Run { vcpu, budget: Some(7) },
            Event::Run { vcpu, budget: None },
            Event::Idle,
            Event::Stop(vcpu),
            Event::Wake(vcpu),
            Event::Block(vcpu),
            Event::Tick,
            Event::Exit { vcpu, syndrome: 0x5a00_0000 },
            Event::Interrupt { vcpu, intid: 27 },
            Event::Mark { vcpu, value: mark.value() },
            Event::VmStop { vm: 3, reason: 2 },
            Event::VmStart { vm: 3, restarts: 1 },
            Event::Epoch { frequency_hz: 62_500_000 },
            Event::Account { vcpu, accesses: 9 },
            Event::Overflow { vcpu, accesses: 1 << 40 },
            Event::Recharge { vcpu, accesses: 13_718 },
            Event::Grant { vcpu, accesses: 77, later: true },
            Event::Grant { vcpu, accesses: 0, later: false },
            Event::StartGcs(vcpu),
            Event::FinishGcs(vcpu),
            Event::StopInGcs(vcpu),
            Event::EndGcs(vcpu),
            Event::TooOften { vcpu, ticks: 77 },
            Event::Enter(vcpu),
            Event::Kick(vcpu),
            Event::Lock { vcpu, step: LockStep::Lock, task: 63, resource: 15, global: true },
            Event::Lock { vcpu, step: LockStep::Wait, task: 0, resource: 3, global: false },
            Event::Lock { vcpu, step: LockStep::Unlock, task: 9, resource: 0, global: true },
        ] {
            let entry = Entry { ticks: 99, event };
            let record = entry.to_record().expect("has a record");
            assert_eq!(Entry::from_record(record), Some(entry));
        }
        assert_eq!(Entry::from_record(Record::default()), None);
        let event = Event::Mark { vcpu, value: mark.value() };
        assert_eq!(event.job(), Some((vcpu, mark)));
        assert_eq!(JobMark::from_value(5 << 40), None);
    }

    #[test]
    fn a_budget_that_records_cannot_hold_is_no_limit() {
        let vcpu = VcpuId { vm: 0, vcpu: 0 };
        let entry = Entry { ticks: 0, event: Event::Run { vcpu, budget: Some(u64::MAX) } };
        let back = Entry::from_record(entry.to_record().expect("has a record"));
        assert_eq!(back.map(|entry| entry.event), Some(Event::Run { vcpu, budget: None }));
    }
}
