//! The counts of cachescope, for people.

use lab::cachescope::{Counts, Owner};
use report::text::table;
use units::Bytes;

/// The counts for people. Owners that did nothing are left out.
pub fn text(counts: &Counts) -> String {
    let took_part = |owner: &&Owner| {
        let it = counts.suffered.iter().find(|it| it.owner == owner.name);
        owner.accesses > 0 || it.is_some_and(|it| it.counts() != [0; 5])
    };
    let owners: Vec<&Owner> = counts.owners.iter().filter(took_part).collect();
    let rows: Vec<_> = owners
        .iter()
        .map(|owner| {
            let figures = [owner.accesses, owner.l1_misses, owner.llc_misses];
            let figures = figures.iter().map(u64::to_string);
            std::iter::once(owner.name.clone()).chain(figures).collect()
        })
        .collect();
    let accesses = table(&["owner", ">accesses", ">L1 misses", ">LLC misses"], &rows);

    let titles: Vec<String> = owners.iter().map(|owner| format!(">of {}", owner.name)).collect();
    let heading: Vec<&str> =
        std::iter::once("evictions").chain(titles.iter().map(String::as_str)).collect();
    let evicted = |came: &str, went: &str| {
        let it = counts.evictions.iter().find(|it| it.came == came && it.went == went);
        it.map_or(0, |it| it.evictions)
    };
    let rows: Vec<_> = owners
        .iter()
        .map(|came| {
            let counts = owners.iter().map(|went| evicted(&came.name, &went.name).to_string());
            std::iter::once(format!("by {}", came.name)).chain(counts).collect()
        })
        .collect();
    let evictions = table(&heading, &rows);

    let suffered = counts.suffered.iter().filter(|it| it.counts() != [0; 5]);
    let rows: Vec<_> = suffered
        .map(|it| {
            let counts = it.counts();
            std::iter::once(it.owner.clone()).chain(counts.iter().map(u64::to_string)).collect()
        })
        .collect();
    let heading = [
        "evicted lines of",
        ">by itself",
        ">by hypervisor for it",
        ">by hypervisor",
        ">by other VMs",
        ">by unowned lines",
    ];
    format!(
        "{accesses}\n{evictions}\n{}\nlast-level cache: {} in {} ways; all counts: {}\n\
         hypervisor and VMs: it evicted {} of their lines, they evicted {} of its\n\
         cross-VM evictions: {}\n",
        table(&heading, &rows),
        Bytes(counts.llc_bytes),
        counts.llc_ways,
        counts.folder,
        counts.vm_evictions_by_hypervisor,
        counts.hypervisor_evictions_by_vms,
        counts.cross_vm_evictions,
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const SUMMARY: &str = include_str!("../../../lab/tests/data/summary.json");

    #[test]
    fn every_owner_that_did_something_has_its_row() {
        let vms = ["a".into(), "b".into()];
        let counts = Counts::read(SUMMARY.as_bytes(), &vms, Path::new("scope"));
        let counts = counts.expect("a summary");
        assert_eq!(
            text(&counts),
            "\
owner       accesses  L1 misses  LLC misses
hypervisor        50         40          30
a                500        400         300
b                600        500         400

evictions      of hypervisor  of a  of b
by hypervisor              1     2     3
by a                      20   100     7
by b                      30     8   200

evicted lines of  by itself  by hypervisor for it  by hypervisor  by other VMs  by unowned lines
hypervisor                1                     0              0            50                 0
a                        90                    10              2             8                 0
b                       200                     0              3             7                 0

last-level cache: 1 MiB in 16 ways; all counts: scope
hypervisor and VMs: it evicted 5 of their lines, they evicted 50 of its
cross-VM evictions: 15
"
        );
    }
}
