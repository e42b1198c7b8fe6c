//! The processor time of a VCPU.

use crate::{Duration, Server};

/// The way in which a VCPU gets processor time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Host {
    /// Its server: a periodic or a deferrable one. A VCPU with a PCPU of its own has a server whose
    /// budget is its period.
    pub server: Server,
    /// The part of the budget that its tasks get, more than 0: less than the budget if the
    /// hypervisor counts in ticks of a clock.
    pub served: Duration,
    /// True if the VCPU may continue without budget in a global section, in each period for
    /// [`super::System::holding_time`], or as long as it may be in sections
    /// ([`super::Enforced::hold`]): `O^v`.
    pub overrun: bool,
    /// The longest time for which the hypervisor serves no interrupt: `B` ([`crate::overheads`]).
    pub late: Duration,
}

impl Host {
    /// Makes a host that gives its tasks all of its budget.
    pub fn new(server: Server, overrun: bool) -> Self {
        Self { server, served: server.budget(), overrun, late: Duration(0) }
    }

    /// Returns the server with the budget that its tasks get.
    pub(super) fn serving(&self) -> Server {
        match self.served == self.server.budget() {
            true => self.server,
            false => Server::new(self.server.kind(), self.served, self.server.period())
                .unwrap_or(self.server),
        }
    }
}
