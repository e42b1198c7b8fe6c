//! Colours for VMs such that their VCPUs need least.
//!
//! The need of a VM with each number of colours is judged with each of its VCPUs alone on a PCPU.
//! Then all ways to share out the colours are compared, VM after VM.

use policy::color::{Color, ColorSet};
use system::description::{Located, System};

use super::super::colors;
use super::super::pcpus::vcpu;
use super::super::problem::{free_colors, least_colors};
use super::judge::WHOLE;
use super::open::Open;
use super::patterns::Patterns;

/// Weight of the need of a VCPU beyond a whole PCPU, where its need of one has weight 1.
const BEYOND: u64 = 16;

/// Returns the description with colours for the VMs that have none yet; `None` if there are too few.
pub fn with_colors(system: &System, open: &Open, patterns: &Patterns<'_, '_>) -> Option<System> {
    let free: Vec<Color> = free_colors(system).iter().collect();
    // The least needs of the VMs so far by number of colours, and how many the last one has then.
    let mut least: Vec<Option<u64>> = vec![Some(0); free.len() + 1];
    let mut chosen: Vec<Vec<usize>> = Vec::new();
    for &vm in &open.colors {
        let fewest = least_colors(system, vm).max(1);
        let needs = needs(system, vm, fewest, &free, patterns);
        let (mut next, mut last) = (vec![None; free.len() + 1], vec![0; free.len() + 1]);
        for all in fewest..=free.len() {
            for (own, need) in (fewest..=all).zip(&needs) {
                let Some(others) = least[all - own] else { continue };
                let sum = others.saturating_add(*need);
                if next[all].is_none_or(|it| sum < it) {
                    (next[all], last[all]) = (Some(sum), own);
                }
            }
        }
        least = next;
        chosen.push(last);
    }
    least[free.len()]?;
    let mut system = system.clone();
    let mut end = free.len();
    let mut left: ColorSet = free.iter().copied().collect();
    for (&vm, counts) in open.colors.iter().zip(&chosen).rev() {
        let own: ColorSet = free[end - counts[end]..end].iter().copied().collect();
        end -= counts[end];
        left = left - own;
        let place = system.vms[vm].colors_open.take()?;
        system.vms[vm].colors = Some(Located::new(own, &place));
    }
    colors::share_rest(&mut system, &open.colors, left);
    Some(system)
}

/// Returns the need of the VCPUs of a VM with tasks, for each number of colours from the fewest on, in
/// millionths of a PCPU.
fn needs(
    system: &System,
    vm: usize,
    fewest: usize,
    free: &[Color],
    patterns: &Patterns<'_, '_>,
) -> Vec<u64> {
    let described = &system.vms[vm];
    let has_tasks = |index: &usize| described.tasks.iter().any(|task| task.vcpu == *index);
    let vcpus: Vec<usize> = (0..described.vcpus.len()).filter(has_tasks).collect();
    let mut with = system.clone();
    let times = |colors: usize| -> Vec<u64> {
        let times = described.tasks.iter().map(|task| task.wcet.with_colors(colors as u64).0);
        times.collect()
    };
    let mut needs: Vec<u64> = Vec::new();
    for count in fewest..=free.len() {
        // A colour that makes no task shorter is not taken: of equal needs, that with fewer colours is.
        if let Some(&before) = needs.last()
            && times(count) == times(count - 1)
        {
            needs.push(before);
            continue;
        }
        let set: ColorSet = free[..count].iter().copied().collect();
        with.vms[vm].colors = Some(Located::new(set, &described.name.place));
        let need = |&index: &usize| {
            let server = vcpu(&with, (vm, index)).server.as_ref();
            let budget = server.and_then(|server| server.class.value.budget());
            let need = budget.map_or(WHOLE, |it| patterns.alone(&with, (vm, index), it.period));
            need.saturating_add(need.saturating_sub(WHOLE).saturating_mul(BEYOND))
        };
        needs.push(vcpus.iter().map(need).sum());
    }
    needs
}
