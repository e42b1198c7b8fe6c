//! Local blocking: sections of tasks below in the same VCPU (Eq. 7 to 9).

use super::system::System;
use crate::window::{TOO_LONG, sum};

/// Sets the blocking of each task by tasks below, including their local sections. `locals`: task,
/// highest task that uses the same resource (whose priority is the ceiling), and length.
pub fn blocking(system: &mut System, locals: &[(usize, usize, u64)]) {
    for (task, ceiling, length) in locals {
        if ceiling < task {
            // At most the execution time of the task.
            system.tasks[*task].local += length;
        }
    }
    for vcpu in &system.vcpus {
        let mut global = 0;
        for index in vcpu.tasks.clone().rev() {
            // Eq. 7: at most one of all.
            let longest = |is_above: &dyn Fn(usize) -> bool| {
                let below = locals.iter().filter(|it| it.0 > index && it.0 < vcpu.tasks.end);
                below.filter(|it| is_above(it.1)).map(|it| it.2).max().unwrap_or(0)
            };
            // In the printed equation only ceilings above the priority of the task block it. But
            // the task itself may use the resource: the ceiling is then at least its priority.
            let of_locals = match locals.is_empty() {
                true => [0; 2],
                false => [longest(&|ceiling| ceiling < index), longest(&|it| it <= index)],
            };
            let task = &mut system.tasks[index];
            // Eq. 9: before the task executes, and whenever it waits for a resource.
            let times = task.sections.len() as u64 + 1;
            task.blocking = of_locals
                .map(|local| sum([local, global].into_iter()).saturating_mul(times).min(TOO_LONG));
            // Eq. 8: one of each task.
            global = sum([global, task.longest].into_iter());
        }
    }
}
