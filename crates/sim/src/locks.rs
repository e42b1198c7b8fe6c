//! State of the resources that simulated tasks share.

use std::collections::BTreeSet;

use policy::lock::table::{Holdings, Locked, Resource, Table};
use policy::lock::{VCPUS_MAX, Who};
use policy::task::TASKS_MAX;

use crate::passage::Passage;
use crate::pcpu::PcpuState;
use crate::{Error, NO_RANK, RESOURCES_MAX, System};

/// A task got a resource for which it waited.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    pub pcpu: usize,
    pub vcpu: usize,
    /// Number of the task among those of its VCPU that have sections.
    pub number: usize,
}

/// All global resources, and the VCPUs whose schedulers have to learn of a change.
#[derive(Clone, Debug)]
pub struct LockState {
    table: Table<Vec<Resource>, Vec<Holdings>>,
    pub global: Vec<bool>,
    pub ceilings: bool,
    ranks: Vec<Vec<u8>>,
    pub grants: Vec<Grant>,
}

impl LockState {
    /// Returns `None` if no task has critical sections.
    pub fn new(system: &System, pcpus: &mut [PcpuState]) -> Result<Option<Self>, Error> {
        let locks = &system.locks;
        if locks.tasks.is_empty() {
            return Ok(None);
        }
        let wrong = |what: String| Err(Error::Locks { what });
        if locks.global.len() > RESOURCES_MAX {
            return wrong(format!("at most {RESOURCES_MAX} resources are possible"));
        }
        ranks(system)?;
        for it in &locks.tasks {
            let vcpu = pcpus.get_mut(it.pcpu).and_then(|pcpu| pcpu.vcpus.get_mut(it.vcpu));
            let Some(vcpu) = vcpu.filter(|vcpu| it.task < vcpu.tasks.len()) else {
                return wrong(format!("there is no task {}/{}/{}", it.pcpu, it.vcpu, it.task));
            };
            if let Err(place) = vcpu.users.binary_search(&it.task)
                && !it.sections.is_empty()
            {
                vcpu.users.insert(place, it.task);
            }
            if vcpu.users.len() > TASKS_MAX {
                return wrong(format!("at most {TASKS_MAX} tasks of a VCPU can have sections"));
            }
        }
        let mut homes: Vec<Option<(usize, usize)>> = vec![None; locks.global.len()];
        for it in &locks.tasks {
            let vcpu = &mut pcpus[it.pcpu].vcpus[it.vcpu];
            let Ok(number) = vcpu.users.binary_search(&it.task) else { continue };
            let longest = vcpu.tasks[it.task].longest();
            let mut sum = 0u64;
            for section in &it.sections {
                let Some(global) = locks.global.get(section.resource) else {
                    return wrong(format!("there is no resource {}", section.resource));
                };
                let home = *homes[section.resource].get_or_insert((it.pcpu, it.vcpu));
                if !global && home != (it.pcpu, it.vcpu) {
                    return wrong(format!("resource {} is not global", section.resource));
                }
                if !global {
                    vcpu.pcp.use_by(number, section.resource);
                }
                sum = sum.saturating_add(section.after).saturating_add(section.length);
                if section.length == 0 || sum > longest {
                    return wrong(format!(
                        "the sections of task {}/{}/{} are empty or longer than it",
                        it.pcpu, it.vcpu, it.task
                    ));
                }
            }
            vcpu.tasks[it.task].sections = Passage::new(number, &it.sections, longest);
        }
        let resources = vec![Resource::new(1); locks.global.len()];
        let mut table = Table::new(resources, vec![Holdings::new(0); VCPUS_MAX]);
        for resource in 0..locks.global.len() {
            let _ = table.open(0, resource);
        }
        let (global, ceilings, ranks) = (locks.global.clone(), locks.ceilings, locks.ranks.clone());
        Ok(Some(Self { table, global, ceilings, ranks, grants: Vec::new() }))
    }

    /// Returns the rank of a VCPU.
    pub fn rank(&self, pcpu: usize, vcpu: usize) -> u8 {
        self.ranks[pcpu][vcpu]
    }

    fn who(&self, pcpu: usize, vcpu: usize, number: usize) -> Option<Who> {
        Who::new(usize::from(*self.ranks.get(pcpu)?.get(vcpu)?), number)
    }

    /// Requests a global resource for the task with this number among those of its VCPU that have
    /// sections; returns true if it is granted.
    pub fn lock(&mut self, pcpu: usize, vcpu: usize, number: usize, resource: usize) -> bool {
        let asked = self.who(pcpu, vcpu, number).map(|who| self.table.lock(who, resource));
        matches!(asked, Some(Ok(Locked::Held { .. })))
    }

    /// Releases a global resource of a task, as in [`LockState::lock`].
    pub fn unlock(&mut self, pcpu: usize, vcpu: usize, number: usize, resource: usize) {
        let released = self.who(pcpu, vcpu, number).map(|who| self.table.unlock(who, resource));
        let Some(Ok(Some(next))) = released else { return };
        let place = self.ranks.iter().enumerate().find_map(|(pcpu, ranks)| {
            let vcpu = ranks.iter().position(|rank| usize::from(*rank) == next.vcpu())?;
            Some((pcpu, vcpu))
        });
        let _ = self.table.take_grant(next.vcpu());
        if let Some((pcpu, vcpu)) = place {
            self.grants.push(Grant { pcpu, vcpu, number: next.task() });
        }
    }

    /// Returns true if tasks of the VCPU hold global resources.
    pub fn in_gcs(&self, pcpu: usize, vcpu: usize) -> bool {
        self.who(pcpu, vcpu, 0).is_some_and(|who| self.table.in_gcs(who.vcpu()))
    }
}

/// Each VCPU has a rank of its own; those whose tasks have no sections may have [`NO_RANK`].
fn ranks(system: &System) -> Result<(), Error> {
    let ranks = &system.locks.ranks;
    let counts = system.pcpus.iter().map(|pcpu| pcpu.vcpus.len());
    let uses: BTreeSet<_> = system
        .locks
        .tasks
        .iter()
        .filter(|it| !it.sections.is_empty())
        .map(|it| (it.pcpu, it.vcpu))
        .collect();
    let places = ranks.iter().enumerate().flat_map(|(pcpu, ranks)| {
        ranks.iter().enumerate().map(move |(vcpu, rank)| ((pcpu, vcpu), *rank))
    });
    let ranked = places.filter(|(place, rank)| *rank != NO_RANK || uses.contains(place));
    let mut all: Vec<u8> = ranked.map(|(_, rank)| rank).collect();
    all.sort_unstable();
    let fit = counts.eq(ranks.iter().map(Vec::len))
        && all.is_sorted_by(|one, next| one < next)
        && all.last().is_none_or(|last| usize::from(*last) < VCPUS_MAX);
    match fit {
        true => Ok(()),
        false => Err(Error::Locks { what: "each VCPU needs a rank of its own".into() }),
    }
}
