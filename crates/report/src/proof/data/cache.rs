//! Counts of the last-level cache (LLC).

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cache {
    /// The owners of memory: the VMs, the hypervisor, and others that have lines.
    pub owners: Vec<Owner>,
    /// Evictions: the row is the owner of the new line, the column the owner of the evicted line,
    /// both in the order of the owners.
    pub evictions: Vec<Vec<u64>>,
}

/// The counts of an owner of memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Place of its VM in [`Proof::vms`](crate::proof::Proof::vms), if it is one.
    pub vm: Option<usize>,
    /// Its accesses to the LLC by colour, whoever the memory belongs to: what misses the private
    /// caches.
    pub accesses_by_color: Vec<u64>,
    /// Its lines that lines of another VM evicted, by colour.
    pub lost_by_color: Vec<u64>,
}

impl Cache {
    /// Lines of a VM that lines of another VM evicted.
    pub fn cross_vm_evictions(&self) -> u64 {
        let vm = |place: usize| self.owners.get(place).and_then(|owner| owner.vm);
        let rows = self.evictions.iter().enumerate();
        let cells = rows.flat_map(|(came, row)| {
            row.iter().enumerate().map(move |(went, count)| (came, went, count))
        });
        let across = cells.filter(|&(came, went, _)| {
            vm(came).zip(vm(went)).is_some_and(|(came, went)| came != went)
        });
        across.map(|(.., count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_evictions_of_vms_by_other_vms_are_across() {
        let owner = |name: &str, vm| Owner { name: name.into(), vm, ..Owner::default() };
        let cache = Cache {
            owners: vec![owner("hypervisor", None), owner("a", Some(0)), owner("b", Some(1))],
            evictions: vec![vec![1, 2, 4], vec![8, 16, 32], vec![64, 128, 256]],
        };
        assert_eq!(cache.cross_vm_evictions(), 32 + 128);
        assert_eq!(Cache::default().cross_vm_evictions(), 0);
    }
}
