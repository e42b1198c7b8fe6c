//! Colours to VCPUs, exactly: the multiple-choice knapsack
//!
//! ```text
//! U_i(k) = min over j of U_{i-1}(k - j) + C_i^v(j) / T_i^v
//! ```
//!
//! As many steps as Algorithm 5 ([`crate::published::cache_to_vm`]), but of each number of
//! colours it keeps the best allocation, and not one that extends that for fewer.

use analysis::utilization::Share;

use crate::Demand;
use crate::published::cache_to_vm::Allocation;

/// Returns the best allocations for 0, 1, ... `colors`; none where deadlines are missed.
pub fn cache_to_vm(demands: &[&Demand], colors: usize) -> Vec<Option<Allocation>> {
    // For each VCPU and number of colours: the least sum of all up to this one, and how
    // many of the colours are its own.
    let mut chosen: Vec<Vec<usize>> = Vec::with_capacity(demands.len());
    let mut totals: Vec<Option<Share>> = vec![Some(Share(0)); colors + 1];
    for demand in demands {
        let shares: Vec<_> = (0..=colors.min(demand.colors()))
            .filter_map(|own| Some((own, demand.share(own)?)))
            .collect();
        let best = |k: usize| {
            let own = shares.iter().take_while(|(own, _)| *own <= k);
            own.filter_map(|&(own, share)| Some((totals[k - own]? + share, own))).min()
        };
        let best: Vec<_> = (0..=colors).map(best).collect();
        totals = best.iter().map(|best| best.map(|(total, _)| total)).collect();
        chosen.push(best.iter().map(|best| best.map_or(0, |(_, own)| own)).collect());
    }
    let allocation = |(k, total): (usize, &Option<Share>)| {
        let total = (*total)?;
        let mut left = k;
        let mut own: Vec<usize> = chosen
            .iter()
            .rev()
            .map(|chosen| {
                let own = chosen[left];
                left -= own;
                own
            })
            .collect();
        own.reverse();
        Some(Allocation { colors: own, total })
    };
    totals.iter().enumerate().map(allocation).collect()
}

#[cfg(test)]
mod tests {
    use analysis::Duration;
    use proptest::prelude::*;

    use super::*;
    use crate::Point;
    use crate::published::cache_to_vm as published;

    fn demand() -> impl Strategy<Value = Demand> {
        let budgets = prop::collection::vec(prop::option::weighted(0.9, 1_u64..100), 1..7);
        (100_u64..200, budgets).prop_map(|(period, budgets)| {
            let point = |budget| Point { budget: Duration(budget), sets: Vec::new() };
            let points = budgets.into_iter().map(|budget| budget.map(point)).collect();
            Demand::new(Duration(period), points)
        })
    }

    /// Returns the least sum, by trying all.
    fn least(demands: &[Demand], colors: usize) -> Option<Share> {
        let Some((first, rest)) = demands.split_first() else { return Some(Share(0)) };
        let own = (1..=colors.min(first.colors()))
            .filter_map(|own| Some(first.share(own)? + least(rest, colors - own)?));
        own.min()
    }

    proptest! {
        #[test]
        fn no_allocation_needs_less(demands in prop::collection::vec(demand(), 0..4)) {
            let references: Vec<&Demand> = demands.iter().collect();
            let exact = cache_to_vm(&references, 8);
            let published = published::cache_to_vm(&references, 8);
            for (k, exact) in exact.iter().enumerate() {
                let total = exact.as_ref().map(|it| it.total);
                prop_assert_eq!(total, least(&demands, k));
                if let Some(exact) = exact {
                    let used: usize = exact.colors.iter().sum();
                    prop_assert!(used <= k);
                    let parts = demands.iter().zip(&exact.colors);
                    let sum: Option<Share> = parts.map(|(demand, &k)| demand.share(k)).sum();
                    prop_assert_eq!(sum, total);
                }
                // The published one is an allocation, too, where it starts at all.
                if let Some(published) = &published[k] {
                    prop_assert!(exact.as_ref().is_some_and(|exact| exact.total <= published.total));
                }
            }
        }
    }
}
