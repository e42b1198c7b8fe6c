//! VCPUs on their PCPUs: whether each gets its budget in each period (Eq. 2 to 5).

use super::guests::Turns;
use super::remote::pending;
use super::section::sum;
use super::system::System;
use super::{Protocol, Variant};
use crate::supply::WholeGaps;
use crate::window::{self, Found, Stop, Stream};
use crate::{Duration, Kind, Server};

/// How a VCPU gets processor time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Host {
    /// Its server: a periodic or a deferrable one. A VCPU that has its PCPU for itself has one
    /// whose budget is its period.
    pub server: Server,
    /// What its tasks get of the budget, more than 0: less than all of it where the hypervisor
    /// counts in ticks of a clock.
    pub served: Duration,
    /// Whether it may go on without budget in a global section, in each period for
    /// [`System::holding_time`], or as long as it may be in sections ([`super::Enforced::hold`]): `O^v`.
    pub overrun: bool,
}

impl Host {
    /// One that gives its tasks all of its budget.
    pub fn new(server: Server, overrun: bool) -> Self {
        Self { server, served: server.budget(), overrun }
    }

    /// The server as its tasks see it.
    pub(super) fn serving(&self) -> Server {
        match self.served == self.server.budget() {
            true => self.server,
            false => Server::new(self.server.kind(), self.served, self.server.period())
                .unwrap_or(self.server),
        }
    }
}

impl System {
    /// `C^v + O^v`.
    fn cost(&self, vcpu: usize, host: &Host) -> u64 {
        let overrun = if host.overrun { self.vcpus[vcpu].held } else { 0 };
        sum([host.server.budget().0, overrun].into_iter())
    }

    /// `W^v` of a VCPU, if that is not above its period (Eq. 5).
    pub(super) fn server_response(
        &self,
        vcpu: usize,
        hosts: &[Host],
        turns: &Turns,
        (protocol, variant): (Protocol, Variant),
        streams: &mut Vec<Stream>,
        passes: &mut u32,
    ) -> Result<Found, Stop> {
        let (host, pcpu) = (&hosts[vcpu], &self.vcpus[vcpu].pcpu);
        streams.clear();
        for (above, host) in (pcpu.start..vcpu).zip(&hosts[pcpu.clone()]) {
            let (server, cost) = (&host.server, self.cost(above, host));
            streams.push(Stream::new(cost, server.divisor(), server.jitter().0));
        }
        let mut own = self.cost(vcpu, host);
        let below = vcpu + 1..pcpu.end;
        match (protocol, host.server.kind()) {
            (Protocol::Mpcp, _) => {}
            // Eq. 2: it never waits for work, so that those below get to no further section.
            (_, Kind::Periodic) => {
                own = sum([own].into_iter().chain(self.vcpus[below].iter().map(|it| it.held)));
            }
            // Eq. 3 and 4: all sections of all jobs that there can be; of other VMs as many as they can make.
            _ => {
                let is_trusted =
                    |other: &usize| !(variant == Variant::Sound && self.is_stranger(vcpu, *other));
                for other in below.clone().filter(|other| !is_trusted(other)) {
                    streams.extend(turns.stretches(self, other)?);
                }
                let trusted = below.filter(is_trusted).map(|it| self.vcpus[it].tasks.clone());
                let tasks = trusted.flat_map(|tasks| &self.tasks[tasks]);
                streams.extend(
                    tasks
                        .filter(|task| task.global > 0)
                        .map(|task| Stream::new(task.global, task.period, pending(task, variant))),
                );
            }
        }
        let limit = host.server.period().0;
        window::shortest((streams, ()), own, own, WholeGaps, limit, passes)
    }
}
