//! Servers, memory budgets and a CPU as their definitions say it, one tick after the other.

use policy::bandwidth;
use policy::server::{Parameters, Policy};

/// A server that counts single ticks.
struct Naive {
    policy: Policy,
    /// Replenished servers: what is left.
    left: u64,
    /// Sporadic ones: from when on each tick of the budget can be used, sorted.
    ticks: Vec<u64>,
    /// When the budget was renewed and when it was used up, most recently.
    renewed: Option<u64>,
    spent: u64,
    /// The rest of the overrun.
    overrun: u64,
    /// Since when the VCPU could execute in a global critical section.
    in_gcs: Option<u64>,
    /// True if it is known that it stopped there.
    stop_told: bool,
}

impl Naive {
    fn new(policy: Policy) -> Self {
        let ticks = match policy {
            Policy::Sporadic(p) => (0..p.budget.0).map(|tick| p.start.0 + tick).collect(),
            _ => Vec::new(),
        };
        let (renewed, in_gcs) = (None, None);
        Self { policy, left: 0, ticks, renewed, spent: 0, overrun: 0, in_gcs, stop_told: false }
    }

    /// Before the tick that begins at `now`.
    fn begin(&mut self, now: u64) {
        if let Policy::Periodic(p) | Policy::Deferrable(p) = self.policy
            && now >= p.start.0
            && (now - p.start.0).is_multiple_of(p.period.0)
            && self.renewed != Some(now)
        {
            (self.left, self.overrun) = (p.budget.0, p.overrun.0);
            (self.renewed, self.stop_told) = (Some(now), false);
        }
    }

    fn wake(&mut self, now: u64) {
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

    /// Returns true if the section, if there is one, is such that the budget may be overrun in it.
    fn may_overrun(&self) -> bool {
        match (self.policy, self.in_gcs) {
            (Policy::Deferrable(p), Some(_)) => self.left == 0 && p.overrun.0 > 0,
            (Policy::Periodic(p), Some(since)) => {
                self.left == 0 && p.overrun.0 > 0 && since < self.spent
            }
            _ => false,
        }
    }

    fn has_budget(&self, now: u64) -> bool {
        match self.policy {
            Policy::Background => true,
            Policy::Sporadic(_) => self.ticks[0] <= now,
            _ => self.left > 0 || self.may_overrun() && self.overrun > 0,
        }
    }

    fn consume(&mut self, now: u64) {
        match self.policy {
            Policy::Background => {}
            Policy::Sporadic(Parameters { budget, period, .. }) => {
                self.delay((now + budget.0).saturating_sub(period.0));
                let used = self.ticks.remove(0);
                self.ticks.push(used + period.0);
            }
            _ if self.left == 0 => self.overrun -= 1,
            _ => {
                self.left -= 1;
                if self.left == 0 {
                    self.spent = now + 1;
                }
            }
        }
    }
}

/// A memory budget that counts single accesses.
struct NaiveMemory {
    parameters: bandwidth::Parameters,
    /// The accesses that are left; negative if some are owed.
    left: i128,
    renewed: Option<u64>,
}

impl NaiveMemory {
    fn new(parameters: bandwidth::Parameters) -> Self {
        Self { parameters, left: 0, renewed: None }
    }

    /// Before the tick that begins at `now`.
    fn begin(&mut self, now: u64) {
        let bandwidth::Parameters { budget, period, start } = self.parameters;
        let begins = now >= start.0 && (now - start.0).is_multiple_of(period.0);
        if begins && self.renewed != Some(now) {
            self.left = (self.left + i128::from(budget)).min(i128::from(budget));
            self.renewed = Some(now);
        }
    }
}

/// A CPU that decides at every tick.
pub struct NaiveCpu {
    /// VCPUs in global critical sections go first.
    pub ceilings: bool,
    servers: Vec<Naive>,
    /// True for VCPUs that have something to do.
    pub ready: Vec<bool>,
    in_gcs: Vec<bool>,
    memory: Vec<Option<NaiveMemory>>,
    /// Has something to do, should have run, and had no accesses left.
    recharges: Vec<bool>,
}

impl NaiveCpu {
    /// VCPUs with these servers, the highest priority first, that have nothing to do.
    pub fn new(policies: &[Policy]) -> Self {
        let servers: Vec<_> = policies.iter().map(|&policy| Naive::new(policy)).collect();
        let no = vec![false; servers.len()];
        let memory = servers.iter().map(|_| None).collect();
        Self {
            ceilings: false,
            ready: no.clone(),
            in_gcs: no.clone(),
            recharges: no,
            memory,
            servers,
        }
    }

    /// The VCPU has a memory budget.
    pub fn limit(&mut self, vcpu: usize, parameters: bandwidth::Parameters) {
        self.memory[vcpu] = Some(NaiveMemory::new(parameters));
    }

    /// The VCPU gets something to do, or has nothing to do any more.
    pub fn change_ready(&mut self, vcpu: usize, now: u64) {
        self.ready[vcpu] = !self.ready[vcpu];
        self.recharges[vcpu] = false;
        if self.ready[vcpu] {
            self.servers[vcpu].wake(now);
        }
        self.changed(vcpu, now);
    }

    /// A global critical section of the VCPU begins or ends.
    pub fn change_gcs(&mut self, vcpu: usize, now: u64) {
        self.in_gcs[vcpu] = !self.in_gcs[vcpu];
        self.changed(vcpu, now);
    }

    fn changed(&mut self, vcpu: usize, now: u64) {
        let server = &mut self.servers[vcpu];
        if !(self.ready[vcpu] && self.in_gcs[vcpu]) || self.recharges[vcpu] {
            server.in_gcs = None;
        } else if server.in_gcs.is_none() {
            (server.in_gcs, server.stop_told) = (Some(now), false);
        }
    }

    /// Returns true if the VCPU could execute in a global critical section.
    pub fn is_in_gcs(&self, vcpu: usize) -> bool {
        self.servers[vcpu].in_gcs.is_some()
    }

    /// The VCPU made these accesses in the tick in which it ran.
    pub fn access(&mut self, vcpu: usize, accesses: u64) {
        if let Some(memory) = &mut self.memory[vcpu] {
            memory.left -= i128::from(accesses);
        }
    }

    /// Accesses that are left, if there is a limit.
    pub fn accesses(&self, vcpu: usize) -> Option<u64> {
        self.memory[vcpu].as_ref().map(|memory| memory.left.max(0) as u64)
    }

    /// Returns true if the VCPU, which is to run, can.
    fn admits(&mut self, vcpu: usize, now: u64) -> bool {
        if !self.ready[vcpu] {
            return false;
        }
        if self.memory[vcpu].as_ref().is_some_and(|memory| memory.left <= 0) {
            self.recharges[vcpu] = true;
            self.changed(vcpu, now);
            return false;
        }
        true
    }

    fn raised(&self, vcpu: usize) -> bool {
        self.ceilings && self.in_gcs[vcpu] && self.ready[vcpu]
    }

    /// The first VCPU, in the order in which they go, for which this holds. It may change who
    /// is raised only if it holds.
    fn first(&mut self, mut holds: impl FnMut(&mut Self, usize) -> bool) -> Option<usize> {
        let count = self.servers.len();
        let raised = |it: &Self, vcpu: usize| it.raised(vcpu);
        let first = (0..count).find(|&vcpu| raised(self, vcpu) && holds(self, vcpu));
        first.or_else(|| (0..count).find(|&vcpu| !raised(self, vcpu) && holds(self, vcpu)))
    }

    /// Returns the VCPU whose budget is used in the tick that begins at `now`.
    fn charged(&mut self, now: u64) -> Option<usize> {
        for vcpu in 0..self.servers.len() {
            self.servers[vcpu].begin(now);
            let Some(memory) = &mut self.memory[vcpu] else { continue };
            memory.begin(now);
            if memory.left > 0 && self.recharges[vcpu] {
                self.recharges[vcpu] = false;
                self.servers[vcpu].wake(now);
                self.changed(vcpu, now);
            }
        }
        self.first(|it, index| {
            if !it.servers[index].has_budget(now) {
                return false;
            }
            // It may stop overrunning because it waits for accesses.
            it.admits(index, now)
                || matches!(it.servers[index].policy, Policy::Periodic(_))
                    && it.servers[index].has_budget(now)
        })
    }

    /// The VCPU that should run now, but for its overrun, which is used up; told once.
    pub fn stopped_in_gcs(&mut self, now: u64) -> Option<usize> {
        let charged = self.charged(now);
        let stopped = self.first(|it, vcpu| {
            let server = &it.servers[vcpu];
            Some(vcpu) == charged || server.may_overrun() && !server.stop_told
        });
        let stopped = stopped.filter(|stopped| Some(*stopped) != charged)?;
        self.servers[stopped].stop_told = true;
        Some(stopped)
    }

    /// Returns true if the VCPU, for which an interrupt takes the tick that begins at `now`, pays for that, and no other one:
    /// it waits, has budget, and comes before the one that would be charged.
    pub fn pays_kick(&mut self, vcpu: usize, now: u64) -> bool {
        let Some(charged) = self.charged(now) else { return false };
        if self.ready[vcpu] || charged <= vcpu {
            return false;
        }
        let server = &mut self.servers[vcpu];
        server.wake(now);
        let pays = server.has_budget(now);
        if pays {
            server.consume(now);
        }
        pays
    }

    /// The VCPU that runs in the tick that begins at `now`.
    pub fn run(&mut self, now: u64) -> Option<usize> {
        let charged = self.charged(now)?;
        self.servers[charged].consume(now);
        if self.ready[charged] && !self.recharges[charged] {
            return Some(charged);
        }
        self.first(|it, index| {
            matches!(it.servers[index].policy, Policy::Background) && it.admits(index, now)
        })
    }
}
