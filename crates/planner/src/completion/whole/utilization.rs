//! The parts of a PCPU that tasks need, while colours may still be open.

use analysis::Duration;
use system::description::System;

use super::super::pcpus::At;
use super::judge::WHOLE;

/// Returns the need of a task, in millionths of a PCPU.
pub fn utilization(system: &System, (vm, task): At) -> u64 {
    let of_vm = &system.vms[vm];
    let task = &of_vm.tasks[task];
    let colors = task.colors.as_ref().or(of_vm.colors.as_ref()).map(|it| u64::from(it.value.len()));
    let wcet = match colors {
        Some(colors) => task.wcet.with_colors(colors),
        None if of_vm.colors_open.is_some() => {
            let (short, long) = (task.wcet.shortest().0, task.wcet.longest().0);
            Duration(short / 2 + long / 2)
        }
        None => task.wcet.longest(),
    };
    share(wcet, task.period)
}

/// Returns the least need of a task, whatever its open colours will be, in millionths of a PCPU.
pub fn least_utilization(system: &System, (vm, task): At) -> u64 {
    let (of_vm, described) = (&system.vms[vm], &system.vms[vm].tasks[task]);
    match of_vm.colors.is_none() && described.colors.is_none() {
        true => share(described.wcet.shortest(), described.period),
        false => utilization(system, (vm, task)),
    }
}

/// Returns the part of a PCPU in millionths, at least one.
fn share(wcet: Duration, period: Duration) -> u64 {
    let share = u128::from(wcet.0) * u128::from(WHOLE) / u128::from(period.0.max(1));
    share.clamp(1, u128::from(10 * WHOLE)) as u64
}
