//! Replays a trace: repeats each decision from its recorded inputs.
//!
//! The trace has all inputs of a PCPU's scheduler ([`policy::cpu`]) with their times. So the host
//! can make the same calls, and must come to the same decisions as the hypervisor. Where two inputs
//! follow each other before the PCPU acts, the PCPU acts on the decision after the second one.
//!
//! The accesses that a VCPU got from the budget of its VM, while the PCPU decided, depend on other
//! PCPUs. They are recorded as an input, too, behind the input that led to them.

mod ahead;
mod grants;

use policy::bandwidth::{self, Account};
use policy::cpu::{self, Cpu, Decision, News, Slot, fast};
use policy::lock::hold::Hold;
use policy::server::{ParametersError, Policy};
use policy::time::{Duration, Instant};

use crate::{Entry, Event, Source, VcpuId};
use ahead::Ahead;

/// A VCPU in a plan, with all lengths of time in ticks of the trace's clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Planned {
    /// The VCPU.
    pub vcpu: VcpuId,
    /// Its server, with periods that are counted from 0; `None`: it has a PCPU of its own.
    pub server: Option<Policy>,
    /// Its memory budget, if it has one.
    pub memory: Option<Memory>,
    /// Ticks in global critical sections until it executes outside; none: it is in none.
    pub hold: Option<u64>,
    /// True if the VCPU may hold resources that VMs share: its PCPU then makes decisions, even if
    /// it belongs to this VCPU alone.
    pub may_hold: bool,
}

/// The memory budget of a VCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Memory {
    /// Its own: accesses and period.
    Own(u64, u64),
    /// The budget of its VM, with this period.
    Shared(u64),
}

impl Planned {
    fn slot(&self, start: u64) -> Result<Slot, Impossible> {
        let policy = self.server.unwrap_or(Policy::Background).starting(Instant(start));
        let slot = Slot::new(policy).map_err(Impossible::Server)?;
        let hold = self.hold.map_or(Hold::UNLIMITED, |hold| Hold::new(Duration(hold)));
        let slot = slot.with_hold(hold);
        let account = match self.memory {
            None => return Ok(slot),
            Some(Memory::Shared(_)) => Account::shared(),
            Some(Memory::Own(budget, period)) => {
                let (period, start) = (Duration(period), Instant(start));
                Account::own(bandwidth::Parameters { budget, period, start })
                    .map_err(Impossible::Memory)?
            }
        };
        Ok(slot.with_account(account))
    }
}

/// The reason why the parameters of a VCPU are impossible.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Impossible {
    /// Its server cannot be.
    #[error("{0}")]
    Server(ParametersError),
    /// Its memory budget cannot be.
    #[error("{0}")]
    Memory(bandwidth::ParametersError),
}

/// The reason why a trace cannot be replayed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// The trace does not say when the servers started.
    #[error("the trace does not say when the servers started: it must be recorded from the start")]
    NoEpoch,
    /// The plan has a PCPU that the trace does not have.
    #[error("the plan has PCPU {pcpu}, the trace {pcpus} PCPUs: it is a trace of another system")]
    Pcpus {
        /// The PCPU.
        pcpu: usize,
        /// Number of PCPUs in the trace.
        pcpus: usize,
    },
    /// The plan has an impossible VCPU.
    #[error("PCPU {pcpu}: {error}")]
    Vcpu {
        /// The PCPU.
        pcpu: usize,
        /// The reason.
        error: Impossible,
    },
}

/// The result for a PCPU.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Replay {
    /// The PCPU.
    pub pcpu: usize,
    /// Inputs that were recorded.
    pub inputs: u64,
    /// Recorded decisions that came out again.
    pub decisions: u64,
    /// Decisions on which the PCPU did not act because another input came before.
    pub superseded: u64,
    /// Ticks by which the latest input came after the time for which its timer was set.
    pub late_max: u64,
    /// The place at which the replay ended before the end of the trace.
    pub stopped: Option<Stopped>,
}

/// The reason why a replay ended before the end of the trace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stopped {
    /// Time in ticks.
    pub ticks: u64,
    /// The reason.
    pub why: Why,
}

/// Reasons for which a replay cannot continue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Why {
    /// The recorded decision is not the one that the inputs lead to.
    Decision {
        /// The decision that follows from the inputs.
        expected: Choice,
        /// The recorded decision.
        recorded: Choice,
    },
    /// The same VCPU, with another budget.
    Budget {
        /// The VCPU.
        vcpu: VcpuId,
        /// Ticks of budget that it has after the inputs.
        expected: Option<u64>,
        /// The recorded budget.
        recorded: Option<u64>,
    },
    /// The right VCPU, which may make another number of accesses.
    Accesses {
        /// The VCPU.
        vcpu: VcpuId,
        /// Number of accesses that it may make after the inputs, if they are limited.
        expected: Option<u64>,
        /// The recorded number.
        recorded: u64,
    },
    /// The VCPU asked for accesses of its VM's budget when it was not recorded, or the other
    /// way round.
    Grant(VcpuId),
    /// An input is about a VCPU that the plan does not have on this PCPU.
    Vcpu(VcpuId),
    /// The VCPU had to wait in a global critical section, or was in one for too long, when that was not
    /// recorded, or the other way round.
    Section(VcpuId),
    /// The time of an input is before that of the one before.
    Time,
    /// Records were lost.
    Lost {
        /// Number of lost records.
        records: u64,
    },
}

/// A decision about a PCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Choice {
    /// Run this VCPU.
    Run(VcpuId),
    /// Run nothing.
    Idle,
}

/// Rules for all VCPUs of a plan.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rules {
    /// True if VCPUs in global critical sections run before all others.
    pub ceilings: bool,
    /// Ticks of its budget that a VCPU pays when it blocks.
    pub switch: u64,
    /// Ticks of its budget that a VCPU pays for each interrupt while it waits.
    pub kick: u64,
}

/// Returns the scheduler of a PCPU with these VCPUs, the one with the highest priority first; the first period of their
/// servers starts at `start`.
///
/// # Errors
///
/// The parameters of a VCPU are impossible.
pub fn scheduler(
    vcpus: &[Planned],
    rules: Rules,
    start: u64,
) -> Result<Cpu<Vec<Slot>>, Impossible> {
    let slots = vcpus.iter().map(|vcpu| vcpu.slot(start)).collect::<Result<_, _>>()?;
    let cpu = Cpu::new(slots).with_switch(Duration(rules.switch)).with_kick(Duration(rules.kick));
    Ok(if rules.ceilings { cpu.with_ceilings() } else { cpu })
}

/// Decides again what the PCPUs of a plan decided: for each its index and its VCPUs, the one
/// with the highest priority first.
pub fn replay<S: Source>(
    trace: &S,
    plan: &[(usize, Vec<Planned>)],
    rules: Rules,
) -> Result<Vec<Replay>, ReplayError> {
    let start = trace.epoch().ok_or(ReplayError::NoEpoch)?;
    plan.iter()
        .map(|(pcpu, vcpus)| {
            let (pcpu, pcpus) = (*pcpu, trace.pcpus());
            if pcpu >= pcpus {
                return Err(ReplayError::Pcpus { pcpu, pcpus });
            }
            let cpu = scheduler(vcpus, rules, start);
            let cpu = cpu.map_err(|error| ReplayError::Vcpu { pcpu, error })?;
            let mut follower = Follower {
                start,
                planned: vcpus,
                cpu,
                now: 0,
                decision: Decision::default(),
                noted: None,
                acted: None,
                replay: Replay { pcpu, ..Replay::default() },
            };
            let mut track = Ahead::new(trace.entries(pcpu));
            while let Some((entry, next)) = track.next() {
                if let Err(why) = follower.follow(&entry, next) {
                    follower.replay.stopped = Some(Stopped { ticks: entry.ticks, why });
                    break;
                }
            }
            Ok(follower.replay)
        })
        .collect()
}

struct Follower<'a> {
    /// The start of servers and memory budgets.
    start: u64,
    planned: &'a [Planned],
    cpu: Cpu<Vec<Slot>>,
    /// Time of the last input.
    now: u64,
    decision: Decision,
    /// The last input, of which the decision comes with the next one, a tick.
    noted: Option<cpu::Event>,
    /// The VCPU that the PCPU runs.
    acted: Option<usize>,
    replay: Replay,
}

impl Follower<'_> {
    /// `next`: entries behind this one, as [`Ahead`] has them.
    fn follow(&mut self, entry: &Entry, next: &[Entry]) -> Result<(), Why> {
        let event = match entry.event {
            Event::Wake(vcpu) => cpu::Event::Wake(self.index(vcpu)?),
            Event::Block(vcpu) => cpu::Event::Block(self.index(vcpu)?),
            Event::Kick(vcpu) => cpu::Event::Kick(self.index(vcpu)?),
            Event::Tick => self.noted.unwrap_or(cpu::Event::Tick),
            Event::Overflow { vcpu, accesses } => {
                let index = self.index(vcpu)?;
                self.cpu.account(index, accesses);
                cpu::Event::Overflow(index)
            }
            Event::Account { vcpu, accesses } => {
                let index = self.index(vcpu)?;
                self.cpu.account(index, accesses);
                return Ok(());
            }
            Event::StartGcs(vcpu) => {
                return self.change_gcs(self.index(vcpu)?, true, entry.ticks, next);
            }
            Event::FinishGcs(vcpu) => {
                return self.change_gcs(self.index(vcpu)?, false, entry.ticks, next);
            }
            Event::Enter(_) => {
                self.cpu.enter(Instant(entry.ticks));
                return Ok(());
            }
            Event::StopInGcs(vcpu) => return self.told(vcpu, News::StoppedInGcs),
            Event::EndGcs(vcpu) => return self.told(vcpu, News::EndedGcs),
            Event::Recharge { vcpu, accesses } => return self.recharge(vcpu, accesses),
            Event::Run { vcpu, budget } => return self.act(Choice::Run(vcpu), budget),
            Event::Idle => return self.act(Choice::Idle, None),
            Event::Lost { records } => return Err(Why::Lost { records }),
            _ => return Ok(()),
        };
        self.input(event, entry.ticks, next)
    }

    fn index(&self, vcpu: VcpuId) -> Result<usize, Why> {
        let found = self.planned.iter().position(|planned| planned.vcpu == vcpu);
        found.ok_or(Why::Vcpu(vcpu))
    }

    fn input(&mut self, event: cpu::Event, ticks: u64, next: &[Entry]) -> Result<(), Why> {
        self.begin(ticks)?;
        self.noted = None;
        self.step(event, ticks, next)
    }

    fn step(&mut self, event: cpu::Event, ticks: u64, next: &[Entry]) -> Result<(), Why> {
        let mut grants = grants::Recorded::new(self.planned, self.start, next);
        self.decision = self.cpu.step(event, Instant(ticks), &mut grants);
        grants.all_taken().map_err(Why::Grant)
    }

    /// Something is told of the VCPU in global critical sections.
    fn told(&mut self, vcpu: VcpuId, news: impl FnOnce(usize) -> News) -> Result<(), Why> {
        let recorded = news(self.index(vcpu)?);
        match self.cpu.take_news() == Some(recorded) {
            true => Ok(()),
            false => Err(Why::Section(vcpu)),
        }
    }

    /// The VCPU with this index is in global critical sections, or not any more.
    fn change_gcs(
        &mut self,
        index: usize,
        inside: bool,
        ticks: u64,
        next: &[Entry],
    ) -> Result<(), Why> {
        self.begin(ticks)?;
        let now = Instant(ticks);
        let event = if inside { cpu::Event::EnterGcs(index) } else { cpu::Event::LeaveGcs(index) };
        // The hypervisor decides with the tick that follows, or need not.
        let decides = next.iter().find(|entry| !matches!(entry.event, Event::Account { .. }));
        if decides.is_some_and(|it| it.event == Event::Tick && it.ticks == ticks) {
            self.noted = Some(event);
            return Ok(());
        }
        let is_early = self.decision.timer.is_none_or(|timer| now < timer);
        if is_early && fast::change_gcs(&mut self.cpu, index, inside, now) {
            return Ok(());
        }
        self.step(event, ticks, next)
    }

    /// An input comes.
    fn begin(&mut self, ticks: u64) -> Result<(), Why> {
        if ticks < self.now {
            return Err(Why::Time);
        }
        if let Some(News::StoppedInGcs(vcpu) | News::EndedGcs(vcpu)) = self.cpu.take_news() {
            return Err(Why::Section(self.planned[vcpu].vcpu));
        }
        self.replay.inputs += 1;
        if let Some(timer) = self.decision.timer {
            self.replay.late_max = self.replay.late_max.max(ticks.saturating_sub(timer.0));
        }
        if self.decision.run != self.acted {
            self.replay.superseded += 1;
        }
        self.now = ticks;
        Ok(())
    }

    /// Checks that the VCPU that runs may make `recorded` accesses.
    fn recharge(&self, vcpu: VcpuId, recorded: u64) -> Result<(), Why> {
        let index = self.index(vcpu)?;
        let expected = self.cpu.accesses().filter(|_| self.decision.run == Some(index));
        if expected == Some(recorded) {
            return Ok(());
        }
        Err(Why::Accesses { vcpu, expected, recorded })
    }

    fn act(&mut self, recorded: Choice, budget: Option<u64>) -> Result<(), Why> {
        let expected = match self.decision.run {
            Some(index) => Choice::Run(self.planned[index].vcpu),
            None => Choice::Idle,
        };
        if expected != recorded {
            return Err(Why::Decision { expected, recorded });
        }
        if let Choice::Run(vcpu) = recorded {
            let Duration(left) = self.cpu.budget();
            let expected = (left < abi::trace::NO_LIMIT).then_some(left);
            if expected != budget {
                return Err(Why::Budget { vcpu, expected, recorded: budget });
            }
        }
        self.acted = self.decision.run;
        self.replay.decisions += 1;
        Ok(())
    }
}
