//! Whose lines were evicted, and why.

use serde::Serialize;

use crate::tally::Eviction;
use crate::{Owner, Owners};

/// Evictions of the lines of one owner from the last-level cache. Each is in one
/// of the counts.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Suffered {
    /// Whose lines went.
    pub owner: String,
    /// It brought one of its own lines in.
    pub by_itself: u64,
    /// The hypervisor brought one of the owner's lines in, to serve it.
    pub by_hypervisor_for_it: u64,
    /// A line of the hypervisor came.
    pub by_hypervisor: u64,
    /// A line of a VM that is not the owner came, or that VM brought it in.
    pub by_other_vms: u64,
    /// A line came that is in no range.
    pub by_unowned: u64,
}

impl Suffered {
    /// The evictions that each owner suffered.
    pub fn of_all(owners: &Owners, evictions: &[Eviction]) -> Vec<Self> {
        let named = |owner| Self { owner: owners.name(owner).into(), ..Self::default() };
        let mut all: Vec<Self> = owners.iter().map(named).collect();
        for eviction in evictions {
            *all[eviction.evicted.index()].kind(eviction) += eviction.count;
        }
        all
    }

    fn kind(&mut self, eviction: &Eviction) -> &mut u64 {
        let Eviction { accessor, incoming, evicted, .. } = *eviction;
        match incoming {
            _ if incoming == evicted && accessor == evicted => &mut self.by_itself,
            _ if incoming == evicted && accessor == Owner::HYPERVISOR => {
                &mut self.by_hypervisor_for_it
            }
            Owner::HYPERVISOR if evicted != Owner::HYPERVISOR => &mut self.by_hypervisor,
            Owner::UNOWNED if evicted != Owner::UNOWNED => &mut self.by_unowned,
            _ => &mut self.by_other_vms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_apart() {
        let mut owners = Owners::default();
        let (a, b) = (owners.named("a").unwrap(), owners.named("b").unwrap());
        let (hypervisor, unowned) = (Owner::HYPERVISOR, Owner::UNOWNED);
        let kinds = [
            (a, a, 1),
            (hypervisor, a, 2),
            (hypervisor, hypervisor, 4),
            // The hypervisor moves a line of b; b itself; b uses memory of a.
            (hypervisor, b, 8),
            (b, b, 16),
            (b, a, 32),
            (a, unowned, 64),
        ];
        let evictions = kinds.map(|(accessor, incoming, count)| Eviction {
            color: 0,
            accessor,
            incoming,
            evicted: a,
            count,
        });
        let of_hypervisor = [(hypervisor, hypervisor, 1), (a, a, 2), (hypervisor, b, 4)];
        let of_hypervisor = of_hypervisor.map(|(accessor, incoming, count)| Eviction {
            color: 1,
            accessor,
            incoming,
            evicted: hypervisor,
            count,
        });
        let found = Suffered::of_all(&owners, &[&evictions[..], &of_hypervisor].concat());
        let expected = Suffered {
            owner: "a".into(),
            by_itself: 1,
            by_hypervisor_for_it: 2,
            by_hypervisor: 4,
            by_other_vms: 8 + 16 + 32,
            by_unowned: 64,
        };
        assert_eq!(found[a.index()], expected);
        assert_eq!(found[b.index()], Suffered { owner: "b".into(), ..Suffered::default() });
        let found = &found[hypervisor.index()];
        assert_eq!((found.by_itself, found.by_other_vms), (1, 6));
    }
}
