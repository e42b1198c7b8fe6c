//! A VCPU of a PCPU: its server, its memory budget, and its time in sections.

use super::NEVER;
use crate::bandwidth::{Account, Grant, Grants};
use crate::lock::hold::Hold;
use crate::server::{ParametersError, Policy, Server};
use crate::time::{Duration, Instant};

/// A VCPU of the CPU.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Slot {
    pub(super) server: Server,
    pub(super) ready: bool,
    pub(super) in_gcs: bool,
    pub(super) account: Option<Account>,
    /// The VCPU is ready, but waits for accesses.
    pub(super) recharges: bool,
    pub(super) hold: Hold,
}

impl Slot {
    /// Makes a VCPU that waits.
    pub fn new(policy: Policy) -> Result<Self, ParametersError> {
        let server = Server::new(policy)?;
        Ok(Self {
            server,
            ready: false,
            in_gcs: false,
            account: None,
            recharges: false,
            hold: Hold::UNLIMITED,
        })
    }

    /// Limits the time that the VCPU may be in global critical sections.
    #[must_use]
    pub fn with_hold(self, hold: Hold) -> Self {
        Self { hold, ..self }
    }

    /// Gives the VCPU a memory budget.
    #[must_use]
    pub fn with_account(self, account: Account) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Returns the memory budget of the VCPU, if there is one.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Returns true if the VCPU is ready, but waits for accesses (XvIso's RECHARGE), as of the last
    /// decision for which that mattered.
    pub fn recharges(&self) -> bool {
        self.recharges
    }

    /// Returns true if the VCPU has something to execute.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Returns true if a task of the VCPU is in a global critical section.
    pub fn is_in_gcs(&self) -> bool {
        self.in_gcs
    }

    /// Returns the time that the VCPU may run from `now` on, the time of the decision to run it,
    /// with overrun if the VCPU is in a global critical section; the largest duration if there is
    /// no limit.
    pub fn budget(&self, now: Instant) -> Duration {
        self.server.budget(now)
    }

    /// Takes the accesses that the VCPU has left and that other VCPUs of its VM could make.
    pub(super) fn rest(&mut self, now: Instant) -> Option<Grant> {
        let account = self.account.as_mut()?;
        account.advance(now);
        account.take_rest()
    }

    /// Gives the VCPU the accesses that time has brought, and ends its wait for them.
    #[inline(never)]
    pub(super) fn recharge(&mut self, now: Instant) {
        let Some(account) = &mut self.account else { return };
        let end = account.recharge();
        account.advance(now);
        if self.recharges && account.recharge().is_none() {
            self.recharges = false;
            self.server.wake(end.unwrap_or(now));
            if self.in_gcs {
                self.enter_gcs(now);
            }
        }
    }

    /// Returns the end of the wait for accesses; [`NEVER`] if the VCPU does not wait for any.
    pub(super) fn recharge_end(&self) -> Instant {
        self.account.as_ref().and_then(Account::recharge).unwrap_or(NEVER)
    }

    /// Takes accesses for the VCPU, which is to run if there are any. Returns when its account
    /// changes, if that matters: when the accesses expire, or when the next ones come.
    #[inline(never)]
    pub(super) fn admit(
        &mut self,
        vcpu: usize,
        now: Instant,
        grants: &mut dyn Grants,
    ) -> Option<Instant> {
        if !self.ready {
            return None;
        }
        let account = self.account.as_mut()?;
        account.fill(vcpu, now, grants);
        let end = account.recharge();
        if end.is_some() && !self.recharges {
            self.recharges = true;
            if self.in_gcs {
                self.server.leave_gcs();
            }
        }
        Some(end.unwrap_or(account.until()))
    }

    /// [`Server::supply`], out of line because it is rare here.
    #[inline(never)]
    pub(super) fn supply(&mut self, now: Instant) -> Result<Duration, Instant> {
        self.server.supply(now)
    }

    /// [`Server::charge`], out of line where the code is not frequent.
    #[inline(never)]
    pub(super) fn charge(&mut self, now: Instant, since: Instant) {
        self.server.charge(now, since);
    }

    /// The VCPU is ready and in a section. This is rare, so that the code is out of line.
    #[cold]
    pub(super) fn enter_gcs(&mut self, now: Instant) {
        let _ = self.supply(now);
        self.server.enter_gcs();
    }

    /// Returns true if the VCPU executes when it is chosen to run.
    pub(super) fn executes(&self) -> bool {
        self.ready && !self.recharges
    }
}
