//! The shortest window by trying one after the other, in debug builds.

use crate::response::Workload;
use crate::window::{Beside, Stream};

/// Longest window that is tried.
const LONGEST_TRIED: u64 = 400;

/// Panics in debug builds if `window` is not the shortest in which the supply meets `own`,
/// the jobs of the streams, and the demand beside them.
#[inline]
pub(crate) fn confirm(
    workload: &Workload<'_>,
    demand: (&[Stream], impl Beside),
    own: u64,
    window: u64,
) {
    if cfg!(debug_assertions) && window <= LONGEST_TRIED {
        assert_eq!(shortest(workload, demand, own), Some(window), "{workload:?}");
    }
}

fn shortest(
    workload: &Workload<'_>,
    (streams, beside): (&[Stream], impl Beside),
    own: u64,
) -> Option<u64> {
    let above = |window| streams.iter().map(move |stream| stream.demand_by_division(window));
    let own = |window| beside.demand(streams, window) + u128::from(own);
    let demand = |window| above(window).sum::<u128>() + own(window);
    (1..=LONGEST_TRIED).find(|&window| u128::from(workload.supply_in(window)) >= demand(window))
}
