//! Methods of planning that are compared.

use serde::{Deserialize, Serialize};

/// A way to plan.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peer {
    /// The planner of this project.
    Planner,
    /// CARTS and RT-Xen: VCPUs are periodic resources (Shin and Lee, RTSS 2003), with the least
    /// budget for their tasks under fixed priorities; best fit decreasing for both levels.
    Carts,
    /// `CacheAwareVM` of vCache; VCPUs go to PCPUs by best fit decreasing.
    Cavm,
    /// First fit decreasing by utilisation for both levels, as in schedcat, with the exact response
    /// times of this project.
    FirstFit,
    /// The same with best fit.
    BestFit,
    /// The same with worst fit.
    WorstFit,
    /// A generic model for the CP-SAT solver of OR-tools.
    CpSat,
}

impl Peer {
    /// Returns the name, as in `experiment.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Carts => "carts",
            Self::Cavm => "cavm",
            Self::FirstFit => "first-fit",
            Self::BestFit => "best-fit",
            Self::WorstFit => "worst-fit",
            Self::CpSat => "cp-sat",
        }
    }
}
