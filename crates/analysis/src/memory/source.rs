//! Sources of memory accesses, by PCPU.

use std::collections::BTreeSet;

use crate::memory::{Curve, Interferer};

/// A source of accesses: a VCPU, or all VCPUs of a VM that share a budget.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Source {
    /// The PCPUs on which the source makes accesses.
    pub pcpus: BTreeSet<u32>,
    /// Limit on the accesses; `None`: no limit.
    pub limit: Option<Curve>,
}

/// Returns the interferers on the PCPUs other than `own`. A PCPU with a source without a limit is
/// an interferer by itself, and other sources there are not counted, because they cannot add delay.
/// Of the rest, PCPUs with a common budget belong together.
pub fn interferers<'a>(
    sources: impl Iterator<Item = &'a Source> + Clone,
    own: u32,
) -> Vec<Interferer> {
    let all = sources.clone().filter(|it| it.limit.is_none()).flat_map(|it| &it.pcpus);
    let unlimited: BTreeSet<u32> = all.copied().filter(|pcpu| *pcpu != own).collect();
    let mut groups: Vec<(BTreeSet<u32>, Vec<Curve>)> = Vec::new();
    for source in sources {
        let Some(curve) = source.limit else { continue };
        let there = source.pcpus.iter().filter(|it| **it != own && !unlimited.contains(it));
        let (mut pcpus, mut curves) = (there.copied().collect::<BTreeSet<_>>(), vec![curve]);
        if pcpus.is_empty() {
            continue;
        }
        groups.retain_mut(|(others, more)| {
            let apart = others.is_disjoint(&pcpus);
            if !apart {
                pcpus.append(others);
                curves.append(more);
            }
            apart
        });
        groups.push((pcpus, curves));
    }
    let unlimited = unlimited.iter().map(|_| Interferer { pcpus: 1, limit: None });
    let limited = groups
        .into_iter()
        .map(|(pcpus, curves)| Interferer { pcpus: pcpus.len() as u64, limit: Some(curves) });
    unlimited.chain(limited).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;
    use crate::memory::{Bus, Reservation};

    fn source(pcpus: &[u32], budget: Option<u64>) -> Source {
        let curve = |accesses| {
            let reservation = Reservation::new(accesses, Duration(100)).unwrap();
            Curve::new(&reservation, &Bus::ideal(Duration(1)))
        };
        Source { pcpus: pcpus.iter().copied().collect(), limit: budget.map(curve) }
    }

    /// Returns PCPUs, and the budgets of their curves; 0 stands for no limit.
    fn found(sources: &[Source], own: u32) -> Vec<(u64, Vec<u64>)> {
        let steps = |limit: Vec<Curve>| limit.iter().map(|it| it.staircase().step().0).collect();
        let all = interferers(sources.iter(), own).into_iter();
        all.map(|it| (it.pcpus, it.limit.map_or(vec![0], steps))).collect()
    }

    #[test]
    fn pcpus_with_a_common_budget_belong_together() {
        let sources = [
            source(&[0], None),
            source(&[1], Some(5)),
            source(&[0, 1, 2], Some(7)),
            source(&[3], Some(9)),
            source(&[3], Some(2)),
        ];
        assert_eq!(found(&sources, 0), [(2, vec![7, 5]), (2 - 1, vec![2, 9])]);
        // The first one has no limit, and what the third one does there costs nothing more.
        assert_eq!(found(&sources, 1), [(1, vec![0]), (1, vec![7]), (1, vec![2, 9])]);
        assert_eq!(found(&sources, 3), [(1, vec![0]), (2, vec![7, 5])]);
        assert_eq!(found(&sources[..1], 0), []);
    }
}
