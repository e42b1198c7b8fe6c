//! Colours of VMs and of the hypervisor: whether they exist, and belong to one alone.

use policy::color::{ColorSet, Geometry};

use super::{Located, Task, Vm};
use crate::diagnostic::{Diagnostic, Place};
use crate::plan::virtual_cache;
use crate::platform::{NoColors, Platform, division};

/// Returns the mistakes in the colours of the hypervisor and of these VMs.
pub(super) fn check(
    platform: &Platform,
    hypervisor: Option<&Located<ColorSet>>,
    vms: &[&Vm],
) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    let sets = vms.iter().flat_map(|vm| sets(vm)).chain(hypervisor);
    // Those of tasks in VMs with colours are some of these.
    let plain = vms.iter().filter(|vm| vm.colors.is_none()).flat_map(|vm| &vm.tasks);
    let sets = sets.chain(plain.filter_map(|task| task.colors.as_ref()));
    let open = vms.iter().filter_map(|vm| vm.colors_open.as_ref());
    match platform.colors() {
        Err(reason) => {
            mistakes.extend(open.map(|place| none(platform, reason, place)));
            mistakes.extend(sets.map(|set| none(platform, reason, &set.place)));
        }
        Ok(llc) => {
            mistakes.extend(sets.filter_map(|set| unknown(platform, llc, set)));
            mistakes.extend(vms.iter().filter_map(|vm| vllc(platform, llc, vm)));
        }
    }
    for (index, vm) in vms.iter().enumerate() {
        mistakes.extend(vm.tasks.iter().filter_map(|task| of_another(vm, task)));
        mistakes.extend(vms[..index].iter().filter_map(|before| shared(before, vm)));
        mistakes.extend(hypervisor.and_then(|colors| with_hypervisor(colors, vm)));
    }
    mistakes
}

/// Returns the sets of colours that a VM has.
fn sets(vm: &Vm) -> impl Iterator<Item = &Located<ColorSet>> {
    vm.colors.iter().chain(vm.extra.as_ref().map(|extra| &extra.colors))
}

/// The platform has no colours, but some are asked for.
pub(crate) fn none(platform: &Platform, reason: NoColors, place: &Place) -> Diagnostic {
    let message = format!("`{}` has no colours: {reason}", platform.name);
    Diagnostic::new("unknown-colors", message)
        .at(place, "asks for colours")
        .help("remove this, or name a platform whose shared cache can be divided")
}

/// Colours that the cache does not have.
fn unknown(platform: &Platform, llc: Geometry, set: &Located<ColorSet>) -> Option<Diagnostic> {
    let unknown = llc.check(set.value).err()?;
    let help = format!(
        "`{}` has {} colours: {}, by its last-level cache",
        platform.name,
        llc.colors(),
        division(llc)
    );
    let mistake = Diagnostic::new("unknown-colors", unknown.to_string());
    Some(mistake.at(&set.place, "here").help(help))
}

/// A virtual cache that cannot be made of the VM's colours, whichever they are if they are planned.
fn vllc(platform: &Platform, llc: Geometry, vm: &Vm) -> Option<Diagnostic> {
    let one = |place| Located::new(ColorSet::first(1), place);
    let set = vm.colors.clone().or(vm.colors_open.as_ref().map(one));
    let set = set.filter(|_| vm.vllc)?;
    if llc.check(set.value).is_err() {
        return None;
    }
    let in_registers = platform.last_level_cache().is_some_and(|cache| cache.in_registers);
    let (message, help) = virtual_cache(llc, in_registers, set.value).err()?;
    let mistake = Diagnostic::new("wrong-value", message);
    Some(mistake.at(&set.place, "with `vllc = true`").help(help))
}

/// A task with colours that its VM does not have.
fn of_another(vm: &Vm, task: &Task) -> Option<Diagnostic> {
    let own = task.colors.as_ref()?;
    if let Some(open) = &vm.colors_open {
        let mistake = Diagnostic::new("wrong-value", "the colours of the VM are to be planned")
            .at(&own.place, "but those of a task are given")
            .also(open, "the colours of its VM")
            .help("remove the colours of the task, or give those of the VM");
        return Some(mistake);
    }
    let colors = vm.colors.as_ref().filter(|_| !own.value.is_subset(vm.all_colors()))?;
    let (name, missing) = (&vm.name.value, own.value - vm.all_colors());
    let message = format!("`{name}` does not have the colours {missing}");
    let mistake = Diagnostic::new("unknown-colors", message)
        .at(&own.place, "for this task")
        .also(&colors.place, "the colours of its VM")
        .help("give tasks colours of `colors` and `extra_colors` of their VM");
    Some(mistake)
}

/// Two VMs that have a colour in common, though not both of them agree to it.
fn shared(one: &Vm, other: &Vm) -> Option<Diagnostic> {
    let common = one.all_colors() & other.all_colors();
    if common.is_empty() || one.share_colors && other.share_colors {
        return None;
    }
    let has_some = |set: &&Located<ColorSet>| !set.value.is_disjoint(common);
    let (first, second) = (sets(one).find(has_some)?, sets(other).find(has_some)?);
    let (one, other) = (&one.name.value, &other.name.value);
    let message = format!("`{one}` and `{other}` have colours in common: {common}");
    let mistake = Diagnostic::new("colors-taken", message)
        .at(&second.place, "again here")
        .also(&first.place, "first here")
        .help("give each its own colours, or say `share_colors = true` in both");
    Some(mistake)
}

/// A VM that evicts lines of the hypervisor, though it does not say that it may.
fn with_hypervisor(hypervisor: &Located<ColorSet>, vm: &Vm) -> Option<Diagnostic> {
    let name = &vm.name.value;
    if vm.colors_open.is_some() {
        return None;
    }
    if vm.colors.is_none() {
        let message = format!("the hypervisor has colours of its own, but `{name}` has none");
        let mistake = Diagnostic::new("colors-taken", message)
            .at(&vm.name.place, "could evict its lines")
            .also(&hypervisor.place, "colours of the hypervisor")
            .help("give every VM `colors`, or remove `hypervisor_colors`");
        return Some(mistake);
    }
    let common = vm.all_colors() & hypervisor.value;
    if common.is_empty() || vm.share_colors {
        return None;
    }
    let set = sets(vm).find(|set| !set.value.is_disjoint(common))?;
    let message = format!("`{name}` and the hypervisor have colours in common: {common}");
    let mistake = Diagnostic::new("colors-taken", message)
        .at(&set.place, "here")
        .also(&hypervisor.place, "colours of the hypervisor")
        .help("give the VM other colours, or say `share_colors = true` in it");
    Some(mistake)
}
