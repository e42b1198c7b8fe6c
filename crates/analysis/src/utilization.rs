//! Shares of a processor, without floating point.

use std::iter::Sum;
use std::ops::Add;

use crate::{Caches, Duration, Server, Task};

/// A share of a processor in units of 10^-18; sums saturate.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Share(pub u128);

impl Share {
    /// The whole processor.
    pub const WHOLE: Self = Self(1_000_000_000_000_000_000);

    /// Returns `time / period`, rounded down; the whole processor for a period of 0.
    pub fn down(time: Duration, period: Duration) -> Self {
        (u128::from(time.0) * Self::WHOLE.0).checked_div(period.0.into()).map_or(Self::WHOLE, Self)
    }

    /// Returns `time / period`, rounded up; the whole processor for a period of 0.
    pub fn up(time: Duration, period: Duration) -> Self {
        match period {
            Duration(0) => Self::WHOLE,
            Duration(period) => Self((u128::from(time.0) * Self::WHOLE.0).div_ceil(period.into())),
        }
    }

    /// Returns the share in millionths, rounded up.
    pub fn ppm(self) -> u64 {
        self.0.div_ceil(Self::WHOLE.0 / 1_000_000).try_into().unwrap_or(u64::MAX)
    }
}

impl Add for Share {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Share {
    fn sum<I: Iterator<Item = Self>>(shares: I) -> Self {
        shares.fold(Self::default(), Add::add)
    }
}

/// Returns the utilisation of the tasks of a VCPU with the delays that they cause each other
/// (vCache, Eq. 4), each part rounded up: `sum of (C_i + gamma_{i,n}) / T_i`, where `n` is the task
/// with the lowest priority.
pub fn utilization(tasks: &[Task], caches: Option<&Caches<'_>>) -> Share {
    let Some(last) = tasks.len().checked_sub(1) else { return Share::default() };
    let part = |(task, delay): (&Task, u64)| {
        Share::up(Duration(task.wcet.saturating_add(delay)), task.period())
    };
    tasks.iter().rev().zip(Caches::delays_from(caches, last)).map(part).sum()
}

/// Returns the share of a processor that servers have, each part rounded up.
pub fn utilization_of_servers(servers: &[Server]) -> Share {
    servers.iter().map(|server| Share::up(server.budget(), server.period())).sum()
}
