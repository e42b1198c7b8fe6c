//! The analysed form of a system: everything that does not depend on servers.

use std::ops::Range;

use super::guests::Guest;
use super::section::{self, Group};
use super::system::{System, Vcpu};
use super::{Variant, local};
use crate::divisor::Divisor;

/// A VCPU.
#[derive(Clone, Debug)]
pub struct FlatVcpu {
    /// The VCPUs of its PCPU, the highest priority first.
    pub pcpu: Range<usize>,
    pub priority: u32,
    pub tasks: Range<usize>,
    /// Eq. 1.
    pub holding: u64,
    /// How long the VCPU is in sections until it executes outside, whatever its guest does: Eq. 1,
    /// or the limit of the hypervisor.
    pub held: u64,
    /// The other limits of the hypervisor for its guest, if the guest is not trusted.
    pub guest: Option<Guest>,
}

/// A task.
#[derive(Clone, Debug)]
pub struct FlatTask {
    pub wcet: u64,
    pub period: Divisor,
    pub deadline: u64,
    pub jitter: u64,
    pub vcpu: usize,
    /// Its global sections.
    pub sections: Range<usize>,
    /// The longest of them; 0: it has none.
    pub longest: u64,
    /// Sum of the global sections: `E_i`.
    pub global: u64,
    /// Sum of its local sections that can block tasks above.
    pub local: u64,
    /// Eq. 9, as published and as corrected.
    pub blocking: [u64; 2],
    /// Other suspensions and blocking ([`crate::Task`]).
    pub suspension: u64,
    pub other_blocking: u64,
}

/// A global section.
#[derive(Clone, Debug)]
pub struct FlatSection {
    pub task: usize,
    pub resource: usize,
    pub length: u64,
    /// True if the hypervisor keeps the mutex.
    pub inter_vm: bool,
    /// Eq. 12.
    pub load: u64,
    /// Eq. 13.
    pub preemption: u64,
    /// Sections with the same resource of VCPUs below, in [`System::rivals`].
    pub below: Range<usize>,
    /// Those of VCPUs above.
    pub above: Range<usize>,
    /// Others that can be ahead as well: those of tasks above in the same VCPU, and of VCPUs with
    /// the same priority that count as below. They follow those above.
    pub also: Range<usize>,
}

impl FlatTask {
    /// Returns the longest window at the end of which the last of `jobs` jobs is not late.
    pub fn on_time(&self, jobs: u64) -> u64 {
        let deadline = (jobs - 1).saturating_mul(self.period.get()).saturating_add(self.deadline);
        deadline.saturating_sub(self.jitter)
    }

    /// Returns the longest window with at most `jobs` jobs.
    pub fn free(&self, jobs: u64) -> u64 {
        jobs.saturating_mul(self.period.get()).saturating_sub(self.jitter)
    }

    /// Returns true if the task waits for anything other than the processor.
    pub fn suspends(&self) -> bool {
        self.suspension > 0 || self.longest > 0
    }

    pub fn blocking(&self, variant: Variant) -> u64 {
        self.blocking[variant as usize]
    }
}

/// The users of resources, in the order of resources, then of VCPUs and tasks.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct User {
    resource: usize,
    vcpu: u32,
    task: u32,
    /// Its place in the task.
    place: u32,
}

pub fn flatten(pcpus: &[Vec<Vcpu>]) -> System {
    let mut users: Vec<User> = Vec::new();
    let (mut vcpus, mut tasks) = (Vec::new(), Vec::new());
    for pcpu in pcpus {
        let of_pcpu = vcpus.len()..vcpus.len() + pcpu.len();
        for vcpu in pcpu {
            let first = tasks.len();
            for it in &vcpu.tasks {
                let at = |(place, section): (usize, &super::Section)| User {
                    resource: section.resource,
                    vcpu: vcpus.len() as u32,
                    task: tasks.len() as u32,
                    place: place as u32,
                };
                users.extend(it.sections.iter().enumerate().map(at));
                tasks.push(FlatTask {
                    wcet: it.task.wcet,
                    period: it.task.period,
                    deadline: it.task.deadline,
                    jitter: it.task.jitter,
                    vcpu: vcpus.len(),
                    sections: 0..0,
                    longest: 0,
                    global: 0,
                    local: 0,
                    blocking: [0; 2],
                    suspension: it.task.suspension,
                    other_blocking: it.task.blocking,
                });
            }
            vcpus.push(FlatVcpu {
                pcpu: of_pcpu.clone(),
                priority: vcpu.priority,
                tasks: first..tasks.len(),
                holding: 0,
                held: 0,
                guest: None,
            });
        }
    }
    users.sort_unstable();
    let mut system = System { vcpus, tasks, sections: Vec::new(), rivals: Vec::new() };
    let all: Vec<&super::Task> = pcpus.iter().flatten().flat_map(|vcpu| &vcpu.tasks).collect();
    let described = |user: &User| all[user.task as usize].sections[user.place as usize];
    let length = |user: &User| described(user).length.0;
    let mut locals = Vec::new();
    // Sections by resource; those of a task are made contiguous afterwards.
    let mut groups = Vec::new();
    for users in users.chunk_by(|one, other| one.resource == other.resource) {
        let lengths = users.iter().map(|user| (user.task as usize, length(user)));
        let is_one = users.first().map(|it| it.vcpu) == users.last().map(|it| it.vcpu);
        if is_one && !users.iter().any(|user| described(user).inter_vm) {
            // The first user has the highest priority, which is the ceiling.
            locals.extend(lengths.map(|(task, length)| (task, users[0].task as usize, length)));
        } else {
            let group = groups.len();
            let inter_vm = users.iter().any(|user| described(user).inter_vm);
            let resource = users.first().map_or(0, |user| user.resource);
            let of_group = |(task, length)| Group {
                task,
                resource,
                start: group,
                size: users.len(),
                length,
                inter_vm,
            };
            groups.extend(lengths.map(of_group));
        }
    }
    section::place(&mut system, &groups);
    section::sizes(&mut system);
    local::blocking(&mut system, &locals);
    system
}
