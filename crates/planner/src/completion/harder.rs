//! Plans of harder systems: a plan that holds there holds here, too. A search is led by numbers that differ
//! from system to system, so it may find a plan of a harder system and miss it here.

use std::cell::RefCell;
use std::collections::BTreeSet;

use policy::color::Color;
use system::description::{Located, System};

use super::pcpus::{At, all, given, vcpu};
use super::problem::free_colors;
use super::whole::certificate::certificate;
use super::whole::{self, Request, longer};
use super::{HEAVIER_MAX, staged, verdict};

/// The parts by which execution times are longer, in millionths: a quarter, and a quarter again. A system of which the plan
/// was found for a quarter more keeps the plan where its times become shorter by a fifth.
const LONGER: [u64; 2] = [250_000, 562_500];

/// Returns a plan of one of some harder systems.
pub(super) fn plan(system: &System, request: &Request<'_>) -> Option<System> {
    let tasks: usize = system.vms.iter().map(|vm| vm.tasks.len()).sum();
    if request.effort < whole::TO_PLAN || tasks > HEAVIER_MAX {
        return None;
    }
    let every = usize::MAX;
    let fewer = fewer_pcpus(system);
    // Less work makes systems easier most often.
    let (whole, half) = (request.effort, request.effort / 2);
    let tried = [
        (Some(longer::grown(system, LONGER[0])), every, whole),
        (Some(longer::grown(system, LONGER[1])), every, half),
        (half_of_colors(system), every, half),
        ((fewer > 0).then(|| system.clone()), fewer, half),
    ];
    for (harder, pcpus, effort) in tried {
        let Some(harder) = harder else { continue };
        if (request.stops)() {
            return None;
        }
        let part = Request { effort, pcpus, enough: 1, ..*request };
        let Some(mut found) = complete(&harder, &part) else { continue };
        found.hypervisor_colors.clone_from(&system.hypervisor_colors);
        let found = longer::with_times_of(found, system);
        if verdict(&found).is_some_and(|it| it.schedulable) {
            return Some(found);
        }
    }
    None
}

/// Returns the number of PCPUs less one that are not given to VCPUs, or needed by those that share
/// none.
fn fewer_pcpus(system: &System) -> usize {
    let given: BTreeSet<usize> =
        all(system).into_iter().filter_map(|at| given(system, at)).collect();
    let alone = |at: &At| vcpu(system, *at).server.is_none() && self::given(system, *at).is_none();
    let taken = given.len() + all(system).iter().filter(|at| alone(at)).count();
    system.platform.value.cpus.len().saturating_sub(taken + 1)
}

fn complete(system: &System, request: &Request<'_>) -> Option<System> {
    let decided = RefCell::default();
    let staged = staged(system, &decided).ok();
    if let Some(staged) = staged.filter(|it| verdict(it).is_some_and(|it| it.schedulable)) {
        return Some(staged);
    }
    if certificate(system).is_some() {
        return None;
    }
    whole::search(system, &decided.into_inner(), Vec::new(), request).ok()
}

/// Returns the description if half of the colours that no VM has are not there.
fn half_of_colors(system: &System) -> Option<System> {
    let place = system.vms.iter().find_map(|vm| vm.colors_open.clone())?;
    let free: Vec<Color> = free_colors(system).iter().collect();
    let mut harder = system.clone();
    let taken = free.iter().copied().skip(free.len() / 2).collect();
    let own = harder.hypervisor_colors.as_ref().map(|own| own.value);
    harder.hypervisor_colors = Some(Located::new(own.map_or(taken, |own| own | taken), &place));
    Some(harder)
}
