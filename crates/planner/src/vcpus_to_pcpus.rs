//! VCPUs to PCPUs: best-fit decreasing, and all other ways where that fails.

use std::cmp::Reverse;

use analysis::utilization::{Share, utilization_of_servers};
use analysis::vcpu::late_response_times;
use analysis::{Duration, Server};

use crate::exact::Limit;

/// Returns the PCPU of each server, such that all get their budgets (vCache, Eq. 1); none if there
/// is no way.
///
/// `servers` are in the order of their priorities, the highest first. `pinned` has the PCPU of each
/// server that is fixed. `steps` bounds the search.
///
/// # Errors
///
/// The search was not complete after this number of steps.
pub fn vcpus_to_pcpus(
    servers: &[Server],
    pinned: &[Option<usize>],
    pcpus: usize,
    steps: u64,
) -> Result<Option<Vec<usize>>, Limit> {
    place(servers, pinned, pcpus, steps, |on| budgets_fit(servers, on, Duration(0)))
}

/// The same with another test `fit`, which says whether VCPUs, in the order of their priorities, fit onto a PCPU.
/// VCPUs that fit without some others may not fit with them, but not the other way round.
pub(crate) fn place(
    servers: &[Server],
    pinned: &[Option<usize>],
    pcpus: usize,
    mut steps: u64,
    fit: impl Fn(&[usize]) -> bool,
) -> Result<Option<Vec<usize>>, Limit> {
    let pin = |index: usize| pinned.get(index).copied().flatten();
    let mut on = vec![Vec::new(); pcpus];
    for index in 0..servers.len() {
        if let Some(pcpu) = pin(index) {
            let Some(on) = on.get_mut(pcpu) else { return Ok(None) };
            on.push(index);
        }
    }
    if !on.iter().all(|on| fit(on)) {
        return Ok(None);
    }
    let all: Share = servers.iter().map(|it| Share::down(it.budget(), it.period())).sum();
    if all.0 > Share::WHOLE.0.saturating_mul(pcpus as u128) {
        return Ok(None);
    }
    let mut open: Vec<usize> = (0..servers.len()).filter(|&index| pin(index).is_none()).collect();
    let share = |&index: &usize| Share::up(servers[index].budget(), servers[index].period());
    open.sort_by_key(|index| Reverse(share(index)));
    let found = search(servers, &open, &mut on, &mut steps, &fit)?;
    Ok(found.then(|| {
        let of = |index: usize| on.iter().position(|on| on.contains(&index)).unwrap_or(0);
        (0..servers.len()).map(of).collect()
    }))
}

/// Places the open servers, the first one where the load is highest if it fits there.
fn search(
    servers: &[Server],
    open: &[usize],
    on: &mut [Vec<usize>],
    steps: &mut u64,
    fit: &impl Fn(&[usize]) -> bool,
) -> Result<bool, Limit> {
    let Some((&next, rest)) = open.split_first() else { return Ok(true) };
    *steps = steps.checked_sub(1).ok_or(Limit)?;
    let load = |on: &[usize]| {
        utilization_of_servers(&on.iter().map(|&index| servers[index]).collect::<Vec<_>>())
    };
    let mut order: Vec<usize> = (0..on.len()).collect();
    order.sort_by_key(|&pcpu| Reverse(load(&on[pcpu])));
    // PCPUs without VCPUs are all alike.
    let first_empty = order.iter().copied().find(|&pcpu| on[pcpu].is_empty());
    for pcpu in order {
        if on[pcpu].is_empty() && Some(pcpu) != first_empty {
            continue;
        }
        let before = on[pcpu].clone();
        on[pcpu].push(next);
        on[pcpu].sort_unstable();
        if fit(&on[pcpu]) && search(servers, rest, on, steps, fit)? {
            return Ok(true);
        }
        on[pcpu] = before;
    }
    Ok(false)
}

/// Returns true if these servers get their budgets on one PCPU whose hypervisor can be late by
/// `late` in serving interrupts.
pub(crate) fn budgets_fit(servers: &[Server], on: &[usize], late: Duration) -> bool {
    let servers: Vec<Server> = on.iter().map(|&index| servers[index]).collect();
    late_response_times(&servers, late).iter().all(Result::is_ok)
}

#[cfg(test)]
mod tests {
    use analysis::Kind;
    use analysis::vcpu::response_times;
    use proptest::prelude::*;

    use super::*;
    use crate::tests::ms;

    fn servers(budgets: &[u64]) -> Vec<Server> {
        let server = |&budget| Server::new(Kind::Sporadic, ms(budget), ms(10)).unwrap();
        budgets.iter().map(server).collect()
    }

    #[test]
    fn best_fit_fails_where_another_way_does_not() {
        // Best-fit decreasing puts 5 and 4 together, and then 3, 3 and 3 do not fit.
        let servers = servers(&[5, 4, 3, 3, 3, 2]);
        let found = vcpus_to_pcpus(&servers, &[], 2, 1_000).unwrap().unwrap();
        let load = |pcpu| {
            let on = found.iter().zip(&servers).filter(|(on, _)| **on == pcpu);
            on.map(|(_, server)| server.budget().0).sum::<u64>()
        };
        assert_eq!([load(0), load(1)], [ms(10).0, ms(10).0]);
        assert_eq!(vcpus_to_pcpus(&servers, &[], 2, 3), Err(Limit));
    }

    #[test]
    fn pins_hold() {
        let servers = servers(&[6, 5, 4]);
        let found = vcpus_to_pcpus(&servers, &[Some(1), None, None], 2, 1_000).unwrap();
        assert_eq!(found, Some(vec![1, 0, 1]));
        assert_eq!(vcpus_to_pcpus(&servers, &[Some(0), Some(0)], 2, 1_000), Ok(None));
        assert_eq!(vcpus_to_pcpus(&servers, &[Some(2)], 2, 1_000), Ok(None));
        assert_eq!(vcpus_to_pcpus(&servers, &[], 1, 1_000), Ok(None));
    }

    /// The numbers of servers per PCPU do not matter: only whether all get their budgets.
    fn holds(servers: &[Server], on: &[usize], pcpus: usize) -> bool {
        (0..pcpus).all(|pcpu| {
            let here = on.iter().zip(servers).filter(|(on, _)| **on == pcpu);
            let here: Vec<Server> = here.map(|(_, server)| *server).collect();
            response_times(&here).iter().all(Result::is_ok)
        })
    }

    proptest! {
        #[test]
        fn there_is_a_way_if_one_of_all_ways_holds(
            drawn in prop::collection::vec((1_u64..9, 3_u64..12), 1..6),
            pcpus in 1_usize..4,
            pin in prop::option::of((0_usize..5, 0_usize..3)),
        ) {
            let mut drawn = drawn;
            drawn.sort_by_key(|(_, period)| *period);
            let server = |&(budget, period): &(u64, u64)| {
                Server::new(Kind::Sporadic, ms(budget.min(period)), ms(period)).unwrap()
            };
            let servers: Vec<Server> = drawn.iter().map(server).collect();
            let mut pinned = vec![None; servers.len()];
            if let Some((vcpu, pcpu)) = pin && vcpu < servers.len() {
                pinned[vcpu] = Some(pcpu);
            }
            let agrees = |on: &[usize]| {
                on.iter().zip(&pinned).all(|(on, pin)| pin.is_none_or(|pin| pin == *on))
            };
            let ways = (0..pcpus.pow(servers.len() as u32)).map(|way| {
                (0..servers.len() as u32).map(|at| way / pcpus.pow(at) % pcpus).collect::<Vec<_>>()
            });
            let possible = ways.into_iter().any(|on| agrees(&on) && holds(&servers, &on, pcpus));
            let found = vcpus_to_pcpus(&servers, &pinned, pcpus, 1_000_000).unwrap();
            prop_assert_eq!(found.is_some(), possible);
            if let Some(on) = found {
                prop_assert!(agrees(&on) && holds(&servers, &on, pcpus), "{:?}", on);
            }
        }
    }

    #[test]
    fn a_server_goes_where_it_leaves_least() {
        // 6 and 5 need a PCPU each; 3 and 4 are put where they leave least: none is left over.
        let servers = servers(&[6, 5, 4, 3]);
        let found = vcpus_to_pcpus(&servers, &[], 3, 1_000).unwrap().unwrap();
        assert_eq!(found[0], found[2], "4 beside 6: {found:?}");
        assert_eq!(found[1], found[3], "3 beside 5: {found:?}");
    }
}
