//! Chains: how long data takes through several tasks.

/// A chain with its bounds and observations. Times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    /// Its name.
    pub name: String,
    /// Its tasks, `vm.task`, in the order of the data.
    pub steps: Vec<String>,
    /// The longest reaction time that is allowed, if that is given.
    pub max_reaction_ns: Option<u64>,
    /// The oldest data that is allowed, if that is given.
    pub max_age_ns: Option<u64>,
    /// The bounds without isolation, if that was analysed.
    pub bounds_without: ChainTimes,
    /// The bounds with the plan.
    pub bounds_with: ChainTimes,
    /// The reason why it can exceed a limit with the plan, if it can.
    pub reason_with: Option<String>,
    /// The longest times in the simulation.
    pub simulated: ChainTimes,
    /// The longest times in the run without isolation.
    pub without: ChainTimes,
    /// The longest times in the run with the plan.
    pub with: ChainTimes,
}

/// Times of a chain, where there are any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChainTimes {
    /// The reaction time.
    pub reaction_ns: Option<u64>,
    /// The age of data.
    pub age_ns: Option<u64>,
}

impl Chain {
    /// Returns true if some of its times has a limit.
    pub fn has_limit(&self) -> bool {
        self.max_reaction_ns.is_some() || self.max_age_ns.is_some()
    }

    /// Returns true if these times are there and within all limits.
    pub fn is_within(&self, times: &ChainTimes) -> bool {
        let within = |limit: Option<u64>, time: Option<u64>| {
            limit.is_none_or(|limit| time.is_some_and(|time| time <= limit))
        };
        within(self.max_reaction_ns, times.reaction_ns) && within(self.max_age_ns, times.age_ns)
    }
}
