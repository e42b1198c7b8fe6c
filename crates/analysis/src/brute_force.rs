//! In debug builds: the shortest window by trying one after the other.

use crate::response::Workload;
use crate::window::Stream;

/// Longest window that is tried.
const LONGEST_TRIED: u64 = 400;

/// Panics in debug builds if `window` is not the shortest in which the supply meets `own` and
/// the jobs of the streams.
#[inline]
pub(crate) fn confirm(workload: &Workload<'_>, streams: &[Stream], own: u64, window: u64) {
    if cfg!(debug_assertions) && window <= LONGEST_TRIED {
        assert_eq!(shortest(workload, streams, own), Some(window), "{workload:?}");
    }
}

fn shortest(workload: &Workload<'_>, streams: &[Stream], own: u64) -> Option<u64> {
    let above = |window| streams.iter().map(move |stream| stream.demand_by_division(window));
    let demand = |window| above(window).sum::<u128>() + u128::from(own);
    (1..=LONGEST_TRIED).find(|&window| u128::from(workload.supply_in(window)) >= demand(window))
}
