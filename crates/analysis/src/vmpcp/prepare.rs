//! Systems made for the analysis: checked, and with everything that does not depend on servers.

use super::flat::{FlatTask, FlatVcpu};
use super::local;
use super::section::{self, Group};
use super::system::{Section, System, Task, Vcpu};
use crate::Duration;

/// The reason why there is no such system.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SystemError {
    /// The sections of a task are longer than the task.
    #[error("task {task} of VCPU {vcpu} executes for {wcet}, its critical sections for more")]
    SectionsTooLong {
        /// The VCPU.
        vcpu: usize,
        /// The task, by its place in the VCPU.
        task: usize,
        /// Its execution time.
        wcet: Duration,
    },
    /// A section without length.
    #[error("task {task} of VCPU {vcpu} has a critical section of length 0")]
    NoLength {
        /// The VCPU.
        vcpu: usize,
        /// The task, by its place in the VCPU.
        task: usize,
    },
    /// VCPUs of a PCPU are not in the order of their priorities, or two have the same.
    #[error("the priority of VCPU {vcpu} is not below that of the one before it on its PCPU")]
    Order {
        /// The second one.
        vcpu: usize,
    },
}

impl System {
    /// Makes a system of PCPUs, each with its VCPUs, the one with the highest priority first.
    ///
    /// # Errors
    ///
    /// See [`SystemError`].
    pub fn new(pcpus: &[Vec<Vcpu>]) -> Result<Self, SystemError> {
        check(pcpus)?;
        Ok(flatten(pcpus))
    }
}

fn check(pcpus: &[Vec<Vcpu>]) -> Result<(), SystemError> {
    let mut vcpu = 0;
    for pcpu in pcpus {
        let mut above = None;
        for it in pcpu {
            if above.is_some_and(|above| above <= it.priority) {
                return Err(SystemError::Order { vcpu });
            }
            above = Some(it.priority);
            for (task, it) in it.tasks.iter().enumerate() {
                let wcet = it.task.wcet();
                let mut rest = wcet.0;
                for section in &it.sections {
                    if section.length.0 == 0 {
                        return Err(SystemError::NoLength { vcpu, task });
                    }
                    rest = rest
                        .checked_sub(section.length.0)
                        .ok_or(SystemError::SectionsTooLong { vcpu, task, wcet })?;
                }
            }
            vcpu += 1;
        }
    }
    Ok(())
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

fn flatten(pcpus: &[Vec<Vcpu>]) -> System {
    let mut users: Vec<User> = Vec::new();
    let (mut vcpus, mut tasks) = (Vec::new(), Vec::new());
    for pcpu in pcpus {
        let of_pcpu = vcpus.len()..vcpus.len() + pcpu.len();
        for vcpu in pcpu {
            let first = tasks.len();
            for it in &vcpu.tasks {
                let at = |(place, section): (usize, &Section)| User {
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
    let all: Vec<&Task> = pcpus.iter().flatten().flat_map(|vcpu| &vcpu.tasks).collect();
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
