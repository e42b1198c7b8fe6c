//! The state of a simulated physical CPU.

mod accesses;
mod advance;
mod decide;
mod lane;
mod next;
mod overheads;
mod sections;
mod step;

pub use lane::{Course, Lane};

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use policy::bandwidth::{Account, NoGrants};
use policy::cpu::{self, Cpu, Decision, Slot};
use policy::time::{Duration, Instant};

use crate::memory::PcpuMemory;
use crate::vcpu::VcpuState;
use crate::{Error, MemoryBudget, Overheads, Pcpu};

#[derive(Clone, Debug)]
pub struct PcpuState {
    index: usize,
    cpu: Cpu<Vec<Slot>>,
    pub vcpus: Vec<VcpuState>,
    /// Next releases: time, VCPU, task.
    releases: BinaryHeap<Reverse<(u64, u32, u32)>>,
    decision: Decision,
    /// Time until which execution has been accounted.
    now: u64,
    /// End of the switch from a VCPU that blocked: no other VCPU executes before.
    busy_until: u64,
    /// Time that the interrupt for a waiting VCPU still takes.
    kicked: u64,
    /// Number of interrupts that are still to come for VCPUs that wait.
    kicks: u64,
    overheads: Overheads,
    pub memory: PcpuMemory,
    /// The tasks whose jobs ring: VCPU, task, and index of the channel.
    ringers: Vec<(usize, usize, usize)>,
    /// The channels for which jobs rang that are not served yet.
    pub rung: Vec<usize>,
}

impl PcpuState {
    pub fn new(
        index: usize,
        pcpu: &Pcpu,
        overheads: Overheads,
        (seed, stream): (u64, &mut u64),
    ) -> Result<Self, Error> {
        let mut slots: Vec<Slot> = Vec::new();
        let (mut vcpus, mut releases) = (Vec::new(), BinaryHeap::new());
        let mut background = false;
        let mut memory = PcpuMemory::default();
        for (number, vcpu) in pcpu.vcpus.iter().enumerate() {
            let is_background = vcpu.server == policy::server::Policy::Background;
            if background && !is_background {
                return Err(Error::BackgroundFirst { vcpu: vcpu.name.clone() });
            }
            background = is_background;
            let server = |error| Error::Server { vcpu: vcpu.name.clone(), error };
            let slot = Slot::new(vcpu.server).map_err(server)?;
            let account = account(vcpu)?;
            if account.is_some() {
                memory.regulated.push(number);
            }
            slots.push(match account {
                Some(account) => slot.with_account(account),
                None => slot,
            });
            let state = VcpuState::new(vcpu, seed, stream)?;
            for (task, jobs) in state.tasks.iter().enumerate() {
                if !jobs.is_rung() {
                    releases.push(Reverse((jobs.first_release(), number as u32, task as u32)));
                }
            }
            vcpus.push(state);
        }
        let overheads = match &*pcpu.vcpus {
            // Nobody takes turns: it does not leave its PCPU.
            [only] if only.server == cpu::WHOLE_CPU => {
                Overheads { switch: 0, tick: 0, kick: 0, ..overheads }
            }
            _ => overheads,
        };
        let mut cpu = Cpu::new(slots)
            .with_switch(Duration(overheads.switch))
            .with_kick(Duration(overheads.kick));
        let decision = cpu.step(cpu::Event::Tick, Instant(0), &mut NoGrants);
        let (now, busy_until) = (0, 0);
        let (kicked, kicks) = (0, 0);
        Ok(Self {
            index,
            cpu,
            vcpus,
            releases,
            decision,
            now,
            busy_until,
            kicked,
            kicks,
            overheads,
            memory,
            ringers: Vec::new(),
            rung: Vec::new(),
        })
    }

    /// Lets the jobs of a task ring for a channel when they are done.
    pub fn rings(&mut self, vcpu: usize, task: usize, channel: usize) {
        self.ringers.push((vcpu, task, channel));
    }

    /// Somebody rang: a job of a task is released now.
    pub fn ring(&mut self, now: u64, vcpu: usize, task: usize) {
        self.releases.push(Reverse((now, vcpu as u32, task as u32)));
    }
}

/// Returns the memory budget of a VCPU.
fn account(vcpu: &crate::Vcpu) -> Result<Option<Account>, Error> {
    let error = |error| Error::Memory { name: format!("VCPU {}", vcpu.name), error };
    Ok(match vcpu.memory {
        MemoryBudget::None => None,
        MemoryBudget::Own(parameters) => Some(Account::own(parameters).map_err(error)?),
        MemoryBudget::Shared(_) => Some(Account::shared()),
    })
}
