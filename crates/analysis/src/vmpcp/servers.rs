//! VCPUs on their PCPUs: whether each gets its budget in each period (Eq. 2 to 5).

use super::endless::Endless;
use super::host::Host;
use super::pending::Pending;
use super::protocol::{Protocol, Variant};
use super::system::System;
use super::turns::Turns;
use crate::Kind;
use crate::supply::WholeGaps;
use crate::window::{self, Found, Stream, TOO_LONG, sum};

impl System {
    /// `C^v + O^v`.
    fn cost(&self, vcpu: usize, host: &Host) -> u64 {
        let overrun = if host.overrun { self.vcpus[vcpu].held } else { 0 };
        sum([host.server.budget().0, overrun].into_iter())
    }

    /// Returns `W^v` of a VCPU, if that is not above its period (Eq. 5).
    pub(super) fn server_response(
        &self,
        vcpu: usize,
        hosts: &[Host],
        (turns, pending): (&Turns, &Pending),
        (protocol, variant): (Protocol, Variant),
        streams: &mut Vec<Stream>,
        passes: &mut u32,
    ) -> Result<Found, Endless> {
        let (host, pcpu) = (&hosts[vcpu], &self.vcpus[vcpu].pcpu);
        streams.clear();
        for (above, host) in (pcpu.start..vcpu).zip(&hosts[pcpu.clone()]) {
            let (server, cost) = (&host.server, self.cost(above, host));
            streams.push(Stream::new(cost, server.divisor(), server.jitter().0));
        }
        // As in `crate::vcpu`.
        let late = host.late.0.saturating_mul((vcpu - pcpu.start) as u64 + 1);
        let mut own = sum([self.cost(vcpu, host), late.min(TOO_LONG)].into_iter());
        let below = vcpu + 1..pcpu.end;
        match (protocol, host.server.kind()) {
            (Protocol::Mpcp, _) => {}
            // Eq. 2: a periodic server is always ready, so that those below reach no further
            // section.
            (_, Kind::Periodic) => {
                own = sum([own].into_iter().chain(self.vcpus[below].iter().map(|it| it.held)));
            }
            // Eq. 3 and 4: all sections of all possible jobs; for other VMs and late tasks, as many
            // as the hypervisor allows.
            _ => {
                own = sum([own, self.carried(vcpu, hosts, variant)].into_iter());
                for other in below {
                    let tasks = self.vcpus[other].tasks.clone();
                    let tasks = tasks.filter(|task| self.tasks[*task].global > 0);
                    let is_late = |task: usize| {
                        pending.of(task).is_none_or(|it| it > self.tasks[task].deadline)
                    };
                    let is_enforced = variant == Variant::Sound
                        && (self.is_stranger(vcpu, other)
                            || self.vcpus[other].guest.is_some() && tasks.clone().any(is_late));
                    if is_enforced {
                        streams.extend(turns.stretches(self, other)?);
                        continue;
                    }
                    let stream = |task: usize| {
                        let it = &self.tasks[task];
                        Some(Stream::new(it.global, it.period, pending.of(task)?))
                    };
                    for task in tasks {
                        streams.push(stream(task).ok_or(Endless::Others)?);
                    }
                }
            }
        }
        let limit = host.server.period().0;
        Ok(window::shortest((streams, ()), own, own, WholeGaps, limit, passes)?)
    }

    /// Returns for how long sections of the VCPU itself can have run before its budget is renewed,
    /// so that periodic servers above get theirs afterwards. Eq. 5 does not count that. The budget
    /// of a deferrable server belongs to its period, wherever it lies there, so that its jitter
    /// covers all of this; and where the VCPU may overrun, its cost counts as much already.
    fn carried(&self, vcpu: usize, hosts: &[Host], variant: Variant) -> u64 {
        let above = self.vcpus[vcpu].pcpu.start..vcpu;
        let waits = hosts[above].iter().any(|it| it.server.kind() == Kind::Periodic);
        match variant == Variant::Sound && waits && !hosts[vcpu].overrun {
            true => self.vcpus[vcpu].held,
            false => 0,
        }
    }
}
