//! Rings for channels: which of them pass, as the hypervisor decides it.

use policy::rate::Rate;
use policy::time::Instant;

use crate::pcpu::PcpuState;
use crate::system::TaskPlace;
use crate::{Channel, Error};

/// The channels, and how much of their limits is used up.
#[derive(Clone, Debug)]
pub struct Rings {
    channels: Vec<Used>,
}

#[derive(Clone, Debug)]
struct Used {
    limit: Rate,
    to: Vec<TaskPlace>,
    /// The time from which on a ring passes.
    from: i64,
    refused: u64,
}

impl Rings {
    pub fn new(channels: &[Channel], pcpus: &mut [PcpuState]) -> Result<Self, Error> {
        for (index, channel) in channels.iter().enumerate() {
            let is_rung = |it: &TaskPlace| -> Option<bool> {
                Some(pcpus.get(it.pcpu)?.vcpus.get(it.vcpu)?.tasks.get(it.task)?.is_rung())
            };
            let from = channel.from;
            if is_rung(&from).is_none() || channel.to.iter().any(|to| is_rung(to) != Some(true)) {
                return Err(Error::Channel { channel: index });
            }
            pcpus[from.pcpu].rings(from.vcpu, from.task, index);
        }
        let used = |channel: &Channel| Used {
            limit: channel.limit,
            to: channel.to.clone(),
            from: Rate::START,
            refused: 0,
        };
        Ok(Self { channels: channels.iter().map(used).collect() })
    }

    /// Somebody rings for a channel: returns the tasks that are released.
    pub fn pass(&mut self, channel: usize, now: u64) -> &[TaskPlace] {
        let Some(used) = self.channels.get_mut(channel) else { return &[] };
        let now = Instant(now);
        if !Rate::may_enter(used.from, now) {
            used.refused += 1;
            return &[];
        }
        used.from = used.limit.enter(used.from, now);
        &used.to
    }

    pub fn refused(&self, channel: usize) -> u64 {
        self.channels.get(channel).map_or(0, |used| used.refused)
    }
}
