//! Checks the given parts of a description, before a planner decides the rest.

use policy::color::ColorSet;
use units::Bytes;

use super::outline::memory;
use super::ram::Placed;
use super::{Origins, assemble, hypervisor, llc, pcpus, ram};
use crate::address::PhysicalAddress;
use crate::description::{Located, System, Vm};
use crate::diagnostic::{Diagnostic, Errors};
use crate::plan::{Llc, Plan, check};

/// Checks all that no decision of a planner changes: given PCPUs, RAM, devices and load addresses.
/// [`super::make`] checks it by the same rules. Where colours are left to the planner, so is the
/// way in which VMs share RAM: then each has to fit by itself, and all into the RAM that there is.
///
/// # Errors
///
/// All mistakes, each with its place in the description.
pub fn check_given(system: &System) -> Result<(), Errors> {
    let mut mistakes = Mistakes::default();
    pcpus::check_given(system, &mut mistakes.0);
    let Ok(support) = &system.platform.value.boot else { return mistakes.none() };
    let hypervisor = hypervisor(system, support);
    let parts = match system.vms.iter().any(|vm| vm.colors_open.is_some()) {
        true => parts(system),
        false => vec![system.clone()],
    };
    let drafts: Vec<Draft<'_>> = parts
        .iter()
        .filter_map(|part| {
            let cache = mistakes.noted(llc(part))?;
            let mut own = Vec::new();
            let placed = ram(part, hypervisor, cache, &mut own);
            mistakes.add(own);
            Some((part, cache, placed))
        })
        .collect();
    // What has no place breaks other rules, too.
    mistakes.none()?;
    too_much(system, hypervisor.size).map_or(Ok(()), Err)?;
    let mut mistakes = Mistakes::default();
    let nowhere = system.vms.iter().map(|vm| (memory(vm), None)).collect();
    let channels = system.channels.iter().map(|_| PhysicalAddress(0)).collect();
    let nowhere = Placed { hypervisor: None, vms: nowhere, channels };
    let mut judge = |part: &System, cache, placed, check: Rules| {
        let assigned = pcpus::assign(part, &mut Vec::new());
        let plan = assemble(part, support, (hypervisor, cache), &assigned, placed);
        mistakes.noted(check(&plan).map_err(|errors| Origins::new(part, &plan).locate(errors)));
    };
    judge(system, None, nowhere, check::beside_ram);
    for (part, cache, placed) in drafts {
        judge(part, cache, placed, check::ram);
    }
    mistakes.none()
}

/// A system whose RAM is placed, with its cache if colours divide that.
type Draft<'a> = (&'a System, Option<Llc>, Placed);

/// Some of the rules of plans.
type Rules = fn(&Plan) -> Result<(), Errors>;

/// The mistakes found so far, each of them once.
#[derive(Default)]
struct Mistakes(Vec<Diagnostic>);

impl Mistakes {
    fn add(&mut self, more: Vec<Diagnostic>) {
        for mistake in more {
            if !self.0.contains(&mistake) {
                self.0.push(mistake);
            }
        }
    }

    fn noted<T>(&mut self, result: Result<T, Errors>) -> Option<T> {
        result.map_err(|errors| self.add(errors.into_vec())).ok()
    }

    fn none(self) -> Result<(), Errors> {
        Errors::unless_none(self.0, ())
    }
}

/// Reports the first VM with which all have more RAM than the hypervisor leaves.
fn too_much(system: &System, hypervisor: Bytes) -> Option<Errors> {
    let platform = &system.platform.value;
    let all: u64 = platform.memory.iter().map(|bank| bank.size.0).fold(0, u64::saturating_add);
    let free = Bytes(all.saturating_sub(hypervisor.0));
    let mut sum = Bytes(0);
    let vm = system.vms.iter().find(|vm| {
        let pool = vm.extra.as_ref().map_or(0, |extra| extra.memory.value.0);
        sum = Bytes(sum.0.saturating_add(vm.memory.value.0).saturating_add(pool));
        sum > free
    })?;
    let message =
        format!("with `{}` the VMs need {sum} of RAM, but {free} are free", vm.name.value);
    let help = format!(
        "`{}` has {}: {hypervisor} for the hypervisor; make a VM smaller",
        platform.name,
        Bytes(all)
    );
    let mistake = Diagnostic::new("no-memory", message).at(&vm.memory.place, "does not fit");
    Some(mistake.help(help).into())
}

/// Returns systems that fit into RAM if the whole system does: one of each VM, and one of those
/// whose places are given.
fn parts(system: &System) -> Vec<System> {
    let all = (system.platform.value.colors().ok()).map(|it| ColorSet::first(it.colors()));
    let alone = system.vms.iter().map(|vm| {
        // With all colours a VM takes the least RAM.
        let open = vm.colors_open.as_ref().zip(all).map(|(place, all)| Located::new(all, place));
        let colors = vm.colors.clone().or(open);
        let vm = Vm { colors, vllc: vm.vllc && vm.colors_open.is_none(), ..vm.clone() };
        System { hypervisor_colors: None, ..with(system, vec![vm]) }
    });
    let placed = |vm: &&Vm| vm.memory_at.is_some() && vm.colors_open.is_none();
    let given = with(system, system.vms.iter().filter(placed).cloned().collect());
    let channels = system.channels.iter().filter(|it| it.memory_at.is_some()).cloned().collect();
    let given = System { channels, ..given };
    alone.chain([given]).collect()
}

/// Returns the system with these VMs, without tasks, chains, resources, channels, serial lines, links and pools.
fn with(system: &System, vms: Vec<Vm>) -> System {
    let without = |vm: Vm| Vm { colors_open: None, extra: None, tasks: Vec::new(), ..vm };
    System {
        vms: vms.into_iter().map(without).collect(),
        resources: Vec::new(),
        channels: Vec::new(),
        serial_lines: Vec::new(),
        links: Vec::new(),
        chains: Vec::new(),
        ..system.clone()
    }
}
