//! Algorithm 5: `CacheToVMAlloc`.

use analysis::utilization::Share;

use crate::Demand;

/// Colours for the VCPUs of all VMs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Allocation {
    /// Colours of each VCPU: `sigma_i`.
    pub colors: Vec<usize>,
    /// Sum of their needs: `U(k)`.
    pub total: Share,
}

/// Returns the allocations for 0, 1, ... `colors` (Eq. 6); none where deadlines are missed.
///
/// Each extends an allocation for fewer colours by more colours for one VCPU, so that it
/// is not always the best: [`crate::exact::cache_to_vm()`] is.
pub fn cache_to_vm(demands: &[&Demand], colors: usize) -> Vec<Option<Allocation>> {
    let least: Option<Vec<usize>> = demands.iter().map(|demand| demand.least_colors()).collect();
    let mut by_colors: Vec<Option<Allocation>> = vec![None; colors + 1];
    let Some(least) = least else { return by_colors };
    let z: usize = least.iter().sum();
    if z > colors {
        return by_colors;
    }
    let share = |vcpu: usize, k: usize| demands[vcpu].share(k).unwrap_or(Share::WHOLE);
    let total = least.iter().enumerate().map(|(vcpu, &k)| share(vcpu, k)).sum();
    by_colors[z] = Some(Allocation { colors: least, total });
    for k in z + 1..=colors {
        let mut best: Option<(Share, usize, usize)> = None;
        for (before, from) in by_colors.iter().enumerate().take(k).skip(z) {
            let Some(from) = from else { continue };
            for (vcpu, &has) in from.colors.iter().enumerate() {
                let gain = share(vcpu, has).0.saturating_sub(share(vcpu, has + k - before).0);
                let total = Share(from.total.0.saturating_sub(gain));
                if best.is_none_or(|best| total < best.0) {
                    best = Some((total, before, vcpu));
                }
            }
        }
        by_colors[k] = best.and_then(|(total, before, vcpu)| {
            let mut colors = by_colors[before].as_ref()?.colors.clone();
            colors[vcpu] += k - before;
            Some(Allocation { colors, total })
        });
        // No VCPU at all: nothing to extend.
        if by_colors[k].is_none() {
            by_colors[k] = by_colors[k - 1].clone();
        }
    }
    by_colors
}
