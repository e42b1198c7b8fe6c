//! The mapping from planned colours to colours of the machine.

use policy::color::{Color, ColorSet};
use system::description::{Located, System};

use super::problem::Subject;
use crate::Coloring;
use crate::search::PlannedVm;

/// Gives a VM the lowest colours that are left, and its tasks theirs.
pub(super) fn give(
    system: &mut System,
    subject: &Subject,
    planned: &PlannedVm,
    left: &mut ColorSet,
) {
    let vm = &mut system.vms[subject.index];
    let Some(place) = vm.colors_open.take() else { return };
    let own: Vec<Color> = left.iter().take(planned.colors).collect();
    let all: ColorSet = own.iter().copied().collect();
    *left = *left - all;
    vm.colors = Some(Located::new(all, &place));
    if *subject.vm.coloring() != Coloring::Own {
        return;
    }
    // VCPU by VCPU; within each, numbers start at 0.
    let mut first = 0;
    for vcpu in planned.vcpus.iter().flatten() {
        for (group, set) in vcpu.tasks.iter().zip(&vcpu.point.sets) {
            let colors = set.iter().filter_map(|color| own.get(first + color.index()).copied());
            let colors = Located::new(colors.collect(), &place);
            for task in &subject.tasks[*group] {
                vm.tasks[*task].colors = Some(colors.clone());
            }
        }
        first += vcpu.colors;
    }
}

/// Shares the rest among those of these VMs that have neither tasks nor a virtual cache.
pub(super) fn share_rest(system: &mut System, vms: &[usize], left: ColorSet) {
    let takes = |vm: &&usize| system.vms[**vm].tasks.is_empty() && !system.vms[**vm].vllc;
    let takers: Vec<usize> = vms.iter().filter(takes).copied().collect();
    for (index, color) in left.iter().enumerate() {
        let taker = takers.get(index % takers.len().max(1));
        if let Some(colors) = taker.and_then(|&vm| system.vms[vm].colors.as_mut()) {
            colors.value = colors.value | color.into();
        }
    }
}
