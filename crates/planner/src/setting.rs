//! Parameters of all VCPUs of a system.

use analysis::overheads::Costs;
use analysis::{Duration, Kind};
use policy::color::COLORS_MAX;

use crate::Error;

/// The test that decides if the tasks of a VCPU meet their deadlines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Test {
    /// vCache, Eq. 2, as published.
    Published,
    /// The bound for a VCPU that gets its budget at some time of each period; without
    /// the jitter that Eq. 2 has in addition.
    Supply,
    /// The bound for a VCPU that is alone on its PCPU: no VCPU with its budget needs less.
    Alone,
}

/// Cache, servers and test.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Setting {
    // Private: colours fit into a set, and the grain is not 0.
    colors: usize,
    grain: Duration,
    /// Longest time to load one colour again: `Delta`.
    pub reload: Duration,
    /// Servers of the VCPUs.
    pub kind: Kind,
    /// The schedulability test.
    pub test: Test,
    /// The time that the hypervisor takes from a single VCPU, if it is counted.
    pub costs: Option<Costs>,
    /// Assumed number of equal VCPUs of higher priority on the PCPU of each VCPU, where overheads
    /// are counted.
    pub neighbours: u64,
}

impl Setting {
    /// Returns the setting of sporadic servers under Eq. 2 as published, with budgets of whole
    /// microseconds.
    ///
    /// # Errors
    ///
    /// There is no colour, or more than a set of colours holds.
    pub fn new(colors: usize, reload: Duration) -> Result<Self, Error> {
        if !(1..=COLORS_MAX).contains(&colors) {
            return Err(Error::Colors { colors, most: COLORS_MAX });
        }
        let (kind, test) = (Kind::Sporadic, Test::Published);
        Ok(Self { colors, grain: Duration(1_000), reload, kind, test, costs: None, neighbours: 0 })
    }

    /// Returns the setting with budgets that are multiples of `grain`.
    ///
    /// # Errors
    ///
    /// The grain is 0.
    pub fn with_grain(self, grain: Duration) -> Result<Self, Error> {
        if grain == Duration(0) { Err(Error::NoGrain) } else { Ok(Self { grain, ..self }) }
    }

    /// Returns the same setting for a cache with this number of colours.
    ///
    /// # Errors
    ///
    /// As [`Setting::new`].
    pub fn with_colors(self, colors: usize) -> Result<Self, Error> {
        Self::new(colors, self.reload).map(|of| Self { colors: of.colors, ..self })
    }

    /// Colours of the cache: `N_cache`.
    pub fn colors(&self) -> usize {
        self.colors
    }

    /// Budgets are multiples of this, or the whole period.
    pub fn grain(&self) -> Duration {
        self.grain
    }
}
