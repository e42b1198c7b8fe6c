//! Tasks that rings release.

use policy::rate::Rate;
use policy::time;
use sim::{Channel, Release, TaskPlace};
use system::description::{System, Task};

use crate::model::Model;

/// Returns the releases of a task whose channel nobody rings for: as if its writer did nothing but to
/// ring. `random`: some of them come later.
pub fn limited(task: &Task, random: bool) -> Release {
    let delay_max = if random { task.period.0 } else { 0 };
    Release::Limited { limit: limit([task.period.0, task.jitter.0]), delay_max }
}

/// Connects tasks that ring with those that their rings release.
pub fn connect(described: Option<&System>, model: &mut Model) {
    let Some(described) = described else { return };
    for (index, channel) in described.channels.iter().enumerate() {
        let Some(rings) = channel.rings else { continue };
        let is = |end: Option<usize>| end == Some(index);
        let from = places(described, model, |it| is(it.rings.as_ref().map(|it| it.value)));
        let to = places(described, model, |it| is(it.triggered_by.as_ref().map(|it| it.value)));
        let Some(&from) = from.first() else { continue };
        for to in &to {
            model.system.pcpus[to.pcpu].vcpus[to.vcpu].tasks[to.task].release = Release::Rung;
        }
        let limit = limit([rings.interval.0, rings.early.0]);
        model.system.channels.push(Channel { limit, from, to });
    }
}

fn limit(times: [u64; 2]) -> Rate {
    let [interval, early] = times.map(time::Duration);
    Rate::new(interval, early)
}

/// Returns where some tasks are.
fn places(described: &System, model: &Model, is_one: impl Fn(&Task) -> bool) -> Vec<TaskPlace> {
    let mut found = Vec::new();
    for (pcpu, place, vcpu) in model.vcpus() {
        let tasks = described.vms.get(vcpu.vm).map_or(&[][..], |vm| &vm.tasks);
        for (task, simulated) in vcpu.tasks.iter().enumerate() {
            let described = tasks.iter().find(|it| it.name.value == simulated.name);
            if described.is_some_and(&is_one) {
                found.push(TaskPlace { pcpu, vcpu: place, task });
            }
        }
    }
    found
}
