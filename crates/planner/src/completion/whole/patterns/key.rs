//! Keys of least budgets that are known.

use analysis::Duration;
use policy::color::ColorSet;
use system::description::System;
use system::plan::Class;

use super::super::super::pcpus::{At, vcpu};
use super::Above;

/// Returns all on which the least budget of a VCPU depends and that a search changes.
pub(super) fn key(
    system: &System,
    at: At,
    given: Option<Duration>,
    (above, below): (&[Above], &[At]),
    console: bool,
) -> Vec<u64> {
    let of_vm = &system.vms[at.0];
    let class = vcpu(system, at).server.as_ref().map(|server| server.class.value);
    let mut key = vec![u64::from(console), below.len() as u64, at.0 as u64];
    push(&mut key, class, false);
    key.push(given.map_or(0, |given| given.0));
    let bits = |colors: ColorSet| {
        colors.iter().fold(0u64, |bits, color| bits | 1u64 << (color.index() % 64))
    };
    key.push(of_vm.colors.as_ref().map_or(u64::MAX, |it| u64::from(it.value.len())));
    for (number, task) in of_vm.tasks.iter().enumerate() {
        if task.vcpu == at.1 {
            key.push(number as u64);
            key.push(task.colors.as_ref().map_or(u64::MAX, |colors| bits(colors.value)));
        }
    }
    key.push(u64::MAX);
    for (_, class) in above {
        push(&mut key, Some(*class), true);
    }
    key
}

fn push(key: &mut Vec<u64>, class: Option<Class>, with_budget: bool) {
    match class {
        None => key.push(0),
        Some(Class::Background) => key.push(1),
        Some(Class::Reserved(kind, it)) => {
            key.extend([2 + kind as u64, it.period.0]);
            if with_budget {
                key.push(it.budget.0);
            }
        }
    }
}
