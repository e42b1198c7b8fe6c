//! Servers and a CPU as their definitions say it, one tick after the other.

use policy::server::{Parameters, Policy};

/// A server that counts single ticks.
pub struct Naive {
    policy: Policy,
    /// Replenished servers: what is left.
    left: u64,
    /// Sporadic ones: from when on each tick of the budget can be used, sorted.
    ticks: Vec<u64>,
}

impl Naive {
    pub fn new(policy: Policy) -> Self {
        let ticks = match policy {
            Policy::Sporadic(p) => (0..p.budget.0).map(|tick| p.start.0 + tick).collect(),
            _ => Vec::new(),
        };
        Self { policy, left: 0, ticks }
    }

    /// Before the tick that begins at `now`.
    pub fn begin(&mut self, now: u64) {
        if let Policy::Periodic(p) | Policy::Deferrable(p) = self.policy
            && now >= p.start.0
            && (now - p.start.0).is_multiple_of(p.period.0)
        {
            self.left = p.budget.0;
        }
    }

    pub fn wake(&mut self, now: u64) {
        if self.ticks.first().is_some_and(|&first| first <= now) {
            self.delay(now);
        }
    }

    fn delay(&mut self, to: u64) {
        self.ticks[0] = self.ticks[0].max(to);
        for tick in 1..self.ticks.len() {
            self.ticks[tick] = self.ticks[tick].max(self.ticks[tick - 1] + 1);
        }
    }

    pub fn has_budget(&self, now: u64) -> bool {
        match self.policy {
            Policy::Background => true,
            Policy::Sporadic(_) => self.ticks[0] <= now,
            _ => self.left > 0,
        }
    }

    pub fn consume(&mut self, now: u64) {
        match self.policy {
            Policy::Background => {}
            Policy::Sporadic(Parameters { budget, period, .. }) => {
                self.delay((now + budget.0).saturating_sub(period.0));
                let used = self.ticks.remove(0);
                self.ticks.push(used + period.0);
            }
            _ => self.left -= 1,
        }
    }
}

/// A CPU that decides at every tick.
pub struct NaiveCpu {
    pub servers: Vec<Naive>,
    pub ready: Vec<bool>,
}

impl NaiveCpu {
    pub fn new(policies: &[Policy]) -> Self {
        let servers: Vec<_> = policies.iter().map(|&policy| Naive::new(policy)).collect();
        Self { ready: vec![false; servers.len()], servers }
    }

    /// The VCPU that runs in the tick that begins at `now`.
    pub fn run(&mut self, now: u64) -> Option<usize> {
        for server in &mut self.servers {
            server.begin(now);
        }
        let contends = |index: usize| {
            let server = &self.servers[index];
            server.has_budget(now)
                && (self.ready[index] || matches!(server.policy, Policy::Periodic(_)))
        };
        let charged = (0..self.servers.len()).find(|&index| contends(index))?;
        self.servers[charged].consume(now);
        if self.ready[charged] {
            return Some(charged);
        }
        (0..self.servers.len()).find(|&index| {
            self.ready[index] && matches!(self.servers[index].policy, Policy::Background)
        })
    }
}
