//! A margin: the plan is enough for execution times and accesses that are longer and more than described.

use system::description::System;
use verdict::scale;

/// Returns the system with the margin added to all execution times and accesses.
pub(super) fn with_margin(system: &System) -> System {
    let (mut grown, ppm) = (system.clone(), system.margin_ppm);
    for task in grown.vms.iter_mut().flat_map(|vm| &mut vm.tasks) {
        scale(&mut task.wcet, ppm);
        if let Some(accesses) = &mut task.accesses {
            let more = u128::from(accesses.value) * u128::from(1_000_000 + ppm);
            accesses.value = u64::try_from(more.div_ceil(1_000_000)).unwrap_or(u64::MAX);
        }
    }
    grown
}

/// Returns the planned system with the execution times and accesses of the description.
pub(super) fn without_margin(mut planned: System, described: &System) -> System {
    for (planned, described) in planned.vms.iter_mut().zip(&described.vms) {
        for (planned, described) in planned.tasks.iter_mut().zip(&described.tasks) {
            planned.wcet.clone_from(&described.wcet);
            planned.accesses.clone_from(&described.accesses);
        }
    }
    planned
}
